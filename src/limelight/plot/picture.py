"""A picture as plain values: panels with axes and marks, a title, a note for the caption."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from limelight._core.errors import InputError
from limelight.plot.marks import Mark, Number, as_series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE_COLUMN, WIDE, TWO_COLUMNS = 3.4, 4.6, 7.0
"""Inches: one column of a journal page, a comfortable single panel, the whole page."""


@dataclass(frozen=True)
class Axis:
    """What runs along one side of a panel.

    Args:
        label: What it is, with its unit.
        log: Whether it is logarithmic.
        limits: Its ends; around everything that is drawn when not given.
        ticks: The values to mark, or the values and what to write there. Where there is no room
            for all the words, some stand without.
        categories: Names of the places 0, 1, 2, ..., instead of numbers.

    Example:
        >>> from limelight import plot
        >>> plot.Axis("training examples $N$", log=True, ticks=(1, 10, 100)).label
        'training examples $N$'
    """

    label: str = ""
    log: bool = False
    limits: tuple[Number, Number] | None = None
    ticks: Sequence[Number] | np.ndarray | Mapping[Any, str] | None = None
    categories: Sequence[str] = ()


@dataclass(frozen=True)
class Panel:
    """One panel.

    Args:
        title: One line over it.
        marks: What is in it; `(label, x, y)` will do for a line without a band.
        y: The axis upwards, or just its label.
        x: The axis across, or just its label.
        top: A second axis across, on the upper side: other names for the same places.

    Example:
        >>> from limelight import plot
        >>> panel = plot.Panel("loss", [("a", [1, 2], [3, 4])], y="test loss", x=plot.Axis("n",
        ...     log=True))
        >>> panel.content[0].label
        'a'
    """

    title: str = ""
    marks: Sequence[Mark | tuple[str, ArrayLike, ArrayLike]] = ()
    y: Axis | str = ""
    x: Axis | str = ""
    top: Axis | None = None

    @property
    def content(self) -> list[Mark]:
        """The marks, with a series for each `(label, x, y)`."""
        return [as_series(mark) if isinstance(mark, tuple) else mark for mark in self.marks]

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """The axis across and the axis upwards."""
        across, upwards = (a if isinstance(a, Axis) else Axis(a) for a in (self.x, self.y))
        return across, upwards


@dataclass(frozen=True, repr=False)
class Picture:
    """Panels in a grid, with one set of names, over one caption.

    Args:
        panels: The panels, row by row.
        columns: Panels in a row; all in one row when not given.
        width: Inches.
        height: Inches; follows from the width when not given.
        title: What it shows, over everything.
        subtitle: The setting in which it shows that, under the title.
        note: Facts for the caption that only the picture knows, each a short phrase.
        caption: Facts of the run, which stand before the note.
        share: Which axes have one range in all panels; their words stand at the outer panels only.
        frames: Pictures of one size to show one after another: a movie, for which the picture
            itself stands on paper.

    Example:
        >>> from limelight import plot
        >>> plot.Picture([plot.Panel("loss", [("a", [1, 2], [3, 4])])])
        Picture of 1 panel: loss
    """

    panels: Sequence[Panel]
    columns: int | None = None
    width: Number = ONE_COLUMN
    height: Number | None = None
    title: str = ""
    subtitle: str = ""
    note: str | Sequence[str] = ()
    caption: Sequence[str] = ()
    share: Literal["", "x", "y", "both"] = ""
    frames: Sequence["Picture"] = ()

    def __post_init__(self):
        if not self.panels:
            raise InputError("no panels to draw")

    def __repr__(self) -> str:
        titles = ", ".join(panel.title or "untitled" for panel in self.panels)
        return f"Picture of {len(self.panels)} panel{'s' * (len(self.panels) != 1)}: {titles}"

    @property
    def facts(self) -> tuple[str, ...]:
        """What stands under the panels: the caption, then the note."""
        note = (self.note,) if isinstance(self.note, str) else tuple(self.note)
        return tuple(fact for fact in (*self.caption, *note) if fact)

    def captioned(self, *facts: str) -> "Picture":
        """The same picture with other facts of the run."""
        return replace(self, caption=facts)

    def titled(self, title: str, subtitle: str = "") -> "Picture":
        """The same picture under another title.

        Example:
            >>> from limelight import plot
            >>> picture = plot.Picture([plot.Panel("", [("a", [1, 2], [3, 4])])])
            >>> picture.titled("It rises", "two points").title
            'It rises'
        """
        return replace(self, title=title, subtitle=subtitle)

    def matplotlib(self) -> "Figure":
        """Draw it: a new Matplotlib figure."""
        from limelight.plot._draw import draw

        return draw(self)

    def save(self, path: str | Path) -> None:
        """Write it as `.png`, `.svg` or `.pdf`, and a movie beside it as `.gif`.

        The same picture always gives the same bytes.
        """
        from limelight.plot.files import save

        save(self, path)

    def _repr_png_(self) -> bytes:
        from limelight.plot.files import render

        return render(self, dots_per_inch=150)
