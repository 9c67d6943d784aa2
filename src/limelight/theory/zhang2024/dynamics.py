r"""Closed forms of training: one abrupt drop, one head that leaves its saddle.

Reference: Zhang et al. (2025), Sections 4 and 5.
"""

import math
from typing import Any

from limelight._core.arrays import Real


def white_course(times: Any, dimension: int, eigenvalue: Any, examples: Any, start: Any) -> Any:
    r"""$a(t)$ with $A = a I$: merged weights, $\Lambda = \lambda I$, $v = w$, $U = wI/\sqrt d$.

    $$a(t) = \frac{e^{kt}}{\sqrt d/w^2 + \gamma(e^{kt} - 1)}, \qquad k = 2\sqrt d\lambda^2.$$

    Example:
        >>> limit = 1 / (1 + 5 / 31)  # 1 over gamma
        >>> round(white_course(half_way(4, 1.0, 31, 1e-3), 4, 1.0, 31, 1e-3) / limit, 6)
        0.5
    """
    rate, bend = _rates(dimension, eigenvalue, examples)
    decayed = math.e ** (-rate * times)
    return 1 / (math.sqrt(dimension) / start**2 * decayed + bend * (1 - decayed))


def half_way(dimension: int, eigenvalue: Real, examples: Real, start: Real) -> float:
    r"""When $a$ is half its limit $1/\gamma$: $\ln(\sqrt d/(\gamma w^2) - 1)/k$.

    Example:
        >>> round(half_way(4, 1.0, 31, 1e-3), 6)
        3.589781
    """
    rate, bend = _rates(dimension, eigenvalue, examples)
    return math.log(math.sqrt(dimension) / (bend * start**2) - 1) / rate


def _rates(dimension: int, eigenvalue: Any, examples: Any) -> tuple[Any, Any]:
    bend = eigenvalue * (1 + (1 + dimension) / examples)  # gamma of a white spectrum
    return 2 * math.sqrt(dimension) * eigenvalue**2, bend


def wait(eigenvalue: Real, bend: Real, start: Real, share: Real = 0.5) -> float:
    r"""Time of $r' = \lambda^2 r^2(1 - \gamma r^3)$ from $r_0$ until $r^3$ = `share` $/\gamma$.

    About $1/(\lambda^2 r_0)$: a power of the start, not a logarithm. With $u = r\gamma^{1/3}$ the
    time is $\gamma^{1/3}\lambda^{-2}\int du / (u^2 (1 - u^3))$, which partial fractions give.

    Example:
        >>> round(wait(1.0, 1.0, 1e-2)), round(wait(1.0, 1.0, 1e-4))  # about 1 over the start
        (99, 9999)
    """
    root = bend ** (1 / 3)

    def primitive(u: float) -> float:
        turn = math.atan((2 * u + 1) / math.sqrt(3)) / math.sqrt(3)
        return -1 / u - math.log1p(-u) / 3 + math.log(1 + u + u * u) / 6 - turn

    return root / eigenvalue**2 * (primitive(share ** (1 / 3)) - primitive(start * root))
