"""Maps over the patches of an image: similarities as a grid of maps, attention over the image."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from limelight.core.errors import InputError
from limelight.plot import style
from limelight.plot.style import INK, LABEL, TICK, TWO_COLUMNS, WEIGHT, Number

#: Blocks and heads drawn at most; more would be too small to see.
MOST = 12


def similarity_maps(
    panels: Sequence[tuple[str, ArrayLike]], largest: Number, bar_label: str, title: str = ""
) -> Figure:
    """Every patch's similarity to all others, as a grid of maps; one grid a panel.

    Args:
        panels: `(title, similarity)`, each patches by patches of a square grid, in any shape.
        largest: The similarity drawn darkest; 0 and below is the lightest.
        bar_label: What the colours mean.
        title: One line over the figure.
    """
    height = min(3.6, 0.3 + 6.6 / len(panels)) + (0.25 if title else 0)
    figure = style.new_figure(TWO_COLUMNS, height, columns=len(panels), title=title)
    scale = Normalize(0.0, float(largest))
    for axes, (name, flat) in zip(figure.axes, panels, strict=True):
        axes.imshow(_mosaic(np.asarray(flat)), cmap=WEIGHT, norm=scale, interpolation="nearest")
        _bare(axes)
        axes.set_title(name, fontsize=LABEL, color=INK, loc="left", pad=3)
    colours = ScalarMappable(scale, WEIGHT)
    bar = figure.colorbar(colours, ax=figure.axes, shrink=0.8, extend="both")
    style.dress_bar(bar, bar_label)
    return figure


def _mosaic(similarity: np.ndarray) -> np.ndarray:
    side = round(similarity.size**0.25)
    if side**4 != similarity.size:
        raise InputError(f"{similarity.size} similarities are not those of a square grid")
    maps = similarity.reshape(side, side, side, side).astype(float)
    gapped = np.full((side, side + 1) * 2, np.nan)  # a free line between two maps
    gapped[:, :side, :, :side] = maps.transpose(0, 2, 1, 3)
    return gapped.reshape(side * (side + 1), -1)[:-1, :-1]


def attention_over_image(
    image: ArrayLike, maps: ArrayLike, *, title: str = "", bar_label: str = ""
) -> Figure:
    """Attention of every block (column) and head (row), drawn over the image it belongs to.

    Each map is divided by the weight of even attention. The image is in grey under it and, once, as
    it is.

    Args:
        image: Pixels, height by width by channels, from 0.
        maps: Weights, blocks by heads by side by side; a map adds up to at most 1.
        title: One line over the figure.
        bar_label: What the colours mean.
    """
    pixels, weights = np.asarray(image), np.asarray(maps, dtype=float)
    if weights.ndim != 4 or pixels.ndim != 3:
        raise InputError("an image and maps by block, head, row and column are needed")
    blocks, heads = shown(weights.shape[0]), shown(weights.shape[1])
    relative = weights * weights.shape[2] * weights.shape[3]
    scale = Normalize(0.0, float(np.quantile(relative[blocks][:, heads], 0.995)) or 1.0)
    side = min(0.95, (TWO_COLUMNS - 0.7) / (len(blocks) + 1))
    size = (side * (len(blocks) + 1) + 0.7, (side + 0.04) * len(heads) + (0.45 if title else 0.25))
    figure = style.new_figure(*size, rows=len(heads), columns=len(blocks) + 1, title=title)
    grid = np.asarray(figure.axes).reshape(len(heads), -1)
    for axes in figure.axes:
        _bare(axes)
    coloured = {} if pixels.shape[2] == 3 else {"cmap": "gray", "vmin": 0, "vmax": pixels.max()}
    grid[0, 0].imshow(pixels, **coloured)
    for axes, head in zip(grid[:, 1], heads, strict=True):
        axes.set_ylabel(f"head {head + 1}", fontsize=TICK, color=INK, labelpad=2)
    for axes, block in zip(grid[0, 1:], blocks, strict=True):
        axes.set_title(f"block {block + 1}", fontsize=TICK, color=INK, pad=2)
    for row, head in zip(grid[:, 1:], heads, strict=True):
        for axes, block in zip(row, blocks, strict=True):
            _overlay(axes, pixels, relative[block, head], scale)
    bar = figure.colorbar(ScalarMappable(scale, WEIGHT), ax=figure.axes, extend="max", aspect=18)
    style.dress_bar(bar, bar_label)
    return figure


def _overlay(axes: Axes, pixels: np.ndarray, weights: np.ndarray, scale: Normalize) -> None:
    grey, brightest = pixels.mean(axis=2), float(pixels.max()) or 1.0
    axes.imshow(grey, cmap="gray", vmin=-0.6 * brightest, vmax=brightest)
    look = {"cmap": WEIGHT, "norm": scale, "interpolation": "nearest", "alpha": 0.68}
    axes.imshow(weights, extent=(0, pixels.shape[1], pixels.shape[0], 0), **look)


def shown(count: int) -> list[int]:
    """Which of so many blocks or heads are drawn: all, or `MOST` evenly chosen ones.

    Example:
        >>> shown(3), len(shown(24)), shown(24)[-1]
        ([0, 1, 2], 12, 23)
    """
    return sorted({round(i) for i in np.linspace(0, count - 1, min(count, MOST))})


def _bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
