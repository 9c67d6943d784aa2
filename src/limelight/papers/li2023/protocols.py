r"""How the fractions of relevant and of confusion tokens move together, and sizes of training sets.

The paper holds their sum fixed, which confounds the two: as $\alpha_*$ falls, $\alpha_\#$ rises.
The other two protocols are ours and do not.
"""

from collections.abc import Callable, Iterable

#: Both fractions, swept as one axis.
PAIR = ("world.relevant", "world.confusing")
EXAMPLES = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]
MORE_EXAMPLES = [*EXAMPLES, 128, 192]
#: Fractions of relevant tokens at paper scale, by protocol.
SUM_FRACTIONS = (0.32, 0.34, 0.36, 0.38, 0.4, 0.42, 0.44, 0.46, 0.48, 0.5)
RATIO_FRACTIONS = (0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.36, 0.44, 0.52, 0.6)
GAP_FRACTIONS = (0.26, 0.28, 0.3, 0.34, 0.38, 0.42, 0.46, 0.5, 0.54, 0.58)


def fixed_sum(fractions: Iterable[float]) -> list[tuple[float, float]]:
    r"""Pairs with $\alpha_* + \alpha_\# = 0.5$, the paper's protocol."""
    return _pairs(fractions, lambda relevant: 0.5 - relevant)


def fixed_ratio(fractions: Iterable[float], parts: int = 4) -> list[tuple[float, float]]:
    r"""Pairs with $\alpha_\#$ a quarter of $\alpha_*$, or another part of it."""
    return _pairs(fractions, lambda relevant: relevant / parts)


def fixed_gap(fractions: Iterable[float]) -> list[tuple[float, float]]:
    r"""Pairs with $\alpha_* - \alpha_\# = 0.24$."""
    return _pairs(fractions, lambda relevant: relevant - 0.24)


def _pairs(
    fractions: Iterable[float], confusing: Callable[[float], float]
) -> list[tuple[float, float]]:
    return [(relevant, round(confusing(relevant), 6)) for relevant in fractions]
