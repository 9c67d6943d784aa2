"""Names beside lines: in the right margin of a single panel, where they fit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from limelight.plot import style
from limelight.plot._draw.lines import reference_look
from limelight.plot._draw.places import spread
from limelight.plot._looks import Look, look_of
from limelight.plot._palette import readable
from limelight.plot.marks import (
    Bars,
    Bundle,
    Contour,
    Image,
    Map,
    Mark,
    Points,
    Reference,
    Series,
    flat,
)
from limelight.plot.picture import TWO_COLUMNS, Panel

#: Names beside lines at most; more are easier to read in a legend.
MOST = 6
#: How far a name may stand from its line, as a share of the panel.
FAR = 0.1
#: Where a line must end, as a share of the panel, to have its name in the margin.
ENDS = 0.72
#: Inches of one line of a name at most.
WIDEST = 1.15


@dataclass(frozen=True)
class Name:
    """A name, the end of its line in shares of the panel, and the line's colour."""

    label: str
    x: float
    y: float
    colour: str


def beside(axes: Axes, panel: Panel, looks: dict[str, Look]) -> list[Name]:
    """The names that go beside their lines: those of all lines, or of the references alone."""
    references = [
        Name(mark.label, 1.0, _share(axes, float(mark.at))[1], reference_look(mark, looks)["color"])
        for mark in panel.content
        if isinstance(mark, Reference) and mark.label and not mark.vertical
    ]
    names = _of_lines(axes, panel.content, looks)
    together = [*references, *names]
    moved = spread([name.y for name in together], _gap(axes, together)) if together else np.empty(0)
    far = np.abs(moved - [name.y for name in together]).max(initial=0.0)
    fits = len(together) <= MOST and far <= FAR and moved.max(initial=0.0) <= 1.08
    return together if names and fits else references


def _of_lines(axes: Axes, marks: Sequence[Mark], looks: dict[str, Look]) -> list[Name]:
    """The names of all lines; none where one of them cannot stand in the margin."""
    if any(isinstance(mark, Map | Image | Contour | Bars) for mark in marks):
        return []
    found: dict[str, Name | None] = {}
    for mark in marks:
        if isinstance(mark, Series | Bundle) and mark.label and not found.get(mark.label):
            end = _end(axes, mark)
            found[mark.label] = end and Name(mark.label, *end, look_of(mark, looks).colour)
    lines = {m.label for m in marks if isinstance(m, Series | Bundle) and not isinstance(m, Points)}
    if len(found) < 2 or not all(found.values()) or not lines & {*found}:
        return []
    return [name for name in found.values() if name]


def _end(axes: Axes, mark: Series | Bundle) -> tuple[float, float] | None:
    """Where a line ends, in shares of the panel; `None` where that is not at its right."""
    if isinstance(mark, Bundle):
        rows = np.atleast_2d(np.asarray(mark.y, dtype=float))
        known = ~np.isnan(rows).all(axis=0)  # of nothing there is no median, and NumPy warns
        with np.errstate(all="ignore"):
            x, y = flat(mark.x)[known], np.nanmedian(rows[:, known], axis=0)
    else:
        x, y, *_ = mark.arrays()
    places = [_share(axes, b, a) for a, b in zip(x, y, strict=True) if np.isfinite([a, b]).all()]
    seen = [place for place in places if -0.01 <= place[0] <= 1.01 and -0.01 <= place[1] <= 1.01]
    return seen[-1] if seen and seen[-1] == places[-1] and seen[-1][0] >= ENDS else None


def _share(axes: Axes, y: float, x: float | None = None) -> tuple[float, float]:
    """A place as shares of the panel."""
    found = []
    for value, axis, ends in ((x, axes.xaxis, axes.get_xlim()), (y, axes.yaxis, axes.get_ylim())):
        if value is None:
            found.append(1.0)
            continue
        with np.errstate(all="ignore"):
            values = np.array([ends[0], value, ends[1]], dtype=float)
            low, at, high = axis.get_transform().transform(values)
        found.append(float((at - low) / (high - low)))
    return found[0], found[1]


def _gap(axes: Axes, names: Sequence[Name]) -> float:
    rows = max(wrapped(name.label).count("\n") for name in names) + 1
    return 1.35 * rows * style.TICK / 72 / (0.64 * style.figure_of(axes).get_figheight())


def wrapped(label: str) -> str:
    """A name in lines that the margin holds; breaks of its own stay."""
    return label if "\n" in label else style.wrap(label, WIDEST, style.TICK)


def write(axes: Axes, names: Sequence[Name]) -> None:
    """Write names in the margin, each with a thin line to the end of its own; the figure grows."""
    if not names:
        return
    figure = style.figure_of(axes)
    wide = max(style.text_width(wrapped(name.label), style.TICK) for name in names)
    figure.set_figwidth(min(figure.get_figwidth() + wide, max(TWO_COLUMNS, figure.get_figwidth())))
    free = spread([name.y for name in names], _gap(axes, names))
    for name, place in zip(names, free, strict=True):
        axes.annotate(
            wrapped(name.label),
            xy=(name.x, name.y),
            xytext=(1.035, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=style.TICK,
            color=readable(name.colour),
            va="center",
            ha="left",
            linespacing=1.1,
            # From the left of the words, so that it crosses no other name.
            arrowprops={
                "relpos": (0.0, 0.5),
                "arrowstyle": "-",
                "linewidth": 0.7,
                "color": name.colour,
                "shrinkA": 1,
                "shrinkB": 2,
            },
        )
