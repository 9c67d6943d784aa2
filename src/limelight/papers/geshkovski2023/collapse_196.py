"""Rank collapse of 196 tokens, as many as the patches of a ViT."""

from dataclasses import replace

from limelight.papers.geshkovski2023 import collapse
from limelight.papers.geshkovski2023.collapse import SIZE
from limelight.papers.recipe import Scale, scales

figure = replace(
    collapse.figure,
    grid={**collapse.figure.grid, SIZE: [(196, 64)]},
    scales=scales(
        smoke=replace(
            collapse.figure.scales["smoke"],
            grid={**collapse.figure.scales["smoke"].grid, SIZE: [(12, 4)]},
        ),
        small=Scale(trials=4, grid={"model.heads": [1]}),
    ),
    claims=tuple(
        claim.again(f"{claim.name}-196", " (196 tokens)") for claim in collapse.figure.claims
    ),
    pictures={"collapse-196": collapse.draw},
    sizes="ours: 196 tokens in 64 dimensions, 512 draws per cell",
)
