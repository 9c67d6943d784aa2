r"""Linear rules on jelassi2022's data: exact errors, the hidden condition, the counterexample.

Theorem 3.1 says that every generalized linear model $\varphi(\sum_j \langle w_j, X_j\rangle)$ errs
with probability at least 1/8. Without a condition on $\varphi$ it is false; with monotone
$\varphi$ it needs $q(D - C)$ of order $C^2$.
"""

import numpy as np
from jaxtyping import Float

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.worlds.laws import check_partition

#: The error that Theorem 3.1 claims.
EIGHTH = 1 / 8


def noise_law(tokens: int, size: int, density: Real) -> Float[np.ndarray, " sums"]:
    r"""The law of $T$, the sum of the $D - C$ random marks, centred in the array."""
    check_partition("strided", tokens, size)
    if not 0 <= density <= 1:
        raise InputError(f"density = {density:g}", "a probability, between 0 and 1")
    law = np.array([1.0])
    for _ in range(tokens - size):
        law = np.convolve(law, [density / 2, 1 - density, density / 2])
    return law


def linear_error(tokens: int, size: int, density: Real, *, ties: float = 1.0) -> float:
    r"""The exact error of $\mathrm{sign} \sum_j \langle w^*, X_j\rangle$: $P[C + T \le 0]$.

    Args:
        tokens: Patches, $D$.
        size: Patches in a set, $C$.
        density: Probability of a random mark, $q$.
        ties: What a sum of 0 counts: 1 as an error, 1/2 where a coin decides.

    Example:
        >>> round(linear_error(36, 4, 0.35), 4), round(linear_error(36, 4, 0.35, ties=0.5), 4)
        (0.147, 0.1178)
    """
    law = noise_law(tokens, size, density)
    tie = len(law) // 2 - size
    if tie < 0:
        return 0.0
    return float(law[:tie].sum() + ties * law[tie])


def linear_disagreement(tokens: int, size: int, density: Real, *, ties: float = 1.0) -> float:
    r"""How often the same rule misses the labelling function: $P[f^* (C + T) \le 0]$, exact.

    This is what Theorem 3.1 bounds; $f^* = 0$ counts against any rule. Every random set gives its
    sum and the sum that the threshold lets pass, and their joint law is convolved $L - 1$ times.

    Args:
        tokens: Patches, $D$.
        size: Patches in a set, $C$.
        density: Probability of a random mark, $q$.
        ties: What a sum of 0 counts: 1 as an error, 1/2 where a coin decides.

    Example:
        >>> round(linear_disagreement(36, 4, 0.37, ties=0.5), 3)
        0.129
    """
    marks, sets = noise_law(2 * size, size, density), tokens // size
    sums = np.arange(-size, size + 1)
    passed = np.where(10 * np.abs(sums) > 9 * size, sums, 0)
    centre = size * (sets - 1)
    law = np.zeros((2 * centre + 1, 2 * centre + 1))
    law[centre, centre] = 1.0
    for _ in range(sets - 1):
        law = sum(
            weight * np.roll(law, (int(t), int(m)), axis=(0, 1))  # nothing reaches the border
            for weight, t, m in zip(marks, passed, sums, strict=True)
        )
    range_ = np.arange(-centre, centre + 1) + size
    label, score = np.ix_(range_, range_)
    agree = np.sign(label) * np.sign(score)
    cost = np.where(label == 0, 1.0, np.where(score == 0, ties, agree < 0))
    return float((law * cost).sum())


def density_needed(
    tokens: int, size: int, *, ties: float = 0.5, level: float = EIGHTH, target: str = "y"
) -> float:
    r"""The least density at which the linear rule errs so often; NaN where it never does.

    Args:
        tokens: Patches, $D$.
        size: Patches in a set, $C$.
        ties: What a sum of 0 counts.
        level: The error.
        target: `y` for the label, `fstar` for the labelling function, which the theorem is about.

    Example:
        >>> round(density_needed(36, 4), 3), round(density_needed(36, 4, ties=1.0), 3)
        (0.372, 0.292)
    """
    from scipy.optimize import brentq

    error = {"y": linear_error, "fstar": linear_disagreement}[target]
    excess = lambda q: error(tokens, size, q, ties=ties) - level
    if excess(1.0) < 0:
        return float("nan")
    return brentq(excess, 0.0, 1.0, xtol=1e-12)  # pyright: ignore[reportReturnType]
