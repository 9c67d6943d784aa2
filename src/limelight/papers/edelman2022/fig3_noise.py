r"""Figure 3 with wrong labels: parities with noise, for which no fast algorithm is known.

Labels are flipped in training alone; a run has learned when its accuracy against the true parity is
above .999. The loss with noise has a floor, so the fall itself is not timed here.
"""

import numpy as np

from limelight import fit, plot
from limelight.claims import Above, Estimate
from limelight.fit.estimates import lowest, share
from limelight.papers.edelman2022 import fig3
from limelight.papers.edelman2022.critical import LENGTH, iterations
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.table import Table

NOISE = "world.label_noise"


def right(rows: Table) -> np.ndarray:
    """Runs whose accuracy against the true parity is above .999."""
    return rows["accuracy"] > fig3.RIGHT


@claim(
    "parity-noise.learned",
    "With up to a tenth of the labels wrong most runs still learn a parity of 3 among 10 bits"
    " within 10,000 iterations.",
    Above(0.5),
    at="limelight, after edelman2022, Section 5 (parities with noise)",
)
def learned(table: Table) -> Estimate:
    """Share of runs above .999 against clean labels, smallest over the noise, exact interval."""
    return lowest(
        (f"noise {at[NOISE]:g}", share(right(rows), method="exact", least=fig3.LEAST))
        for at, rows in table.cells(NOISE)
    )


def summary(table: Table) -> list[str]:
    """Runs that learned and their last loss, by noise."""
    return fit.tabulate(
        table,
        {LENGTH: "T", NOISE: "label noise"},
        {
            "learned": lambda rows: f"{right(rows).sum()} of {len(rows)}",
            "last dropout-off loss (median)": lambda rows: np.nanmedian(rows["last_clean"]),
        },
    )


def draw(table: Table) -> plot.Picture:
    """Loss of every run against iterations, one panel per share of wrong labels."""
    when = fig3.when_logged(table)
    across = plot.Axis("iteration", limits=(0, when[-1]), ticks=[0, when[-1] // 2, when[-1]])
    parts = []
    for at, rows in table.cells(NOISE):
        done, noise = right(rows), float(at[NOISE])
        floor = -sum(p * np.log(p) for p in (noise, 1 - noise) if p > 0)
        marks = [
            *fig3.bundles(when, rows["trace.loss"], done),
            plot.Reference("chance", np.log(2)),
            plot.Reference("the true parity", floor),
        ]
        title = f"noise {noise:g}: {done.sum()} of {len(rows)}"
        loss = plot.Axis("batch loss", limits=(0.0, 0.85))
        parts.append(plot.Panel(title, marks, loss, across))
    return plot.Picture(
        parts,
        width=plot.TWO_COLUMNS,
        height=2.5,
        share="y",
        note=(iterations(table), "mean over 10 iterations, dropout on, noisy labels"),
    )


figure = Figure(
    statement="is a sparse parity still learned when some training labels are wrong?",
    trial=fig3.figure.trial,
    grid={LENGTH: [10], NOISE: [0.0, 0.05, 0.1]},
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={LENGTH: [6], NOISE: [0.0, 0.1]},
            settings=dict(fig3.figure.scales["smoke"].settings),
        ),
        small=Scale(trials=2, grid={LENGTH: [10], NOISE: [0.0]}, settings={"iterations": 1500}),
    ),
    claims=(learned,),
    pictures={"loss": draw},
    summary=summary,
    reference="limelight; the protocol of Figure 3",
    sizes="the sizes of fig3, with noise that the paper does not run",
    departures="not in the paper, which names parities with noise and does not run them; otherwise"
    " as fig3",
)
