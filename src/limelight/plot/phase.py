"""Phase diagrams: where in a plane of two axes the trials succeed, and the edge between."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter, NullLocator
from numpy.typing import ArrayLike

from limelight.core.errors import InputError
from limelight.plot import style
from limelight.plot.grid import Grid, Marked, TopAxis, borders, make_grid, success_rates
from limelight.plot.marks import (
    Line,
    Series,
    as_series,
    draw_band,
    draw_open_ends,
    label_gap,
    thin,
)
from limelight.plot.style import INK, ONE_COLUMN, SUCCESS, Number
from limelight.table import Table

EDGE_COLOUR = style.COLOURS[1]
THEORY_COLOURS = (INK, style.COLOURS[3], style.COLOURS[2], style.COLOURS[4])
HATCH = "#8f8f8f"
MOST_LABELS = 1 / 14
SHARE = "share of trials that succeed"


@dataclass(frozen=True)
class Validity:
    """Where a theorem stops: beyond `at`, on the side `fails`, its conditions do not hold.

    Args:
        at: The place on the x axis as drawn.
        fails: The side on which the theorem does not apply.
        label: Its words in the legend.
    """

    at: Number
    fails: Literal["left", "right"]
    label: str = "theorem does not apply"


def phase_diagram(
    x: ArrayLike,
    y: ArrayLike,
    rate: ArrayLike,
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    edge: Series | None = None,
    theory: Sequence[Line] = (),
    validity: Validity | None = None,
    marked: Marked | None = None,
    top: TopAxis | None = None,
    bar_label: str = SHARE,
    width: Number = ONE_COLUMN,
    height: Number | None = None,
) -> Figure:
    r"""The share of successes on a grid, the estimated edge, and what theory says of it.

    Cells are as wide as the gaps between the values of `x` (which may be uneven, as under
    $x = \alpha^{-2}$) and, on the logarithmic `y` axis, as high as the ratios between those of
    `y`. Dark cells fail and light ones succeed; a cell without trials is crossed out.

    Args:
        x: The columns, distinct, in any order.
        y: The rows, distinct and positive, in any order.
        rate: Shares in [0, 1], one row for each `y`; NaN where nothing was run.
        x_label: What `x` is, with its unit.
        y_label: What `y` is, with its unit.
        title: One line over the figure.
        edge: The threshold over `x` and its interval; ends outside the grid become arrows.
        theory: Curves to lay over the map, each `(label, x, y)`.
        validity: Where the theorem's conditions fail; that side is hatched.
        marked: Cells to mark, such as unconverged ones; the same shape as `rate`.
        top: Other names for the columns, in the order of `x`.
        bar_label: What the colours mean.
        width: Inches.
        height: Inches.

    Raises:
        InputError: When the shapes disagree, a value repeats, or a rate is not a share.
    """
    grid = make_grid(x, y, rate, marked, top)
    figure = style.new_figure(width, height or 0.85 * width, title=title)
    axes = figure.axes[0]
    mesh = _draw_cells(axes, grid)
    style.label(axes, x_label, y_label)
    _ticks(axes, grid, float(width) - 1.15, top.label if top else "")
    handles = _draw_missing(axes, grid) + _draw_marked(axes, grid, marked)
    handles = _draw_theory(axes, theory) + _draw_validity(axes, validity) + handles
    handles = _draw_edge(axes, edge) + handles
    bar = figure.colorbar(mesh, ax=axes, pad=0.025, aspect=28, ticks=[0, 0.25, 0.5, 0.75, 1])
    style.dress_bar(bar, bar_label)
    room, clearance = float(width) - 1.15, 25 if top else 4
    style.legend_above(axes, handles, room=room, clearance=clearance, grow=height is None)
    return figure


def phase(
    table: Table,
    x: str,
    y: str,
    edge: Any = None,
    *,
    measure: str | None = None,
    level: Number | None = None,
    below: bool | None = None,
    transform: Callable[[np.ndarray], np.ndarray] | None = None,
    x_label: str = "",
    y_label: str = "",
    edge_label: str = "half of the trials succeed",
    facts: Sequence[str] = (),
    **options: Any,
) -> Figure:
    """A phase diagram straight from a table.

    Args:
        table: One row a trial; other axes may move with `x`, but not on their own.
        x: The axis across.
        y: The axis upwards, drawn on a logarithmic scale.
        edge: A fitted threshold: anything with `x(axis)`, `values`, `low` and `high`. Its
            `measure`, `level` and `below`, where it has them, are the defaults of the next three;
            where its `resolved` is false only the interval is drawn.
        measure: The column that decides success.
        level: A trial succeeds when the measure is at least this.
        below: Succeed under the level instead.
        transform: What to draw of `x`, such as `lambda a: a**-2`; the raw values go on top.
        x_label: Instead of the axis's own name.
        y_label: Instead of the axis's own name.
        edge_label: What the edge is, in the legend.
        facts: For the line under the axes, after the number of trials.
        options: Passed on to `phase_diagram`.

    Raises:
        InputError: When measure or level is unknown, or the table varies over a third axis.
    """
    measure = measure if measure is not None else getattr(edge, "measure", None)
    level = level if level is not None else getattr(edge, "level", None)
    below = below if below is not None else bool(getattr(edge, "below", False))
    if measure is None or level is None:
        raise InputError("no rule for success", "give measure= and level=, or a fitted edge=")
    columns, rows, rate, trials = success_rates(table, x, y, measure, float(level), below=below)
    across = columns if transform is None else transform(columns)
    series = None
    if edge is not None:
        series = _from_edge(edge, x, y, edge_label, transform or np.asarray)
    if transform is not None:
        options.setdefault("top", TopAxis(x, columns))
    figure = phase_diagram(
        *(across, rows, rate),
        x_label=x_label or (x if transform is None else f"transformed {x}"),
        y_label=y_label or y,
        edge=series,
        **options,
    )
    sign = "<" if below else "≥"
    few, many = int(trials[trials > 0].min()), int(trials.max())
    count = f"{few}" if few == many else f"{few} to {many}"
    rule = f"success: {measure} {sign} {float(level):g}"
    style.caption(figure, *style.provenance(trials=count), rule, *facts)
    return figure


def _from_edge(
    edge: Any, x: str, y: str, label: str, transform: Callable[[np.ndarray], np.ndarray]
) -> Series:
    if getattr(edge, "along", y) != y:
        raise InputError(f"the edge lies along {edge.along!r}, not {y!r}", "fit it along y")
    values = np.asarray(edge.values, dtype=float)
    values = np.where(getattr(edge, "resolved", True), values, np.nan)
    return Series(label, transform(np.asarray(edge.x(x), dtype=float)), values, edge.low, edge.high)


# --- the grid ---------------------------------------------------------------------------------


def _draw_cells(axes: Axes, grid: Grid):
    across = borders(grid.x, max(0.5 * abs(grid.x[0]), 0.5))
    upwards = np.exp(borders(np.log(grid.y), 0.5 * np.log(2)))
    axes.set_yscale("log")
    mesh = axes.pcolormesh(
        *(across, upwards, np.ma.masked_invalid(grid.rate)),
        **{"cmap": SUCCESS, "vmin": 0, "vmax": 1, "edgecolors": "face", "linewidth": 0.2},
        zorder=1,
    )
    axes.set_xlim(across[0], across[-1])
    axes.set_ylim(upwards[0], upwards[-1])
    return mesh


def _ticks(axes: Axes, grid: Grid, inches: Number, top: str) -> None:
    """Ticks at the values that were run; labels at as many of them as there is room for."""
    low, high = np.log(axes.get_ylim())
    keep = thin((np.log(grid.y) - low) / (high - low), max(9 / (72 * inches), MOST_LABELS))
    axes.set_yticks(grid.y[keep], [_plain(v) for v in grid.y[keep]])
    axes.set_yticks(grid.y[~keep], minor=True)
    axes.yaxis.set_minor_formatter(NullFormatter())
    _name_columns(axes, grid.x, [_plain(v) for v in grid.x], inches, axes.get_xlim())
    if top and grid.names is not None:
        upper = axes.secondary_xaxis("top")
        style.dress(upper)
        upper.set_xlabel(top, fontsize=style.LABEL, color=INK, labelpad=3)
        names = [_plain(v) for v in grid.names]
        _name_columns(upper, grid.x, names, inches, axes.get_xlim())


def _name_columns(
    axes: Any, x: np.ndarray, names: list[str], inches: Number, span: tuple[Number, Number]
) -> None:
    places = (x - span[0]) / (span[1] - span[0])
    keep = thin(places, max(label_gap(names, inches), MOST_LABELS))
    axes.set_xticks(x[keep], [name for name, kept in zip(names, keep, strict=True) if kept])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(x[~keep], minor=True)
    axes.xaxis.set_minor_formatter(NullFormatter())


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{float(value):.3g}"


# --- what lies on it --------------------------------------------------------------------------


def _draw_missing(axes: Axes, grid: Grid) -> list[Artist]:
    if not np.isnan(grid.rate).any():
        return []
    look = {"facecolor": "#efefef", "edgecolor": style.MUTED, "hatch": "xxxxx", "linewidth": 0}
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    axes.fill_between([low, high], bottom, top, zorder=0, **look)
    return [Patch(label="not run", **look)]


def _draw_marked(axes: Axes, grid: Grid, marked: Marked | None) -> list[Artist]:
    rows, columns = np.nonzero(grid.marked)
    if marked is None or not len(rows):
        return []
    drawn = axes.plot(
        *(grid.x[columns], grid.y[rows]),
        **{"linestyle": "none", "marker": "x", "markersize": 3.5, "markeredgewidth": 0.8},
        **{"color": INK, "path_effects": style.halo(1.8), "label": marked.label, "zorder": 3},
    )
    return list(drawn)


def _draw_theory(axes: Axes, theory: Sequence[Line]) -> list[Artist]:
    handles: list[Artist] = []
    for i, line in enumerate(theory):
        series = as_series(line)
        x, y, _, _ = series.arrays()
        look = {"color": THEORY_COLOURS[i % 4], "linestyle": style.DASHES[1 + i % 4]}
        effects = {"path_effects": style.halo(2.6), "linewidth": 1.3}
        handles += axes.plot(x, y, label=series.label, zorder=3, **look, **effects)
    return handles


def _draw_validity(axes: Axes, validity: Validity | None) -> list[Artist]:
    if validity is None:
        return []
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    at = float(np.clip(validity.at, low, high))
    side = [low, at] if validity.fails == "left" else [at, high]
    look = {"facecolor": "none", "edgecolor": HATCH, "hatch": "////", "linewidth": 0}
    if side[0] < side[1]:
        area = axes.fill_between(side, bottom, top, zorder=2, **look)
        area.set_hatch_linewidth(0.4)
    axes.axvline(at, color=INK, linewidth=0.8, zorder=2.5, path_effects=style.halo(1.8))
    patch = Patch(label=validity.label, **look)
    patch.set_hatch_linewidth(0.6)
    return [patch]


def _draw_edge(axes: Axes, edge: Series | None) -> list[Artist]:
    if edge is None:
        return []
    x, middle, _, _ = edge.arrays()
    if edge.has_band:
        draw_band(axes, edge, EDGE_COLOUR, 0.28, zorder=2.8, outline=0.5)
    look = {"color": EDGE_COLOUR, "linewidth": 1.5}
    dots = {"marker": "o", "markersize": 4, "markeredgecolor": "white", "markeredgewidth": 0.6}
    axes.plot(x, middle, zorder=4, path_effects=style.halo(2.8), **look)
    axes.plot(x, middle, zorder=4.5, label=edge.label, linestyle="none", color=EDGE_COLOUR, **dots)
    draw_open_ends(axes, edge, EDGE_COLOUR, zorder=5)
    return [Line2D([], [], label=edge.label, **look, **dots)]
