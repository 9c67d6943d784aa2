r"""The capacity of any attention head, from the covers of its scores and of its inner map."""

import math
from collections.abc import Callable

from limelight.core.arrays import Real
from limelight.theory.covering import at_least_zero
from limelight.theory.edelman2022.head import SPLITS

#: A log covering number as a function of resolution and number of points.
Covering = Callable[[Real, Real], Real]


def general_head(
    score: Covering,
    inner: Covering,
    *,
    resolution: Real,
    examples: Real,
    tokens: Real,
    token_norm: Real,
    inner_gain: Real = 1.0,
    outer_lipschitz: Real = 1.0,
    softmax_constant: Real = 2.0,
    readout: Real = 1.0,
) -> float:
    r"""Any head from the covers of its two parts, the error split between them at best.

    $$\ln \mathcal N(\epsilon) \le \min_a\; \ln \mathcal N_{Score}\Big(
        \frac{a\,\epsilon}{C L_{out} B_{in} B_X}; mT\Big)
        + \ln \mathcal N_{in}\Big(\frac{(1 - a)\, \epsilon}{L_{out}}; mT\Big)$$

    Notation: `score` and `inner` are the two covers as functions of (resolution, points),
        `inner_gain` is $B_{in}$, `softmax_constant` $C$, `readout` $B_w$ of a fixed read-out.
    Departures: $a$ runs over a fixed list (`SPLITS`), which is a valid choice of it.

    Reference: edelman2022, Theorem 4.2.
    """
    at_least_zero(
        token_norm=token_norm,
        inner_gain=inner_gain,
        outer_lipschitz=outer_lipschitz,
        softmax_constant=softmax_constant,
    )
    if outer_lipschitz == 0 or readout == 0:
        return 0.0  # one function
    e = resolution / readout
    points = examples * tokens
    reach = softmax_constant * outer_lipschitz * inner_gain * token_norm
    costs = [
        score(a * e / reach if reach else math.inf, points)
        + inner((1 - a) * e / outer_lipschitz, points)
        for a in SPLITS
    ]
    return float(min(costs))
