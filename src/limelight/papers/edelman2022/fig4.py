r"""Figure 4: the course of training with too few and with enough examples.

Every trial runs to its last iteration and every look sees the whole holdout, so these are also the
runs to ask whether a network always fits its sample.
"""

import numpy as np
from matplotlib.lines import Line2D

from limelight.claims import Above, AtLeast, Claim
from limelight.papers.base import Figure, Setup
from limelight.papers.edelman2022.claims import by_half_time, fitted_share
from limelight.papers.edelman2022.critical import LENGTH, SIZE, setting
from limelight.papers.edelman2022.fig2 import experiment, facts
from limelight.plot import caption, new_figure
from limelight.plot.style import COLOURS, INK, MUTED, TICK, label, open_frame
from limelight.table import Table

CLAIMS = (
    Claim(
        "A1.course",
        "Every trial fits its sample: training loss below 1e-4 and accuracy 1 by iteration 1000.",
        "share of trials, dropout off, exact interval",
        fitted_share,
        AtLeast(0.99),
        "edelman2022, Section 5",
    ),
    Claim(
        "A6.course",
        "At T = 400, 100 examples mostly overfit and 200 mostly succeed by iteration 500.",
        "smaller of 1/2 - share at m = 100 and share at m = 200 - 1/2, exact intervals",
        by_half_time,
        Above(0.0),
        "edelman2022, Figure 4",
    ),
)


def summary(table: Table) -> list[str]:
    """Best and final accuracy, and when the sample is fitted, by number of examples."""
    lines = []
    for at, rows in table.cells(LENGTH, SIZE):
        first = rows["first_success"]
        fitted = rows["fitted"][np.isfinite(rows["fitted"])]
        lost = int((rows["success"].astype(bool) & (rows["last_accuracy"] <= 0.99)).sum())
        when = f"median iteration {np.median(fitted):.0f}" if len(fitted) else "never"
        lines.append(
            f"T = {at[LENGTH]}, m = {at[SIZE]}: {int(rows['success'].sum())} of {len(rows)} above"
            f" .99, {int((first <= 500).sum())} by iteration 500, {lost} below it again at the end;"
            f" last accuracy {np.median(rows['last_accuracy']):.3f} (median);"
            f" sample fitted by {len(fitted)}, {when}"
        )
    return lines


def draw(table: Table):
    """Holdout accuracy and training loss of every trial, a column a number of examples.

    Accuracy is shown from .7: the answer "never" has .875, and what falls lower comes back at once.
    """
    sizes, every = table.values(SIZE), setting(table, "every", 10)
    figure = new_figure(7.0, 3.6, rows=2, columns=len(sizes))
    for j, size in enumerate(sizes):
        rows = table.rows(table[SIZE] == size)
        over, under = figure.axes[j], figure.axes[j + len(sizes)]
        won = rows["success"].astype(bool)
        for axes, name in ((over, "trace.accuracy"), (under, "trace.loss")):
            open_frame(axes)
            when = (np.arange(rows[name].shape[1]) + 1) * every
            for color, group in ((COLOURS[1], rows[name][~won]), (COLOURS[0], rows[name][won])):
                axes.plot(when, group.T, color=color, linewidth=0.5, alpha=0.6)
            axes.set_xlim(0, when[-1])
        over.set_ylim(0.7, 1.01)
        over.axhline(0.99, color=MUTED, linewidth=0.7, linestyle=(0, (4, 2)))
        under.set_yscale("log")
        under.axhline(1e-4, color=MUTED, linewidth=0.7, linestyle=(0, (4, 2)))
        label(over, "", "holdout accuracy" if j == 0 else "")
        label(under, "iteration", "training loss" if j == 0 else "")
        over.set_title(
            f"T = {rows[LENGTH][0]}, m = {size}", fontsize=7.5, color=INK, loc="left", pad=3
        )
    names = ("above .99 at some evaluation", "never")
    lines = [Line2D([], [], color=COLOURS[i], label=name) for i, name in enumerate(names)]
    figure.legend(handles=lines, loc="outside upper right", ncols=2, frameon=False, fontsize=TICK)
    lowest = table["trace.accuracy"].min()
    seen = "" if lowest >= 0.7 else f"accuracy below .7 is cut off (lowest {lowest:.2f})"
    caption(figure, *facts(table), "dropout off; dashed: .99 and 1e-4", seen)
    return figure


def setup(length: int, sizes: list[int], trials: int, **settings) -> Setup:
    """Whole courses: no early end, no early rejection."""
    whole = {"holdout": 10_000, "first": 10_000} | settings
    return Setup(
        experiment(length, curves=True, share=1.0, **whole), {LENGTH: [length], SIZE: sizes}, trials
    )


figure = Figure(
    name="fig4",
    title="holdout accuracy and training loss through training, few and many examples",
    statement="at T = 400, 100 examples are fitted without generalising, 200 mostly generalise",
    setups={
        "smoke": setup(16, [20, 60], 2, iterations=60, holdout=1000, first=1000),
        "small": setup(50, [40, 70], 10, holdout=2000, first=2000),
        "paper": setup(400, [100, 200], 50, numbers="bfloat16"),
    },
    claims=CLAIMS,
    draws={"course": draw},
    summary=summary,
    reference="Figure 4",
    cost={
        "small": "103 s on 2 cores, 16 s of it compiling",
        "paper": "38 s on one H200, beside two other runs",
    },
    departures=(
        "dropout masks have 16-bit probabilities; at paper scale token vectors are rounded to "
        "bfloat16 and other products to TF32 in training; at small scale T = 50 and a holdout of "
        "2000; the paper shows 500 iterations, these go on to 1000"
    ),
)
