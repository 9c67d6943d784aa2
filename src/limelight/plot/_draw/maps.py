"""Maps, contours and images on the axes of a panel, and the colour bars beside them."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from limelight.plot import style
from limelight.plot._draw.frame import cell_borders, is_matrix, within
from limelight.plot._looks import Look
from limelight.plot.marks import Contour, Image, Map, flat
from limelight.plot.style import INK, MUTED, SHADES

NO_DATA = {"facecolor": "#efefef", "edgecolor": MUTED, "hatch": "xxxxx", "linewidth": 0}
MANY = 400
OUTSIDE = 1e-9
"""How far beyond the ends of its colours a value lies before the bar has a tip for it."""


def draw_map(axes: Axes, cells: Map, *, log_x: bool, log_y: bool) -> ScalarMappable:
    """The cells of a map, and what is known of missing ones."""
    values = np.ma.masked_invalid(_held(cells.values))
    look = {"cmap": SHADES, "norm": _norm(cells), "alpha": float(cells.opacity), "zorder": 1}
    if values.size > MANY:
        look |= {"rasterized": True}  # edges would blur cells of a few dots each
    elif cells.opacity == 1:
        look |= {"edgecolors": "face", "linewidth": 0.2}  # no hair lines between cells
    ends = (axes.get_xlim(), axes.get_ylim())
    if cells.x is None or cells.y is None:
        mesh = axes.pcolormesh(values, **look)
    else:
        places = cell_borders(cells.x, log_x), cell_borders(cells.y, log_y)
        mesh = axes.pcolormesh(*places, values, **look)
    axes.set(xlim=ends[0], ylim=ends[1])
    if is_matrix(cells) and cells.square:
        axes.set_aspect("equal")
    if has_missing(cells):
        axes.fill_between(ends[0], *ends[1], zorder=0, **NO_DATA)
    if cells.numbers:
        _write_numbers(axes, np.asarray(cells.values, dtype=float), cells)
    return mesh


def has_missing(cells: Map) -> bool:
    """Whether the legend must say what hatched cells are."""
    return cells.missing == "hatched" and bool(np.isnan(np.asarray(cells.values, float)).any())


def _ends(cells: Map) -> tuple[float, float]:
    values = np.asarray(cells.values, dtype=float)
    known = values[np.isfinite(values) & ((values > 0) | (cells.scale != "log"))]
    low = float(cells.low) if cells.low is not None else float(known.min(initial=np.inf))
    high = float(cells.high) if cells.high is not None else float(known.max(initial=-np.inf))
    low, high = (0.0 if not np.isfinite(low) else low), (1.0 if not np.isfinite(high) else high)
    low, high = (float(end) for end in within(np.array([low, high]), cells.scale == "log"))
    return low, high if high > low else low + 1e-12 * max(1.0, abs(low))


def _held(values: ArrayLike) -> np.ndarray:
    """Values as far as colours can be computed of them; infinite ones stay without a colour."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values), within(values, log=False), values)


def _norm(cells: Map) -> Normalize:
    return (LogNorm if cells.scale == "log" else Normalize)(*_ends(cells))


def _write_numbers(axes: Axes, matrix: np.ndarray, cells: Map) -> None:
    low, high = _ends(cells)
    for (row, column), value in np.ndenumerate(matrix):
        text = "–" if np.isnan(value) else f"{value:.2f}"
        dark = (value - low) / (high - low) < 0.55
        place = {"ha": "center", "va": "center", "fontsize": style.TICK}
        axes.text(column + 0.5, row + 0.5, text, color="white" if dark else INK, **place)


def draw_contour(axes: Axes, contour: Contour, look: Look) -> None:
    """The line of one level; nothing where the values do not cross it."""
    values = _held(contour.values)
    level = float(contour.level)
    if not (np.nanmin(values) < level < np.nanmax(values)):
        return
    shown = {"colors": look.colour, "linewidths": 1.4, "linestyles": "-", "zorder": 2.2}
    drawn = axes.contour(flat(contour.x), flat(contour.y), values, levels=[level], **shown)
    drawn.set_label(contour.label)


def draw_image(axes: Axes, image: Image) -> None:
    """Pixels as they are, or in pale grey."""
    pixels = np.asarray(image.pixels)
    rows, columns = pixels.shape[:2]
    brightest = float(pixels.max()) or 1.0
    place = {"extent": (0, columns, rows, 0), "zorder": 0}
    if image.grey or pixels.shape[2] != 3:
        floor = -0.6 * brightest if image.grey else 0.0
        axes.imshow(pixels.mean(axis=2), cmap="gray", vmin=floor, vmax=brightest, **place)
    else:
        axes.imshow(pixels, **place)


def draw_colour_bars(figure: Figure, drawn: list[tuple[Axes, Map, ScalarMappable]]) -> None:
    """One bar for all maps of one label and one scale."""
    groups: dict[tuple, list[tuple[Axes, Map, ScalarMappable]]] = {}
    for axes, cells, mesh in drawn:
        if cells.label:
            key = (cells.label, cells.scale, cells.low, cells.high)
            groups.setdefault(key, []).append((axes, cells, mesh))
    for group in groups.values():
        axes, cells, mesh = group[-1]
        if len(groups) == 1 and len(group) == len(figure.axes) and is_matrix(cells):
            # Exactly as high as the last map, which is lower than its place in the grid.
            inches = float(figure.get_figwidth()) / len(figure.axes)
            place = axes.inset_axes((1.0 + 0.09 / inches, 0.0, 0.11 / inches, 1.0))
            bar = figure.colorbar(mesh, cax=place, extend=_tips(group))
        else:
            beside = [axes for axes, _, _ in group]
            bar = figure.colorbar(
                mesh, ax=beside, pad=0.02, aspect=28, extend=_tips(group), alpha=1.0
            )
        if cells.bar_ticks is not None:
            ticks = [float(tick) for tick in cells.bar_ticks]
            bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
            bar.minorticks_off()
        style.dress_bar(bar, cells.label)


def _tips(group: list[tuple[Axes, Map, ScalarMappable]]) -> str:
    """Which ends of the colours stand for everything beyond them."""
    low, high = _ends(group[-1][1])
    values = np.concatenate([flat(cells.values) for _, cells, _ in group])
    values = values[np.isfinite(values)]
    below, above = (values < low - OUTSIDE).any(), (values > high + OUTSIDE).any()
    return {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[int(below), int(above)]
