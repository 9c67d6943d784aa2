"""What is read off curves: where they cross a level or fall, their slopes, one number of a law.

Words mean what they mean in `estimates`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from limelight.claims import LEVEL, Estimate
from limelight.fit._inputs import Numbers, numbers
from limelight.fit.estimates import LEAST, joined, missing
from limelight.fit.laws import LawName, fit_law

#: Part of the bootstrap draws that must be resolved before an interval is given.
KEPT = 0.9
#: What is read off a law.
Part = Literal["slope", "intercept", "r_squared"]


def crossing(
    x: Numbers,
    y: Numbers,
    level: float,
    *,
    falling: bool = False,
    for_good: bool = False,
    edges: bool = False,
    log: bool = False,
) -> Float[np.ndarray, " curves"]:
    """Where curves reach a level, on straight lines between neighbouring points.

    Args:
        x: Places, rising.
        y: Curves by places, or one curve.
        level: The level that is reached.
        falling: Whether it is reached from above.
        for_good: The place from which on a curve stays beyond the level, not the first beyond it.
        edges: A curve that begins beyond the level is said to reach it at the first place, one that
            never reaches it at the last; otherwise both are NaN.
        log: Whether lines are straight in the logarithm of x.

    Returns:
        One place per curve; NaN where a curve is not known beside it.

    Example:
        >>> crossing([0, 1, 2], [[0.0, 1.0, 3.0], [0.0, 1.0, 1.5]], 2.0)
        array([1.5, nan])
        >>> crossing([1, 4, 16], [[0.3, 0.1, 0.05], [0.3, 0.3, 0.2]], 0.2, falling=True, log=True)
        array([ 2., 16.])
    """
    place, curves = numbers(x, "x"), np.atleast_2d(numbers(y, "y"))
    place = np.log(place) if log else place
    rows, n = np.arange(len(curves)), len(place)
    passed = curves <= level if falling else curves >= level
    if for_good:
        first = np.where(passed.all(axis=1), 0, n - (~passed)[:, ::-1].argmax(axis=1))
    else:
        first = np.where(passed.any(axis=1), passed.argmax(axis=1), n)
    after = np.clip(first, 1, n - 1)
    before, begins, never = after - 1, first == 0, first == n
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = curves[rows, after] - curves[rows, before]
        part = np.where(begins, 0.0, np.where(never, 1.0, (level - curves[rows, before]) / rise))
    found = place[before] + part * (place[after] - place[before])
    if not edges:
        found = np.where(begins | never, np.nan, found)
    return np.exp(found) if log else found


@dataclass(frozen=True, eq=False)
class Falls:
    """When curves leave a plateau and when they reach a floor; infinite where they do not."""

    leaves: Float[np.ndarray, " curves"]
    reaches: Float[np.ndarray, " curves"]

    @property
    def done(self) -> Bool[np.ndarray, " curves"]:
        """Curves that reach the floor."""
        return np.isfinite(self.reaches)

    def within(self, part: float) -> Bool[np.ndarray, " curves"]:
        """Curves that reach the floor and fall in less than a part of the time before the fall."""
        with np.errstate(invalid="ignore"):  # infinity less infinity: not a fall
            return self.done & (self.reaches - self.leaves < part * self.leaves)


def falls(x: Numbers, y: Numbers, *, plateau: float, floor: float) -> Falls:
    """The fall of every curve: first below `floor`, and last above `plateau` before that.

    Args:
        x: Places, rising.
        y: Curves by places; NaN where a curve has ended.
        plateau: The level that is left.
        floor: The level that is reached.

    Returns:
        Places; a curve that falls without having been on the plateau leaves it at 0.

    Example:
        >>> found = falls([10, 20, 30], [[0.7, 0.7, 0.0], [0.7, 0.7, 0.7]], plateau=0.6, floor=0.1)
        >>> found.leaves, found.reaches
        (array([20., inf]), array([30., inf]))
    """
    place, curves = numbers(x, "x"), np.atleast_2d(numbers(y, "y"))
    below, above = curves < floor, curves > plateau
    reaches = np.where(below.any(axis=1), place[below.argmax(axis=1)], np.inf)
    before = above & (place < reaches[:, None])
    last = len(place) - 1 - before[:, ::-1].argmax(axis=1)
    leaves = np.where(before.any(axis=1), place[last], 0.0)
    return Falls(np.where(np.isfinite(reaches), leaves, np.inf), reaches)


def slopes(x: Numbers, y: Numbers) -> Float[np.ndarray, "..."]:
    """The slope on x, by least squares, of every column of y (of y itself, if it is one curve).

    Example:
        >>> slopes([0, 1, 2], [[1.0, 0.0], [3.0, 1.0], [5.0, 2.0]])
        array([2., 1.])
    """
    place = numbers(x, "x")
    centred = place - place.mean()
    return np.asarray(centred @ numbers(y, "y") / (centred**2).sum())


def law(
    x: Numbers,
    y: Numbers,
    samples: Numbers,
    n: int,
    *,
    name: LawName = "power",
    part: Part = "slope",
    level: float = LEVEL,
    points: int = LEAST,
    of: str = "points",
    note: str = "",
) -> Estimate:
    """One number of a law through points, its interval from the same points in bootstrap draws.

    Args:
        x: Places.
        y: Values; NaN where a point is not to be used.
        samples: The values in every draw over trials, draws by points; NaN where unresolved. A draw
            with an unresolved point counts for nothing, and too many of them leave the interval
            open.
        n: Trials that all of this rests on.
        name: Which law.
        part: Which of its numbers.
        level: Confidence of the interval.
        points: Points that are needed.
        of: What the points are, in words; without it they are not counted in the note.
        note: What else to say.

    Example:
        >>> x, y = np.array([1.0, 2.0, 4.0]), np.array([3.0, 12.0, 48.0])
        >>> found = law(x, y, np.stack([y, 2 * y]), 30, points=3)
        >>> round(found.value, 6), found.note
        (2.0, '3 of 3 points used')
    """
    place, value, drawn = numbers(x, "x"), numbers(y, "y"), numbers(samples, "samples")
    use = np.isfinite(value)
    if use.sum() < points:
        return missing(f"{use.sum()} usable points, {points} needed", n)
    if np.ptp(place[use]) < 1e-9:
        return missing("the points do not differ in this variable", n)
    whole = np.asarray(np.isfinite(drawn[:, use]).all(axis=1))
    said = f"{use.sum()} of {len(use)} {of} used" if of else ""
    if not whole.all():
        said = joined(said, f"{(~whole).sum()} of {len(whole)} bootstrap draws unresolved")
    kept = drawn[whole][:, use] if whole.any() else None
    found = fit_law(name, place[use], value[use], level, kept)
    interval = getattr(found, f"{part}_interval")
    if whole.mean() < KEPT:
        said, interval = f"{said}: too many to give an interval", (np.nan, np.nan)
    return Estimate(getattr(found, part), interval, n, joined(said, note), level)
