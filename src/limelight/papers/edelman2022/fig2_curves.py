r"""Figure 2, right: training with too few and with enough examples, iteration by iteration.

Every trial runs to its last iteration and is tested on the whole holdout each time, so these are
also the runs to ask whether a network always fits its sample.
"""

import numpy as np

from limelight import fit, plot
from limelight._engine.grid import assign
from limelight.chart import Chart, Strip, player
from limelight.papers.edelman2022 import fig2
from limelight.papers.edelman2022.critical import LENGTH, SIZE, iterations, smaller
from limelight.papers.recipe import Figure, scales
from limelight.table import Table

examples = fig2.examples.again("A6.course", " (runs to the last iteration)")
#: Shown from .7: the answer "never" has .875, and what falls lower comes back at once.
ACCURACY = plot.Axis("holdout accuracy", limits=(0.7, 1.01))
LOSS = plot.Axis("training loss", log=True)


def summary(table: Table) -> list[str]:
    """Successes, last accuracy, and when the sample is fitted, by number of examples."""
    won = lambda rows: rows["success"].astype(bool)
    fitted = lambda rows: rows["fitted"][np.isfinite(rows["fitted"])]
    return fit.tabulate(
        table,
        {LENGTH: "T", SIZE: "m"},
        {
            "above .99": lambda rows: f"{won(rows).sum()} of {len(rows)}",
            "by iteration 500": lambda rows: (rows["first_success"] <= 500).sum(),
            "below again at the end": lambda rows: (
                won(rows) & (rows["last_accuracy"] <= 0.99)
            ).sum(),
            "last accuracy (median)": lambda rows: np.median(rows["last_accuracy"]),
            "sample fitted by": lambda rows: len(fitted(rows)),
            "at iteration (median)": lambda rows: (
                np.median(fitted(rows)) if len(fitted(rows)) else "never"
            ),
        },
    )


def draw(table: Table) -> plot.Picture:
    """Holdout accuracy and training loss by outcome, one column per number of examples."""
    return plot.Picture(
        [*_row(table, "trace.accuracy", ACCURACY, 0.99), *_row(table, "trace.loss", LOSS, 1e-4)],
        columns=len(table.values(SIZE)),
        width=plot.TWO_COLUMNS,
        height=3.9,
        note=(
            iterations(table),
            "dropout off",
            "lines: the median trial; bands hold four of five",
        ),
    )


def _row(table: Table, trace: str, axis: plot.Axis, level: float) -> list[plot.Panel]:
    """One measure of every trial, one panel per number of examples."""
    when = (np.arange(table[trace].shape[1]) + 1) * table.setting("every")
    panels = []
    for at, rows in table.cells(LENGTH, SIZE):
        title = f"$T$ = {at[LENGTH]}, $m$ = {at[SIZE]}" if axis is ACCURACY else ""
        won = rows["success"].astype(bool)
        marks = [
            *_middle("never above .99", when, rows[trace][~won], 1),
            *_middle("above .99 at some evaluation", when, rows[trace][won], 0),
            plot.Reference("accuracy .99, loss $10^{-4}$", level),
        ]
        panels.append(plot.Panel(title, marks, axis, plot.Axis("iteration", limits=(0, when[-1]))))
    return panels


def _middle(label: str, when: np.ndarray, runs: np.ndarray, colour: int) -> list[plot.Series]:
    """The median run, and the band that holds four of five."""
    if not len(runs):
        return []
    low, middle, high = np.quantile(runs.astype(float), [0.1, 0.5, 0.9], axis=0)
    return [plot.Series(label, when, middle, low, high, colour=colour, dash=0)]


def play(table: Table) -> Chart:
    """Accuracy of every trial, moment by moment, and the share above .99 so far."""
    when = (np.arange(table["trace.accuracy"].shape[1]) + 1) * table.setting("every")
    strips, lines = [], []
    for at, rows in table.cells(LENGTH, SIZE):
        accuracy = rows["trace.accuracy"].astype(float)
        name = f"$m$ = {at[SIZE]}"
        strips.append(Strip(f"every trial, {name}", accuracy.T, ACCURACY.label, 0.5, 1.0))
        lines.append(plot.Series(f"share above .99, {name}", when, (accuracy > 0.99).mean(axis=0)))
    return player(
        when, (), strips, lines, label="share of trials", limits=(0, 1), word="iteration",
        caption="One tick per trial; the answer “never” is right in .875 of the cases.",
    )  # fmt: skip


figure = Figure(
    statement="at T = 400, 100 examples are fitted without generalising, 200 mostly generalise",
    trial=assign(fig2.trial, {LENGTH: 400, "curves": True, "share": 1.0, "first": 10_000}),
    grid={LENGTH: [400], SIZE: [100, 200]},
    trials=50,
    scales=scales(
        smoke=smaller(2, [16], [20, 60], iterations=60, holdout=1000, first=1000),
        small=smaller(10, [50], [40, 70], holdout=2000, first=2000),
    ),
    claims=(examples,),
    pictures={"course": draw},
    charts={"course": play},
    summary=summary,
    reference="Figure 2 (right), enlarged in Figure 4",
    sizes="the paper's own setting, twice as long",
    departures=(
        "dropout masks have 16-bit probabilities; at paper scale token vectors are rounded to "
        "bfloat16 and other products to TF32 in training; at small scale T = 50 and a holdout of "
        "2000; the paper shows 500 iterations, these go on to 1000"
    ),
)
