"""A table of numbers in words: one line per cell, one column per number."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from limelight._core.maths import in_text
from limelight.claims import Estimate, Undecided
from limelight.fit._families import Point
from limelight.table import Table

#: Coordinates, and what stands there: the rows of a cell, a point of an edge, anything.
Cells = Iterable[tuple[Mapping[str, Any], Any]]
#: A column: its head, and how its entry is read off a cell; the mean of a column of the rows.
Columns = Mapping[str, str | Callable[[Any], Any]]


def tabulate(
    table: Table | Cells,
    by: str | Sequence[str] | Mapping[str, str],
    columns: Columns,
    *,
    title: str = "",
    most: int | None = None,
) -> list[str]:
    """Lines for a terminal: a head, then the coordinates and numbers of every cell.

    Args:
        table: The rows, whose cells are read; or cells themselves, each its coordinates and what
            is read there, such as the points of an `Edge`.
        by: The coordinates that tell cells apart, in order; a mapping names their heads.
        columns: What is read off a cell: a number, an `Estimate`, a yes or no, or text. Where it
            is undecided, the entry says why. The name of a column stands for its mean.
        title: One line above.
        most: Cells at most; what is left out is said.

    Example:
        >>> table = Table({"n": np.array([8, 8, 16]), "loss": np.array([0.5, 0.25, 0.125])}, ("n",))
        >>> columns = {"mean loss": "loss", "lowest": lambda rows: rows["loss"].min()}
        >>> for line in tabulate(table, {"n": "examples"}, columns):
        ...     print(line)
          examples  mean loss  lowest
                 8      0.375    0.25
                16      0.125   0.125
        >>> tabulate([({"n": 8}, 2), ({"n": 16}, 4)], "n", {"square": lambda x: x * x})
        ['   n  square', '   8       4', '  16      16']
    """
    names = dict(by) if isinstance(by, Mapping) else {path: _last(path) for path in _several(by)}
    cells = list(table.cells(*names) if isinstance(table, Table) else table)
    rows = [
        [
            *(_named(at[name]) for name in names),
            *(_entry(read, part) for read in columns.values()),
        ]
        for at, part in cells[:most]
    ]
    heads = [in_text(head) for head in (*names.values(), *columns)]
    lines = aligned([heads, *rows])
    left = len(cells) - len(rows)
    more = [f"  and {left} more cells"] if left else []
    return [*([in_text(title)] if title else []), *lines, *more]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text as lines, each column as wide as its widest entry, numbers to the right.

    Example:
        >>> aligned([["a", "long head"], ["10", "x"]])
        ['   a  long head', '  10          x']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def in_words(value: Any) -> str:
    """A number with four digits, an estimate with its interval, anything else as it is.

    Example:
        >>> in_words(0.123456), in_words(Estimate(0.5, (0.25, 0.75), 10)), in_words(3)
        ('0.1235', '0.5 [0.25, 0.75]', '3')
        >>> in_words(Point("here", 0.5, 0.25, 0.75, 10)), in_words(True)
        ('0.5 [0.25, 0.75]', 'yes')
        >>> in_words(Estimate(float("nan"), None, 0, "no trial"))
        'no trial'
    """
    if isinstance(value, Point):
        value = Estimate(value.value, (value.low, value.high), value.draws)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Estimate):
        if np.isnan(value.value) and value.note:
            return value.note
        ends = "" if value.interval is None else " [{:.4g}, {:.4g}]".format(*value.interval)
        return f"{value.value:.4g}{ends}"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _named(value: Any) -> str:
    """A coordinate; one in words may hold maths."""
    return in_text(value) if isinstance(value, str) else in_words(value)


def _entry(read: str | Callable[[Any], Any], part: Any) -> str:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # means of nothing, in a run that is not finished
            return in_words(part[read].mean() if isinstance(read, str) else read(part))
    except Undecided as why:
        return why.message


def _several(by: str | Sequence[str]) -> Sequence[str]:
    return (by,) if isinstance(by, str) else by


def _last(path: str) -> str:
    return path.rpartition(".")[2].replace("_", " ")
