r"""One verdict for a claim tested at many points, at one level for all of them together.

Each point gets an interval over independent draws; the level is shared out over the points of the
claim (Bonferroni). Claims then hold if every point agrees and fail if some point contradicts.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from limelight._core.gram import Number
from limelight.claims import LEVEL, Estimate
from limelight.fit.intervals import exact

#: Family-wise error of a claim.
ERROR = 1 - LEVEL


@dataclass(frozen=True)
class Point:
    """An estimate at one point of a claim.

    Args:
        name: Where it is.
        value: The estimate.
        low: Lower end of its interval.
        high: Upper end.
        draws: Independent draws it rests on.
    """

    name: str
    value: Number
    low: Number
    high: Number
    draws: int

    def over(self, reference: Number) -> "Point":
        """The same relative to a number that is known exactly."""
        value, low, high = (number / reference for number in (self.value, self.low, self.high))
        return Point(self.name, value, low, high, self.draws)


def quantile(points: int, draws: int) -> float:
    r"""Half-width of an interval in standard errors: the upper $.025/N$ quantile of Student's law.

    Far out, where many points share a level, its tail is heavier than a normal one's for dozens of
    draws.

    Example:
        >>> round(quantile(1, 100), 3), round(quantile(1, 5), 3), round(quantile(192, 12), 2)
        (1.984, 2.776, 5.28)
    """
    if draws < 2:
        return float("inf")
    return float(-stdtrit(draws - 1, ERROR / 2 / max(points, 1)))


def mean_point(name: str, draws: np.ndarray, points: int) -> Point:
    """The mean of one number per draw."""
    draws = np.asarray(draws, dtype=float)
    mean = float(draws.mean())
    half = quantile(points, len(draws)) * _error(draws)
    return Point(name, mean, mean - half, mean + half, len(draws))


def root_point(name: str, squares: np.ndarray, points: int) -> Point:
    r"""The root mean square, from one mean square per draw: $se = sd/(2\,rms\sqrt{n})$."""
    squares = np.asarray(squares, dtype=float)
    root = float(np.sqrt(squares.mean()))
    half = quantile(points, len(squares)) * _error(squares) / (2 * root) if root > 0 else 0.0
    return Point(name, root, root - half, root + half, len(squares))


def difference_point(
    name: str, squares: np.ndarray, against: np.ndarray, factor: Number, points: int
) -> Point:
    r"""$rms(a) - c \cdot rms(b)$ over paired draws, in units of $c \cdot rms(b)$ (delta method)."""
    a, b = np.asarray(squares, dtype=float), np.asarray(against, dtype=float)
    root_a, root_b = np.sqrt(a.mean()), factor * np.sqrt(b.mean())
    # The derivative of each root, draw by draw: its spread is the spread of the difference.
    linear = a / (2 * root_a) - factor**2 * b / (2 * root_b)
    half = quantile(points, len(a)) * _error(linear) / root_b
    value = float((root_a - root_b) / root_b)
    return Point(name, value, value - float(half), value + float(half), len(a))


def inside(points: Iterable[Point], low: Number, high: Number, note: str = "") -> Estimate:
    """For a band claim: the hull of all intervals, or the interval that contradicts the most."""
    points = list(points)
    if not points:
        return Estimate(float("nan"), None, 0, note or "no point could be tested")
    outside = [max(p.low - high, low - p.high) for p in points]
    worst = int(np.argmax(outside))
    if outside[worst] > 0:
        return _one(points[worst], len(points), note)
    far = max(points, key=lambda p: abs(p.value - (low + high) / 2))
    ends = (min(p.low for p in points), max(p.high for p in points))
    said, draws = _say(far, len(points), note), sum(p.draws for p in points)
    return Estimate(far.value, ends, draws, said, family=len(points))


def below(points: Iterable[Point], level: Number = 0.0, note: str = "") -> Estimate:
    """For an order claim: the point that contradicts the most, or else comes nearest to it."""
    points = list(points)
    if not points:
        return Estimate(float("nan"), None, 0, note or "no point could be tested")
    against = [p for p in points if p.low > level]
    worst = max(against or points, key=lambda p: p.low if against else p.high)
    return _one(worst, len(points), note)


def rate(successes: int, trials: int, note: str = "") -> Estimate:
    """A probability with Clopper and Pearson's interval."""
    low, high = exact(successes, trials, LEVEL)
    share = successes / trials if trials else float("nan")
    return Estimate(share, (float(low), float(high)), trials, note)


def _error(draws: np.ndarray) -> float:
    return float(draws.std(ddof=1) / np.sqrt(len(draws))) if len(draws) > 1 else float("inf")


def _one(point: Point, points: int, note: str) -> Estimate:
    ends, said = (point.low, point.high), _say(point, points, note)
    return Estimate(point.value, ends, point.draws, said, family=points)


def _say(point: Point, points: int, note: str) -> str:
    where = f"{points} points, worst at {point.name}" if points > 1 else f"at {point.name}"
    return f"{where}; {note}" if note else where
