"""Regions of a map: where they end, and what they are called."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from limelight.plot.marks import Contour, Mark, Text, flat

LEAST = 0.02
"""The part of all cells below which a region is too small for its name."""

LETTER, LINE = 0.045, 0.08
"""Room of a letter and of a line of words in a panel of a third of the page, over its sides."""


def regions(x: ArrayLike, y: ArrayLike, kind: ArrayLike, names: Sequence[str]) -> list[Mark]:
    """White borders between regions of a map, and the name of each inside it.

    Args:
        x: The columns of the map, ascending.
        y: The rows.
        kind: Which region each cell belongs to, as a place in `names`; one row for each `y`.
        names: What the regions are called.

    Example:
        >>> [mark.words for mark in regions([1, 2], [1, 2], [[0, 0], [0, 0]], ["low", "high"])]
        ['low']
    """
    across, upwards, part = flat(x), flat(y), np.asarray(kind)
    found: list[Mark] = [
        Contour("", across, upwards, (part > level).astype(float), 0.5, colour="white")
        for level in range(len(names) - 1)
    ]
    found = [mark for mark in found if isinstance(mark, Contour) and np.ptp(mark.values)]
    for number, name in enumerate(names):
        if (part == number).mean() >= LEAST:
            tried = [(_middle(part == number, words), words) for words in _set(name)]
            (_, row, column), words = max(tried, key=lambda found: found[0][0])
            found.append(Text(words, (across[column], upwards[row]), bold=True))
    return found


def _set(name: str) -> list[str]:
    """A name on one line, and on two where it has a hyphen or a space."""
    broken = name.replace("-", "-\n", 1) if "-" in name else name.replace(" ", "\n", 1)
    return list(dict.fromkeys((name, broken)))


def _middle(inside: np.ndarray, words: str) -> tuple[float, int, int]:
    """How much of a name lies inside its region, and the cell around which most of it does.

    Of several such cells, one far from the border. A name takes about `LETTER` of the width of a
    panel for each letter, and `LINE` of its height for each line.
    """
    from scipy.ndimage import distance_transform_cdt, uniform_filter  # slow to import

    rows, columns = inside.shape
    lines = words.split("\n")
    high, wide = LINE * len(lines) * rows, LETTER * max(map(len, lines)) * columns
    size = (min(rows, max(1, round(high))), min(columns, max(1, round(wide))))
    whole = np.asarray(inside, dtype=float)
    covered = uniform_filter(whole, size, mode="constant")  # pyright: ignore[reportArgumentType]
    depth = np.asarray(distance_transform_cdt(np.pad(inside, 1), "taxicab"))[1:-1, 1:-1]
    best = np.where(inside, np.minimum(covered, 0.999) + 1e-3 * depth / depth.max(), 0.0)
    row, column = np.unravel_index(np.argmax(best), best.shape)
    return float(np.minimum(covered, 0.999)[row, column]), int(row), int(column)
