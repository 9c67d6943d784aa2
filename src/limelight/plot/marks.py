"""What figures are made of: a series with its interval, its band, and arrows for open ends."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from limelight.core.errors import InputError
from limelight.plot.style import TICK, Number

MOST_MARKERS = 20


@dataclass(frozen=True)
class Series:
    """One line of a figure, with an interval where there is one.

    Args:
        label: Its name in the legend.
        x: Where it was measured.
        middle: The mean, median or estimate; NaN where it could not be formed.
        low: Lower ends; 0, minus infinity or NaN where the interval is open.
        high: Upper ends; infinity or NaN where the interval is open.
    """

    label: str
    x: ArrayLike
    middle: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`x`, `middle`, `low`, `high` as floats of one length, sorted by `x`."""
        x, middle = _flat(self.x), _flat(self.middle)
        low = middle if self.low is None else _flat(self.low)
        high = middle if self.high is None else _flat(self.high)
        if not len(x) == len(middle) == len(low) == len(high):
            sizes = f"{len(x)}, {len(middle)}, {len(low)} and {len(high)}"
            raise InputError(
                f"the series {self.label!r} has x, middle, low, high of {sizes} values"
            )
        order = np.argsort(x, kind="stable")
        return x[order], middle[order], low[order], high[order]

    @property
    def has_band(self) -> bool:
        """Whether an interval was given."""
        return self.low is not None or self.high is not None


Line = Series | tuple[str, ArrayLike, ArrayLike]
"""A series, or just `(label, x, y)`."""


def as_series(line: Line) -> Series:
    """A series from a series or from `(label, x, y)`."""
    return line if isinstance(line, Series) else Series(*line)


def draw_band(
    axes: Axes,
    series: Series,
    color: str,
    strength: Number,
    *,
    zorder: Number = 2,
    outline: Number = 0.0,
) -> None:
    """Shade between the ends; an open end reaches the frame, an unknown point leaves a gap.

    A known point between two unknown ones has no width to shade and gets a bar.
    """
    x, _, low, high = series.arrays()
    bottom, top = axes.get_ylim()
    known = np.isfinite(low) | np.isfinite(high)
    low = np.where(known, np.clip(np.nan_to_num(low, nan=bottom), bottom, top), np.nan)
    high = np.where(known, np.clip(np.nan_to_num(high, nan=top), bottom, top), np.nan)
    axes.fill_between(x, low, high, color=color, alpha=strength, linewidth=0, zorder=zorder)
    beside = np.pad(known, 1)
    alone = known & ~beside[:-2] & ~beside[2:]
    if alone.any():
        look = {"color": color, "alpha": 2.5 * strength, "linewidth": 1.2, "zorder": zorder}
        axes.vlines(x[alone], low[alone], high[alone], **look)
    if outline:
        for end in (low, high):
            axes.plot(x, end, color=color, linewidth=outline, zorder=zorder)
    axes.set_ylim(bottom, top)


def draw_open_ends(axes: Axes, series: Series, color: str, *, zorder: Number = 4) -> list[Line2D]:
    """Arrows on the frame where an interval, or the estimate itself, leaves the figure."""
    x, middle, low, high = series.arrays()
    bottom, top = axes.get_ylim()
    up = (high > top) | (middle > top) | (np.isnan(high) & np.isfinite(low))
    down = (low < bottom) | (middle < bottom) | (np.isnan(low) & np.isfinite(high))
    drawn = []
    for mask, at, marker in ((up, top, 6), (down, bottom, 7)):  # carets whose tip is the point
        if mask.any():
            drawn += axes.plot(
                x[mask],
                np.full(mask.sum(), at),
                linestyle="none",
                marker=marker,
                markersize=5,
                color=color,
                markeredgecolor="white",
                markeredgewidth=0.4,
                zorder=zorder,
            )
    axes.set_ylim(bottom, top)
    return drawn


def marked(points: int, index: int, lines: int) -> tuple[float, float] | None:
    """Which points of a line carry a mark, for `markevery`.

    All of a short line's. Of a long one's about ten, at places where its neighbours have none.
    """
    return None if points <= MOST_MARKERS else (0.01 + 0.1 * index / lines, 0.1)


def spread(places: ArrayLike, gap: Number) -> np.ndarray:
    """Move sorted or unsorted places apart until neighbours are at least `gap` from each other.

    Example:
        >>> spread([0.5, 0.5, 0.9], 0.1).round(2).tolist()
        [0.45, 0.55, 0.9]
    """
    places, gap = np.asarray(places, dtype=float), float(gap)
    order = np.argsort(places, kind="stable")
    groups: list[list[float]] = []  # each: the sum of (wanted - rank * gap), and how many
    for wanted in places[order]:
        groups.append([float(wanted), 1.0])
        while len(groups) > 1 and _first(groups[-2]) + groups[-2][1] * gap > _first(groups[-1]):
            total, members = groups.pop()
            groups[-1][0] += total - members * groups[-1][1] * gap
            groups[-1][1] += members
    # Within a group the members stand one gap apart, around the mean of what they wanted.
    moved = [_first(group) + i * gap for group in groups for i in range(int(group[1]))]
    out = np.empty_like(places)
    out[order] = moved
    return out


def thin(places: np.ndarray, gap: Number) -> np.ndarray:
    """Which of the sorted places (in 0..1) can carry a label; the ends are preferred.

    Example:
        >>> thin(np.array([0.0, 0.04, 0.5, 0.97, 1.0]), 0.1).tolist()
        [True, False, True, False, True]
    """
    keep = np.zeros(len(places), dtype=bool)
    last = -np.inf
    for i, place in enumerate(places):
        if place - last >= gap and (i == len(places) - 1 or places[-1] - place >= gap):
            keep[i], last = True, place
    keep[-1:] = True
    return keep


def label_gap(labels: Sequence[str], inches: Number) -> float:
    """How far apart, as a share of an axis of that length, side-by-side tick labels must be."""
    longest = max((len(text) for text in labels), default=1)
    return (longest * 0.62 * TICK + 3) / (72 * float(inches))


def _first(group: list[float]) -> float:
    return group[0] / group[1]


def _flat(values: ArrayLike) -> np.ndarray:
    return np.atleast_1d(np.asarray(values, dtype=float)).ravel()
