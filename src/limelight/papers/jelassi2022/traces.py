"""What is read off a network as it is trained: steps, the stopping step, association, rates.

A trace has one row per trial and one column per reading; `descent.every` steps lie between two
readings. A trial that ended early has no numbers after its last reading.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from limelight.table import Table


def steps(rows: Table) -> np.ndarray:
    """The step of every reading."""
    return rows.setting("descent.every") * np.arange(rows["trace.loss"].shape[1])


def last(rows: Table) -> np.ndarray:
    """The last reading of each trial."""
    return np.isfinite(rows["trace.loss"]).sum(axis=1) - 1


def stop(rows: Table) -> np.ndarray:
    """The reading at the stopping step, the last one where it was not reached."""
    reading = rows["stop"].astype(float) / rows.setting("descent.every")
    return np.where(np.isfinite(reading), reading, last(rows)).astype(int)


def first_exact(rows: Table) -> np.ndarray:
    """The first reading at which every row of attention is exact, -1 for never."""
    exact = rows["trace.exact"] == 1.0
    return np.where(exact.any(axis=1), exact.argmax(axis=1), -1)


def value_at(rows: Table, trace: str, reading: np.ndarray) -> np.ndarray:
    """A trace of each trial at a reading of its own."""
    return rows[f"trace.{trace}"][np.arange(len(rows)), reading].astype(float)


def exact_at(rows: Table, reading: np.ndarray) -> np.ndarray:
    """Seeds with every row of attention exact at a reading; what diverged has none."""
    return (value_at(rows, "exact", reading) == 1.0) & ~rows["diverged"].astype(bool)


def exact_before_error(rows: Table, linear: float) -> np.ndarray:
    """Seeds whose error is above half the linear rule's when association is first exact."""
    first = first_exact(rows)
    return (first >= 0) & (value_at(rows, "error", np.maximum(first, 0)) > linear / 2)


def over_seeds(exact: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of exact seeds and the median error, reading by reading.

    Where some seeds have ended, the others would speak for all of them: not a number.
    """
    whole = np.isfinite(exact).all(axis=0) & np.isfinite(error).all(axis=0)
    kept, middle = (exact == 1.0).mean(axis=0), np.median(error.astype(float), axis=0)
    return np.where(whole, kept, np.nan), np.where(whole, middle, np.nan)


def first_exact_step(rows: Table) -> str:
    """The median step at which association is first exact, in words."""
    first = first_exact(rows)
    return f"{np.median(steps(rows)[first[first >= 0]]):.0f}" if (first >= 0).any() else "never"


def columns_at(
    name: str, reading: Callable[[Table], np.ndarray]
) -> dict[str, Callable[[Table], Any]]:
    """Columns of a summary: median step of a reading, exact seeds then, and the median error."""
    return {
        f"{name} at step": lambda rows: np.median(steps(rows)[reading(rows)]),
        f"exact at {name}": lambda rows: exact_at(rows, reading(rows)).sum(),
        f"error at {name}": lambda rows: np.median(value_at(rows, "error", reading(rows))),
    }


#: Step rules in words.
RULES = {"curvature": "curvature steps", "two_rate": "constant rates"}


def step_rules(table: Table) -> str:
    """How much faster attention moved than the value vector, for every step rule."""
    if "descent.mode" not in table.axes:
        return _step_rule(table.setting("descent.mode"), table)
    parts = table.cells("descent.mode")
    return "; ".join(_step_rule(str(at["descent.mode"]), rows) for at, rows in parts)


def _step_rule(mode: str, rows: Table) -> str:
    if "trace.logit_rate" not in rows.columns:
        return RULES.get(mode, mode)
    ratio = (rows["trace.logit_rate"] / rows["trace.value_rate"]).ravel()
    low, middle, high = (rough(float(r)) for r in np.nanpercentile(ratio, [5, 50, 95]))
    words = f"{RULES.get(mode, mode)}: the rate of A is {middle} times that of v"
    return f"{words} (5 to 95 %: {low} to {high})" if mode == "curvature" else words


def rough(number: int | float | np.floating) -> str:
    """Two digits of a number, without an exponent.

    Example:
        >>> rough(25_712.0), rough(0.0021)
        ('26,000', '0.0021')
    """
    return f"{float(f'{number:.2g}'):,g}"


def diverged(table: Table) -> str:
    """How many trials ended early, in words."""
    return f"{int(table['diverged'].sum())} of {len(table)} trials diverged"
