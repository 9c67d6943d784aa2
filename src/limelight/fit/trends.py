r"""Does success rise with the size, are these later than those: tests, and one rule for many.

A claim about several places at once (every length, every pair) is decided by one-sided tests,
adjusted after Holm. `together` writes them as one estimate on the scale of $z$, with ends such that
the lower one is above 0 when every test agrees at 5 %, and the upper one below 0 when some test
contradicts at 5 %. For a single test these are the ends $z \mp 1.645$ of the usual interval.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import bdtr, ndtri

from limelight._core.errors import InputError
from limelight.fit._inputs import Numbers, check_level, counts, numbers

#: One-sided error of a family of tests.
ERROR = 0.05


def rising(x: Numbers, successes: Numbers, trials: Numbers) -> float:
    r"""Cochran and Armitage's $z$ for a trend of the success rate along `x`.

    NaN where all trials have one outcome.

    $$z = \frac{\sum_i x_i (s_i - n_i \bar p)}
        {\sqrt{\bar p (1 - \bar p) \left(\sum_i n_i x_i^2 - (\sum_i n_i x_i)^2 / N\right)}}$$

    Example:
        >>> round(rising([1, 2, 3], [2, 5, 8], [10, 10, 10]), 3)  # 6 / sqrt(5)
        2.683
    """
    x = numbers(x, "x")
    s, n = counts(successes, trials)
    total = n.sum()
    p = s.sum() / total if total else np.nan
    spread = (n * x**2).sum() - (n * x).sum() ** 2 / max(total, 1.0)
    variance = p * (1 - p) * spread
    return float((x * (s - n * p)).sum() / np.sqrt(variance)) if variance > 0 else float("nan")


def later(first: Numbers, second: Numbers) -> tuple[float, float]:
    """One-sided Mann and Whitney p-values that `second` is larger, and that it is smaller.

    Infinite times are ties with one another, later than everything else.

    Example:
        >>> up, down = later([1, 2, 3, 4, 5], [6, 7, 8, 9, float("inf")])
        >>> up < 0.01 < 0.99 < down
        True
    """
    a, b = numbers(first, "first"), numbers(second, "second")
    if not (a.size and b.size):
        raise InputError("a comparison needs two samples")
    if np.unique(np.concatenate([a, b])).size < 2:  # all tied: nothing speaks for either side
        return 1.0, 1.0
    from scipy.stats import mannwhitneyu  # slow to import, needed here alone

    test = lambda side: float(mannwhitneyu(b, a, alternative=side).pvalue)
    return test("greater"), test("less")


def holm(p: Numbers) -> Float[np.ndarray, " tests"]:
    """P-values adjusted after Holm: compare each with the error of the whole family.

    Example:
        >>> holm([0.01, 0.04, 0.03]).round(6)
        array([0.03, 0.06, 0.06])
    """
    p = numbers(p, "p")
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(1.0, stepped[np.argsort(order)])


def together(up: Numbers, down: Numbers, error: float = ERROR) -> tuple[float, tuple[float, float]]:
    """Weakest of several one-sided tests on the scale of z, and the ends that decide them all.

    Args:
        up: P-values of the tests for the claim.
        down: Those of the tests against it.
        error: Of the family.

    Returns:
        The smallest z, and ends: the lower is above 0 when every adjusted `up` is below `error`,
        the upper is below 0 when some adjusted `down` is, and infinite where nothing contradicts.

    Example:
        >>> z, (low, high) = together([0.001, 0.01], [0.999, 0.99])
        >>> round(z, 2), low > 0
        (2.33, True)
    """
    least = np.finfo(float).tiny  # of a p-value too small for a number
    up, down = (np.maximum(numbers(p, name), least) for p, name in ((up, "up"), (down, "down")))
    # The side with the smaller p-value: near 1 it has no digits left.
    z = np.where(up < down, -ndtri(up), np.where(up > down, ndtri(down), 0.0))
    bar = float(-ndtri(error))
    low = float(-ndtri(holm(up)).max()) - bar
    high = bar + float(ndtri(holm(down)).min())
    return float(z.min()), (low, high)


def median_interval(
    values: Sequence[float] | np.ndarray, level: float = 0.95
) -> tuple[float, float, float]:
    """The median and its order-statistic interval; ends beyond the sample are infinite.

    Example:
        >>> median_interval(np.arange(1.0, 11.0))
        (5.5, 2.0, 9.0)
    """
    check_level(level)
    found = np.sort(np.asarray(values, dtype=float))
    n = len(found)
    if not n:
        raise InputError("a median needs values")
    # The largest j with P(fewer than j of n below the median) within the tail.
    j = int(np.searchsorted(bdtr(np.arange(n), n, 0.5), (1 - level) / 2))
    low, high = (found[j - 1], found[n - j]) if j >= 1 else (-np.inf, np.inf)
    middle = found[(n - 1) // 2 : n // 2 + 1]
    return float(middle.mean()), float(low), float(high)
