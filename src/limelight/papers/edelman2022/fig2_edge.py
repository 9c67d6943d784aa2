r"""Figure 2 at its far corner: do 200 examples do for 800 bits?

The paper's axis ends at 200 examples, so its critical numbers up to $T = 800$ are at most that.
Fifty trials there cannot tell 46 % of successes from more than half; these can.
"""

import numpy as np

from limelight import fit, plot
from limelight.claims import AtLeast, Estimate
from limelight.fit.estimates import share
from limelight.papers.edelman2022 import critical, variants
from limelight.papers.edelman2022.critical import LENGTH, SIZE
from limelight.papers.recipe import Figure, Finding, claim, scales
from limelight.table import Table

EXACT = "bar: exact 95 % interval"


@claim(
    "A3c.edge",
    "At T = 800 half of the trials succeed with 200 examples: the critical number is on the paper's"
    " grid.",
    AtLeast(0.5),
    at="edelman2022, Figure 2 (its axis ends at 200 examples)",
    fixed="pilot",
)
def enough(table: Table) -> Estimate:
    """Share of trials above .99 at T = 800, m = 200, exact interval."""
    return share(
        table.where(world__length=800, examples=200)["success"].astype(bool), method="exact"
    )


def draw(table: Table) -> plot.Picture:
    """A row per cell: the share that succeeds, with its interval, beside one half."""
    cells = list(table.cells(LENGTH, SIZE))
    found = [share(rows["success"].astype(bool), method="exact", least=1) for _, rows in cells]
    low, high = np.array([one.interval or (np.nan, np.nan) for one in found]).T
    at, values = np.arange(len(cells)), [one.value for one in found]
    names = [f"$T = {int(cell[LENGTH])}$, $m = {int(cell[SIZE])}$" for cell, _ in cells]
    panel = plot.Panel(
        "",
        [
            plot.Reference("half of the trials", 0.5, vertical=True),
            plot.Points("", values, at, x_low=low, x_high=high, colour=0),
        ],
        plot.Axis(categories=names),
        "share of trials above 99 % accuracy",
    )
    return plot.Picture([panel], width=plot.WIDE, height=0.9 + 0.3 * len(cells), note=EXACT)


def summary(table: Table) -> list[str]:
    """Share of successes by length and size."""
    rate = lambda rows: share(rows["success"].astype(bool), method="exact", least=1)
    return fit.tabulate(table, {LENGTH: "T", SIZE: "m"}, {"share above .99": rate})


figure = Figure(
    statement="do 200 examples suffice for half of the trials at the longest context?",
    trial=variants.trial,
    grid={LENGTH: [800], SIZE: [200]},
    trials=2000,
    scales=scales(
        smoke=critical.smaller(2, [16], [20, 60], **critical.QUICK),
        small=critical.smaller(10, [50], [40, 70], iterations=200),
    ),
    claims=(enough,),
    pictures={"success": draw},
    findings={
        "success": Finding(
            "A3c.edge",
            fails="At 800 bits {value:.0%} of the trials succeed with 200 examples, less than half",
        )
    },
    summary=summary,
    reference=variants.REFERENCE,
    departures="one cell of fig2 with more trials, every trial ending at its first success",
)
