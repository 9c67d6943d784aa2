"""Event III at 64 patches: runs on drawn populations, too many patches to enumerate."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from limelight._engine.grid import assign
from limelight.claims import AtLeast, Estimate
from limelight.fit import tabulate
from limelight.fit.estimates import lowest, mean
from limelight.fit.listing import in_words
from limelight.papers.jelassi2022 import event3
from limelight.papers.jelassi2022.event3 import (
    BETA,
    CASES,
    EVENT,
    RISE,
    onset,
    over_beta,
    rates,
    rises,
)
from limelight.papers.recipe import Finding, Scale, claims, scales
from limelight.plot import Picture, over_cells
from limelight.table import Table


def mean_rise(rows: Table) -> Estimate:
    """R, mean over seeds."""
    return mean(rises(rows))


@claims(
    "event3-64-{name}",
    "Event III at 64 patches, drawn populations: alpha rises again, by 2 % or more, at {where}.",
    AtLeast(RISE),
    at=EVENT,
    cases=CASES,
    fixed="pilot",
)
def least_rise(table: Table, betas: Sequence[float]) -> Estimate:
    """R, mean over seeds{of_two}."""
    cells = ((beta, table.where(diagonal=beta)) for beta in betas)
    return lowest((f"beta {beta:g}", mean_rise(rows)) for beta, rows in cells if len(rows))


def summary(table: Table) -> list[str]:
    """R by diagonal with its interval, and the diagonal from which on alpha rises again."""
    columns = {"R": mean_rise, "seeds": len, "past a maximum": lambda rows: rows["passed"].sum()}
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
    claims=least_rise,
    pictures={"event3-64": draw},
    findings={
        "event3-64": (
            Finding("event3-64-beta1", fails="alpha does not rise again at a diagonal of 1"),
            Finding(
                "event3-64-large", holds="but it rises {value:.2f}-fold at diagonals of 4 and 5"
            ),
        )
    },
    summary=summary,
    departures="as event3; 64 patches in sets of 4, q = 0.3; each seed draws its own images, "
    "of which only the counts of marks matter; dense marks, so that no draw is separable, "
    "where alpha would grow without end",
    shared=(BETA,),
)
