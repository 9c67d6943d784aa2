r"""The certificates turned around: the smallest $d$, and the interval of $\lambda$."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight.theory.xu2022 import certificates
from limelight.theory.xu2022.certificates import Form
from limelight.theory.xu2022.optimum import minimise
from limelight.theory.xu2022.setting import Number, Setting

#: Between which ends a certificate's best logit scale is sought.
SEARCH = (0.3, 40.0, 60)
#: Dimensions and sizes beyond this are answered with "none".
LARGEST = 1e12


def best_strength(
    setting: Setting, delta: Number = 0.05, *, masked: bool = False, form: Form = "best"
) -> tuple[float, float]:
    """The logit scale with the smallest certificate, and the certified ratio there."""
    return minimise(
        lambda lam: certificates.softmax_ratio(setting, lam, delta, masked=masked, form=form),
        *SEARCH,
    )


def smallest_dimension(
    setting: Setting,
    target: Number = 0.5,
    delta: Number = 0.05,
    *,
    masked: bool = False,
    form: Form = "best",
) -> tuple[float, float]:
    r"""Smallest $d$ at which some $\lambda$ is certified to give a ratio of at most `target`.

    Returns:
        $d$ and the $\lambda$; `(inf, nan)` when no dimension up to $10^{12}$ will do.
    """
    _check_target(target)

    def ratio(d: Number) -> tuple[float, float]:
        return best_strength(setting.at(dimension=d), delta, masked=masked, form=form)

    d = _first(lambda d: ratio(d)[1] <= target, max(setting.rank, 2))
    return d, ratio(d)[0] if np.isfinite(d) else float("nan")


def smallest_dimension_neighbours(setting: Setting, delta: Number = 0.05) -> float:
    """Smallest $d$ at which T1' certifies some $K$; infinite when none does."""
    holds = lambda d: certificates.nearest_neighbours(setting.at(dimension=d), delta).holds
    return _first(holds, max(setting.rank, 2))


@dataclass(frozen=True)
class Interval:
    """Where a certificate is at or below its target.

    Args:
        low: Lower end; NaN when there is no such logit scale.
        high: Upper end.
        pieces: How many separate intervals the search grid saw; the ends are the outermost.
    """

    low: Number
    high: Number
    pieces: int

    @property
    def empty(self) -> bool:
        """Whether no logit scale is certified."""
        return self.pieces == 0


def certified_interval(
    setting: Setting, target: Number = 0.5, delta: Number = 0.05, *, masked: bool = False
) -> Interval:
    r"""The $\lambda$ at which the certificate is at most `target`; empty when there are none.

    Each of them holds with probability $1-\delta$, all together $1-1.25\,\delta$.
    """
    _check_target(target)
    ratio = lambda lam: certificates.softmax_ratio(setting, lam, delta, masked=masked)
    best, value = best_strength(setting, delta, masked=masked)
    if not value <= target:
        return Interval(float("nan"), float("nan"), 0)
    grid = np.unique(np.append(np.geomspace(1e-2, 400.0, 400), best))
    good = np.asarray(ratio(grid)) <= target
    inside = np.flatnonzero(good)
    pieces = int(np.sum(np.diff(np.concatenate([[0], good.astype(int)])) == 1))
    low = _edge(ratio, target, grid[inside[0]], grid[max(inside[0] - 1, 0)])
    high = _edge(ratio, target, grid[inside[-1]], grid[min(inside[-1] + 1, len(grid) - 1)])
    return Interval(low, high, pieces)


def _edge(ratio: Callable, target: Number, good: Any, bad: Any) -> float:
    """Bisect between a certified logit scale and one that is not; returns the certified side."""
    if good == bad:
        return float(good)
    for _ in range(60):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if float(ratio(middle)) <= target else (good, middle)
    return float(good)


def _first(works: Callable[[float], bool], start: Number) -> float:
    """Smallest whole number from `start` on at which a monotone property holds."""
    low, high = start - 1.0, float(start)
    while not works(high):
        low, high = high, high * 2
        if high > LARGEST:
            return float("inf")
    while high - low > 1:
        middle = float(np.floor((low + high) / 2))
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def _check_target(target: Number) -> None:
    if not target > 0:
        raise InputError(f"target = {target}", "a positive ratio, such as 0.5")
