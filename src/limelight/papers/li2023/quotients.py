"""Ratios of boundaries, with the errors of both carried along by one bootstrap."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight import fit
from limelight.claims import LEVEL, Estimate, Undecided
from limelight.fit import Edge, curves
from limelight.papers.li2023.boundary import FLOOR, POINTS, drawn, trials_of

#: Share of bootstrap draws that must be resolved before an interval is given.
ENOUGH = 0.9


@dataclass(frozen=True)
class Quotients:
    """Ratios of thresholds, one per place.

    Args:
        where: Coordinates of the place.
        values: Ratios; NaN where one of the two is unresolved.
        draws: The same in every bootstrap draw over trials.
        off_floor: Where both thresholds are off the floor of the grid.
        trials: Trials that each rests on.
        why: What is wrong with an unresolved ratio, in words.
    """

    where: dict[str, np.ndarray]
    values: np.ndarray
    draws: np.ndarray
    off_floor: np.ndarray
    trials: np.ndarray
    why: tuple[str, ...]

    @property
    def n(self) -> int:
        """Trials behind all of them."""
        return int(self.trials.sum())

    @property
    def intervals(self) -> np.ndarray:
        """The interval of every ratio, places by ends."""
        places = range(len(self.values))
        return np.array([self.interval(place) for place in places]).reshape(-1, 2)

    def estimate(self, place: int, note: str = "") -> Estimate:
        """One ratio with its interval."""
        return Estimate(
            float(self.values[place]), self.interval(place), int(self.trials[place]), note
        )

    def interval(self, place: int) -> tuple[float, float]:
        """The percentile interval; NaN where too many draws are unresolved."""
        column = self.draws[:, place]
        if np.isfinite(column).mean() < ENOUGH:
            return np.nan, np.nan
        low, high = fit.percentile_interval(column)
        return float(low), float(high)


def quotients(edge: Edge, axis: str, top: Any, bottom: Any) -> Quotients:
    """Threshold at `axis` = top over that at `axis` = bottom, for all other coordinates.

    Whole trials are drawn, jointly for both: right where they share their randomness, and no harm
    where they do not.
    """
    others = [name for name in edge.coordinates if name != axis]
    values, known = drawn(edge, common=True) if len(edge) else (np.zeros((1, 0)),) * 2
    values = np.where(known, values, np.nan)
    tops, bottoms = _places(edge, axis, top), _places(edge, axis, bottom)
    pairs = [(tops[p], bottoms[p]) for p in tops if p in bottoms]
    a, b = np.array(pairs, dtype=int).reshape(-1, 2).T
    both, ok = edge.resolved[a] & edge.resolved[b], np.flatnonzero(edge.resolved)
    return Quotients(
        {name: edge.coordinates[name][a] for name in others},
        np.where(both, edge.values[a] / edge.values[b], np.nan),
        np.where(both, values[:, a] / values[:, b], np.nan),
        (edge.values[a] >= FLOOR) & (edge.values[b] >= FLOOR),
        np.array([edge.thresholds[i].n + edge.thresholds[j].n for i, j in pairs], dtype=int),
        tuple(" and ".join(_trouble(edge, axis, i) for i in pair if i not in ok) for pair in pairs),
    )


def _places(edge: Edge, axis: str, value: Any) -> dict[tuple, int]:
    """Thresholds at one value of an axis, by their other coordinates."""
    others = [values for name, values in edge.coordinates.items() if name != axis]
    return {
        tuple(values[i] for values in others): i
        for i in range(len(edge))
        if edge.coordinates[axis][i] == value
    }


def _trouble(edge: Edge, axis: str, i: int) -> str:
    """Why one boundary is unresolved: a curve that crosses may still pass a hole in the grid."""
    found = edge.thresholds[i]
    crosses = fit.resolved(found.x, np.round([found.rates * found.trials]), found.trials)[0]
    where = (
        "beside a cell that did not converge" if crosses else "beyond the sizes that can be used"
    )
    return f"N50 at {axis.rpartition('.')[2]} {edge.coordinates[axis][i]} is {where}"


def single(found: Quotients, place: int = 0) -> Estimate:
    """One of the ratios as an estimate."""
    if not len(found.values):
        raise Undecided("not in this table", n=found.n)
    if not np.isfinite(found.values[place]):
        raise Undecided(found.why[place], n=int(found.trials[place]))
    lost = ~np.isfinite(found.draws[:, place])
    note = f"{lost.sum()} of {lost.size} bootstrap draws unresolved" if lost.any() else ""
    note += ": too many to give an interval" if lost.mean() > 1 - ENOUGH else ""
    return found.estimate(place, note)


def bracketed(edge: Edge, axis: str, top: Any, bottom: Any) -> Estimate:
    """One ratio, a boundary beyond the grid counted as anywhere beyond it.

    In every bootstrap draw each boundary is known to lie between two numbers: the same where the
    draw resolves it, the largest size and infinity where it lies above the grid, 0 and the smallest
    size where it lies below. So the interval stays honest where draws leave the grid, and one of
    its ends may be open.
    """
    tops, bottoms = _places(edge, axis, top), _places(edge, axis, bottom)
    if not tops or not bottoms:
        raise Undecided("not in this table", n=trials_of(edge, np.full(len(edge), True)))
    pair = [next(iter(tops.values())), next(iter(bottoms.values()))]
    n = trials_of(edge, np.isin(np.arange(len(edge)), pair))
    values, known = drawn(edge, common=True)
    every = np.concatenate([edge.values[None], values])[:, pair]
    sure = np.concatenate([edge.resolved[None], known])[:, pair]
    sizes = [edge.thresholds[i].x for i in pair]
    least, most = np.array([(x.min(), x.max()) for x in sizes]).T
    above = every > np.sqrt(least * most)
    low = np.where(sure, every, np.where(above, most, 0.0))
    high = np.where(sure, every, np.where(above, np.inf, least))
    with np.errstate(divide="ignore", invalid="ignore"):
        under, over = low[:, 0] / high[:, 1], high[:, 0] / low[:, 1]
    if not np.isfinite([under[0], over[0]]).any() or (not sure[0].any()):
        why = " and ".join(_trouble(edge, axis, i) for i in pair if not edge.resolved[i])
        raise Undecided(why, n=n)
    value = over[0] if np.isfinite(over[0]) else under[0]
    ends = [
        float(np.quantile(draws[1:], rank, method="inverted_cdf"))
        for draws, rank in ((under, (1 - LEVEL) / 2), (over, (1 + LEVEL) / 2))
    ]
    gone = int((~sure[1:]).any(axis=1).sum())
    note = f"{gone} of {len(values)} bootstrap draws leave the grid" if gone else ""
    if not sure[0].all():
        bound = "at most" if np.isfinite(over[0]) else "at least"
        outside = " and ".join(_trouble(edge, axis, i) for i in pair if not edge.resolved[i])
        note = f"{bound} this: {outside}; {note}"
    return Estimate(float(value), (ends[0], ends[1]), n, note)


def smallest(found: Quotients) -> Estimate:
    """The smallest ratio; its interval ends are the smallest lower and the smallest upper end."""
    use = np.isfinite(found.intervals).all(axis=1)
    if not use.any():
        raise Undecided("no ratio has both boundaries inside the grid", n=found.n)
    low, high = found.intervals[use].min(axis=0)
    values = found.values[use]
    note = f"{use.sum()} of {use.size} ratios resolved, from {values.min():.2f} to "
    note += f"{values.max():.2f}"
    return Estimate(
        float(values.min()), (float(low), float(high)), int(found.trials[use].sum()), note
    )


def growth(found: Quotients, x: np.ndarray) -> Estimate:
    """Log-log slope of the ratios in x, points that are resolved and off the floor."""
    usable = np.where(found.off_floor, found.values, np.nan)
    n = int(found.trials[np.isfinite(usable)].sum())
    return curves.law(x, usable, found.draws, n, points=POINTS, of="ratios")
