"""Figure 5(b): an image, and the same with its cells shuffled.

Bundled digits stand in for CIFAR-100, of which no picture is kept here; `world.source=cifar100`
draws the paper's.
"""

import numpy as np

from limelight import plot
from limelight.claims import AtMost, Estimate
from limelight.experiments import Sketch
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.table import Table
from limelight.worlds.images import Images

CELL = "world.cell"


@claim(
    "fig5b.same",
    "A shuffle moves pixels and changes none.",
    AtMost(0.0),
    at="jelassi2022, Figure 5(b)",
    kind="identity",
)
def moved(table: Table) -> Estimate:
    """Largest difference between the sorted pixels of an image and of its shuffles."""
    parts = [
        np.sort(rows["trace.tokens"][np.argsort(rows["trial"])], axis=1)
        for _, rows in table.cells(CELL)
    ]
    worst = max(float(np.abs(part - parts[0]).max()) for part in parts)
    return Estimate(worst, None, len(parts[0]))


def draw(table: Table) -> plot.Picture:
    """The first image, plain and with smaller and smaller cells shuffled."""
    named = {0: "the image"}
    panels = []
    for at, rows in sorted(table.cells(CELL), key=lambda cell: -cell[0][CELL] or -np.inf):
        first = rows["trace.tokens"][np.argmin(rows["trial"])]
        side = round(len(first) ** 0.5)
        title = named.get(at[CELL], f"cells of {at[CELL]}")
        pixels = np.asarray(first, dtype=float).reshape(side, side)
        panels.append(plot.Panel(title, [plot.Map(pixels, square=True)]))
    return plot.Picture(panels, width=plot.TWO_COLUMNS, height=1.9, note="one pixel per token")


figure = Figure(
    statement="shuffling cells destroys what is local in an image and keeps every pixel",
    trial=Sketch(Images(unit=False)),
    grid={CELL: [0, 4, 2, 1]},
    trials=5,
    scales=scales(smoke=Scale(trials=2), small=Scale(trials=2)),
    claims=(moved,),
    pictures={"shuffles": draw},
    reference="Figure 5(b)",
    sizes="smaller than the paper's: 8 x 8 digits",
    departures="digits in place of CIFAR-100",
    shared=(CELL,),
)
