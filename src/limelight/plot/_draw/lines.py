"""Lines, points, bars, references and words on the axes of a panel."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from limelight.plot import style
from limelight.plot._draw.places import marked
from limelight.plot._looks import Look
from limelight.plot.marks import Bars, Bundle, Number, Points, Reference, Series, Span, Text, flat
from limelight.plot.style import INK, MUTED

HATCH = "#8f8f8f"


def draw_series(axes: Axes, line: Series, look: Look, lines: int, over_map: bool) -> None:
    """A line through its points, over the band of its interval."""
    x, middle, _, _ = line.arrays()
    if not len(x):
        return
    if line.has_band:
        strength, outline = (0.28, 0.5) if over_map else (0.18, 0.0)
        draw_band(
            axes, line, look.colour, strength, zorder=2.8 if over_map else 1.5, outline=outline
        )
    shown = look.line() | look.marks()
    # A halo for the line alone: around the marks it would cover the line.
    if over_map:
        axes.plot(x, middle, **look.line(), path_effects=style.halo(2.8), zorder=4)
        shown |= {"linestyle": "none", "markersize": 4.0}
        draw_open_ends(axes, line, look.colour, zorder=5)
    every = marked(len(x), look.index, lines)
    order = 4.5 if over_map else 3 - 0.01 * look.index
    axes.plot(x, middle, label=line.label, markevery=every, zorder=order, **shown)


def draw_guide(axes: Axes, line: Series, look: Look, over_map: bool) -> None:
    """A thin line without marks."""
    x, middle, _, _ = line.arrays()
    shown = look.line()
    if over_map:
        shown |= {"path_effects": style.halo(2.6)}
    if len(x):
        axes.plot(x, middle, label=line.label, zorder=3 if over_map else 2, **shown)


def draw_points(axes: Axes, points: Points, look: Look, over_map: bool) -> None:
    """Separate marks with their bars; an end outside the panel becomes an arrow."""
    x, middle, _, _ = points.arrays()
    if not len(x):
        return
    bar = {"color": look.colour, "linewidth": float(points.width or 0.9), "zorder": 3}
    if points.has_band:
        low, high = _inside(axes, points)
        known = np.isfinite(low)
        axes.vlines(x[known], low[known], high[known], **bar)
        draw_open_ends(axes, points, look.colour)
    if points.x_low is not None and points.x_high is not None:
        y = flat(points.y)
        left, right = axes.get_xlim()
        begin, end = (np.clip(flat(side), left, right) for side in (points.x_low, points.x_high))
        axes.hlines(y, begin, end, **bar)
    shown = look.marks() | {"alpha": float(points.opacity), "clip_on": not _on_frame(axes, x)}
    if over_map:
        shown |= {"path_effects": style.halo(1.8)}
    axes.plot(x, middle, label=points.label, linestyle="none", zorder=4, **shown)


def _on_frame(axes: Axes, x: np.ndarray) -> bool:
    """Whether all points are in the panel, so that those on its edge can be drawn whole."""
    left, right = sorted(axes.get_xlim())
    return bool(((x >= left) & (x <= right)).all())


def draw_bundle(axes: Axes, bundle: Bundle, look: Look) -> None:
    """One thin line per row."""
    x, rows = flat(bundle.x), np.atleast_2d(np.asarray(bundle.y, dtype=float))
    few = len(rows) < 4
    thin = replace(look, width=bundle.width or (1.1 if few else 0.6))
    axes.plot(x, rows.T, alpha=1.0 if few else 0.6, zorder=2.5, **thin.line())


def draw_bars(axes: Axes, bars: Bars, look: Look) -> None:
    """Upright bars and their numbers."""
    drawn = axes.bar(flat(bars.x), flat(bars.y), 0.5, color=look.colour, zorder=2)
    axes.bar_label(
        drawn, fmt=f"%.{bars.digits}f", fontsize=style.TICK, color=INK, padding=1, zorder=5
    )


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
    x, (low, high) = series.arrays()[0], _inside(axes, series)
    bottom, top = axes.get_ylim()
    known = np.isfinite(low)
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


def _inside(axes: Axes, series: Series) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of every interval as far as the frame; NaN where neither is known."""
    _, _, low, high = series.arrays()
    bottom, top = axes.get_ylim()
    known = np.isfinite(low) | np.isfinite(high)
    ends = np.nan_to_num(low, nan=bottom), np.nan_to_num(high, nan=top)
    low, high = (np.where(known, np.clip(end, bottom, top), np.nan) for end in ends)
    return low, high


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


def draw_references(axes: Axes, references: Sequence[Reference], looks: dict[str, Look]) -> None:
    """Straight lines across the panel."""
    for line in references:
        draw = axes.axvline if line.vertical else axes.axhline
        draw(float(line.at), **reference_look(line, looks), zorder=1.8)


def reference_look(line: Reference, looks: dict[str, Look]) -> dict:
    """How a reference line looks, on the panel and in a legend."""
    color = looks[line.like].colour if line.like else MUTED
    dash = (0, (1, 1.5)) if line.vertical else (0, (4, 2))
    return {"color": color, "linewidth": 0.8, "linestyle": dash}


def draw_span(axes: Axes, span: Span) -> None:
    """A strip: shaded under everything, or hatched over a map with its inner ends drawn."""
    left, right = axes.get_xlim()
    low, high = (float(np.clip(end, left, right)) for end in (span.low, span.high))
    if not span.hatched:
        axes.axvspan(low, high, **span_look(span), zorder=0)
        return
    bottom, top = axes.get_ylim()
    if low < high:
        area = axes.fill_between([low, high], bottom, top, zorder=2, **span_look(span))
        area.set_hatch_linewidth(0.4)
    for end, at in ((span.low, low), (span.high, high)):
        if np.isfinite(end):
            axes.axvline(at, color=INK, linewidth=0.8, zorder=2.5, path_effects=style.halo(1.8))


def span_look(span: Span) -> dict:
    """How a strip looks, on the panel and in a legend."""
    if span.hatched:
        return {"facecolor": "none", "edgecolor": HATCH, "hatch": "////", "linewidth": 0}
    return {"facecolor": "#ececec", "linewidth": 0}


def draw_text(axes: Axes, text: Text) -> None:
    """Words at a place or in a corner, with a white outline where they name a region."""
    shown = {"fontsize": style.TICK, "color": INK if text.bold else MUTED, "zorder": 5}
    if text.bold:
        shown |= {"weight": "bold", "path_effects": style.halo(2.0)}
    if isinstance(text.at, str):
        vertical, side = text.at.split()
        x, y = {"left": 0.015, "right": 0.985}[side], {"upper": 0.985, "lower": 0.015}[vertical]
        va = {"upper": "top", "lower": "bottom"}[vertical]
        axes.text(x, y, text.words, transform=axes.transAxes, ha=side, va=va, **shown)
    else:
        x, y = (float(value) for value in text.at)
        axes.text(x, y, text.words, ha=text.align, va="center", **shown)
