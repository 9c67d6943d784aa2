r"""Figure 6(b): the number of examples at which an accuracy is reached, counted in two ways.

N50 counts the trials above a level. Where the trials of a cell agree it knows no more than between
which two sizes they pass it. Accuracy is a number, and says where in between: trial by trial, by
interpolation.
"""

from functools import partial

import numpy as np

from limelight import fit, plot
from limelight.chart import Chart, Explorer
from limelight.claims import Below, Claim, Estimate, Fixed, Inside
from limelight.fit import Edge, Threshold
from limelight.fit.curves import crossing, slopes
from limelight.papers.li2023.boundary import law_of, line
from limelight.papers.li2023.composites import (
    ALL,
    EXAMPLES,
    RELEVANT,
    cut,
    fractions,
    mean,
    realised,
    sizes,
)
from limelight.papers.li2023.quotients import bracketed, quotients, single
from limelight.papers.recipe import claim
from limelight.table import Table

#: Test accuracy at which a trial succeeds: the paper's, and two that a smaller network may reach.
LEVELS = (0.775, 0.7, 0.6)
#: The accuracy that the claims by interpolation ask for, and those that a summary adds.
LEVEL, BESIDE = 0.6, (0.55, 0.6, 0.65)
#: Accuracies that an explorer offers: those of the claims among them.
LADDER = (0.5, 0.525, 0.55, 0.575, 0.6, 0.625, 0.65, 0.675, 0.7, 0.725, 0.75, 0.775)
FEWER = "Fewer examples suffice as background patches are removed"
SQUARE = "Examples needed grow as the relevant fraction to the power -2"


def to_reach(level: float) -> str:
    """A lower accuracy than the paper's, as the end of a sentence."""
    return f", to reach an accuracy of {level:.0%}"


def n50(table: Table, level: float) -> Edge:
    """N50 by fraction: the number of examples at which half of the trials reach an accuracy."""
    return table.cached(("accuracy", level), lambda: _n50(table, level))


def _n50(table: Table, level: float) -> Edge:
    rows = table.rows(~table["world.blind"].astype(bool))
    return fit.threshold(rows, along=EXAMPLES, measure="accuracy", level=level, by=(RELEVANT,))


def counted(table: Table, edge: Edge) -> np.ndarray:
    r"""$\alpha_*$, as counted, of every point of a boundary."""
    return np.array([realised(table, float(a)) for a in edge.x(RELEVANT)])


def falls(table: Table, level: float) -> Estimate:
    """N50 without background over N50 with all of it, accuracy at least {level:.1%}."""
    edge, ends = n50(table, level), (ALL, fractions(table)[0])
    found = quotients(edge, RELEVANT, *ends)
    resolved = bool(len(found.values)) and np.isfinite(found.values[0])
    return single(found) if resolved else bracketed(edge, RELEVANT, *ends)


def power(table: Table, level: float) -> Estimate:
    """Log-log slope of N50 in 1/alpha_*, accuracy at least {level:.1%}."""
    edge = n50(table, level)
    return law_of(edge, "power", "slope", 1 / counted(table, edge), edge.resolved, True)


def reached(table: Table, fraction: float, level: float) -> np.ndarray:
    """Log N at which each trial reaches an accuracy, background alone removed; NaN if unresolved.

    What is missing or diverged has no accuracy.
    """
    rows, counts = cut(table, fraction), sizes(table)
    accuracy = rows["accuracy"].astype(float)
    if "diverged" in rows.columns:
        accuracy = np.where(rows["diverged"].astype(bool), np.nan, accuracy)
    trials, trial = np.unique(table["trial"]), rows["trial"]
    grid = np.full((len(trials), len(counts)), np.nan)
    grid[np.searchsorted(trials, trial), np.searchsorted(counts, rows[EXAMPLES])] = accuracy
    return crossing(np.log(counts), grid, level)


def reach_saving(table: Table, level: float = LEVEL) -> Estimate:
    """N without background over N with all of it, geometric mean over trials.

    Trials that leave the grid are not left out, for they are not just any trials: with one of them
    there is no estimate.
    """
    logs = np.stack([reached(table, a, level) for a in (ALL, fractions(table)[0])])
    found = mean(logs[0] - logs[1], note=_unresolved(logs))
    low, high = np.exp(found.interval or (np.nan, np.nan))
    ends = None if found.interval is None else (float(low), float(high))
    return Estimate(float(np.exp(found.value)), ends, found.n, found.note)


def reach_power(table: Table, level: float = LEVEL) -> Estimate:
    r"""Slope of log N in log $1/\alpha_*$, by least squares trial by trial; their mean."""
    logs = np.stack([reached(table, a, level) for a in fractions(table)])
    x = -np.log([realised(table, a) for a in fractions(table)])
    return mean(slopes(x, logs), note=_unresolved(logs))


def _unresolved(logs: np.ndarray) -> str:
    """What to say of trials (the last axis) that do not pass the level at every fraction."""
    whole = np.isfinite(logs).all(axis=0)
    return "" if whole.all() else f"{whole.sum()} of {whole.size} trials pass the level in the grid"


def reach_claims(saving: str, law: str, fixed: Fixed, also: str = "") -> tuple[Claim, Claim]:
    """That fewer examples suffice and with which power, by interpolation."""
    return (
        claim(
            saving,
            f"{FEWER}{to_reach(LEVEL)}, by interpolation{also}.",
            Below(1.0),
            at="limelight; li2023, Figure 6(b) at another level",
            statistic=f"N at which a trial's accuracy reaches {LEVEL:.0%}, without background over "
            "with all of it, geometric mean over trials",
            fixed=fixed,
        )(reach_saving),
        claim(
            law,
            f"{SQUARE}{to_reach(LEVEL)}, by interpolation{also}.",
            Inside(1.5, 2.5),
            at="limelight; li2023, Theorem 1 (10), sufficient, read as a law",
            statistic="log-log slope in 1/alpha_* of N at which a trial's accuracy reaches "
            f"{LEVEL:.0%}, mean over trials",
            fixed=fixed,
        )(reach_power),
    )


def draw_samples(table: Table) -> plot.Picture:
    """Success by fraction and number of examples, with N50, at the level that shows most of it."""
    level = shown(table)
    edge = n50(table, level)
    levels, counts = fractions(table), sizes(table)
    x = np.array([realised(table, a) for a in levels])
    success = [
        [np.mean(cut(rows, a)["accuracy"] >= level) for a in levels]
        for rows in (table.where(course__examples=n) for n in counts)
    ]
    return plot.phase_diagram(
        x**-2.0,
        counts,
        success,
        x_label=r"$\alpha_*^{-2}$",
        y_label="training examples $N$",
        edge=line("N50, 95 % interval", edge, counted(table, edge) ** -2.0),
        top=(r"$\alpha_*$", np.round(x, 2)),
        bar_label=f"share of trials with accuracy of at least {100 * level:g} %",
    )


def explore(table: Table) -> Chart:
    """The same with the accuracy to move."""
    rows = table.rows(~table["world.blind"].astype(bool))
    flat = Table(rows.columns, (RELEVANT, EXAMPLES), table.manifest)
    return Explorer(
        upwards=EXAMPLES,
        measure="accuracy",
        edge=n50,
        across={
            r"$\alpha_*^{-2}$": lambda at: realised(table, float(at[RELEVANT])) ** -2.0,
            r"$\alpha_*$": lambda at: realised(table, float(at[RELEVANT])),
        },
        levels=LADDER,
        start=shown(table),
        below=False,
        label="training examples N",
        measured="test accuracy",
        found="N50, where half of the trials succeed",
    ).chart(flat)


def shown(table: Table) -> float:
    """The accuracy at which most boundary points are resolved; the highest of several."""
    return max(LEVELS, key=lambda level: (n50(table, level).resolved.sum(), level))


def summary(table: Table) -> list[str]:
    """N50 at every level, N by interpolation, and its slope."""

    def half(place: int, level: float) -> Threshold | str:
        edge = n50(table, level)
        return edge.thresholds[place] if edge.resolved.any() else "not in the grid"

    points = [({"a": a}, place) for place, a in enumerate(counted(table, n50(table, LEVEL)))]
    levels = {f"accuracy {level:.1%}": partial(half, level=level) for level in LEVELS}
    lines = fit.tabulate(points, {"a": "alpha_*"}, levels, title="N50:")
    return [*lines, *interpolated(table)]


def interpolated(table: Table) -> list[str]:
    """N by interpolation at every fraction, geometric mean over trials, and its slope."""

    def needed(fraction: float, level: float) -> str:
        found = mean(reached(table, fraction, level)).value
        return f"{np.exp(found):.0f}" if np.isfinite(found) else "not in the grid"

    known = [({"a": realised(table, fraction)}, fraction) for fraction in fractions(table)]
    levels = {f"accuracy {level:.0%}": partial(needed, level=level) for level in BESIDE}
    slope = {"slope in 1/alpha_*": partial(reach_power, table)}
    return [
        *fit.tabulate(known, {"a": "alpha_*"}, levels, title="N by interpolation:"),
        *fit.tabulate(
            [({"accuracy": f"{level:.0%}"}, level) for level in BESIDE], "accuracy", slope
        ),
    ]
