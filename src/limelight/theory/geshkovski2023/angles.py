r"""Tokens at equal angles, and two clusters: one exact number in place of all tokens.

Where every pair of tokens has the same cosine $\gamma$ it stays so, and where tokens sit at two
points they stay at two. What is left is one number, for flows and for layers. Everything here
works on arrays of NumPy and of JAX.

Reference: limelight, derived; the flow of equal angles is in a sequel by geshkovski2023's
authors.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from limelight._core.arrays import Real, namespace

#: Nodes and weights of the quadrature of times, on [-1, 1].
NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
#: Where tokens count as one.
MERGED = 0.999


def equal_rate(cosine: Any, tokens: Any, strength: Any, softmax: bool = True) -> Any:
    r"""$\gamma'$ of $n$ tokens at equal angles, with softmax or with sums over $n$.

    $$\gamma' = \frac{2(1-\gamma)((n-1)\gamma+1)}{e^{\beta(1-\gamma)} + n - 1}, \qquad
      \gamma' = \tfrac2n e^{\beta\gamma}(1-\gamma)((n-1)\gamma+1)$$

    Example:
        >>> float(equal_rate(0.0, 3, 0.0))
        0.6666666666666666
    """
    xp = namespace(cosine, strength)
    common = 2 * (1 - cosine) * ((tokens - 1) * cosine + 1)
    if softmax:
        return common / (xp.exp(strength * (1 - cosine)) + tokens - 1)
    return common * xp.exp(strength * cosine) / tokens


def pair_rate(cosine: Any, share: Any, strength: Any) -> Any:
    r"""$\gamma'$ of two clusters with shares $w$ and $1 - w$ of the tokens.

    $$(1-\gamma^2)\Big[\frac{(1-w)\epsilon}{w+(1-w)\epsilon} + \frac{w\epsilon}{1-w+w\epsilon}\Big],
      \qquad \epsilon = e^{-\beta(1-\gamma)}$$

    Example:
        >>> float(pair_rate(0.0, 0.5, 0.0))
        1.0
    """
    xp = namespace(cosine, strength)
    e, w = xp.exp(-strength * (1 - cosine)), share
    pull = (1 - w) * e / (w + (1 - w) * e) + w * e / (1 - w + w * e)
    return (1 - cosine**2) * pull


def passage_time(rate: Callable[[Any], Any], start: Any, end: Any, tokens: Any = 2) -> Any:
    r"""$\int d\gamma/\gamma'$ from one cosine to another, by Gauss and Legendre.

    The variable is $y = \ln\frac{(n-1)\gamma + 1}{1 - \gamma}$, which straightens both rest points.

    Example:
        >>> round(float(passage_time(lambda g: equal_rate(g, 32, 9.0), 0.0, 0.5, 32)), 6)
        174.65224
    """
    xp = namespace(start, end, rate(start))
    n, place = tokens, lambda g: xp.log(((tokens - 1) * g + 1) / (1 - g))
    first, last = place(xp.asarray(start)), place(xp.asarray(end))
    half = (last - first) / 2
    y = (first + last) / 2 + half * xp.asarray(NODES)
    away = n / (xp.exp(y) + n - 1)
    slope = away * (n - (n - 1) * away) / n
    return half * xp.sum(xp.asarray(WEIGHTS) * slope / rate(1 - away))


def equal_time(
    tokens: Any, strength: Any, start: Any = 0.0, end: Any = MERGED, softmax: bool = True,
) -> Any:  # fmt: skip
    """The time that equal angles take from one cosine to another.

    Example:
        >>> round(float(equal_time(2, 0.0)), 4)
        3.8002
    """
    rate = lambda cosine: equal_rate(cosine, tokens, strength, softmax)
    return passage_time(rate, start, end, tokens)


def merge_time(strength: Any, start: Any = 0.0, share: Any = 0.5, end: Any = MERGED) -> Any:
    """The time that two clusters take to merge.

    Example:
        >>> round(float(merge_time(4.0)), 4)
        10.8312
    """
    return passage_time(lambda cosine: pair_rate(cosine, share, strength), start, end)


def merge_law(strength: Any, start: Any = 0.0) -> Any:
    r"""For large $\beta$ and equal shares: $e^{\beta(1-\gamma_0)}/(2\beta(1-\gamma_0^2))$.

    Example:
        >>> round(float(merge_law(4.0)), 4)
        6.8248
    """
    return np.exp(strength * (1 - start)) / (2 * strength * (1 - start**2))


def cosine_after(
    time: Real, tokens: int, strength: Real, start: Real = 0.0, softmax: bool = True
) -> float:
    """The common cosine at a time, by bisection of `equal_time`.

    Example:
        >>> round(cosine_after(1.0, 32, 1.0), 6)
        0.151849
    """
    low, high = np.log1p(-start) - 30.0, np.log1p(-start)
    for _ in range(60):
        middle = (low + high) / 2
        late = equal_time(tokens, strength, start, -np.expm1(middle), softmax) > time
        low, high = (middle, high) if late else (low, middle)
    return float(-np.expm1(high))


def equal_layer(away: Any, tokens: Any, strength: Any, skip: Any = 0.0, step: Any = 1.0) -> Any:
    r"""One layer on equal angles: $u = 1 - \gamma$ before and after it, exact down to $10^{-300}$.

    $$u' = \frac{p^2u}{p^2 + 2pqs + nq^2s}, \qquad s = n - (n-1)u$$

    with $(p, q) = (a, o)$ without a skip connection and $(1 + \eta a, \eta o)$ with it,
    $a = (1 - e^{-\beta u})/Z$, $o = e^{-\beta u}/Z$, $Z = 1 + (n-1)e^{-\beta u}$. As $u \to 0$:
    $u' \approx (\beta/n)^2u^3$ without, $u/(1+\eta)^2$ with it.

    Example:
        >>> round(float(equal_layer(1.0, 16, 2.0)), 5)
        0.58651
    """
    xp = namespace(away, strength, skip, step)
    u, n = away, tokens
    other = xp.exp(-strength * u)
    total = 1 + (n - 1) * other
    own, other = -xp.expm1(-strength * u) / total, other / total
    p, q = skip + step * own, step * other
    wide = n - (n - 1) * u
    return p**2 * u / (p**2 + 2 * p * q * wide + n * q**2 * wide)


def layers_until(tokens: int, strength: Real, skip: Real = 0.0, level: Real = 0.5,
                 step: Real = 1.0, most: int = 1_000_000) -> tuple[int, float]:  # fmt: skip
    """Layers from orthonormal tokens to a common cosine of at least `level`, and $u$ there.

    Example:
        >>> layers_until(196, 8.0)[0], layers_until(196, 8.0, skip=1.0)[0]
        (25, 50)
    """
    u, layer = 1.0, 0
    while 1 - u < level and layer < most:
        u, layer = float(equal_layer(u, tokens, strength, skip, step)), layer + 1
    return layer, u


def hemisphere_probability(tokens: int, dimension: int) -> float:
    r"""That uniform points lie in an open half-sphere (Wendel): $2^{1-n}\sum_{k<d}\binom{n-1}{k}$.

    Example:
        >>> hemisphere_probability(32, 16)
        0.5
    """
    from math import comb

    return sum(comb(tokens - 1, k) for k in range(dimension)) / 2 ** (tokens - 1)
