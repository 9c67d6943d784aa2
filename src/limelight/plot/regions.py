"""Regions of a map: where they end, and what they are called."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from limelight.plot.marks import Contour, Mark, Text, flat

LEAST = 0.02
"""The part of all cells below which a region is too small for its name."""


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
            row, column = _middle(part == number)
            found.append(Text(name, (across[column], upwards[row]), bold=True))
    return found


def _middle(inside: np.ndarray) -> tuple[int, int]:
    """The cell of a region that is the most steps away from its border and from the frame.

    Away from the sides too, where the region allows it, so that a name fits.
    """
    from scipy.ndimage import distance_transform_cdt  # slow to import, needed here alone

    depth = np.asarray(distance_transform_cdt(np.pad(inside, 1), "taxicab"))[1:-1, 1:-1]
    central = np.abs(np.arange(inside.shape[1]) / inside.shape[1] - 0.5) < 0.3
    if depth[:, central].any():
        depth = depth * central
    row, column = np.unravel_index(np.argmax(depth), depth.shape)
    return int(row), int(column)
