"""Uniform tokens beside the flow of equal angles, 128 of them."""

from dataclasses import replace

from limelight.papers.geshkovski2023 import concentration
from limelight.papers.geshkovski2023.concentration import BETA, D
from limelight.papers.recipe import Scale, scales

figure = replace(
    concentration.figure,
    grid={
        **concentration.figure.grid,
        "world.tokens": [128],
        D: [128, 512, 2048, 10_000, 100_000, 1_000_000],
    },
    scales=scales(
        smoke=replace(
            concentration.figure.scales["smoke"],
            grid={"world.tokens": [24], BETA: [1.0], D: [64, 1024]},
        ),
        small=Scale(trials=2, grid={BETA: [1.0], D: [512, 2048]}),
    ),
    claims=tuple(  # all rules were there before this table
        replace(claim.again(f"{claim.name}-128", " (128 tokens)"), fixed="pilot")
        for claim in concentration.figure.claims
    ),
    pictures={"concentration-128": concentration.draw},
    sizes="ours: 128 tokens, up to a million dimensions, 256 draws per cell",
)
