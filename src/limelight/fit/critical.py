r"""Critical sizes: the first size of a grid at which more than half of the trials succeed.

It is what one reads off a picture of success rates, and it assumes no curve; but it takes only
values of the grid. Its interval holds the percentiles of a bootstrap over trials. A resample in
which no size passes is beyond the grid; where the first one passes already, it counts as that size.
Both are counted. The threshold by likelihood is in `thresholds`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from limelight.claims import Estimate, Undecided
from limelight.fit._likelihood import Curve
from limelight.fit.estimates import joined
from limelight.fit.resample import DRAWS, percentile_interval, resample_counts
from limelight.fit.thresholds import Threshold, fit_threshold
from limelight.table import Table

#: A place is called censored when more than this share of its resamples leaves the grid.
CENSORED = 0.025
#: Stands for "beyond the grid" in a resample: larger than any decision could ask for.
BEYOND = 1e6
#: Least and largest width of a rise, in sizes, that a fitted curve may have.
WIDTHS = (1.0, 10_000.0)
#: From a rate of .1 to one of .9, on the scale of log odds.
TENTHS = float(np.log(81))


@dataclass(frozen=True, eq=False)
class CriticalSizes:
    """Successes on a grid of places and sizes, and the critical size of every place.

    Args:
        places: Values of the axis that the critical size is a function of, sorted.
        sizes: Sizes, sorted; every place has all of them.
        successes: By place and size.
        trials: The same.
        resamples: Bootstrap resamples of trials within cells.

    Example:
        >>> import numpy as np
        >>> wins = np.array([[1.0, 4.0, 10.0], [0.0, 2.0, 7.0]])
        >>> found = CriticalSizes(np.array([100, 200]), np.array([10, 20, 40]), wins, np.full((2,
        ...     3), 10.0))
        >>> found.values.tolist()
        [40.0, 40.0]
    """

    places: Int[np.ndarray, " places"]
    sizes: Int[np.ndarray, " sizes"]
    successes: Float[np.ndarray, "places sizes"]
    trials: Float[np.ndarray, "places sizes"]
    resamples: int = DRAWS

    @property
    def n(self) -> int:
        """Trials in all."""
        return int(self.trials.sum())

    @property
    def rates(self) -> Float[np.ndarray, "places sizes"]:
        """Success rates; zero where nothing ran."""
        return self.successes / np.maximum(self.trials, 1)

    @cached_property
    def values(self) -> Float[np.ndarray, " places"]:
        """The critical size of every place; infinite beyond the grid."""
        return first_above(self.sizes, self.successes, self.trials)

    @cached_property
    def draws(self) -> Float[np.ndarray, "resamples places"]:
        """The critical sizes in every resample."""
        return first_above(self.sizes, self.resampled(self.resamples), self.trials)

    def resampled(self, draws: int) -> Float[np.ndarray, "draws places sizes"]:
        """Bootstrap successes."""
        return resample_counts(self.successes, self.trials, draws).astype(float)

    def deviations(self, draws: int) -> Float[np.ndarray, " places"]:
        """Standard deviations over resamples, beyond the grid counted as one step more."""
        step = self.sizes[-1] - self.sizes[-2] if len(self.sizes) > 1 else 0
        drawn = first_above(self.sizes, self.resampled(draws), self.trials)
        return np.where(np.isinf(drawn), self.sizes[-1] + step, drawn).std(axis=0)

    @cached_property
    def interval(self) -> Float[np.ndarray, "2 places"]:
        """95 % percentile ends; an end beyond the grid is infinite."""
        return nearest_interval(self.draws)

    @property
    def beyond(self) -> Float[np.ndarray, " places"]:
        """Share of resamples in which no size of the grid passes."""
        return np.isinf(self.draws).mean(axis=0)

    @property
    def below(self) -> Float[np.ndarray, " places"]:
        """Share of resamples in which the first size of the grid passes already."""
        return (self.draws == self.sizes[0]).mean(axis=0)

    @property
    def censored(self) -> Bool[np.ndarray, " places"]:
        """Places whose critical size leaves the grid too often to be called measured."""
        return (self.beyond > CENSORED) | (self.below > CENSORED)

    @cached_property
    def thresholds(self) -> list[Threshold]:
        """The threshold of every place, by maximum likelihood, with its interval."""
        both = zip(self.successes, self.trials, strict=True)
        return [fit_threshold(self.sizes, s, n) for s, n in both]

    @cached_property
    def rises(
        self,
    ) -> tuple[Float[np.ndarray, " places"], Float[np.ndarray, "resamples places"]]:
        """The width of the rise of success at every place, and the same in every resample."""
        drawn = self.resampled(self.resamples)
        widths = [
            rise(self.sizes, np.concatenate([s[None], drawn[:, i]]), n)
            for i, (s, n) in enumerate(zip(self.successes, self.trials, strict=True))
        ]
        both = np.array(widths).T
        return both[0], both[1:]

    def estimate(
        self, statistic: Callable[[np.ndarray], np.ndarray], lacking: str = ""
    ) -> Estimate:
        """A statistic of the critical sizes; its interval is open where they leave the grid.

        Args:
            statistic: Draws by places to one number per draw.
            lacking: What else the grid lacks to decide; empty where nothing is lacking.
        """
        off = ", ".join(map(str, self.places[self.censored]))
        why = lacking or (off and f"off the grid too often at T = {off}")
        if not np.isfinite(self.values).all() or len(self.places) < 3:
            raise Undecided(why or "beyond the grid somewhere", n=self.n)
        low, high = percentile_interval(statistic(np.minimum(self.draws, BEYOND)))
        ends = (np.nan, np.nan) if why else (float(low), float(high))
        return Estimate(float(statistic(self.values[None])[0]), ends, self.n, why)

    def ratio(self, over: int, under: int) -> Estimate:
        """The critical size at one place over that at another.

        Beyond the grid is more than its last size, without limit: the ends allow for both.
        """
        if not {over, under} <= {*self.places.tolist()}:
            raise Undecided(f"T = {under} and {over} are needed", n=self.n)
        a, b = (int(np.flatnonzero(self.places == at)[0]) for at in (under, over))
        if np.isinf(self.values[a]):
            raise Undecided(f"m*({under}) is beyond the grid", n=self.n)
        last, (first, second) = float(self.sizes[-1]), (self.draws[:, a], self.draws[:, b])
        low = nearest_interval(np.minimum(second, last) / first)[0]
        high = nearest_interval(second / np.minimum(first, last))[1]
        note = f"m* {self.values[a]:g} and {self.values[b]:g}"
        off = f"beyond the grid in {self.beyond[b]:.1%} of resamples" if self.beyond[b] else ""
        value, n = float(self.values[b] / self.values[a]), int(self.trials[[a, b]].sum())
        return Estimate(value, (float(low), float(high)), n, joined(note, off))


def critical_sizes(
    table: Table, along: str, by: str, measure: str = "success", resamples: int = DRAWS
) -> CriticalSizes:
    """Critical sizes along one axis of a table, for every value of another.

    Args:
        table: One row per trial.
        along: The axis of sizes.
        by: The axis of places.
        measure: The column that says which trials succeed.
        resamples: Bootstrap resamples.

    Example:
        >>> columns = {"T": np.repeat([1, 2], 4), "m": np.tile([5, 5, 9, 9], 2)}
        >>> columns["success"] = np.array([0, 1, 1, 1, 0, 0, 0, 1], dtype=bool)
        >>> critical_sizes(Table(columns), along="m", by="T").values
        array([ 9., inf])
    """
    places, i = np.unique(table[by], return_inverse=True)
    sizes, j = np.unique(table[along], return_inverse=True)
    shape = len(places), len(sizes)
    successes, trials = np.zeros(shape), np.zeros(shape)
    np.add.at(successes, (i, j), table[measure].astype(float))
    np.add.at(trials, (i, j), 1.0)
    return CriticalSizes(places.astype(int), sizes.astype(int), successes, trials, resamples)


def first_above(sizes: np.ndarray, successes: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """First size at which more than half succeed; infinite where none does.

    Example:
        >>> first_above(np.array([1, 2, 3]), np.array([[5, 6, 2], [0, 5, 5]]), np.full(3, 10))
        array([ 2., inf])
    """
    above = successes > 0.5 * trials
    return np.where(above.any(axis=-1), sizes[above.argmax(axis=-1)], np.inf)


def nearest_interval(draws: np.ndarray, level: float = 0.95) -> Float[np.ndarray, "2 ..."]:
    """Percentile ends that are draws themselves: infinity has no mean with a number.

    Example:
        >>> nearest_interval(np.array([1.0, 2.0, np.inf]))
        array([ 1., inf])
    """
    ends = [(1 - level) / 2, (1 + level) / 2]
    return np.quantile(draws, ends, axis=0, method="nearest")


def rise(sizes: np.ndarray, successes: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """Sizes over which success rises from 10 to 90 %, by a logistic curve in the size itself.

    Args:
        sizes: Sizes, sorted.
        successes: Draws by sizes.
        trials: Trials at each size.
    """
    u = sizes.astype(float)
    reach = float(u[-1] - u[0]) or 1.0
    slopes = TENTHS / WIDTHS[1], TENTHS / WIDTHS[0]
    curve = Curve(u, 0.5, slopes, (u[0] - reach, u[-1] + reach))
    _, slope, _ = curve.maximise(successes, np.broadcast_to(trials, successes.shape))
    return TENTHS / slope
