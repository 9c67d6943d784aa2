r"""Figure 6(b) read trial by trial: the number of examples at which a trial reaches an accuracy.

N50 counts the trials above a level. Where the trials of a cell agree it knows no more than between
which two sizes they pass it. Accuracy is a number, and tells where in between.
"""

from collections.abc import Callable

import numpy as np

from limelight.claims import Below, Claim, Estimate, Inside
from limelight.fit.curves import crossing
from limelight.papers.li2023 import composites
from limelight.papers.li2023.composites import (
    ALL,
    EXAMPLES,
    cut,
    fractions,
    mean,
    realised,
    savings,
    sizes,
)
from limelight.papers.li2023.quotients import single
from limelight.table import Table

#: The accuracy that the claims ask for, and those that are told beside it.
LEVEL, TOLD = 0.6, (0.55, 0.6, 0.65)


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


def unresolved(logs: np.ndarray) -> str:
    """What to say of trials (the last axis) that do not pass the level at every fraction."""
    whole = np.isfinite(logs).all(axis=0)
    return "" if whole.all() else f"{whole.sum()} of {whole.size} trials pass the level in the grid"


# --- estimates --------------------------------------------------------------------------------


def saving(level: float) -> Callable[[Table], Estimate]:
    """N without background over N with all of it, geometric mean over trials.

    Trials that leave the grid are not left out, for they are not just any trials: with one of them
    there is no estimate.
    """

    def estimate(table: Table) -> Estimate:
        logs = np.stack([reached(table, a, level) for a in (ALL, fractions(table)[0])])
        found = mean(logs[0] - logs[1], note=unresolved(logs))
        low, high = found.interval or (np.nan, np.nan)
        ends = None if found.interval is None else (float(np.exp(low)), float(np.exp(high)))
        return Estimate(float(np.exp(found.value)), ends, found.n, found.note)

    return estimate


def power(level: float) -> Callable[[Table], Estimate]:
    r"""Slope of log N in log $1/\alpha_*$, by least squares trial by trial; their mean."""

    def estimate(table: Table) -> Estimate:
        levels = fractions(table)
        logs = np.stack([reached(table, a, level) for a in levels])
        x = -np.log([realised(table, a) for a in levels])
        x = x - x.mean()
        return mean(x @ logs / (x @ x), note=unresolved(logs))

    return estimate


# --- claims and words -------------------------------------------------------------------------

LATER = "added after the first table had been seen, where N50 jumps from gap to gap"
BEFORE = "the rule was fixed before this table was made"
FEWER = "Fewer examples suffice as background patches are removed"
SQUARE = "Examples needed grow as the relevant fraction to the power -2"


def claims(falls: str, law: str, when: str) -> tuple[Claim, Claim]:
    """That fewer examples suffice and with which power, by interpolation; and since when asked."""
    return (
        Claim(
            falls,
            f"{FEWER}, by interpolation ({when}).",
            f"N at which a trial's accuracy reaches {LEVEL:.0%}, without background over with all"
            " of it, geometric mean over trials",
            saving(LEVEL),
            Below(1.0),
            f"limelight, {when}; li2023, Figure 6(b)",
        ),
        Claim(
            law,
            f"{SQUARE}, by interpolation ({when}).",
            f"log-log slope in 1/alpha_* of N at which a trial's accuracy reaches {LEVEL:.0%},"
            " mean over trials",
            power(LEVEL),
            Inside(1.5, 2.5),
            f"limelight, {when}; li2023, Theorem 1 (10)",
        ),
    )


REACH_CLAIMS = claims("6b.reach.60", "6b.reach-law.60", LATER)

#: The same questions, and those of N50, for a table of sizes that lie closer.
CLOSE_CLAIMS = (
    Claim(
        "close.falls",
        f"{FEWER}.",
        f"N50 without background over N50 with all of it, accuracy at least {LEVEL:.0%}",
        lambda table: single(savings(table, LEVEL)),
        Below(1.0),
        f"limelight, {BEFORE}; li2023, Figure 6(b)",
    ),
    Claim(
        "close.law",
        f"{SQUARE}.",
        f"log-log slope of N50 in 1/alpha_*, accuracy at least {LEVEL:.0%}",
        composites.power(LEVEL),
        Inside(1.5, 2.5),
        f"limelight, {BEFORE}; li2023, Theorem 1 (10)",
    ),
    *claims("close.reach", "close.reach-law", BEFORE),
)


def summary(table: Table) -> list[str]:
    """N by interpolation at every fraction, geometric mean over trials, and its slope."""
    lines = []
    for level in TOLD:
        told = []
        for a in fractions(table):
            found = mean(reached(table, a, level))
            n = f"{np.exp(found.value):.0f}" if np.isfinite(found.value) else "not in the grid"
            told.append(f"{realised(table, a):.2f}: {n}")
        law = power(level)(table)
        ends = "" if law.interval is None else " [{:.2f}, {:.2f}]".format(*law.interval)
        lines.append(
            f"N at accuracy {level:.0%} by interpolation, by alpha_*: {', '.join(told)};"
            f" slope in 1/alpha_* {law.value:.2f}{ends}"
        )
    return lines
