"""Where in a panel there is room for a name: near its own line, on nothing, nearest to no other.

All places are points (1/72 inch) from the lower left corner of the panel; what is drawn is kept as
a raster of such points.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from scipy.ndimage import distance_transform_edt

#: Points between a line and its name; beyond `LEADER` a thin line leads to it.
GAPS = (2.5, 1.2, 7.0, 13.0, 20.0, 29.0, 40.0)
LEADER = 5.0
#: Points at the end of a leader within which lines may lie on each other.
CROWD = 8.0
#: What it costs to stand on a band, in points of distance.
SHADE = 9.0
#: Points left free around a name.
CLEAR = 1.2
#: Orders in which names are tried; the one with the least cost is taken.
ORDERS = 24
#: The radius from which a mark is taken for a square.
LARGE = 2.7
#: Places along one line at which a name is tried.
TRIED = 40
AROUND = ((1, 0), (0, 1), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1))

Path = np.ndarray  # of points, one row each; rows that are not numbers interrupt it


@dataclass
class Subject:
    """A label, the sizes its name can have, and what is drawn for it; dots have a radius."""

    label: str
    sizes: list[tuple[float, float]]
    lines: list[Path] = field(default_factory=list)
    dots: list[tuple[Path, float]] = field(default_factory=list)
    areas: list[tuple[float, float, float, float]] = field(default_factory=list)
    bands: list[Path] = field(default_factory=list)


@dataclass(frozen=True)
class Spot:
    """Where a name stands: its lower left corner, its size, and the end of its leader."""

    label: str
    box: tuple[float, float, float, float]
    size: int
    anchor: tuple[float, float] | None
    cost: float


def find(
    inches: tuple[float, float],
    subjects: Sequence[Subject],
    others: Sequence[Subject],
    boxes: Sequence[tuple[float, float, float, float]] = (),
    *,
    crowd: float = 0.0,
) -> list[Spot]:
    """A place for each name, or nothing at all where one of them finds none.

    Args:
        inches: Width and height of the panel.
        subjects: What is to be named.
        others: What is drawn beside it.
        boxes: Words that stand in the panel already.
        crowd: Points at the end of a leader within which it may meet other lines.
    """
    shape = tuple(max(int(72 * side), 1) for side in inches)
    own = [_raster(shape, subject) for subject in subjects]
    rest = np.zeros((shape[1], shape[0]), bool)
    for other in others:
        rest |= _raster(shape, other)
    for left, low, right, high in boxes:
        rest[max(int(low), 0) : int(high) + 1, max(int(left), 0) : int(right) + 1] = True
    away = [_away(np.logical_or.reduce([rest, *own[:i], *own[i + 1 :]])) for i in range(len(own))]
    every = np.logical_or.reduce([rest, *own]) if own else rest
    shaded = _sums(_shaded(shape, [*subjects, *others]))
    tried = [_candidates(shape, subject, away[i], shaded) for i, subject in enumerate(subjects)]
    best: list[Spot] = []
    for order in islice(permutations(range(len(subjects))), ORDERS):
        taken, found = every.copy(), []
        for i in order:
            place = _choose(subjects[i].label, tried[i], taken, away[i], crowd)
            if place is None:
                break
            found.append(place)
            left, low, wide, high = place.box
            taken[int(low) : int(low + high) + 2, int(left) : int(left + wide) + 2] = True
        if len(found) == len(subjects) and (not best or _cost(found) < _cost(best)):
            best = found
    return best


def _cost(places: Sequence[Spot]) -> float:
    return sum(place.cost for place in places)


def _raster(shape: tuple[int, ...], subject: Subject) -> np.ndarray:
    """Which points of the panel are covered."""
    image = Image.new("L", (shape[0], shape[1]))
    pen = ImageDraw.Draw(image)
    for path in subject.lines:
        for part in _parts(path):
            pen.line([tuple(place) for place in part], fill=1, width=2)
    for path, radius in subject.dots:
        for x, y in path[np.isfinite(path).all(axis=1)]:
            corners = (x - radius, y - radius, x + radius, y + radius)
            (pen.ellipse if radius < LARGE else pen.rectangle)(corners, fill=1)
    return np.asarray(image, bool)


def _shaded(shape: tuple[int, ...], subjects: Sequence[Subject]) -> np.ndarray:
    """How many bands lie on each point of the panel."""
    total = np.zeros((shape[1], shape[0]))
    for subject in subjects:
        for outline in subject.bands:
            image = Image.new("L", (shape[0], shape[1]))
            ImageDraw.Draw(image).polygon([tuple(place) for place in outline], fill=1)
            total += np.asarray(image)
    return total


def _sums(values: np.ndarray) -> np.ndarray:
    """Sums over all points below and left of each."""
    return np.pad(values.cumsum(0).cumsum(1), ((1, 0), (1, 0)))


def _within(sums: np.ndarray, left: Any, low: Any, right: Any, high: Any) -> Any:
    """The sum inside boxes."""
    return sums[high, right] - sums[low, right] - sums[high, left] + sums[low, left]


def _parts(path: Path) -> list[np.ndarray]:
    """The unbroken parts of a path, cut where it leaves the neighbourhood of the panel."""
    known = np.isfinite(path).all(axis=1) & (np.abs(path) < 1e5).all(axis=1)
    ends = np.flatnonzero(np.diff(np.pad(known.astype(int), 1)))
    return [path[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True) if b - a > 1]


def _away(drawn: np.ndarray) -> np.ndarray:
    """The distance of every point from what is drawn."""
    far = np.full(drawn.shape, 1e3)
    return np.asarray(distance_transform_edt(~drawn)) if drawn.any() else far


@dataclass(frozen=True)
class _Tried:
    """Boxes for a name (left, low, width, height, which size), their anchors and their costs."""

    boxes: np.ndarray
    anchors: np.ndarray
    gaps: np.ndarray
    costs: np.ndarray


def _candidates(
    shape: tuple[int, ...], subject: Subject, away: np.ndarray, shaded: np.ndarray
) -> _Tried:
    boxes, anchors, gaps, costs = [], [], [], []
    for number, (wide, high) in enumerate(subject.sizes):
        for x, y in _anchors(shape, subject, (wide, high)):
            free = min(float(away[int(y), int(x)]), 12.0)
            for gap in GAPS if not subject.areas else (0.0,):
                for right, up in AROUND if gap else ((0, 0),):
                    reach = gap / (2**0.5 if right and up else 1)
                    left = x + right * reach - (wide if right < 0 else wide / 2 if not right else 0)
                    low = y + up * reach - (high if up < 0 else high / 2 if not up else 0)
                    inside = left >= 1 and low >= 1
                    if inside and left + wide < shape[0] - 1 and low + high < shape[1] - 1:
                        boxes.append((left, low, wide, high, number))
                        anchors.append((x, y))
                        gaps.append(gap)
                        # Near its line, at its right, where the line is alone, on one line of text.
                        near = 12 if 0 < gap < GAPS[0] else gap  # only where nothing else is left
                        costs.append(near - 0.5 * free + 4 * (1 - x / shape[0]) + 3 * number)
    arrays = [np.array(part, dtype=float) for part in (boxes, anchors, gaps, costs)]
    found = arrays[0].reshape(-1, 5)
    left, low, right, high = (
        side.astype(int)
        for side in (found[:, 0], found[:, 1], found[:, 0] + found[:, 2], found[:, 1] + found[:, 3])
    )
    arrays[3] += (
        SHADE * _within(shaded, left, low, right, high) / np.maximum(found[:, 2] * found[:, 3], 1)
    )
    return _Tried(found, arrays[1].reshape(-1, 2), *arrays[2:])


def _anchors(
    shape: tuple[int, ...], subject: Subject, size: tuple[float, float]
) -> list[tuple[float, float]]:
    """Places on what is drawn, or over a strip, from which a name can be hung."""
    found = []
    for path in subject.lines:
        for part in _parts(path):
            steps = np.hypot(*np.diff(part, axis=0).T)
            along = np.concatenate([[0.0], np.cumsum(steps)])
            at = np.linspace(0, along[-1], int(np.clip(along[-1] / 6, 2, 4 * TRIED)))
            found += zip(*(np.interp(at, along, part[:, i]) for i in (0, 1)), strict=True)
    for path, _ in subject.dots:
        found += [tuple(place) for place in path[np.isfinite(path).all(axis=1)]]
    for left, low, right, high in subject.areas:
        rows = np.linspace(high - size[1] / 2 - 3, low + size[1] / 2 + 3, 12)
        found += [((left + right) / 2, y) for y in rows if right - left >= size[0] + 2]
    seen = [(x, y) for x, y in found if 0 <= x < shape[0] and 0 <= y < shape[1]]
    return seen[:: max(len(seen) // TRIED, 1)]


def _choose(
    label: str, tried: _Tried, taken: np.ndarray, away: np.ndarray, crowd: float
) -> Spot | None:
    """The cheapest box that covers nothing and is nearer to its own line than to another."""
    if not len(tried.boxes):
        return None
    left, low, wide, high, _ = tried.boxes.T
    clear = 0.0 if crowd else CLEAR
    begin_x, begin_y = (np.maximum(side - clear, 0).astype(int) for side in (left, low))
    end_x = np.minimum(left + wide + clear, taken.shape[1] - 1).astype(int) + 1
    end_y = np.minimum(low + high + clear, taken.shape[0] - 1).astype(int) + 1
    covered = _within(_sums(taken.astype(float)), begin_x, begin_y, end_x, end_y)
    for i in np.argsort(tried.costs, kind="stable"):
        if covered[i]:
            continue
        nearest = float(away[begin_y[i] : end_y[i], begin_x[i] : end_x[i]].min())
        gap = float(tried.gaps[i])
        anchor = tuple(float(value) for value in tried.anchors[i])
        leads = gap > LEADER
        if leads and not _clear(anchor, tried.boxes[i], away, crowd):
            continue
        if gap and not leads and nearest < gap + 1:
            continue
        cost = float(tried.costs[i])
        box = tuple(float(value) for value in tried.boxes[i, :4])
        return Spot(label, box, int(tried.boxes[i, 4]), anchor if leads else None, cost)  # pyright: ignore[reportArgumentType]
    return None


def _clear(anchor: tuple[float, ...], box: np.ndarray, away: np.ndarray, spare: float) -> bool:
    """Whether a line from a place to a box meets nothing of another, but for its first points."""
    left, low, wide, high, _ = box
    end = np.clip(anchor[0], left, left + wide), np.clip(anchor[1], low, low + high)
    x, y = (np.linspace(anchor[i], end[i], 20).astype(int) for i in (0, 1))
    begun = np.hypot(x - anchor[0], y - anchor[1]) < spare
    return bool((begun | (away[y, x] > 1.5)).all())
