r"""What is read off a table of learned sparse functions: success and critical sizes.

$m^*(T)$ is the paper's: the first size on the grid at which more than half of the trials succeed.
Its standard error is the deviation over 50 bootstrap resamples of trials, as in the paper, and its
interval the percentiles of 1000. A resample in which no size passes is beyond the grid; where the
first one does, it counts as that size, and both are flagged. $m_{50}$ is the likelihood threshold
of `fit`, printed beside $m^*$ and never mixed with it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from limelight import fit
from limelight.table import Table
from limelight.theory.edelman2022.consistent import examples_needed

LENGTH, SIZE = "world.length", "examples"
#: The paper's grid.
LENGTHS = (100, 150, 200, 250, 300, 350, 400, 500, 600, 700, 800)
SIZES = tuple(range(50, 201, 10))
#: Resamples: the paper's for its standard error, ours for intervals.
FEW, MANY = 50, 1000
#: A length is called censored when more than this share of its resamples leaves the grid.
CENSORED = 0.025


@dataclass(frozen=True, eq=False)
class Counts:
    """Successes on a grid of lengths and sizes.

    Args:
        lengths: Values of T, sorted.
        sizes: Values of m, sorted; every length has all of them.
        successes: By length and size.
        trials: The same.
    """

    lengths: Int[np.ndarray, " lengths"]
    sizes: Int[np.ndarray, " sizes"]
    successes: Float[np.ndarray, "lengths sizes"]
    trials: Float[np.ndarray, "lengths sizes"]

    @property
    def n(self) -> int:
        """Trials in all."""
        return int(self.trials.sum())

    @property
    def is_paper_grid(self) -> bool:
        """Whether this is the grid of the paper's Figure 2."""
        return (*self.lengths,) == LENGTHS and (*self.sizes,) == SIZES

    @cached_property
    def critical(self) -> Float[np.ndarray, " lengths"]:
        """m* of every length; infinite beyond the grid."""
        return first_above(self.sizes, self.successes, self.trials)

    @cached_property
    def draws(self) -> Float[np.ndarray, "draws lengths"]:
        """m* in every bootstrap resample of trials within cells."""
        return first_above(self.sizes, self.resampled(MANY), self.trials)

    def resampled(self, draws: int) -> Float[np.ndarray, "draws lengths sizes"]:
        """Bootstrap successes."""
        return fit.resample_counts(self.successes, self.trials, draws).astype(float)

    @cached_property
    def standard_errors(self) -> Float[np.ndarray, " lengths"]:
        """The paper's: deviation over 50 resamples, beyond the grid counted as one step more."""
        step = self.sizes[-1] - self.sizes[-2] if len(self.sizes) > 1 else 0
        drawn = first_above(self.sizes, self.resampled(FEW), self.trials)
        return np.where(np.isinf(drawn), self.sizes[-1] + step, drawn).std(axis=0)

    @cached_property
    def interval(self) -> Float[np.ndarray, "2 lengths"]:
        """95 % percentile ends of m*; an end beyond the grid is infinite."""
        # Order statistics, because nothing lies between the grid and what is beyond it.
        return np.quantile(self.draws, [0.025, 0.975], axis=0, method="nearest")

    @property
    def beyond(self) -> Float[np.ndarray, " lengths"]:
        """Share of resamples in which no size of the grid passes."""
        return np.isinf(self.draws).mean(axis=0)

    @property
    def below(self) -> Float[np.ndarray, " lengths"]:
        """Share of resamples in which the first size of the grid passes already."""
        return (self.draws == self.sizes[0]).mean(axis=0)

    def censored(self) -> Bool[np.ndarray, " lengths"]:
        """Lengths whose m* leaves the grid too often to be called measured."""
        return (self.beyond > CENSORED) | (self.below > CENSORED)

    def thresholds(self) -> list[fit.Threshold]:
        """m50 of every length, by maximum likelihood, with its interval."""
        both = zip(self.successes, self.trials, strict=True)
        return [fit.fit_threshold(self.sizes, s, n) for s, n in both]


def first_above(sizes: np.ndarray, successes: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """First size at which more than half succeed; infinite where none does.

    Example:
        >>> first_above(np.array([1, 2, 3]), np.array([[5, 6, 2], [0, 5, 5]]), np.full(3, 10))
        array([ 2., inf])
    """
    above = successes > 0.5 * trials
    return np.where(above.any(axis=-1), sizes[above.argmax(axis=-1)], np.inf)


def counted(table: Table, success: str = "success", along: str = LENGTH) -> Counts:
    """The counts of a table; `success` is the column that says so."""
    lengths, i = np.unique(table[along], return_inverse=True)
    sizes, j = np.unique(table[SIZE], return_inverse=True)
    shape = len(lengths), len(sizes)
    successes, trials = np.zeros(shape), np.zeros(shape)
    np.add.at(successes, (i, j), table[success].astype(float))
    np.add.at(trials, (i, j), 1.0)
    return Counts(lengths.astype(int), sizes.astype(int), successes, trials)


def reference(table: Table) -> Float[np.ndarray, " lengths"]:
    """What a consistent learner of ANDs needs at every length; unknown for other rules.

    An OR is an AND of flipped bits with the label flipped, so it needs as many.
    """
    lengths, world = np.unique(table[LENGTH]), setting(table, "world", {})
    if world.get("rule", "and") not in ("and", "or"):
        return np.full(len(lengths), np.nan)
    sparsity = world.get("sparsity", 3)
    return np.array([examples_needed(int(T), sparsity) for T in lengths], dtype=float)


# --- words --------------------------------------------------------------------------------------


def setting(table: Table, name: str, default: Any = None) -> Any:
    """A setting of the experiment behind a table."""
    return table.setting(name, default=default)


def critical_lines(table: Table, success: str = "success") -> list[str]:
    """m*, its errors, m50 and the reference, a line a length."""
    found, needed = counted(table, success), reference(table)
    lines = []
    for i, threshold in enumerate(found.thresholds()):
        low, high = found.interval[:, i]
        star = _sized(found, found.critical[i])
        lines.append(
            f"  T = {found.lengths[i]}: m* {star} +- {found.standard_errors[i]:.1f}"
            f" [{_sized(found, low)}, {_sized(found, high)}], m50 {threshold},"
            f" consistent learner {needed[i]:.0f}"
        )
    return lines


def law_lines(table: Table) -> list[str]:
    """A line, a logarithm and a power through m50, and how much of its variance each explains."""
    found = counted(table)
    middle = [t.value if t.resolved else np.nan for t in found.thresholds()]
    if np.isfinite(middle).sum() < 3:
        return []
    lines = [f"  {fit.fit_law(law, found.lengths, middle)}" for law in fit.LAWS]
    return ["laws of m50 in T (intervals: scatter of the points):", *lines]


def _sized(found: Counts, size: float) -> str:
    if np.isinf(size):
        return f">{found.sizes[-1]}"
    return f"<={found.sizes[0]}" if size == found.sizes[0] else f"{size:g}"
