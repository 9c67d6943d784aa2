"""Equal angles and two clusters as one number, for 1,024 tokens, each of which is followed."""

from dataclasses import replace

from limelight.experiments.angle_flow import AngleFlow
from limelight.models.sphere_attention import SphereAttention
from limelight.papers.geshkovski2023 import reduction
from limelight.papers.geshkovski2023.reduction import CELL, FLOWS
from limelight.papers.recipe import Finding, Scale, scales
from limelight.plot import WIDE, Axis, Panel, Picture, Points, Reference
from limelight.table import Table
from limelight.worlds.sphere import Sphere

WHERE = (*CELL, "world.columns")
EQUAL, SUM, GROUPS = FLOWS
LEVEL = 1e-6


def runs(n: int, strengths: tuple[float, ...]) -> list[tuple]:
    """Equal angles from right angles, in n coordinates; two groups from two cosines, in 2.

    Without softmax every other strength is followed: a flow of 1,024 tokens takes minutes.
    """
    equal = [(*EQUAL, n, beta, 0.0, n) for beta in strengths]
    summed = [(*SUM, n, beta, 0.0, n) for beta in strengths[::2]]
    pairs = [(*GROUPS, n, beta, cosine, 2) for beta in strengths for cosine in (0.0, 0.5)]
    return [*equal, *summed, *pairs]


def draw(table: Table) -> Picture:
    """The largest distance from the law over the strength, by kind of start and of weights."""
    marks: list = []
    for words, start, weights in (
        ("equal angles", "equiangular", "softmax"),
        ("equal angles, weights without softmax", "equiangular", "sum"),
        ("two groups", "groups", "softmax"),
    ):
        rows = table.where(world__start=start, model__normalise=weights)
        if len(rows):
            marks.append(Points(words, rows["model.strength"], rows["apart"]))
    marks.append(Reference("level of the claim", LEVEL))
    across = Axis(r"strength $\beta$")
    return Picture(
        [Panel("", marks, Axis("largest distance from the law", log=True), across)],
        width=WIDE,
        height=3.0,
        note=f"n = {table.values('world.tokens')[0]:,}",
    )


figure = replace(
    reduction.figure,
    statement="do a thousand tokens at equal angles, or in two groups, obey one exact number?",
    trial=AngleFlow(Sphere(start="equiangular", dimension=1024), SphereAttention(), looks=4),
    grid={WHERE: runs(1024, (1.0, 4.0, 9.0))},
    scales=scales(
        smoke=Scale(grid={WHERE: runs(8, (1.0, 4.0))}),
        small=Scale(grid={WHERE: runs(64, (0.0, 1.0, 4.0))}),
    ),
    claims=(reduction.flow.again("reduction.flow-1024", " (1,024 tokens)"),),
    pictures={"reduction-1024": draw},
    findings={
        "reduction-1024": Finding("reduction.flow-1024", holds="1,024 tokens follow one number")
    },
    sizes="ours: 1,024 tokens, strengths 1, 4 and 9, equal angles from right angles only, and"
    " without softmax not at 4; strengths 0, 2 and 16 and three cosines were meant. At 16 a flow"
    " takes hundreds of times as long",
)
