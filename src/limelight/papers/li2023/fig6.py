r"""Figure 6(a) and (b): fewer background patches, higher accuracy, fewer examples."""

from collections.abc import Callable
from functools import partial

import numpy as np

from limelight import fit, plot
from limelight.claims import Above, Below, Estimate, Inside
from limelight.fit.curves import slopes
from limelight.fit.estimates import lowest
from limelight.papers.li2023 import composites, reach
from limelight.papers.li2023.composites import (
    ALL,
    CUT,
    EXAMPLES,
    accuracies,
    cut,
    fractions,
    gain,
    mean,
    points,
    sizes,
)
from limelight.papers.recipe import Figure, Finding, Scale, claim, claims, scales
from limelight.table import Table

stated = partial(claim, at="li2023, Figure 6(a)")
OURS = {"ours": "; the level is ours"}


def over_sizes(table: Table, read: Callable[[Table], np.ndarray]) -> Estimate:
    """A reading of the cells with one number of examples, averaged over those, trial by trial."""
    found = [read(rows) for _, rows in table.cells(EXAMPLES)]
    return mean(np.mean(found, axis=0) if found else np.zeros(0))


@stated("6a.alpha", "Accuracy rises as background patches are removed.", Above(0.0))
def in_fraction(table: Table) -> Estimate:
    """Slope of accuracy in alpha_*, points per tenth, mean over N, by trial."""

    def slope(rows: Table) -> np.ndarray:
        x, trials = accuracies(rows)
        x = x - x.mean()
        return 0.1 * (x @ trials) / (x @ x)

    return over_sizes(table, slope)


@stated(
    "6a.every",
    "Accuracy rises as background patches are removed, at every number of examples.",
    Above(0.0),
)
def at_every_size(table: Table) -> Estimate:
    """Accuracy without background less with all of it, points, the least certain N."""
    cells = table.cells(EXAMPLES)
    return lowest((f"N {at[EXAMPLES]:g}", mean(gain(rows))) for at, rows in cells)


@stated("6a.samples", "Accuracy rises with the number of examples.", Above(0.0))
def in_examples(table: Table) -> Estimate:
    """Points of accuracy per doubling of N, mean over alpha_*, by trial."""
    cells = {at[EXAMPLES]: accuracies(rows)[1] for at, rows in table.cells(EXAMPLES)}
    found = np.stack([trials.mean(axis=0) for trials in cells.values()])
    return mean(slopes(np.log2(list(cells)), found))


@claim(
    "6a.control",
    "It is the background that must go: removing as many patches of any kind helps less.",
    Above(0.0),
    at="limelight; li2023, Figure 5 compares so",
    statistic="accuracy without background less with as many patches of any kind removed, points,"
    " mean over N, by trial",
)
def beyond_chance(table: Table) -> Estimate:
    """Accuracy without backgrounds less with as many patches of any kind gone."""
    return over_sizes(table, lambda rows: gain(rows) - gain(rows, blind=True))


@claim(
    "6a.attention",
    "Training moves attention to the label-relevant patches.",
    Above(0.0),
    at="limelight; li2023, Proposition 2",
)
def attended(table: Table) -> Estimate:
    """Attention mass on the object after training less before, nothing removed, mean over N."""
    whole = cut(table, fractions(table)[0])
    return over_sizes(whole, lambda rows: rows["mass.end"].astype(float) - rows["mass.start"])


falls = claims(
    "6b.falls{suffix}",
    f"{reach.FEWER}.",
    Below(1.0),
    at="li2023, Figure 6(b){ours}",
    cases=(
        {"suffix": "", "level": 0.775, "ours": "", "fixed": "before"},
        # Beyond the grid on one side alone, so that the order is known; asked so after the table.
        {"suffix": ".70", "level": 0.7, "also": reach.to_reach(0.7), **OURS, "fixed": "after"},
        {"suffix": ".60", "level": 0.6, "also": reach.to_reach(0.6), **OURS, "fixed": "before"},
    ),
)(reach.falls)
law = claim(
    "6b.law",
    f"{reach.SQUARE}.",
    Inside(1.5, 2.5),
    at="li2023, Figure 6(b); Theorem 1 (10), sufficient, read as a law",
    statistic="log-log slope of N50 in 1/alpha_*, accuracy at least 77.5%",
)(partial(reach.power, level=0.775))
by_interpolation = reach.reach_claims("6b.reach.60", "6b.reach-law.60", "after")

#: Lines that a panel has colours for.
LINES = 4


def draw_accuracy(table: Table) -> plot.Picture:
    """Accuracy against the relevant fraction, one line for each number of examples."""
    counts = sizes(table)
    places = np.linspace(0, len(counts) - 1, min(LINES, len(counts))).round().astype(int)
    few = [counts[place] for place in places]
    found, crosses = [], []
    for i, n in enumerate(few):
        rows = table.where(course__examples=n)
        x, trials = accuracies(rows)
        found.append(plot.band(f"N = {n:g}", x, trials.T))
        control = points(cut(rows, ALL, blind=True)).mean()
        crosses.append(plot.Points("", [x[0]], [control], colour=i, marker="x"))
    return plot.lines(
        [*found, *crosses],
        x_label=r"label-relevant fraction $\alpha_*$",
        y_label="test accuracy, %",
        note=(
            "crosses: as many patches of any kind removed as at the right end",
            "" if few == list(counts) else f"{len(few)} of {len(counts)} sizes",
        ),
    )


def draw_attention(table: Table) -> plot.Picture:
    """Attention on the object before and after training, by number of examples."""
    whole = cut(table, fractions(table)[0])
    return plot.lines(
        [
            *plot.over_cells(whole, EXAMPLES, "mass.start", name="before training"),
            *plot.over_cells(whole, EXAMPLES, "mass.end", name="after training"),
        ],
        references=[plot.Reference("even\nattention", float(whole["alpha"].mean()))],
        x_label="training examples $N$",
        y_label="attention mass on the object",
        log_x=True,
        note="nothing removed",
    )


def summary(table: Table) -> list[str]:
    """Accuracy of every cell, N50 at every level, and N by interpolation."""
    control = {"of any kind": lambda rows: points(cut(rows, ALL, blind=True)).mean()}
    title = (
        "accuracy in %, by alpha_*, and with as many patches of any kind removed as at the last:"
    )
    columns = composites.by_fraction(table) | control
    return [*fit.tabulate(table, {EXAMPLES: "N"}, columns, title=title), *reach.summary(table)]


def with_control(*levels: float) -> list[tuple[bool, float]]:
    """Fractions; beside them, as a control, as many patches of any kind removed."""
    return [*((False, a) for a in levels), (True, ALL)]


figure = Figure(
    statement="removing background patches raises accuracy and lowers the examples needed",
    trial=composites.cifar(),
    # Over these fractions alpha^-2 grows by a factor of 1.9, and trials differ little: by N50 these
    # sizes decide whether it falls, by interpolation with which power.
    grid={
        CUT: with_control(*composites.FRACTIONS),
        EXAMPLES: [1000, 1750, 3000, 5000, 9000, 16_000, 28_000, 50_000],
    },
    trials=10,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={CUT: with_control(0.5, ALL), EXAMPLES: [40, 300]},
            settings=vars(composites.digits(composites.TINY, 10, (0, 1, 2), 30)),
        ),
        small=Scale(
            trials=5,
            grid={
                CUT: with_control(0.4, 0.6, 0.75, 0.9, ALL),
                EXAMPLES: [25, 50, 100, 200, 400],
            },
            settings=vars(composites.digits(composites.MODEST, 12, (0, 1, 2), 400)),
        ),
    ),
    claims=(
        in_fraction,
        at_every_size,
        in_examples,
        beyond_chance,
        attended,
        *falls,
        law,
        *by_interpolation,
    ),
    pictures={
        "accuracy": draw_accuracy,
        "samples": reach.draw_samples,
        "attention": draw_attention,
    },
    charts={"samples": reach.explore},
    findings={
        "accuracy": Finding(
            "6a.alpha",
            holds="Accuracy rises as background patches are removed:"
            " {value:.1f} points per tenth of alpha_*",
        ),
        "samples": Finding(
            "6b.falls.60",
            holds="Without background fewer examples reach 60 %: {value:.2f} times as many",
        ),
        "attention": Finding(
            "6a.attention", holds="Training moves attention to the object, by {value:.2f}"
        ),
    },
    summary=summary,
    reference="Figure 6(a) and (b)",
    sizes="smaller than the paper's: 32 x 32 composites, a ViT of width 128, own sizes of "
    "training sets",
    departures=f"{composites.DEPARTURES}; 1,000 steps of 64 for every N",
    shared=(*CUT, EXAMPLES),
)
