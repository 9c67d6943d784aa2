"""Event III at 64 patches: runs on drawn populations, too many patches to enumerate."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from limelight.claims import AtLeast, Estimate
from limelight.engine.grid import assign
from limelight.fit import tabulate
from limelight.fit.estimates import lowest, mean
from limelight.fit.tabulate import in_words
from limelight.papers.jelassi2022 import event3
from limelight.papers.jelassi2022.event3 import BETA, LARGE, RISE, onset, over_beta, rates, rises
from limelight.papers.recipe import Scale, claim, scales
from limelight.plot import Picture, over_cells
from limelight.table import Table


def mean_rise(rows: Table) -> Estimate:
    """R, mean over seeds."""
    return mean(rises(rows))


def least_rise(table: Table, betas: Sequence[float]) -> Estimate:
    """The mean R over seeds, at the diagonal where it is smallest."""
    cells = ((beta, table.where(diagonal=beta)) for beta in betas)
    return lowest((f"beta {beta:g}", mean_rise(rows)) for beta, rows in cells if len(rows))


@claim(
    "event3-64-beta1",
    "Event III at 64 patches, drawn populations, a diagonal of 1.",
    AtLeast(RISE),
    at="jelassi2022, Section 4.1, Event III",
)
def at_one(table: Table) -> Estimate:
    """R, mean over seeds."""
    return least_rise(table, (1.0,))


@claim(
    "event3-64-large",
    "Event III at 64 patches, drawn populations, diagonals of 4 and 5.",
    AtLeast(RISE),
    at="jelassi2022, Section 4.1, Event III",
)
def at_large(table: Table) -> Estimate:
    """R, mean over seeds, smaller of the two."""
    return least_rise(table, LARGE)


def summary(table: Table) -> list[str]:
    """R by diagonal with its interval, and the diagonal from which on alpha rises again."""
    columns = {
        "R": mean_rise,
        "seeds": len,
        "past a maximum": lambda rows: rows["passed"].sum(),
    }
    ordered = table.rows(np.lexsort((table[BETA], table["trial"])))
    betas = table.values(BETA)
    edge = mean(onset(betas, rises(ordered).reshape(-1, len(betas))))
    found = tabulate(table, {BETA: "beta"}, columns, title=rates(table))
    return [*found, f"rises from beta {in_words(edge)} on"]


def draw(table: Table) -> Picture:
    """R over the frozen diagonal, with its interval over drawn populations."""
    curves = over_cells(table, BETA, mean_rise, name="(64, 4, 0.3), drawn")
    note = ("world (D, C, q); mean over seeds with a 95 % interval", rates(table))
    return over_beta(curves, note)


figure = replace(
    event3.figure,
    trial=assign(
        event3.figure.trial,
        {
            "tokens": 64,
            "density": 0.3,
            "rate": 5e-5,
            "ratio": 40_000.0,
            "draws": 3000,
            "part": "drawn",
        },
    ),
    grid={BETA: [1.0, 2.0, 2.5, 3.0, 4.0, 5.0]},
    trials=20,
    scales=scales(
        smoke=Scale(trials=2, grid={BETA: [1.0, 4.0]}, settings={"draws": 100, "steps": 100}),
        small=Scale(trials=5, grid={BETA: [1.0, 2.0, 3.0, 4.0, 5.0]}, settings={"draws": 1500}),
    ),
    claims=(at_one, at_large),
    pictures={"event3-64": draw},
    summary=summary,
    departures="as event3; 64 patches in sets of 4, q = 0.3; each seed draws its own images, "
    "of which only the counts of marks matter; dense marks, so that no draw is separable, "
    "where alpha would grow without end",
    shared=(BETA,),
)
