r"""Intervals for success rates and for means.

The normal interval $\hat p \pm 1.96 \sqrt{\hat p (1 - \hat p)/n}$ is not here on purpose: averaged
over $p$ its nominal 95 % is 0.78 at ten trials, and at ten successes of ten it has no width at all.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv, ndtri, stdtrit

from limelight.fit._inputs import Numbers, check_level, counts, numbers
from limelight.fit.resample import DRAWS, percentile_interval, resample_means

Ends = tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]


def wilson(successes: Numbers, trials: Numbers, level: float = 0.95) -> Ends:
    r"""Wilson's score interval for success rates.

    $$\frac{\hat p + z^2/2n}{1 + z^2/n} \pm
      \frac{z}{1 + z^2/n} \sqrt{\frac{\hat p (1 - \hat p)}{n} + \frac{z^2}{4 n^2}}$$

    The right error bar of a plotted rate: on average over $p$ it covers what it says.

    Args:
        successes: Successes of each cell.
        trials: Trials of each cell; none leaves the rate unknown, from 0 to 1.
        level: Confidence.

    Returns:
        Lower and upper ends, in the shape of the cells.

    Example:
        >>> low, high = wilson([10, 5], [10, 10])
        >>> low.round(3), high.round(3)
        (array([0.722, 0.237]), array([1.   , 0.763]))

    Reference: Wilson (1927); Brown, Cai and DasGupta (2001).
    """
    check_level(level)
    s, n = counts(successes, trials)
    z2, many = ndtri((1 + level) / 2) ** 2, np.maximum(n, 1)
    p = s / many
    middle = (p + z2 / (2 * many)) / (1 + z2 / many)
    half = np.sqrt(z2 * (p * (1 - p) / many + z2 / (4 * many**2))) / (1 + z2 / many)
    # At the ends the interval closes exactly; no trial leaves everything open.
    return np.where(s == 0, 0.0, middle - half), np.where(s == n, 1.0, middle + half)


def exact(successes: Numbers, trials: Numbers, level: float = 0.95) -> Ends:
    """Clopper and Pearson's interval for success rates: at least the nominal level, whatever p is.

    Args:
        successes: Successes of each cell.
        trials: Trials of each cell; none leaves the rate unknown, from 0 to 1.
        level: Confidence.

    Returns:
        Lower and upper ends, in the shape of the cells.

    Example:
        >>> low, high = exact(0, 10)  # 1 - 0.025 ** (1 / 10)
        >>> float(low), round(float(high), 4)
        (0.0, 0.3085)

    Reference: Clopper and Pearson (1934).
    """
    check_level(level)
    s, n = counts(successes, trials)
    tail = (1 - level) / 2
    low = betaincinv(np.maximum(s, 1), n - s + 1, tail)
    high = betaincinv(s + 1, np.maximum(n - s, 1), 1 - tail)
    return np.where(s == 0, 0.0, low), np.where(s == n, 1.0, high)


def paired_interval(
    lost: Numbers, gained: Numbers, trials: Numbers, level: float = 0.95
) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    r"""Difference of two success rates on the same trials, and its interval.

    With $b$ trials that only the first one wins and $c$ that only the second one wins, of $n$, each
    cell of the table is raised by 1/2: $b' = b + 1/2$, $c' = c + 1/2$, $n' = n + 2$, and

    $$\frac{c' - b'}{n'} \pm \frac{z}{n'} \sqrt{b' + c' - \frac{(c' - b')^2}{n'}}$$

    So an interval has width even where no trial differs.

    Args:
        lost: Trials that only the first wins.
        gained: Trials that only the second wins.
        trials: All of them.
        level: Confidence.

    Returns:
        $(c - b)/n$, the second rate less the first, and the lower and upper ends.

    Example:
        >>> [round(float(v), 4) for v in paired_interval(30, 10, 1000)]
        [-0.02, -0.0324, -0.0075]

    Reference: Agresti and Min (2005), adjusted Wald interval for matched pairs.
    """
    check_level(level)
    b, n = counts(lost, trials)
    c, _ = counts(gained, trials)
    counts(b + c, n)
    z, many = ndtri((1 + level) / 2), n + 2
    middle = (c - b) / many
    half = z * np.sqrt(b + c + 1 - (c - b) ** 2 / many) / many
    low, high = np.maximum(middle - half, -1.0), np.minimum(middle + half, 1.0)
    return np.asarray((c - b) / np.maximum(n, 1)), np.asarray(low), np.asarray(high)


def newcombe(
    successes: int, trials: int, others: int, other_trials: int, level: float = 0.95
) -> tuple[float, float]:
    """Newcombe's interval of a difference of two shares of different trials, from Wilson's two.

    Reference: Newcombe (1998), method 10.

    Example:
        >>> [round(end, 4) for end in newcombe(56, 70, 48, 80)]
        [0.0524, 0.3339]
    """
    shares = successes / trials, others / other_trials
    (low, high), (under, over) = (
        wilson(count, n, level) for count, n in ((successes, trials), (others, other_trials))
    )
    gap = shares[0] - shares[1]
    return (
        gap - float(np.hypot(shares[0] - low, over - shares[1])),
        gap + float(np.hypot(high - shares[0], shares[1] - under)),
    )


def mean_interval(values: Numbers, level: float = 0.95, draws: int = DRAWS, seed: int = 0) -> Ends:
    r"""Bootstrap interval for means over trials.

    Percentiles of the bootstrap means, their distance from the mean stretched by
    $\sqrt{n/(n-1)} \, t_{n-1}/z$: without it the bootstrap of few trials is too short for the same
    two reasons as a normal interval with a variance divided by $n$.

    Args:
        values: Trials, or trials by cells.
        level: Confidence.
        draws: Bootstrap draws.
        seed: Fixes the draws.

    Returns:
        Lower and upper ends, one per cell; NaN where there are fewer than two trials or a NaN.

    Example:
        >>> low, high = mean_interval([1.0, 2.0, 3.0, 4.0])
        >>> bool(low < 2.5 < high)
        True
    """
    check_level(level)
    array = numbers(values, "values")
    means = resample_means(array, draws, seed)
    n, mean = len(array), array.mean(axis=0)
    if n < 2:
        return np.full(mean.shape, np.nan), np.full(mean.shape, np.nan)
    low, high = percentile_interval(means, level)
    stretch = np.sqrt(n / (n - 1)) * student_stretch(n - 1, level)
    return np.asarray(mean + stretch * (low - mean)), np.asarray(mean + stretch * (high - mean))


def student_stretch(freedom: int, level: float) -> float:
    """Ratio of Student's to the normal quantile: what an estimated spread adds to an interval.

    Example:
        >>> round(student_stretch(4, 0.95), 3)  # 2.776 / 1.960
        1.417
    """
    check_level(level)
    tail = (1 + level) / 2
    return float(stdtrit(freedom, tail) / ndtri(tail))
