r"""The estimates that claims rest on: rows to a number with its interval, cells to the worst cell.

Every function returns a `claims.Estimate`. Words mean the same in all of them: `level` is the
confidence of the interval, `draws` and `seed` belong to the bootstrap, `least` is the number of
trials below which the interval is left open, and `note` is put after what the function itself has
to say. Where a table has nothing to say the estimate is not a number and says why (`missing`), so
that a summary can still be written; a claim then stays undecided.

- Over trials: `share`, `mean`, `median`, `paired`, `paired_shares`, `of_means`.
- Of two estimates, or two groups: `difference`, `ratio`, `share_gap`.
- Of several cells: `together`, then `lowest`, `highest`, `hull`; `largest` of exact values.
- Of curves (in `curves`): `crossing`, `slopes`, and `law`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from limelight.claims import LEVEL, Estimate
from limelight.fit import intervals
from limelight.fit._inputs import Numbers, check_level, numbers
from limelight.fit.resample import DRAWS, percentile_interval, resample_means

#: A statistic of fewer trials decides nothing.
LEAST = 5
#: Bootstrap draws of a median, which takes few values.
MEDIAN_DRAWS = 10_000
#: Trials that are resampled at one time.
RESAMPLED = 2**17


# --- over trials --------------------------------------------------------------------------------


def share(
    good: Numbers,
    trials: int | None = None,
    *,
    level: float = LEVEL,
    method: Literal["wilson", "exact"] = "wilson",
    least: int = LEAST,
    note: str = "",
) -> Estimate:
    """The share of trials that are good, from a yes or no per trial, or from two counts.

    Example:
        >>> found = share([True] * 9 + [False])
        >>> found.value, [round(end, 3) for end in found.interval], found.n
        (0.9, [0.596, 0.982], 10)
        >>> share(3, 4).note
        'fewer than 5 trials'
    """
    values = np.asarray(good)
    count, n = (int(values.sum()), len(values)) if trials is None else (int(values), trials)
    if not n:
        return missing(note)
    ends = {"wilson": intervals.wilson, "exact": intervals.exact}[method](count, n, level)
    return enough(Estimate(count / n, _floats(ends), n, note, level), least)


def mean(
    values: Numbers,
    *,
    level: float = LEVEL,
    method: Literal["student", "bootstrap"] = "student",
    draws: int = DRAWS,
    seed: int = 0,
    least: int = LEAST,
    note: str = "",
) -> Estimate:
    """A mean over trials, with Student's interval or a bootstrap one (`fit.mean_interval`).

    A trial without a number leaves no mean and no interval: it is not just any trial.

    Example:
        >>> found = mean([1.0, 2.0, 3.0, 4.0, 5.0])  # 3 -+ 2.776 * sqrt(2.5 / 5)
        >>> found.value, [round(end, 3) for end in found.interval]
        (3.0, [1.037, 4.963])
    """
    check_level(level)
    array = numbers(values, "values")
    n = len(array)
    if not n:
        return missing(note)
    if not np.isfinite(array).all():
        return missing(note or "not a number in some trial", n)
    centre = float(array.mean())
    if method == "bootstrap":
        ends = _floats(intervals.mean_interval(array, level, draws, seed))
    else:
        factor = float(stdtrit(n - 1, (1 + level) / 2)) if n > 1 else np.nan
        half = float(factor * array.std(ddof=min(1, n - 1)) / np.sqrt(n))
        ends = (centre - half, centre + half)
    return enough(Estimate(centre, ends, n, note, level), least)


def median(
    values: Numbers,
    *,
    level: float = LEVEL,
    draws: int = MEDIAN_DRAWS,
    seed: int = 0,
    least: int = LEAST,
    note: str = "",
) -> Estimate:
    """A median over trials with a percentile bootstrap interval.

    Example:
        >>> found = median([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> found.value, found.interval
        (3.0, (1.0, 5.0))
    """
    check_level(level)
    array = np.asarray(values)
    if not len(array):
        return missing(note)
    tail = 50 * (1 - level)
    ends = _floats(np.percentile(_medians(array, draws, seed), [tail, 100 - tail]))
    return enough(Estimate(float(np.median(array)), ends, len(array), note, level), least)


def _medians(array: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The median of every resample, found among ranks: they are short, and quick to select.

    The same to the last bit as the median of the values: the middle ranks are those of the middle
    values. Some resamples at a time, so that many trials need little memory.
    """
    n, generator = len(array), np.random.default_rng(seed)
    if n > np.iinfo(np.uint16).max or np.isnan(array).any():  # a NaN has no rank among numbers
        return np.median(array[generator.integers(n, size=(draws, n))], axis=1)
    order = np.argsort(array, kind="stable")
    ranks = np.empty(n, np.uint16)
    ranks[order] = np.arange(n, dtype=np.uint16)
    middle = [n // 2] if n % 2 else [n // 2 - 1, n // 2]
    chosen, rows = [], max(1, RESAMPLED // n)
    for first in range(0, draws, rows):
        taken = ranks[generator.integers(n, size=(min(rows, draws - first), n))]
        taken.partition(middle, axis=1)
        chosen.append(taken[:, middle])
    return np.mean(array[order][np.concatenate(chosen)], axis=1)


def paired(first: Numbers, second: Numbers, **options) -> Estimate:
    """The mean of first less second, trial by trial; options as in `mean`.

    Example:
        >>> paired([3.0, 4.0, 5.0, 6.0, 7.0], [2.0, 3.0, 4.0, 5.0, 6.0]).value
        1.0
    """
    one, other = numbers(first, "first"), numbers(second, "second")
    if one.shape != other.shape:
        return missing(f"{len(one)} and {len(other)} trials are not pairs")
    return mean(one - other, **options)


def paired_shares(
    first: Numbers, second: Numbers, *, level: float = LEVEL, least: int = LEAST, note: str = ""
) -> Estimate:
    """The share of successes of second less that of first, on the same trials.

    Example:
        >>> found = paired_shares([True] * 8 + [False] * 2, [True] * 10)
        >>> round(found.value, 6), [round(end, 3) for end in found.interval]
        (0.2, [-0.1, 0.433])
    """
    one, other = np.asarray(first).astype(bool), np.asarray(second).astype(bool)
    if one.shape != other.shape or not len(one):
        return missing(note)
    lost, gained, n = int((one & ~other).sum()), int((other & ~one).sum()), len(one)
    value, *ends = intervals.paired_interval(lost, gained, n, level)
    return enough(Estimate(float(value), _floats(ends), n, note, level), least)


def of_means(
    values: Numbers,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
    least: int = LEAST,
    note: str = "",
) -> Estimate:
    """A statistic of the means of several columns over trials, whole trials drawn.

    Args:
        values: Trials by columns.
        statistic: Of the means, columns on the last axis.
        level: Confidence of the percentile interval.
        draws: Bootstrap draws.
        seed: Fixes the draws.
        least: Trials below which the interval is left open.
        note: What to say.

    Example:
        >>> pairs = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 8.0], [5.0, 10.0]])
        >>> found = of_means(pairs, lambda m: m[..., 0] / m[..., 1])
        >>> found.value, found.interval
        (0.5, (0.5, 0.5))
    """
    array = numbers(values, "values")
    if not len(array):
        return missing(note)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(array.mean(axis=0)))
        drawn = statistic(resample_means(array, draws, seed))
    if not np.isfinite(drawn).all():
        return missing(joined(note, "not a number in some bootstrap draw"), len(array))
    ends = _floats(percentile_interval(drawn, level))
    return enough(Estimate(value, ends, len(array), note, level), least)


def missing(why: str = "", n: int = 0) -> Estimate:
    """No estimate, and why.

    Example:
        >>> missing().note
        'not in this table'
    """
    return Estimate(np.nan, None, n, why or "not in this table")


def enough(estimate: Estimate, least: int = LEAST) -> Estimate:
    """The same estimate; with fewer than `least` trials its interval is open, and it says so.

    Example:
        >>> enough(Estimate(0.5, (0.4, 0.6), 3)).interval
        (nan, nan)
    """
    if estimate.n >= least:
        return estimate
    note = joined(f"fewer than {least} trials", estimate.note)
    return replace(estimate, interval=(np.nan, np.nan), note=note)


# --- of two estimates ---------------------------------------------------------------------------


def difference(first: Estimate, second: Estimate, note: str = "") -> Estimate:
    """First less second, as far apart and as near as both intervals allow.

    Example:
        >>> difference(Estimate(0.9, (0.8, 1.0), 10), Estimate(0.5, (0.25, 0.75), 10)).interval
        (0.050000000000000044, 0.75)
    """
    (low, high), (under, over) = ends_of(first), ends_of(second)
    ends = (low - over, high - under)
    return Estimate(first.value - second.value, ends, min(first.n, second.n), note)


def share_gap(
    first: Numbers, second: Numbers, *, level: float = LEVEL, least: int = LEAST, note: str = ""
) -> Estimate:
    """The share of successes of first less that of second, on other trials (Newcombe).

    Example:
        >>> [round(end, 4) for end in share_gap([1] * 56 + [0] * 14, [1] * 48 + [0] * 32).interval]
        [0.0524, 0.3339]
    """
    one, other = np.asarray(first, bool), np.asarray(second, bool)
    if not min(len(one), len(other)):
        return missing(note)
    counts = int(one.sum()), len(one), int(other.sum()), len(other)
    ends, value = intervals.newcombe(*counts, level), float(one.mean() - other.mean())
    return enough(Estimate(value, ends, min(len(one), len(other)), note, level), least)


def ratio(first: Estimate, second: Estimate, note: str = "") -> Estimate:
    """First over second, both positive, as large and as small as both intervals allow.

    Example:
        >>> ratio(Estimate(3.0, (2.0, 4.0), 10), Estimate(2.0, (1.0, 4.0), 10)).interval
        (0.5, 4.0)
    """
    (low, high), (under, over) = ends_of(first), ends_of(second)
    ends = (low / over, high / under)
    return Estimate(first.value / second.value, ends, min(first.n, second.n), note)


def ends_of(estimate: Estimate) -> tuple[float, float]:
    """The ends of an interval; not numbers where there is none."""
    return estimate.interval or (np.nan, np.nan)


# --- of several cells ---------------------------------------------------------------------------

Cells = Iterable[tuple[str, Estimate]]


def together(
    cells: Iterable[tuple[str, Any]], estimate: Callable[..., Estimate], **options
) -> list[tuple[str, Estimate]]:
    """One estimate per cell, each at its part of the error (Bonferroni): the worst may be chosen.

    Example:
        >>> ((_, first), _) = together({"a": [1] * 9 + [0], "b": [1] * 10}.items(), share)
        >>> [round(end, 3) for end in first.interval], first.level, first.family
        ([0.547, 0.985], 0.95, 2)
    """
    found = list(cells)
    part = 1 - (1 - LEVEL) / max(len(found), 1)
    shared = ((name, estimate(values, level=part, **options)) for name, values in found)
    return [(name, replace(one, level=LEVEL, family=len(found))) for name, one in shared]


def lowest(cells: Cells, note: str = "") -> Estimate:
    """The cell that speaks most against a claim of at least: that with the lowest lower end.

    A cell with an open end is worse than any other. The values of all cells stand in the note.

    Example:
        >>> cells = [("a", Estimate(2.0, (1.0, 3.0), 9)), ("b", Estimate(1.9, (1.2, 2.6), 9))]
        >>> found = lowest(cells)
        >>> found.value, found.note
        (2.0, 'a: 2, b: 1.9')
    """
    return _worst(cells, lambda e: -ends_of(e)[0], note)


def highest(cells: Cells, note: str = "") -> Estimate:
    """The cell that speaks most against a claim of at most: that with the highest upper end.

    Example:
        >>> highest([("a", Estimate(2.0, (1.0, 3.0), 9))]).note
        'at a'
    """
    return _worst(cells, lambda e: ends_of(e)[1], note)


def hull(cells: Cells, centre: float, note: str = "") -> Estimate:
    """One interval around the intervals of all cells; the value farthest from `centre`.

    Example:
        >>> cells = [("a", Estimate(1.1, (1.0, 1.2), 9)), ("b", Estimate(0.95, (0.9, 1.0), 9))]
        >>> hull(cells, 1.0).value, hull(cells, 1.0).interval
        (1.1, (0.9, 1.2))
    """
    found = [estimate for _, estimate in cells]
    if not found:
        return missing(note)
    lows, highs = np.array([ends_of(estimate) for estimate in found]).T
    farthest = max(found, key=lambda estimate: abs(estimate.value - centre))
    ends = (float(lows.min()), float(highs.max()))
    return replace(farthest, interval=ends, note=joined(farthest.note, note))


def largest(values: Mapping[str, float], note: str = "") -> Estimate:
    """The largest of exact values, all of them in the note; without an interval.

    Example:
        >>> found = largest({"D = 4": 0.25, "D = 9": 0.5})
        >>> found.value, found.interval, found.note
        (0.5, None, 'D = 4: 0.25, D = 9: 0.5')
    """
    if not values:
        return missing(note)
    known = list(values.values())
    value = max(known) if np.isfinite(known).all() else float("nan")
    return Estimate(value, None, len(known), joined(_listed(values.items()), note))


def _worst(cells: Cells, badness: Callable[[Estimate], float], note: str) -> Estimate:
    found = list(cells)
    if not found:
        return missing(note)
    if any(not np.isfinite(ends_of(e)).all() for _, e in found):
        badness = lambda e: float(not np.isfinite(ends_of(e)).all())
    name, worst = max(found, key=lambda cell: badness(cell[1]))
    where = f"at {name}" if len(found) == 1 else _listed((at, e.value) for at, e in found)
    return replace(worst, note=joined(where, worst.note, note))


# --- words --------------------------------------------------------------------------------------


def _listed(values: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{name}: {value:.3g}" for name, value in values)


def joined(*notes: str) -> str:
    """Notes in one line, without the empty ones.

    Example:
        >>> joined("a", "", "b")
        'a; b'
    """
    return "; ".join(note for note in notes if note)


def _floats(ends: Iterable[Numbers]) -> tuple[float, float]:
    low, high = ends
    return float(np.asarray(low)), float(np.asarray(high))
