"""The marks of a picture: lines, points, references, maps, words; plain values, not drawn yet."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from limelight._core.errors import InputError

Number = float | int | np.floating | np.integer

Colour = int | Literal["ink", "muted", "faint", "white"] | None
"""A place in the palette, the part that a mark plays, or `None`: by its label."""

Marker = int | str | None
"""A place in the list of markers, a Matplotlib marker, "" for none, or `None`: by its label."""


@dataclass(frozen=True)
class Series:
    """A line through what was measured, with marks at the points and the band of its interval.

    Marks with one label have one colour, marker and dash in the whole picture and one name, which
    stands beside them. A mark without a label is muted and has no name. One without points has an
    entry in a legend: that is how colours and dashes are explained apart.

    Args:
        label: Its name, which stands beside it.
        x: Where it was measured.
        y: The mean, median or estimate; NaN where it could not be formed.
        low: Lower ends; 0, minus infinity or NaN where the interval is open.
        high: Upper ends; infinity or NaN where the interval is open.
        colour: Instead of the one that its label has.
        marker: Instead of the one that its label has.
        dash: A place in the list of dashes (0 is solid), instead of the one that its label has.
        width: Points of the line, or of the bars of `Points`.

    Example:
        >>> from limelight import plot
        >>> plot.Series("measured", [1, 2], [3.0, 4.0], low=[2.0, 3.0], high=[4.0, 5.0]).has_band
        True
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    _: KW_ONLY
    colour: Colour = None
    marker: Marker = None
    dash: int | None = None
    width: Number | None = None

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`x`, `y`, `low`, `high` as floats of one length, sorted by `x`.

        Raises:
            InputError: When their lengths differ.
        """
        x, y = flat(self.x), flat(self.y)
        low = y if self.low is None else flat(self.low)
        high = y if self.high is None else flat(self.high)
        if not len(x) == len(y) == len(low) == len(high):
            sizes = f"{len(x)}, {len(y)}, {len(low)} and {len(high)}"
            raise InputError(f"the series {self.label!r} has x, y, low, high of {sizes} values")
        order = np.argsort(x, kind="stable")
        return x[order], y[order], low[order], high[order]

    @property
    def has_band(self) -> bool:
        """Whether an interval was given."""
        return self.low is not None or self.high is not None


@dataclass(frozen=True)
class Points(Series):
    """Separate marks, with error bars where there is an interval.

    Args:
        x_low: Left ends of horizontal bars.
        x_high: Right ends of horizontal bars.
        hollow: Whether only the outline of the marks is drawn.
        size: Points across.
        opacity: Below 1 where many marks lie on each other.

    Example:
        >>> from limelight import plot
        >>> plot.Points("seeds", [1, 2], [3.0, 4.0], hollow=True).has_band
        False
    """

    _: KW_ONLY
    x_low: ArrayLike | None = None
    x_high: ArrayLike | None = None
    hollow: bool = False
    size: Number | None = None
    opacity: Number = 1.0


@dataclass(frozen=True)
class Guide(Series):
    """A line to compare with, such as a law: thin and without marks.

    Example:
        >>> from limelight import plot
        >>> plot.Guide("law", [1, 2], [3.0, 6.0], dash=1).label
        'law'
    """


@dataclass(frozen=True)
class Bundle:
    """Many thin lines of one kind, such as one for each run.

    Args:
        label: Their one name in the legend.
        x: Where they were measured.
        y: One row for each line.
        colour: Instead of the one that the label has.
        dash: A place in the list of dashes; solid when not given.
        width: Points of each line; thinner the more there are when not given.

    Example:
        >>> from limelight import plot
        >>> plot.Bundle("runs", [0, 10, 20], [[1.0, 0.5, 0.1], [1.0, 0.9, 0.2]]).label
        'runs'
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    _: KW_ONLY
    colour: Colour = None
    dash: int = 0
    width: Number | None = None


@dataclass(frozen=True)
class Reference:
    """A straight line across the panel to read the rest against: a ceiling, a bound, a floor.

    A horizontal one is named in the right margin where the picture has one panel; otherwise the
    name stands beside it in a panel.

    Args:
        label: Its name.
        at: Where it lies.
        like: The label of a mark whose colour it takes; muted when not given.
        vertical: Whether it stands upright.

    Example:
        >>> from limelight import plot
        >>> plot.Reference("chance", 0.5).at
        0.5
    """

    label: str
    at: Number
    like: str = ""
    _: KW_ONLY
    vertical: bool = False


@dataclass(frozen=True)
class Span:
    """A shaded strip from one value of x to another.

    Args:
        label: Its name in the legend.
        low: Where it begins; minus infinity for the frame.
        high: Where it ends; infinity for the frame.
        hatched: Hatched with lines along its inner ends, for strips over a map.

    Example:
        >>> from limelight import plot
        >>> plot.Span("theorem does not apply", 0.37, float("inf"), hatched=True).low
        0.37
    """

    label: str
    low: Number
    high: Number
    _: KW_ONLY
    hatched: bool = False


@dataclass(frozen=True)
class Text:
    """Words inside a panel.

    Args:
        words: What stands there.
        at: A place `(x, y)` in the values of the axes, or a corner of the panel.
        bold: Whether it is a name, as of a region of a map.
        align: Which part of the words stands at the place.

    Example:
        >>> from limelight import plot
        >>> plot.Text("leaking", "lower left", bold=True).words
        'leaking'
    """

    words: str
    at: tuple[Number, Number] | Literal["upper left", "upper right", "lower left", "lower right"]
    _: KW_ONLY
    bold: bool = False
    align: Literal["left", "center", "right"] = "center"


@dataclass(frozen=True)
class Map:
    """Cells coloured by a value, dark where it is low and light where it is high.

    A value that is not a number is a cell without data: hatched grey, and named in the legend.

    Maps with one label and scale share a colour bar. Without `x` and `y` the values are a matrix:
    cell (i, j) lies from j to j + 1 and from i to i + 1, the first row on top.

    Args:
        values: One row for each `y`.
        label: What the colours mean, beside the colour bar; no bar when empty.
        x: The columns, ascending; cells reach half-way to their neighbours.
        y: The rows, ascending.
        low: The value of one end of the colours; the smallest value when not given.
        high: The value of the other end.
        scale: How values become colours.
        missing: How a cell without data looks; "blank" for gaps that mean nothing.
        bar_ticks: Where the colour bar has numbers.
        numbers: Whether each value is written in its cell.
        square: Whether the cells of a matrix are square.
        opacity: Below 1 over an image.

    Example:
        >>> from limelight import plot
        >>> plot.Map([[0.0, 1.0], [0.5, 0.2]], "share of trials", low=0, high=1).label
        'share of trials'
    """

    values: ArrayLike
    label: str = ""
    _: KW_ONLY
    x: ArrayLike | None = None
    y: ArrayLike | None = None
    low: Number | None = None
    high: Number | None = None
    scale: Literal["linear", "log"] = "linear"
    missing: Literal["hatched", "blank"] = "hatched"
    bar_ticks: Sequence[Number] | None = None
    numbers: bool = False
    square: bool = True
    opacity: Number = 1.0


@dataclass(frozen=True)
class Contour:
    """The line on which values over a plane take a level.

    Args:
        label: Its name in the legend.
        x: The columns, ascending.
        y: The rows, ascending.
        values: One row for each `y`.
        level: The level.
        colour: Instead of the one that its label has.

    Example:
        >>> from limelight import plot
        >>> plot.Contour("ratio 1", [0, 1], [0, 1], [[0.5, 1.5], [0.8, 2.0]], 1.0).level
        1.0
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    values: ArrayLike
    level: Number
    _: KW_ONLY
    colour: Colour = None


@dataclass(frozen=True)
class Image:
    """A picture of pixels, height by width by channels; in pale grey, to lie under a map.

    Example:
        >>> from limelight import plot
        >>> plot.Image([[[0.2], [0.9]]], grey=True).grey
        True
    """

    pixels: ArrayLike
    _: KW_ONLY
    grey: bool = False


@dataclass(frozen=True)
class Bars:
    """Upright bars from zero, with the number over each.

    Example:
        >>> from limelight import plot
        >>> plot.Bars("seconds", [0, 1], [2.5, 0.4]).digits
        1
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    _: KW_ONLY
    colour: Colour = None
    digits: int = 1


Mark = Series | Bundle | Reference | Span | Text | Map | Contour | Image | Bars

Line = Series | tuple[str, ArrayLike, ArrayLike]
"""A series, or just `(label, x, y)`."""


def as_series(line: Line) -> Series:
    """A series from a series or from `(label, x, y)`."""
    return line if isinstance(line, Series) else Series(*line)


def as_guide(line: Line) -> Guide:
    """The same line, thin and without marks."""
    if isinstance(line, Guide):
        return line
    line = as_series(line)
    return Guide(line.label, line.x, line.y, colour=line.colour, dash=line.dash, width=line.width)


def flat(values: Any) -> np.ndarray:
    """Values as one row of floats."""
    return np.atleast_1d(np.asarray(values, dtype=float)).ravel()


def plain_number(value: Number) -> str:
    """A number as a tick says it.

    Example:
        >>> plain_number(1500.0), plain_number(0.25), plain_number(2.0)
        ('1500', '0.25', '2')
    """
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{float(value):.3g}"
