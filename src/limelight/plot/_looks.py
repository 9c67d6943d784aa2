"""Which colour, marker and dash a label has; one look in the whole picture."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from limelight._core.errors import InputError, suggest
from limelight.plot import _palette
from limelight.plot.marks import (
    Bars,
    Bundle,
    Colour,
    Contour,
    Guide,
    Mark,
    Marker,
    Number,
    Points,
    Reference,
    Series,
)

ROLES = {"ink": _palette.INK, "muted": _palette.MUTED, "faint": _palette.FAINT, "white": "#ffffff"}


@dataclass(frozen=True)
class Look:
    """How a mark is drawn."""

    index: int
    colour: str
    marker: str
    dash: Any
    width: Number = 1.2
    size: Number = 3.4
    hollow: bool = False

    def line(self) -> dict[str, Any]:
        """What a line is drawn with."""
        width = float(self.width)
        return {"color": self.colour, "linestyle": self.dash, "linewidth": width}

    def marks(self) -> dict[str, Any]:
        """What marks are drawn with; a white edge tells those apart that touch."""
        shown = {"color": self.colour, "marker": self.marker, "markersize": float(self.size)}
        if self.marker in ("x", "+", "|", "_", "1", "2"):  # drawn by strokes, without a face
            return shown | {"markeredgewidth": 1.0}
        if self.hollow:
            return shown | {"markerfacecolor": "white", "markeredgewidth": 0.8}
        return shown | {"markeredgecolor": "white", "markeredgewidth": 0.4}


Coloured = Series | Bundle | Contour | Bars


def looks_of(marks: Iterable[Mark]) -> dict[str, Look]:
    """The look of every label.

    A label takes the colour that one of its marks asks for; the others take the colours of the
    palette in turn, in the order in which they appear.

    Raises:
        InputError: For a reference line that is like a label which does not occur.
    """
    marks = list(marks)
    named = [mark for mark in marks if isinstance(mark, Coloured) and mark.label]
    asked: dict[str, Colour] = {
        mark.label: mark.colour for mark in named if mark.colour is not None
    }
    turn = 0
    found: dict[str, Look] = {}
    for mark in named:
        if mark.label in found:
            continue
        colour = asked.get(mark.label)
        if colour is None:
            colour, turn = turn, turn + 1
        found[mark.label] = _look(colour)
    for mark in marks:
        if isinstance(mark, Reference) and mark.like and mark.like not in found:
            raise InputError(f"no mark is called {mark.like!r}", suggest(mark.like, list(found)))
    return found


def look_of(mark: Coloured, looks: dict[str, Look]) -> Look:
    """The look of one mark: that of its label, and what it asks for itself."""
    look = looks[mark.label] if mark.label else _look("muted")
    if mark.colour is not None:
        look = replace(look, colour=colour_of(mark.colour))
    if isinstance(mark, Series):
        look = replace(
            look,
            marker=look.marker if mark.marker is None else _marker(mark.marker),
            dash=look.dash
            if mark.dash is None
            else _palette.DASHES[mark.dash % len(_palette.DASHES)],
            width=mark.width or (1.0 if isinstance(mark, Guide) else look.width),
        )
    if isinstance(mark, Bundle | Contour):
        dash = mark.dash if isinstance(mark, Bundle) else 0
        look = replace(look, dash=_palette.DASHES[dash % len(_palette.DASHES)])
    if isinstance(mark, Points):
        look = replace(look, size=mark.size or 3.8, hollow=mark.hollow)
    return look


def colour_of(colour: Colour) -> str:
    """A colour of the palette or of a part that marks play."""
    if isinstance(colour, str):
        return ROLES[colour]
    return _palette.COLOURS[(colour or 0) % len(_palette.COLOURS)]


def _look(colour: Colour) -> Look:
    """Colour, marker and dash of a place in the palette: 35 of them are told apart."""
    index = colour if isinstance(colour, int) else 0
    turn, place = divmod(index, len(_palette.COLOURS))
    dash = _palette.DASHES[(place + turn) % len(_palette.DASHES)]
    return Look(index, colour_of(colour), _palette.MARKERS[place], dash)


def _marker(marker: Marker) -> str:
    return (
        _palette.MARKERS[marker % len(_palette.MARKERS)] if isinstance(marker, int) else str(marker)
    )
