"""The grid under a phase diagram: shares of success from a table, checked and in order."""

import numpy as np
from numpy.typing import ArrayLike

from limelight.core.errors import InputError
from limelight.plot.marks import Number
from limelight.table import Table


def success_rates(
    table: Table, x: str, y: str, measure: str, level: Number, *, below: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The share of successes in each cell of a table.

    A trial that diverged (the `diverged` column, where the table has one), or whose measure is not
    a number, does not succeed. Of a trace the last value counts.

    Returns:
        The values of `x`, those of `y`, the rates (`y` by `x`, NaN where nothing ran) and the
        trials of each cell.
    """
    if not len(table):
        raise InputError("the table has no rows", "run the study first")
    for axis in table.axes:
        if axis not in (x, y) and _moves_alone(table, axis, x, y):
            pick = f"pick one value first: table.where({axis.replace('.', '__')}=...)"
            raise InputError(f"the table also varies over {axis!r}", pick)
    values = table[measure]
    values = values if values.ndim == 1 else values[:, -1]
    success = values < level if below else values >= level
    if "diverged" in table.columns:
        success &= ~table["diverged"].astype(bool)
    columns, column = np.unique(table[x], return_inverse=True)
    rows, row = np.unique(table[y], return_inverse=True)
    for name, ticks in ((x, columns), (y, rows)):
        if not np.issubdtype(ticks.dtype, np.number):
            raise InputError(f"the axis {name!r} does not hold numbers")
    shape = (len(rows), len(columns))
    place = np.ravel_multi_index((row, column), shape)
    trials = np.bincount(place, minlength=len(rows) * len(columns)).reshape(shape)
    wins = np.bincount(place, weights=success, minlength=trials.size).reshape(shape)
    rate = np.divide(wins, trials, out=np.full(shape, np.nan), where=trials > 0)
    return columns.astype(float), rows.astype(float), rate, trials


def _moves_alone(table: Table, axis: str, x: str, y: str) -> bool:
    """Whether an axis takes several values at one place of the plane."""
    codes = [np.unique(table[name], return_inverse=True)[1] for name in (x, y, axis)]
    with_it, without = np.unique(codes, axis=1), np.unique(codes[:2], axis=1)
    return with_it.shape[1] > without.shape[1]


def in_order(
    x: ArrayLike, y: ArrayLike, rate: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Check what a phase diagram was given, and sort it.

    Returns:
        The columns and the rows ascending, the rates in that order, and both orders.

    Raises:
        InputError: When the shapes disagree, a value repeats, or a rate is not a share.
    """
    x, y, rate = (np.asarray(v, dtype=float) for v in (x, y, rate))
    if x.ndim != 1 or y.ndim != 1 or rate.shape != (len(y), len(x)) or not rate.size:
        shape = f"x {x.shape}, y {y.shape}, rate {rate.shape}"
        raise InputError(f"the shapes do not agree: {shape}", "rate has a row for each y")
    if len(np.unique(x)) < len(x) or len(np.unique(y)) < len(y):
        raise InputError("a value of x or y repeats", "average its trials first")
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (y > 0).all()):
        raise InputError("x and y must be finite, and y positive for its logarithmic axis")
    known = rate[~np.isnan(rate)]
    if ((known < 0) | (known > 1)).any():
        raise InputError("a success rate lies outside [0, 1]")
    i, j = np.argsort(x), np.argsort(y)
    return x[i], y[j], rate[np.ix_(j, i)], i, j
