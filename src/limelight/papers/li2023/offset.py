r"""Equation (10) with its offset: $N \propto (\alpha_* - c)^{-2}$, the constant and $c$ fitted.

Theorem 1 asks for $(\alpha_* - c'(1-\zeta) - c''(\sigma+\tau))^{-2}$ examples and leaves $c'$ and
$c''$ free, so that its right-hand side is a law with one free offset. It is a sufficient condition:
a boundary of another shape does not contradict it.
"""

import numpy as np

from limelight.claims import AtLeast, Claim, Estimate, Undecided
from limelight.fit import percentile_interval
from limelight.papers.li2023.boundary import (
    LEVELS,
    POINTS,
    drawn,
    n50,
    relevant,
    trials_of,
    usable,
)
from limelight.papers.recipe import claims
from limelight.table import Table

#: Offsets tried, as shares of the smallest fraction: $\alpha_* - c$ must stay positive.
SHARES = np.linspace(0.0, 0.999, 1000)


def fitted(fractions: np.ndarray, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best offset and the R squared of logarithms with it, for every row of `needed`.

    The power is -2 and not fitted, so that R squared is negative where a constant does better.

    Example:
        >>> a = np.array([0.3, 0.35, 0.4, 0.5])
        >>> offset, r_squared = fitted(a, 0.02 * (a - 0.15) ** -2)
        >>> round(float(offset), 3), round(float(r_squared), 3)
        (0.15, 1.0)
    """
    offsets = SHARES * fractions.min()
    law = -2 * np.log(fractions - offsets[:, None])
    law -= law.mean(axis=1, keepdims=True)
    logs = np.log(needed)
    logs = logs - logs.mean(axis=-1, keepdims=True)
    # |y - x|^2 = |y|^2 - 2 <x, y> + |x|^2, for all offsets and rows at once.
    left = (law**2).sum(axis=1) - 2 * logs @ law.T
    best = left.argmin(axis=-1)
    least = np.take_along_axis(left, best[..., None], axis=-1)[..., 0]
    return np.asarray(offsets[best]), np.asarray(-least / (logs**2).sum(axis=-1))


def r_squared(table: Table, level: float) -> Estimate:
    """R^2 of log N50 on (alpha_* - c)^-2, offset c fitted, test loss below {level:g}."""
    edge = n50(table, level)
    use = usable(edge)
    if use.sum() < POINTS:
        raise Undecided(f"{use.sum()} usable points, {POINTS} needed", n=len(table))
    values, known = drawn(edge)
    whole = known[:, use].all(axis=1)
    fractions = relevant(edge)[use]
    offset, value = fitted(fractions, edge.values[use])
    offsets, draws = fitted(fractions, values[whole][:, use])
    low, high = percentile_interval(draws)
    under, over = percentile_interval(offsets)
    note = f"{use.sum()} points, c = {offset:.3f} [{under:.3f}, {over:.3f}]"
    return Estimate(float(value), (float(low), float(high)), trials_of(edge, use), note)


def offset_claims(prefix: str, where: str) -> tuple[Claim, ...]:
    """That (10) with one offset describes the boundary, at both criteria."""
    return claims(
        prefix + ".offset{suffix}",
        f"With its offset fitted, (10) describes the boundary, with an R^2 of 0.9 or more"
        f" ({where}).",
        AtLeast(0.9),
        at="limelight; li2023, Theorem 1 (10), read as a law",
        cases=LEVELS,
        fixed="after",
    )(r_squared)
