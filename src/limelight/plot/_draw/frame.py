"""The frame of a panel: its range, its scales, its ticks and their words."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from limelight._core.maths import with_signs
from limelight.plot import style
from limelight.plot._draw.places import borders, label_gap, spread, thin
from limelight.plot.marks import (
    Bars,
    Bundle,
    Contour,
    Guide,
    Image,
    Map,
    Mark,
    Number,
    Points,
    Reference,
    Series,
    flat,
    plain_number,
)
from limelight.plot.picture import Axis, Panel

FARTHEST = 1e150
"""The largest size that a frame holds, and one over the smallest on a scale of logarithms: beyond
it what Matplotlib computes is no number. What lies farther out is drawn as leaving the frame."""
LONGEST_WORD = 60
"""Letters of a word along an axis at most, but for maths: a longer one leaves no room to draw."""
MOST_CATEGORIES = 120
"""Words along an axis at most, then every second or third of them: each takes milliseconds."""
MOST_LABELS = 1 / 14
"""The least distance between two labels, as a share of their axis."""


def extent(marks: Iterable[Mark]) -> tuple[np.ndarray, np.ndarray]:
    """All values that the range of x, and that of y, must hold; guides count only where alone."""
    marks = list(marks)
    alone = all(isinstance(mark, Guide) for mark in marks if isinstance(mark, Series))
    found = [_reach(mark) for mark in marks if alone or not isinstance(mark, Guide)]
    x, y = ([part[i] for part in found] for i in (0, 1))
    return np.concatenate([np.empty(0), *x]), np.concatenate([np.empty(0), *y])


def _reach(mark: Mark) -> tuple[np.ndarray, np.ndarray]:
    none = np.empty(0)
    match mark:
        case Points(x_low=low, x_high=high) if low is not None and high is not None:
            x, *upwards = mark.arrays()
            return np.concatenate([x, flat(low), flat(high)]), np.concatenate(upwards)
        case Series():
            x, *upwards = mark.arrays()
            return x, np.concatenate(upwards)
        case Bundle() | Contour():
            return flat(mark.x), flat(mark.y)
        case Bars():
            return np.concatenate([flat(mark.x) - 0.5, flat(mark.x) + 0.5]), np.append(
                flat(mark.y), 0.0
            )
        case Reference():
            at = flat(mark.at)
            return (at, none) if mark.vertical else (none, at)
    return none, none


def set_scales(axes: Axes, panel: Panel, x: np.ndarray, y: np.ndarray) -> None:
    """Fix both ranges before anything is drawn, so that open ends know where the frame is.

    Args:
        axes: The axes of the panel.
        panel: The panel.
        x: All values that the range of x must hold.
        y: All values that the range of y must hold.
    """
    across, upwards = panel.axes
    axes.set_xscale("log" if across.log else "linear")
    axes.set_yscale("log" if upwards.log else "linear")
    flat_map = next((mark for mark in panel.content if isinstance(mark, Map | Image)), None)
    if flat_map is not None:
        low_high = _map_range(flat_map, across, upwards)
    else:
        # Room for the arrow of an open end, where there is one.
        margin = 0.05 if np.isfinite(y).all() else 0.15
        low_high = _range(x, across.log, 0.03), _range(y, upwards.log, margin)
    for axis, ends, put in zip(
        (across, upwards), low_high, (axes.set_xlim, axes.set_ylim), strict=True
    ):
        if axis.limits is not None:
            ends = (float(axis.limits[0]), float(axis.limits[1]))
        elif axis.categories and flat_map is None:
            ends = (-0.6, len(axis.categories) - 0.4)
        put(*ends)


def _map_range(mark: Map | Image, across: Axis, upwards: Axis) -> tuple[Any, Any]:
    """The outer borders of the cells; rows of a matrix and of an image run downwards."""
    if isinstance(mark, Image):
        rows, columns = np.asarray(mark.pixels).shape[:2]
        return (0, columns), (rows, 0)
    if mark.x is None or mark.y is None:
        rows, columns = np.asarray(mark.values).shape
        return (0, columns), (rows, 0)
    x, y = cell_borders(mark.x, across.log), cell_borders(mark.y, upwards.log)
    return (x[0], x[-1]), (y[0], y[-1])


def cell_borders(values: Any, log: bool) -> np.ndarray:
    """Where cells with the given middles meet."""
    values = within(flat(values), log)
    if log:
        return np.exp(borders(np.log(values), 0.5 * np.log(2)))
    return borders(values, max(0.5 * abs(values[0]), 0.5))


def set_ticks(axes: Axes, panel: Panel, inches: tuple[float, float]) -> None:
    """Ticks of both axes, and of the upper one where there is one.

    Args:
        axes: The axes of the panel.
        panel: The panel.
        inches: About how long the two axes are.
    """
    bare = any(isinstance(mark, Image) or is_matrix(mark) for mark in panel.content)
    sides = zip((axes.xaxis, axes.yaxis), panel.axes, inches, strict=True)
    for number, (side, axis, length) in enumerate(sides):
        if axis.categories:
            step = -(-len(axis.categories) // MOST_CATEGORIES)
            places = range(0, len(axis.categories), step)
            side.set_ticks(places, [_shortened(axis.categories[place]) for place in places])
            side.set_minor_locator(NullLocator())
        elif bare:
            _name_groups(side, axis, length)
        elif axis.ticks is not None:
            _put(side, axis.ticks, length, upright=number == 1)
        elif axis.log:
            _name_decades(side)
    if panel.top is not None:
        upper = axes.secondary_xaxis("top")
        style.dress(upper)
        upper.set_xlabel(panel.top.label, fontsize=style.LABEL, color=style.INK, labelpad=3)
        _put(
            upper.xaxis,
            () if panel.top.ticks is None else panel.top.ticks,
            inches[0],
            span=axes.get_xlim(),
        )


def is_matrix(mark: Mark) -> bool:
    """Whether a mark is a map without values along its sides."""
    return isinstance(mark, Map) and mark.x is None


def whole_numbers(axes: Axes, panel: Panel, x: np.ndarray) -> None:
    """No fractions on a linear axis of whole numbers."""
    across = panel.axes[0]
    if across.log or across.ticks is not None or across.categories or not len(x):
        return
    if (x == np.round(x)).all():
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


def _put(
    side: XAxis | YAxis,
    ticks: Any,
    inches: Number,
    *,
    upright: bool = False,
    span: tuple[Number, Number] | None = None,
) -> None:
    """Ticks at the given values; words at as many of them as there is room for."""
    named = ticks if isinstance(ticks, Mapping) else {v: plain_number(v) for v in ticks}
    values = np.array(sorted(named), dtype=float)
    names = [named[key] for key in sorted(named)]
    low, high = span or side.get_view_interval()
    transform = side.get_transform().transform
    ends = transform(np.array([low, high], dtype=float))
    places = (transform(values) - ends[0]) / (ends[1] - ends[0])
    gap = 9 / (72 * float(inches)) if upright else label_gap(names, inches)
    keep = thin(places, max(gap, MOST_LABELS))
    side.set_ticks(values[keep], [name for name, kept in zip(names, keep, strict=True) if kept])
    side.set_minor_locator(NullLocator())
    side.set_ticks(values[~keep], minor=True)
    side.set_minor_formatter(NullFormatter())


def _name_groups(side: XAxis | YAxis, axis: Axis, inches: Number) -> None:
    """Names at the middles of groups of rows or columns, moved apart where they would touch."""
    ticks = dict(axis.ticks) if isinstance(axis.ticks, Mapping) else {}
    names = list(ticks.values())
    low, high = sorted(side.get_view_interval())
    words = [line for name in names for line in name.split("\n")]
    across = max((style.text_width(line, style.TICK) for line in words), default=0.0) + 0.04
    room = across if isinstance(side, XAxis) else 2.4 * style.TICK / 72
    side.set_ticks(spread([float(at) for at in ticks], (high - low) * room / float(inches)), names)
    side.set_tick_params(which="major", length=0, pad=3)


def _name_decades(axis: XAxis | YAxis) -> None:
    """Plain numbers; between the powers of ten too where there are few of those."""
    low, high = axis.get_view_interval()
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    if low >= 1e-3 and high <= 1e5:
        axis.set_major_formatter(plain)
    if high / low < 200:
        some = {5: (2, 3, 4, 5, 6, 7, 8), 12: (2, 3, 4, 6, 8), 30: (2, 3, 5), 200: (2, 5)}
        between = next(subs for most, subs in some.items() if high / low < most)
        axis.set_minor_locator(LogLocator(subs=between))
        axis.set_minor_formatter(plain)
    else:
        axis.set_minor_formatter(NullFormatter())


def _range(values: np.ndarray, log: bool, margin: float) -> tuple[float, float]:
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not len(values):
        return (0.5, 2.0) if log else (0.0, 1.0)
    values = within(values, log)
    low, high = float(values.min()), float(values.max())
    if low == high:
        return (low / 2, low * 2) if log else (low - 0.5, low + 0.5)
    if log:
        room = (high / low) ** margin
        return low / room, high * room
    return low - margin * (high - low), high + margin * (high - low)


def within(values: np.ndarray, log: bool) -> np.ndarray:
    """Values as far as a frame can hold them."""
    return np.clip(values, 1 / FARTHEST if log else -FARTHEST, FARTHEST)


def _shortened(word: str) -> str:
    word = with_signs(word)
    cut = len(word) > LONGEST_WORD and "$" not in word
    return f"{word[: LONGEST_WORD - 1]}…" if cut else word
