r"""The bootstrap over trials: of counts and of outcomes; the same for the same seed.

Cells with trials of their own are resampled independently, each within itself. Cells that share
their trials (common seeds) are resampled jointly: a draw takes whole trials, in all cells at once,
so that what pairs two cells in the data pairs them in every draw.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int

from limelight._core.errors import InputError
from limelight.fit._inputs import Numbers, check_level, counts, numbers

DRAWS = 1000
#: Weights of at most so many numbers are kept for the next who asks, 8 MB each.
KEPT = 1_000_000


def resample_counts(
    successes: Numbers, trials: Numbers, draws: int = DRAWS, seed: int = 0
) -> Int[np.ndarray, " draws *cells"]:
    r"""Bootstrap success counts of independent cells.

    Resampling $n$ outcomes of which $s$ are successes gives $\mathrm{Binomial}(n, s/n)$ successes:
    this is the bootstrap itself and not an approximation, and no single trial is touched.

    Example:
        >>> resample_counts([0, 5, 10], [10, 10, 10], draws=3)[:, [0, 2]]
        array([[ 0, 10],
               [ 0, 10],
               [ 0, 10]])
    """
    s, n = counts(successes, trials)
    rates = np.divide(s, n, out=np.zeros(s.shape), where=n > 0)
    return _generator(draws, seed).binomial(n.astype(int), rates, size=(draws, *s.shape))


def trial_weights(
    trials: int, draws: int = DRAWS, seed: int = 0
) -> Float[np.ndarray, "draws trials"]:
    """How often each of `trials` trials is taken in each draw; every row sums to `trials`.

    A sum over resampled trials is a product with these weights: `trial_weights(n) @ outcomes`.
    They may be read only.

    Example:
        >>> trial_weights(4, draws=2).sum(axis=1)
        array([4., 4.])
    """
    if trials < 1:
        raise InputError("a bootstrap needs at least one trial")
    make = _kept if trials * draws <= KEPT else _drawn
    return make(trials, draws, seed)


def _drawn(trials: int, draws: int, seed: int) -> Float[np.ndarray, "draws trials"]:
    share = np.full(trials, 1 / trials)
    return _generator(draws, seed).multinomial(trials, share, size=draws).astype(float)


@lru_cache(maxsize=8)
def _kept(trials: int, draws: int, seed: int) -> Float[np.ndarray, "draws trials"]:
    """The same weights serve every claim of a table; nobody may write on them."""
    weights = _drawn(trials, draws, seed)
    weights.flags.writeable = False
    return weights


def resample_means(
    values: Numbers, draws: int = DRAWS, seed: int = 0
) -> Float[np.ndarray, " draws *cells"]:
    """Bootstrap means over trials (the first axis): a draw takes whole trials, in every cell.

    Args:
        values: Trials, or trials by cells.
        draws: Bootstrap draws.
        seed: Fixes the draws.

    Returns:
        Draws, or draws by cells.

    Example:
        >>> import numpy as np
        >>> means = resample_means(np.array([1.0, 2.0, 3.0]), draws=200, seed=0)
        >>> len(means), bool(1 <= means.min() <= means.max() <= 3)
        (200, True)
    """
    array = numbers(values, "values")
    if array.ndim not in (1, 2) or not len(array):
        raise InputError("a mean needs values, trials by cells")
    return trial_weights(len(array), draws, seed) @ array / len(array)


def percentile_interval(
    values: Numbers, level: float = 0.95
) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    """Percentile ends over the draws (the first axis); `level=0.9` is the 5th to the 95th.

    Draws that are NaN (the statistic could not be formed) are left out; ends are NaN when all are.

    Example:
        >>> low, high = percentile_interval(np.arange(101.0), level=0.9)
        >>> round(float(low), 6), round(float(high), 6)
        (5.0, 95.0)
    """
    check_level(level)
    array = numbers(values, "values")
    if not array.size:
        raise InputError("an interval needs draws")
    empty = np.isnan(array).all(axis=0)
    ends = np.nanquantile(np.where(empty, 0.0, array), [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = np.where(empty, np.nan, ends)
    return np.asarray(low), np.asarray(high)


def _generator(draws: int, seed: int) -> np.random.Generator:
    if draws < 1:
        raise InputError("a bootstrap needs at least one draw")
    return np.random.default_rng(seed)
