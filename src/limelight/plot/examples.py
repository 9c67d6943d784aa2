"""A picture of one example of a world: its tokens, and what each of them is."""

from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight._core.shown import Shown
from limelight.plot._palette import COLOURS
from limelight.plot.marks import Map, Mark, Points
from limelight.plot.picture import TWO_COLUMNS, WIDE, Axis, Panel, Picture

#: Tokens of a row at most; the rest of a longer example is left out, and the caption says so.
MOST = 60


def example(world: Any, seed: int = 0) -> Picture:
    """One example of a world, drawn from what the world tells of it.

    Tokens in a row have their roles over their values; patches of an image lie where they are, by
    their sets and with their marks; tokens of clusters lie in the plane in which they differ most.

    Args:
        world: Anything with `shown(seed)`: every world has it.
        seed: Of the trial and of the example.

    Raises:
        InputError: For what is no world.

    Example:
        >>> import limelight as ll
        >>> picture = ll.plot.example(ll.worlds.SparseBoolean(length=8, positions=(1, 4, 5)))
        >>> [panel.title for panel in picture.panels]
        ['which bits matter', 'the bits']
    """
    if not callable(getattr(world, "shown", None)):
        raise InputError(f"{type(world).__name__} does not show an example", "give a world")
    told: Shown = world.shown(seed)
    name = type(world).__name__
    draw = {"row": _row, "grid": _grid, "plane": _plane}[told.layout]
    title = f"One example of {name}" + (f": {told.label}" if told.label else "")
    return draw(told).titled(title)


def _row(told: Shown) -> Picture:
    """Roles over values, token by token."""
    shown = min(len(told.values), MOST)
    plural = f"{told.token}s"
    ends = Axis(told.token, limits=(0, shown))
    panels = []
    if told.groups is not None:
        places = np.arange(shown) + 0.5
        marks = _named(told, shown, lambda at: (places[at], np.zeros(len(at))), 200 / shown)
        title = f"which {plural} matter" if "relevant" in told.names else f"what the {plural} are"
        panels.append(Panel(title, marks, Axis(limits=(-1, 1), ticks=()), ends))
    cells = Map(told.values[:shown].T, "value" if told.values.shape[1] > 1 else "", square=False)
    panels.append(Panel(f"the {plural}", [cells], Axis("coordinate"), Axis(told.token)))
    left_out = len(told.values) - shown
    note = f"{left_out} more {plural} are not drawn" if left_out else ""
    rows = 0.7 * (len(panels) > 1) + min(0.5 + 0.16 * told.values.shape[1], 2.4)
    return Picture(panels, 1, TWO_COLUMNS, rows + 0.5, note=note)


def _grid(told: Shown) -> Picture:
    """Patches where they lie: what each is, and what it holds."""
    side = round(len(told.values) ** 0.5)
    panels = []
    if told.groups is not None:
        marks: list[Mark] = [*_squares(told, side)]
        if told.signs is not None:
            marks += _signs(told.signs, side)
        panels.append(Panel("which patches belong together", marks, *_square_axes(side)))
    values = told.values.mean(axis=1).reshape(side, side)
    if told.image is not None:
        panels.append(Panel("the image", [Map(told.image)]))
    else:
        panels.append(Panel("mean value of a patch", [Map(values, "value")]))
    note = "signs: the mark of a patch" if told.signs is not None else ""
    width = TWO_COLUMNS if len(panels) > 1 else WIDE
    return Picture(panels, width=width, height=3.0, note=note)


def _plane(told: Shown) -> Picture:
    """Tokens in the plane in which they differ most."""
    centred = told.values - told.values.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    flat = centred @ axes[:2].T
    flat = np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    marks = _named(told, len(flat), lambda at: (flat[at, 0], flat[at, 1]), 4.0)
    words = "direction of {} variance"
    panel = Panel("", marks, Axis(words.format("second most")), Axis(words.format("most")))
    return Picture([panel], width=WIDE, height=3.2)


def _named(told: Shown, shown: int, place: Any, size: float) -> list[Mark]:
    """Marks of every group that occurs, one label each."""
    groups = np.zeros(shown, dtype=int) if told.groups is None else told.groups[:shown]
    names = told.names or ("",)
    found: list[Mark] = []
    for number, name in enumerate(names):
        at = np.flatnonzero(groups == number)
        if len(at):
            many = number >= len(COLOURS)
            look = {"marker": "s" if size > 5 and not many else number, "size": min(size, 14.0)}
            found.append(Points(name, *place(at), colour=number, **look))
    return found


def _squares(told: Shown, side: int) -> list[Mark]:
    """A coloured square for every patch; more sets than colours are told apart by shade."""
    assert told.groups is not None
    if len(np.unique(told.groups)) > len(COLOURS):
        return [Map(told.groups.reshape(side, side), square=True, opacity=0.6)]
    y, x = np.divmod(np.arange(side * side), side)
    return _named(told, side * side, lambda at: (x[at] + 0.5, y[at] + 0.5), 120 / side)


def _signs(signs: np.ndarray, side: int) -> list[Mark]:
    found: list[Mark] = []
    for sign, marker in ((1, "+"), (-1, "_")):
        y, x = np.divmod(np.flatnonzero(signs == sign), side)
        if len(x):
            found.append(Points("", x + 0.5, y + 0.5, colour="ink", marker=marker, size=8))
    return found


def _square_axes(side: int) -> tuple[Axis, Axis]:
    """Rows of an image run downwards."""
    return Axis(limits=(side, 0), ticks=()), Axis(limits=(0, side), ticks=())
