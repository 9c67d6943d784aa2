"""From the cells of a table to lines: the commonest picture there is."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limelight._core.errors import InputError
from limelight.claims import Estimate
from limelight.fit import exact, mean_interval
from limelight.plot.marks import Series
from limelight.table import Table

Reading = Estimate | float | tuple[float, float, float]
"""What a cell says: an estimate, a number, or a number with its lower and upper end."""


def over_cells(
    table: Table,
    x: str,
    y: str | Callable[[Table], Any],
    by: str | Sequence[str] = (),
    *,
    name: str | Callable[..., str] = "",
    transform: Callable[[np.ndarray], ArrayLike] = np.asarray,
    form: Callable[..., Series] = Series,
) -> list[Series]:
    """Lines over an axis of a table, one for each value of another axis.

    Args:
        table: One row for each trial.
        x: The axis across.
        y: A column, of which the mean is drawn with its 95 % interval, or of a column of yes and no
            the share of yes with its exact 95 % interval; or a function from the rows
            of a cell to an estimate, a number, or a number and the two ends of its interval.
        by: The axis, or the axes, that tell the lines apart; one line when not given.
        name: The labels: a format such as `"$M$ = {}"` or `"C = {}, {:g}"`, or a function, of the
            values of `by`. The axis and its value when not given; the words as they are for one
            line.
        transform: What to draw of `x`, such as `lambda a: 1 / a`.
        form: `Series` for lines with bands, `Points` for marks with error bars, or `Guide`; with
            a look of its own as `partial(Points, size=3)`.

    Returns:
        The lines in the order of `by`; a cell without an interval has NaN for its ends.

    Raises:
        InputError: When `y` is a column and the table varies over an axis besides `x` and `by`.

    Example:
        >>> table = Table({"n": np.array([1, 1, 2, 2]), "loss": np.array([4.0, 2.0, 1.0, 1.0])})
        >>> [line] = over_cells(table, "n", lambda rows: rows["loss"].mean(), name="mean loss")
        >>> line.label, np.asarray(line.y).tolist()
        ('mean loss', [3.0, 1.0])
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    found = []
    for at, part in table.cells(*by) if by else [({}, table)]:
        values = [at[axis] for axis in by]
        cells = list(part.cells(x))
        if isinstance(y, str):
            _refuse_more_axes(table, cells)
        read = np.array([_ends(_read(rows, y)) for _, rows in cells], dtype=float).reshape(-1, 3)
        low_high = () if np.isnan(read[:, 1:]).all() else (read[:, 1], read[:, 2])
        across = transform(np.array([where[x] for where, _ in cells]))
        found.append(form(_label(name, by, values), across, read[:, 0], *low_high))
    return found


def band(label: str, x: ArrayLike, trials: ArrayLike, *, form: type[Series] = Series) -> Series:
    """The mean over trials at each place, with its 95 % interval.

    Args:
        label: Its name in the legend.
        x: The places, such as the steps of a trace.
        trials: Trials by places.
        form: `Series` for a line with a band, `Points` for marks with error bars.

    Example:
        >>> line = band("loss", [0, 10], [[1.0, 0.5], [0.8, 0.3]])
        >>> line.label, np.asarray(line.y).round(2).tolist()
        ('loss', [0.9, 0.4])
    """
    values = np.atleast_2d(np.asarray(trials, dtype=float))
    if len(values) < 2:
        return form(label, x, values[0])
    return form(label, x, values.mean(axis=0), *mean_interval(values, level=0.95))


def _refuse_more_axes(table: Table, cells: list[tuple[dict, Table]]) -> None:
    """A mean over all rows would mix the values of any other axis."""
    for axis in table.axes:
        if any(len(rows.values(axis)) > 1 for _, rows in cells):
            pick = f"add it to by, or pick one value: table.where({axis.replace('.', '__')}=...)"
            raise InputError(f"the table also varies over {axis!r}", pick)


def _read(rows: Table, y: str | Callable[[Table], Any]) -> Any:
    if not isinstance(y, str):
        return y(rows)
    values = rows[y]
    if values.ndim != 1:
        raise InputError(f"{y!r} is a trace", "pass a function that reads one number off it")
    if values.dtype == bool:
        low, high = exact(values.sum(), len(values))
    else:
        low, high = mean_interval(values.astype(float), level=0.95)
    return float(values.mean()), float(low), float(high)


def _ends(read: Any) -> tuple[float, float, float]:
    if hasattr(read, "value"):  # an estimate, or a point or a threshold with ends of its own
        ends = getattr(read, "interval", None)
        if ends is None and hasattr(read, "low"):
            ends = (read.low, read.high)
        low, high = ends or (np.nan, np.nan)
        return (read.value, low, high)
    if np.ndim(read) == 0:
        return (float(read), np.nan, np.nan)
    value, low, high = read
    return (value, low, high)


def _label(name: str | Callable[..., str], by: tuple[str, ...], values: list) -> str:
    if callable(name):
        return name(*values)
    if name:
        return name.format(*values)
    words = [value if isinstance(value, str) else f"{value:g}" for value in values]
    return ", ".join(f"{a.rpartition('.')[2]} = {v}" for a, v in zip(by, words, strict=True))
