"""A plain picture of any table: what a run shows when no recipe says how to draw it."""

from dataclasses import replace

import numpy as np

from limelight._core.errors import InputError, suggest
from limelight._core.labels import label
from limelight.plot.cells import over_cells
from limelight.plot.marks import Map, Points
from limelight.plot.picture import WIDE, Axis, Panel, Picture
from limelight.table import Table

#: Columns that every table has; they are drawn only when asked for.
BOOKKEEPING = ("cell", "trial", "diverged", "steps")
#: More lines than this in one panel cannot be told apart: they become a map.
MOST_LINES = 4
#: An axis whose largest value is this many times its smallest is drawn on a logarithmic scale.
WIDE_RANGE = 20


def plain(table: Table, measure: str | None = None) -> Picture:
    """One measure over the axes of a table: lines over one, a map over two.

    Further axes are held at their middle value, and the caption says so.

    Args:
        table: One row per trial.
        measure: A column; the first measure of the table when not given.

    Example:
        >>> table = Table({"n": np.array([1, 1, 2, 2]), "loss": np.array([4.0, 2.0, 1.0, 1.0])})
        >>> picture = plain(Table(table.columns, ("n",)))
        >>> picture.panels[0].x.label, picture.panels[0].y.label
        ('n', 'loss')
    """
    name = measure or next(iter(measures(table)), "")
    if name not in table.columns or table[name].ndim != 1:
        raise InputError(f"no measure {name!r} to draw", suggest(name, measures(table)))
    axes = _axes(table)
    if not axes:
        raise InputError("the table has one cell: there is nothing to draw over")
    across, *others = axes
    lines = int(np.prod([len(table.values(axis)) for axis in others]))
    if lines <= MOST_LINES:
        return _lines(table, name, across, others)
    if others and _numeric(table, across) and _numeric(table, others[0]):
        rows, held = _hold(table, others[1:])
        return replace(_map(rows, name, across, others[0]), note=held)
    rows, held = _hold(table, others)
    return replace(_lines(rows, name, across, []), note=["bands: 95 % intervals", *held])


def measures(table: Table) -> list[str]:
    """The columns that can be drawn: one number or one yes or no per trial.

    Example:
        >>> table = Table({"n": np.array([1, 2]), "loss": np.array([0.3, 0.2])}, ("n",))
        >>> measures(table)
        ['loss']
    """
    free = [c for c in table.columns if c not in (*table.axes, *BOOKKEEPING)]
    return [c for c in free if table[c].ndim == 1 and table[c].dtype.kind in "bif"]


def _axes(table: Table) -> list[str]:
    """Axes with several values, the longest numeric one first; one of those that move together."""
    moved = table.manifest.get("configuration", {}).get("axes") or [[[a], []] for a in table.axes]
    names = [paths[0] for paths, _ in moved if paths[0] in table.columns]
    several = [name for name in names if len(table.values(name)) > 1]
    return sorted(several, key=lambda a: (not _numeric(table, a), -len(table.values(a))))


def _numeric(table: Table, axis: str) -> bool:
    return table[axis].dtype.kind in "if"


def _hold(table: Table, axes: list[str]) -> tuple[Table, list[str]]:
    """The rows at the middle value of some axes, and the words for it."""
    held = []
    for axis in axes:
        values = table.values(axis)
        middle = values[len(values) // 2]
        table = table.rows(table[axis] == middle)
        held.append(f"{label(axis)} = {middle}")
    return table, held


def _lines(table: Table, name: str, across: str, by: list[str]) -> Picture:
    if not _numeric(table, across):
        return _named(table, name, across)
    panel = Panel(
        "",
        over_cells(table, across, name, by, name=_lines_named(by) if by else label(name)),
        x=Axis(label(across), log=_wide(table.values(across))),
        y=Axis(_words(table, name)),
    )
    return Picture([panel], width=WIDE, note="bands: 95 % intervals")


def _lines_named(by: list[str]) -> str:
    """How lines are told apart: a format of the values of the axes."""
    return ", ".join(f"{label(axis).replace('{', '{{').replace('}', '}}')} = {{}}" for axis in by)


def _named(table: Table, name: str, across: str) -> Picture:
    """An axis of words: one mark per value."""
    words = [str(at[across]) for at, _ in table.cells(across)]
    places = lambda values: np.arange(len(values))
    marks = over_cells(table, across, name, name=label(name), transform=places, form=Points)
    axes = {"x": Axis(label(across), categories=words), "y": Axis(_words(table, name))}
    return Picture([Panel("", marks, **axes)], note="bars: 95 % intervals")


def _map(table: Table, name: str, across: str, up: str) -> Picture:
    x, y = table.values(across), table.values(up)
    values = np.full((len(y), len(x)), np.nan)
    for at, rows in table.cells(across, up):
        place = np.searchsorted(y, at[up]), np.searchsorted(x, at[across])
        values[place] = rows[name].mean()
    cells = Map(values, _words(table, name), x=x, y=y)
    axes = {"x": Axis(label(across), log=_wide(x)), "y": Axis(label(up), log=_wide(y))}
    return Picture([Panel("", [cells], **axes)], width=WIDE)


def _words(table: Table, name: str) -> str:
    return f"share of trials with {label(name)}" if table[name].dtype == bool else label(name)


def _wide(values: np.ndarray) -> bool:
    return bool(values.min() > 0 and values.max() >= WIDE_RANGE * values.min())
