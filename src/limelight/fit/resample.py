r"""The bootstrap over trials: of counts, of outcomes, of whole tables; the same for the same seed.

Cells with trials of their own are resampled independently, each within itself. Cells that share
their trials (common seeds) are resampled jointly: a draw takes whole trials, in all cells at once,
so that what pairs two cells in the data pairs them in every draw.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from limelight.core.errors import InputError
from limelight.fit.inputs import Numbers, check_level, counts, numbers
from limelight.table import Table

DRAWS = 1000


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

    Example:
        >>> trial_weights(4, draws=2).sum(axis=1)
        array([4., 4.])
    """
    if trials < 1:
        raise InputError("a bootstrap needs at least one trial")
    share = np.full(trials, 1 / trials)
    return _generator(draws, seed).multinomial(trials, share, size=draws).astype(float)


def resample_means(
    values: Numbers, draws: int = DRAWS, seed: int = 0, common: bool = True
) -> Float[np.ndarray, " draws *cells"]:
    """Bootstrap means over trials (the first axis), jointly over cells or each cell by itself.

    Args:
        values: Trials, or trials by cells.
        draws: Bootstrap draws.
        seed: Fixes the draws.
        common: Whether a trial is the same trial in all cells.

    Returns:
        Draws, or draws by cells.
    """
    array = numbers(values, "values")
    if array.ndim not in (1, 2) or not len(array):
        raise InputError("a mean needs values, trials by cells")
    if common or array.ndim == 1:
        return trial_weights(len(array), draws, seed) @ array / len(array)
    streams = np.random.SeedSequence(seed).spawn(array.shape[1])
    return np.stack(
        [
            np.random.default_rng(child).choice(column, (draws, len(column))).mean(axis=1)
            for child, column in zip(streams, array.T, strict=True)
        ],
        axis=1,
    )


def resample_tables(
    table: Table,
    draws: int = DRAWS,
    seed: int = 0,
    common: bool = False,
    by: Sequence[str] | None = None,
    trial: str = "trial",
) -> Iterator[Table]:
    """Bootstrap tables, one after the other.

    Args:
        table: One row a trial.
        draws: Bootstrap draws.
        seed: Fixes the draws.
        common: Whether rows of one trial number belong together over all cells.
        by: Columns that name a cell; the axes of the table unless given.
        trial: The column that numbers the trials; read when `common`.

    Yields:
        Tables with rows repeated and left out; cells keep their number of trials (when `common`,
        if every trial is in every cell).
    """
    generator = _generator(draws, seed)
    if not len(table):
        raise InputError("the table has no rows to resample")
    group = group_rows(table, (trial,) if common else tuple(by or table.axes))[0]
    order = np.argsort(group, kind="stable")
    size = np.bincount(group)
    start = np.cumsum(size) - size
    members = np.split(order, start[1:])
    first, length = start[group[order]], size[group[order]]
    for _ in range(draws):
        if common:
            picked = generator.integers(len(size), size=len(size))
            yield table.rows(np.concatenate([members[i] for i in picked]))
        else:
            yield table.rows(order[first + generator.integers(length)])


def bootstrap(
    table: Table,
    statistic: Callable[[Table], Numbers],
    draws: int = DRAWS,
    seed: int = 0,
    common: bool = False,
    by: Sequence[str] | None = None,
) -> Float[np.ndarray, "draws ..."]:
    """A statistic of the table in every bootstrap draw.

    For thresholds use `Edge.draws`, which resamples counts and is a thousand times faster.

    Example:
        >>> columns = {"a": np.array([1, 1, 2, 2]), "y": np.array([0.0, 1.0, 3.0, 3.0])}
        >>> table = Table(columns, ("a",))
        >>> means = bootstrap(table, lambda t: t["y"].mean(), draws=200)
        >>> means.shape, bool(means.min() >= 1.5), bool(means.max() <= 2.0)
        ((200,), True, True)
    """
    tables = resample_tables(table, draws, seed, common, by)
    return np.array([statistic(t) for t in tables], dtype=float)


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


def group_rows(
    table: Table, by: Sequence[str]
) -> tuple[Int[np.ndarray, " rows"], dict[str, np.ndarray]]:
    """The group of every row and the coordinates of every group, in sorted order.

    Example:
        >>> group, where = group_rows(Table({"a": np.array([2, 1, 2])}), ["a"])
        >>> group, where
        (array([1, 0, 1]), {'a': array([1, 2])})
    """
    group = np.zeros(len(table), dtype=int)
    for name in by:
        distinct, place = np.unique(table[name], return_inverse=True)
        group = group * len(distinct) + place
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    return group, {name: table[name][first] for name in by}


def _generator(draws: int, seed: int) -> np.random.Generator:
    if draws < 1:
        raise InputError("a bootstrap needs at least one draw")
    return np.random.default_rng(seed)
