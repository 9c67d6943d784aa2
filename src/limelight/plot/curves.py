"""Lines with bands over iterations or sample sizes, and points with fitted lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from limelight.core.errors import InputError, suggest
from limelight.plot import style
from limelight.plot.marks import (
    Line,
    Series,
    as_series,
    draw_band,
    draw_open_ends,
    marked,
    spread,
)
from limelight.plot.style import INK, MUTED, ONE_COLUMN, Number


@dataclass(frozen=True)
class Reference:
    """A horizontal line to read the curves against: a ceiling, a bound, a floor.

    Args:
        label: Its name, in the right margin.
        at: Where it lies.
        series: The label of the series it belongs to, whose colour it takes.
    """

    label: str
    at: Number
    series: str = ""


def curves(
    series: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    guides: Sequence[Line] = (),
    references: Sequence[Reference] = (),
    log_x: bool = False,
    log_y: bool = False,
    limits: tuple[Number, Number] | None = None,
    width: Number = ONE_COLUMN,
    height: Number | None = None,
) -> Figure:
    """Lines over x, each with the band of its interval.

    The legend stands over the axes and the names of the reference lines beside them, so neither
    covers data.

    Args:
        series: The lines; `(label, x, y)` will do for one without a band.
        x_label: What `x` is, with its unit.
        y_label: What `y` is, with its unit.
        title: One line over the figure.
        guides: Lines to compare with, such as a law: thin and without marks.
        references: Horizontal lines, named in the right margin.
        log_x: Whether x is logarithmic.
        log_y: Whether y is logarithmic.
        limits: The range of y, when it has natural ends such as 0 and 1.
        width: Inches.
        height: Inches.

    Raises:
        InputError: For no series at all, or one whose parts differ in length.
    """
    if not series:
        raise InputError("no series to draw")
    lines = [as_series(line) for line in series]
    figure = style.new_figure(width, height, title=title)
    axes = figure.axes[0]
    style.open_frame(axes)
    _scales(axes, lines, log_x, log_y, limits, [float(line.at) for line in references])
    style.label(axes, x_label, y_label)
    handles = [_draw_line(axes, line, i, len(lines)) for i, line in enumerate(lines)]
    for i, line in enumerate(map(as_series, guides), len(lines)):
        x, middle, _, _ = line.arrays()
        look = style.line_style(i) | {"marker": "", "linewidth": 1.0, "zorder": 2}
        handles += axes.plot(x, middle, label=line.label, **look)
    style.legend_above(axes, handles, room=float(width) - 0.65, grow=height is None)
    _draw_references(axes, references, [line.label for line in lines])
    return figure


def fit_panel(
    x: ArrayLike,
    y: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    *,
    x_label: str,
    y_label: str,
    label: str = "measured",
    fits: Sequence[Line] = (),
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    limits: tuple[Number, Number] | None = None,
    width: Number = ONE_COLUMN,
    height: Number | None = None,
) -> Figure:
    """Estimates with error bars, and the lines fitted to them.

    Args:
        x: Where the estimates stand.
        y: The estimates; NaN where one could not be formed.
        low: Lower ends.
        high: Upper ends; an end outside the figure becomes an arrow.
        x_label: What `x` is, with its unit.
        y_label: What `y` is, with its unit.
        label: What the points are, in the legend.
        fits: Fitted lines, each `(label, x, y)`; `fit_label` writes the label.
        title: One line over the figure.
        log_x: Whether x is logarithmic.
        log_y: Whether y is logarithmic.
        limits: The range of y.
        width: Inches.
        height: Inches.
    """
    points = Series(label, x, y, low, high)
    figure = style.new_figure(width, height, title=title)
    axes = figure.axes[0]
    style.open_frame(axes)
    _scales(axes, [points], log_x, log_y, limits, [])
    style.label(axes, x_label, y_label)
    handles: list[Artist] = []
    for i, line in enumerate(as_series(fit) for fit in fits):
        at, middle, _, _ = line.arrays()
        look = style.line_style(i + 1) | {"marker": "", "label": line.label, "zorder": 2}
        handles += axes.plot(at, middle, **look)
    handles.insert(0, _draw_points(axes, points))
    style.legend_above(axes, handles, room=float(width) - 0.65, grow=height is None)
    return figure


def fit_label(name: str, r_squared: Number, interval: tuple[Number, Number] | None = None) -> str:
    """The label of a fitted line: what it is and how well it fits.

    Example:
        >>> fit_label("linear", 0.9231, (0.87, 0.98))
        'linear: $R^2$ = 0.92 [0.87, 0.98]'
    """
    ends = "" if interval is None else f" [{float(interval[0]):.2f}, {float(interval[1]):.2f}]"
    return f"{name}: $R^2$ = {float(r_squared):.2f}{ends}"


def _scales(
    axes: Axes,
    lines: list[Series],
    log_x: bool,
    log_y: bool,
    limits: tuple[Number, Number] | None,
    also: list[float],
) -> None:
    """Fix both ranges before anything is drawn, so that open ends know where the frame is."""
    across = np.concatenate([line.arrays()[0] for line in lines])
    upwards = np.concatenate([*(part for line in lines for part in line.arrays()[1:]), also])
    margin = 0.05 if np.isfinite(upwards).all() else 0.15  # room for the arrow of an open end
    axes.set_xscale("log" if log_x else "linear")
    axes.set_yscale("log" if log_y else "linear")
    axes.set_xlim(*_range(across, log_x, 0.03))
    if limits is None:
        limits = _range(upwards, log_y, margin)
    axes.set_ylim(float(limits[0]), float(limits[1]))
    for axis, log in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        if log:
            _name_decades(axis)
    if not log_x and (across == np.round(across)).all():
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


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
    low, high = float(values.min()), float(values.max())
    if low == high:
        return (low / 2, low * 2) if log else (low - 0.5, low + 0.5)
    if log:
        room = (high / low) ** margin
        return low / room, high * room
    return low - margin * (high - low), high + margin * (high - low)


def _draw_line(axes: Axes, line: Series, index: int, lines: int) -> Artist:
    x, middle, _, _ = line.arrays()
    look = style.line_style(index)
    if line.has_band:
        draw_band(axes, line, look["color"], 0.18, zorder=1.5)
    every = marked(len(x), index, lines)
    (drawn,) = axes.plot(
        x, middle, label=line.label, markevery=every, zorder=3 - 0.01 * index, **look
    )
    return drawn


def _draw_points(axes: Axes, points: Series) -> Artist:
    x, middle, low, high = points.arrays()
    look = style.line_style(0) | {"linestyle": "none", "markersize": 4.2}
    bottom, top = axes.get_ylim()
    if points.has_band:
        known = np.isfinite(low) | np.isfinite(high)
        below = np.clip(np.nan_to_num(low, nan=bottom), bottom, top)[known]
        above = np.clip(np.nan_to_num(high, nan=top), bottom, top)[known]
        axes.vlines(x[known], below, above, color=look["color"], linewidth=0.9, zorder=3)
        draw_open_ends(axes, points, look["color"])
    axes.plot(x, middle, label=points.label, zorder=4, **look)
    bar: dict[str, Any] = {"linestyle": "-"} if points.has_band else {}
    look |= bar | {"linewidth": 0.9}
    return Line2D([], [], label=points.label, **look)


def _draw_references(axes: Axes, references: Sequence[Reference], known: list[str]) -> None:
    if not references:
        return
    at = np.array([float(line.at) for line in references])
    low, high = axes.get_ylim()
    transform = axes.yaxis.get_transform()
    bottom, places, top = (transform.transform(np.atleast_1d(v)) for v in (low, at, high))
    shares = (places - bottom) / (top - bottom)
    lines = 1 + max(line.label.count("\n") for line in references)
    gap = 1.3 * lines * style.TICK / 72 / (0.6 * style.figure_of(axes).get_figheight())
    for line, share, free in zip(references, shares, spread(shares, gap), strict=True):
        if line.series and line.series not in known:
            raise InputError(f"no series is called {line.series!r}", suggest(line.series, known))
        color = style.line_style(known.index(line.series))["color"] if line.series else MUTED
        axes.axhline(float(line.at), color=color, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1.8)
        axes.annotate(
            line.label,
            xy=(1.0, share),
            xytext=(1.035, free),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=style.TICK,
            color=INK,
            va="center",
            ha="left",
            arrowprops={"arrowstyle": "-", "linewidth": 0.6, "color": color, "shrinkA": 1},
        )
