"""Maps over the patches of an image: similarities as a grid of maps, attention over the image."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from limelight._core.errors import InputError
from limelight.plot.marks import Image, Map, Mark, Number, Points
from limelight.plot.picture import TWO_COLUMNS, Axis, Panel, Picture

#: Blocks and heads drawn at most; more would be too small to see.
MOST = 12


def similarity_maps(
    panels: Sequence[tuple[str, ArrayLike]],
    largest: Number,
    bar_label: str,
    note: str | Sequence[str] = (),
) -> Picture:
    """Every patch's similarity to all others, as a grid of maps; one grid per panel.

    Args:
        panels: `(title, similarity)`, each patches by patches of a square grid, in any shape.
        largest: The similarity drawn lightest; 0 and below is the darkest.
        bar_label: What the colours mean.
        note: Facts for the caption.

    Example:
        >>> picture = similarity_maps([("trained", np.eye(4))], 1.0, "similarity of positions")
        >>> len(picture.panels)
        1
    """
    height = min(3.6, 0.3 + 6.6 / len(panels))
    parts = [
        Panel(
            name,
            [Map(_mosaic(np.asarray(flat)), bar_label, low=0.0, high=largest, missing="blank")],
        )
        for name, flat in panels
    ]
    return Picture(parts, width=TWO_COLUMNS, height=height, note=note)


def _mosaic(similarity: np.ndarray) -> np.ndarray:
    side = round(similarity.size**0.25)
    if side**4 != similarity.size:
        raise InputError(f"{similarity.size} similarities are not those of a square grid")
    maps = similarity.reshape(side, side, side, side).astype(float)
    gapped = np.full((side, side + 1) * 2, np.nan)  # a free line between two maps
    gapped[:, :side, :, :side] = maps.transpose(0, 2, 1, 3)
    return gapped.reshape(side * (side + 1), -1)[:-1, :-1]


def patch_sets(title: str, sets: ArrayLike, marks: ArrayLike | None = None) -> Panel:
    """Patches of a square image coloured by the set they belong to, with a sign where marked.

    Args:
        title: Over the panel.
        sets: The set of each patch, row by row.
        marks: +1, -1 or 0 for each patch; no signs when `None`.

    Example:
        >>> patch_sets("sets", [0, 0, 1, 1]).title
        'sets'
    """
    side = round(np.asarray(sets).size ** 0.5)
    if side**2 != np.asarray(sets).size:
        raise InputError(f"{np.asarray(sets).size} patches are not those of a square grid")
    content: list[Mark] = [Map(np.asarray(sets).reshape(side, side), square=True, opacity=0.45)]
    for sign, marker in ((1, "+"), (-1, "_")):
        at = np.flatnonzero(np.asarray(marks) == sign) if marks is not None else np.array([], int)
        if len(at):
            y, x = np.divmod(at, side)
            content.append(Points("", x + 0.5, y + 0.5, colour="ink", marker=marker, size=9))
    return Panel(title, content)


def attention_over_image(image: ArrayLike, maps: ArrayLike, bar_label: str) -> Picture:
    """Attention of every block (column) and head (row), drawn over the image it belongs to.

    Each map is divided by the weight of even attention. The image is in grey under it and, once, as
    it is.

    Args:
        image: Pixels, height by width by channels, from 0.
        maps: Weights, blocks by heads by side by side; a map adds up to at most 1.
        bar_label: What the colours mean.

    Example:
        >>> maps = np.full((1, 2, 2, 2), 0.25)  # blocks, heads, rows and columns of patches
        >>> picture = attention_over_image(np.zeros((4, 4, 1)), maps, "attention over even")
        >>> len(picture.panels)
        4
    """
    pixels, weights = np.asarray(image), np.asarray(maps, dtype=float)
    if weights.ndim != 4 or pixels.ndim != 3:
        raise InputError("an image and maps by block, head, row and column are needed")
    blocks, heads = shown(weights.shape[0]), shown(weights.shape[1])
    relative = weights * weights.shape[2] * weights.shape[3]
    largest = float(np.quantile(relative[blocks][:, heads], 0.995)) or 1.0
    parts = []
    for row, head in enumerate(heads):
        first: list[Mark] = [] if row else [Image(pixels)]
        parts.append(Panel("", first))
        for column, block in enumerate(blocks):
            marks = _over(pixels, relative[block, head], largest, bar_label)
            word = "" if column else f"head {head + 1}"
            parts.append(Panel("" if row else f"block {block + 1}", marks, Axis(word)))
    columns = len(blocks) + 1
    side = min(0.95, (TWO_COLUMNS - 0.7) / columns)
    size = (side * columns + 0.7, (side + 0.04) * len(heads) + 0.25)
    return Picture(parts, columns, *size)


def _over(pixels: np.ndarray, weights: np.ndarray, largest: Number, label: str) -> list[Mark]:
    """The image in grey, and weights over it, patches as large as they are in the image."""
    y, x = (
        (np.arange(count) + 0.5) * size / count
        for count, size in zip(weights.shape, pixels.shape, strict=False)
    )
    cells = Map(weights, label, x=x, y=y, low=0.0, high=largest, opacity=0.68)
    return [Image(pixels, grey=True), cells]


def shown(count: int) -> list[int]:
    """Which of so many blocks or heads are drawn: all, or `MOST` evenly chosen ones.

    Example:
        >>> shown(3), len(shown(24)), shown(24)[-1]
        ([0, 1, 2], 12, 23)
    """
    return sorted({round(i) for i in np.linspace(0, count - 1, min(count, MOST))})
