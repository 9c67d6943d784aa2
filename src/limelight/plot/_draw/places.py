"""Where labels, marks and the borders of cells go; plain numbers, nothing drawn."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from limelight.plot.marks import Number
from limelight.plot.style import TICK

MOST_MARKERS = 20


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
    # Less a gap for each that stands before, places need only keep their order.
    before = gap * np.arange(len(places))
    out = np.empty_like(places)
    out[order] = before + rising(places[order] - before)
    return out


def rising(values: ArrayLike) -> np.ndarray:
    """The nearest sequence that never falls, by least squares: neighbours that fall share a mean.

    SciPy has it too, in a module that takes longer to load than a picture takes to draw.

    Example:
        >>> rising([1.0, 3.0, 2.0, 4.0]).tolist()
        [1.0, 2.5, 2.5, 4.0]
    """
    pools: list[tuple[float, int]] = []
    for value in np.asarray(values, dtype=float):
        total, size = float(value), 1
        while pools and pools[-1][0] * size > total * pools[-1][1]:
            more, many = pools.pop()
            total, size = total + more, size + many
        pools.append((total, size))
    return np.array([total / size for total, size in pools for _ in range(size)])


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


def borders(values: np.ndarray, lonely: Number) -> np.ndarray:
    """Midpoints between neighbours, and half a gap beyond the ends."""
    if len(values) == 1:
        return np.array([values[0] - lonely, values[0] + lonely])
    middle = (values[1:] + values[:-1]) / 2
    first, last = values[0] - (middle[0] - values[0]), values[-1] + (values[-1] - middle[-1])
    return np.concatenate([[first], middle, [last]])
