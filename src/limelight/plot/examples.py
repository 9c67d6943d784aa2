"""A picture of one example of a world: its tokens, and what each of them is."""

import inspect
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight._core.shown import Shown
from limelight.plot._palette import COLOURS
from limelight.plot.marks import Map, Mark, Points, Text
from limelight.plot.picture import TWO_COLUMNS, WIDE, Axis, Panel, Picture

#: Tokens of a row at most; the rest of a longer example is left out, and the caption says so.
MOST = 60


def example(world: Any, seed: int = 0) -> Picture:
    """One example of a world, drawn from what the world tells of it.

    Tokens in a row have their roles over their values; patches of an image lie where they are, by
    their sets and with their marks; points lie in the plane in which they differ most.

    Args:
        world: Anything with `shown(seed)`: every world has it.
        seed: Of the trial and of the example.

    Raises:
        InputError: For what is no world.

    Example:
        >>> import limelight as ll
        >>> picture = ll.plot.example(ll.worlds.SparseBoolean(length=8, positions=(1, 4, 5)))
        >>> picture.title[:28], picture.subtitle[:12]
        ('One example of SparseBoolean', 'Uniform bits')
    """
    if not callable(getattr(world, "shown", None)):
        raise InputError(f"{type(world).__name__} does not show an example", "give a world")
    told: Shown = world.shown(seed)
    draw = {"row": _row, "grid": _grid, "plane": _plane}[told.layout]
    title = f"One example of {type(world).__name__}" + (f": {told.label}" if told.label else "")
    return draw(told).titled(title, summary(world))


def _row(told: Shown) -> Picture:
    """A column per token: its values, and over them a mark of what it is."""
    shown = min(len(told.values), MOST)
    values = told.values[:shown].T
    rows, plural = len(values), _several(told.token)
    inch = min(max(2.0 / rows, 0.07), 0.36)  # of one row
    over = 0.5 / inch if told.groups is not None else 0.0
    marks: list[Mark] = [Map(values, square=False, missing="blank")]
    places = np.arange(shown) + 0.5
    if told.groups is not None:
        line = lambda at: (places[at], np.full(len(at), -0.13 / inch))
        marks += _named(told, shown, line, min(260 / shown, 12.0))
    hidden = np.argwhere(np.isnan(values))
    marks += [Text("?", (column + 0.5, row + 0.5), bold=True) for row, column in hidden]
    side = Axis(f"{rows} coordinates" if rows > 1 else "", limits=(rows, -over))
    panel = Panel("", marks, side, Axis(f"{shown} {plural}"))
    left_out = len(told.values) - shown
    note = (
        f"{left_out} more {plural} are not drawn" if left_out else "",
        _shades(values),
        "?: hidden from the model" if len(hidden) else "",
    )
    return Picture([panel], 1, TWO_COLUMNS, inch * (rows + over) + 0.35, note=note)


def _grid(told: Shown) -> Picture:
    """Patches where they lie: what each is, and what it holds."""
    side = round(len(told.values) ** 0.5)
    panels = []
    if told.groups is not None:
        marks: list[Mark] = [*_squares(told, side)]
        if told.signs is not None:
            marks += _signs(told.signs, side)
        kinds = "what each patch shows" if told.image is not None else "the set of each patch"
        panels.append(Panel(kinds, marks, *_square_axes(side)))
    values = told.values.mean(axis=1).reshape(side, side)
    shown = ("the image", told.image) if told.image is not None else ("mean of each patch", values)
    panels.append(Panel(shown[0], [Map(shown[1])]))
    note = (
        "+ and −: marks on patches" if told.signs is not None and (told.signs < 0).any() else "",
        "+: corrupted patches" if told.signs is not None and not (told.signs < 0).any() else "",
        _shades(shown[1]),
    )
    return Picture(panels, width=WIDE if len(panels) > 1 else 2.6, height=2.6, note=note)


def _plane(told: Shown) -> Picture:
    """Tokens in their plane, or in that in which they differ most."""
    size, wide = told.values.shape
    flat, sides = told.values, ("first coordinate", "second coordinate")
    if wide != 2:
        centred = told.values - told.values.mean(axis=0)
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        flat = np.pad(centred @ axes[:2].T, ((0, 0), (0, max(0, 2 - wide, 2 - size))))
        sides = ("direction of most variance", "direction of second most variance")
    marks = _named(told, size, lambda at: (flat[at, 0], flat[at, 1]), 5.0)
    panel = Panel("", marks, Axis(sides[1]), Axis(sides[0]))
    note = f"{size} {_several(told.token)} of {wide} coordinates" if wide != 2 else ""
    return Picture([panel], width=WIDE, height=3.0, note=note)


def _shades(values: np.ndarray) -> str:
    ends = f"{np.nanmin(values):.2g}, dark, to {np.nanmax(values):.2g}, light"
    return f"values from {ends.replace('-', '−')}"


def _several(token: str) -> str:
    """More than one of them.

    Example:
        >>> _several("bit"), _several("patch")
        ('bits', 'patches')
    """
    return token + ("es" if token.endswith("ch") else "s")


def _named(told: Shown, shown: int, place: Any, size: float) -> list[Mark]:
    """Marks of every group that occurs, one label each."""
    groups = np.zeros(shown, dtype=int) if told.groups is None else told.groups[:shown]
    names = told.names or ("",)
    found: list[Mark] = []
    for number, name in enumerate(names):
        at = np.flatnonzero(groups == number)
        if len(at):
            many = number >= len(COLOURS)
            look = {"marker": "s" if size > 5 and not many else number, "size": size}
            found.append(Points(name, *place(at), colour=number, **look))
    return found


def _squares(told: Shown, side: int) -> list[Mark]:
    """A coloured square for every patch; more sets than colours are told apart by shade."""
    assert told.groups is not None
    if len(np.unique(told.groups)) > len(COLOURS):
        return [Map(told.groups.reshape(side, side), square=True, opacity=0.6)]
    y, x = np.divmod(np.arange(side * side), side)
    return _named(told, side * side, lambda at: (x[at] + 0.5, y[at] + 0.5), 90 / side)


def _signs(signs: np.ndarray, side: int) -> list[Mark]:
    found: list[Mark] = []
    for sign, marker in ((1, "+"), (-1, "_")):
        y, x = np.divmod(np.flatnonzero(signs == sign), side)
        if len(x):
            found.append(Points("", x + 0.5, y + 0.5, colour="ink", marker=marker, size=8))
    return found


def _square_axes(side: int) -> tuple[Axis, Axis]:
    """Rows of an image run downwards; above them is room for a name."""
    return Axis(limits=(side, -0.3), ticks=()), Axis(limits=(0, side + 0.3), ticks=())


def summary(part: Any) -> str:
    """What a class says that it is, in its first sentence."""
    words = inspect.getdoc(type(part)) or ""
    return " ".join(words.split("\n\n")[0].split()).rstrip(".").replace("`", "")
