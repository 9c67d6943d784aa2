"""The edge of a phase diagram: one threshold for every combination of the other axes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from limelight._core.errors import InputError, suggest
from limelight.claims import Estimate
from limelight.fit.estimates import joined
from limelight.fit.resample import (
    DRAWS,
    percentile_interval,
    resample_counts,
    trial_weights,
)
from limelight.fit.thresholds import (
    Threshold,
    fit_threshold,
    resolved,
    threshold_values,
)
from limelight.table import Table

SUCCESS = "success"


@dataclass(frozen=True, eq=False)
class Edge:
    """Thresholds along one axis, for every combination of the others.

    Args:
        along: The axis the thresholds are values of.
        measure: The column that decides success.
        level: A trial succeeds when the measure is at or above this level.
        below: A trial succeeds when the measure is below the level instead.
        coordinates: Axis to values, one for each threshold. Axes that move together are several
            columns of coordinates.
        thresholds: The fits, in the order of the coordinates.
        outcomes: Coordinates, `along`, success and (where known) trial number of every row.
        options: What the fits were made with.

    Example:
        >>> import limelight as ll, numpy as np
        >>> n = np.repeat([2, 8, 32], 10)
        >>> table = ll.Table({"n": n, "y": np.tile(np.linspace(0.1, 1, 10), 3) * n / 32}, ("n",))
        >>> edge = ll.fit.threshold(table, along="n", measure="y", level=0.2)
        >>> bool(edge.low[0] < edge.values[0] < edge.high[0])
        True
    """

    along: str
    measure: str
    level: float
    below: bool
    coordinates: Mapping[str, np.ndarray]
    thresholds: tuple[Threshold, ...]
    outcomes: Table = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _drawn: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.thresholds)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Threshold]]:
        for i, found in enumerate(self.thresholds):
            yield {name: values[i] for name, values in self.coordinates.items()}, found

    def x(self, axis: str) -> np.ndarray:
        """Coordinates along another axis, one for each threshold."""
        if axis not in self.coordinates:
            hint = suggest(axis, list(self.coordinates)) if self.coordinates else "there is none"
            raise InputError(f"the edge has no axis {axis!r}", hint)
        return self.coordinates[axis]

    @property
    def values(self) -> Float[np.ndarray, " curves"]:
        """The thresholds; where not `resolved` they only say on which side they lie."""
        return np.array([found.value for found in self.thresholds], dtype=float)

    @property
    def low(self) -> Float[np.ndarray, " curves"]:
        """Lower ends of the intervals."""
        return np.array([found.low for found in self.thresholds], dtype=float)

    @property
    def high(self) -> Float[np.ndarray, " curves"]:
        """Upper ends of the intervals."""
        return np.array([found.high for found in self.thresholds], dtype=float)

    @property
    def resolved(self) -> Bool[np.ndarray, " curves"]:
        """Where the data show a crossing."""
        return np.array([found.resolved for found in self.thresholds], dtype=bool)

    def draws(
        self, draws: int = DRAWS, seed: int = 0, common: bool = False
    ) -> tuple[Float[np.ndarray, "draws curves"], Bool[np.ndarray, "draws curves"]]:
        """Bootstrap thresholds over trials, and whether each was resolved.

        A draw that is a step, failures below a gap between two sizes and successes above it, may
        cross anywhere in the gap: its threshold is drawn from there, evenly in logs. Left in the
        middle, a step in every draw would look like a threshold without error.

        Args:
            draws: Bootstrap draws.
            seed: Fixes the draws.
            common: Whether a trial number means the same trial in all cells (shared seeds); then
                whole trials are drawn, jointly for all thresholds.

        Returns:
            Values and flags, draws by thresholds; read-only, for they are kept and given again.
        """
        key = (draws, seed, common)
        if key not in self._drawn:
            self._drawn[key] = self._draw(draws, seed, common)
        return self._drawn[key]

    def smallest(
        self,
        statistic: Callable[[np.ndarray], np.ndarray],
        *,
        used: np.ndarray | slice = np.s_[:],
        lost: float = 0.025,
        draws: int = DRAWS,
        note: str = "",
    ) -> Estimate:
        """The smallest of one or several statistics, a level of 95 % shared out over them.

        Args:
            statistic: Draws by curves to draws by statistics.
            used: The curves that must be resolved.
            lost: Share of the draws in which they need not be; beyond it the interval is open.
            draws: Bootstrap draws.
            note: What to say.
        """
        drawn, known = self.draws(draws)
        off = float(1.0 - known[:, used].all(axis=1).mean()) if self.resolved[used].all() else 1.0
        found = statistic(drawn)
        low, high = percentile_interval(found, 1 - 0.05 / found.shape[1])
        ends = (float(low.min()), float(high.min()))
        if off > lost:
            ends, note = (np.nan, np.nan), joined(note, f"off the grid in {off:.1%} of resamples")
        value = float(statistic(self.values[None]).min())
        return Estimate(value, ends, len(self.outcomes), note)

    def _draw(self, draws: int, seed: int, common: bool):
        counted = _common_counts if common else _independent_counts
        values, flags = [], []
        luck = np.random.default_rng(_seeds(seed, len(self) + 1)[-1])
        for x, s, n in counted(self, draws, seed):
            found = threshold_values(x, s, n, **self.options)
            rising = s if self.options["increasing"] else n - s
            values.append(_anywhere_in_the_gap(found, x, rising, n, luck))
            flags.append(resolved(x, s, n, **self.options))
        found = np.stack(values, axis=1), np.stack(flags, axis=1)
        for array in found:
            array.flags.writeable = False
        return found


def threshold(
    table: Table,
    along: str,
    measure: str,
    level: float,
    below: bool = False,
    confidence: float = 0.95,
    *,
    by: Sequence[str] | None = None,
    rate: float = 0.5,
    increasing: bool = True,
) -> Edge:
    """Where along one axis trials begin to succeed, for every combination of the other axes.

    A trial succeeds when its measure is at or above `level` (below it, with `below`). A trial that
    diverged (the `diverged` column, where the table has one) or whose measure is NaN has failed.

    Args:
        table: One row per trial.
        along: The axis to find thresholds on, such as `train.examples`.
        measure: The column that decides success.
        level: The level it is compared with.
        below: Success is a measure below the level.
        confidence: Confidence of the intervals.
        by: Columns that tell curves apart; the other axes of the table unless given.
        rate: The success rate at the threshold.
        increasing: Whether success grows along the axis.

    Returns:
        The edge: coordinates and a `Threshold` for each curve.

    Example:
        >>> table = Table(
        ...     {"n": np.array([1, 2, 4, 8] * 2), "y": np.array([0.0, 0.0, 1.0, 1.0] * 2)}, ("n",)
        ... )
        >>> edge = threshold(table, along="n", measure="y", level=0.95)
        >>> edge.values.round(2)
        array([2.83])
    """
    if not len(table):
        raise InputError("the table has no rows", "run the study first")
    by = tuple(name for name in table.axes if name != along) if by is None else tuple(by)
    group, coordinates = group_rows(table, by)
    columns = {**{name: table[name] for name in by}, along: table[along]}
    if "trial" in table.columns:
        columns["trial"] = table["trial"]
    columns[SUCCESS] = successes(table, measure, level, below)
    options = {"rate": rate, "increasing": increasing}
    fits = []
    for i in range(group.max() + 1):
        x, s, n = _counts(columns[along][group == i], columns[SUCCESS][group == i])
        fits.append(fit_threshold(x, s, n, confidence, **options))
    outcomes = Table(columns, (*by, along))
    return Edge(along, measure, level, below, coordinates, tuple(fits), outcomes, options)


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


def successes(
    table: Table, measure: str, level: float, below: bool = False
) -> Bool[np.ndarray, " rows"]:
    """Which trials succeeded: the measure on the right side of the level, and not diverged.

    Example:
        >>> table = Table({"y": np.array([0.9, 0.99, np.nan]), "diverged": np.array([0, 1, 0])})
        >>> successes(table, "y", 0.5)
        array([ True, False, False])
    """
    values = table[measure]
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise InputError(
            f"{measure!r} is not one number per trial", "pick a logged step of a trace first"
        )
    ok = values < level if below else values >= level
    if "diverged" in table.columns:
        ok = ok & ~table["diverged"].astype(bool)
    return ok


def _counts(at: np.ndarray, success: np.ndarray):
    x, place = np.unique(at, return_inverse=True)
    return x, np.bincount(place, success, len(x)), np.bincount(place, minlength=len(x))


def _independent_counts(edge: Edge, draws: int, seed: int):
    for child, found in zip(_seeds(seed, len(edge)), edge.thresholds, strict=True):
        s = np.round(found.rates * found.trials)
        yield found.x, resample_counts(s, found.trials, draws, child), found.trials


def _common_counts(edge: Edge, draws: int, seed: int):
    if "trial" not in edge.outcomes.columns:
        raise InputError("common trials need a trial column", "use common=False")
    trials, trial = np.unique(edge.outcomes["trial"], return_inverse=True)
    weights = trial_weights(len(trials), draws, seed)
    group = group_rows(edge.outcomes, tuple(edge.coordinates))[0]
    for i, found in enumerate(edge.thresholds):
        rows = group == i
        place = np.searchsorted(found.x, edge.outcomes[edge.along][rows])
        present = np.zeros((len(trials), len(found.x)))
        succeeded = np.zeros_like(present)
        np.add.at(present, (trial[rows], place), 1.0)
        np.add.at(succeeded, (trial[rows], place), edge.outcomes[SUCCESS][rows])
        yield found.x, weights @ succeeded, weights @ present


def _anywhere_in_the_gap(
    values: np.ndarray, x: np.ndarray, s: np.ndarray, n: np.ndarray, luck: np.random.Generator
) -> np.ndarray:
    n = np.broadcast_to(n, s.shape)
    all_of_them = (s == n) & (n > 0)
    first = all_of_them.argmax(axis=1)  # the size above the gap
    above = np.arange(len(x)) >= first[:, None]
    step = (first > 0) & np.where(above, all_of_them, (s == 0) & (n > 0)).all(axis=1)
    low, high = np.log(x[np.maximum(first - 1, 0)]), np.log(x[first])
    return np.where(step, np.exp(luck.uniform(low, high)), values)


def _seeds(seed: int, count: int) -> list[int]:
    return [int(word) for word in np.random.SeedSequence(seed).generate_state(count)]
