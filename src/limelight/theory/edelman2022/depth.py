r"""The capacity of stacked attention blocks, projected on the unit ball between layers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limelight._core.arrays import Real
from limelight.theory.covering import (
    LinearMap,
    allocate,
    at_least_zero,
    linear_map,
    linear_map_inf,
    zhang,
)


@dataclass(frozen=True)
class LayerNorms:
    r"""What the depth bound needs to know of one layer.

    Notation: `output` is the map $y \mapsto W_C^\top y$ (columns of $W_C$), `value` and
        `query_key` as for a head.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> LayerNorms(output=one, value=one, query_key=one).value.largest
        1.0
    """

    output: LinearMap
    value: LinearMap
    query_key: LinearMap

    def stretch(self, lipschitz: Real, softmax_constant: Real, residual: bool) -> float:
        r"""How much an error at the layer's input can grow, $L_\sigma B_C B_V (1 + 2 c B_{QK})$."""
        own = lipschitz * self.output.operator_norm * self.value.operator_norm
        own *= 1 + 2 * softmax_constant * self.query_key.operator_norm
        return 1 + own if residual else own


def amplifications(
    layers: Sequence[LayerNorms],
    *,
    lipschitz: Real = 1.0,
    softmax_constant: Real = 2.0,
    residual: bool = False,
) -> np.ndarray:
    r"""$\alpha_i = \prod_{j > i} L_\sigma B_{C,j} B_{V,j} (1 + 2 c B_{QK,j})$.

    An error made in a layer is amplified by the **later** ones.

    Departures: printed with the product over $j < i$. Two layers refute that: an identity layer
        with error $e$ in its output map, then one with $W_V = 10 I$, move the output by $10 e$.

    Args:
        layers: From the input up.
        lipschitz: Of the activation.
        softmax_constant: 2 as in the paper, or 1.
        residual: Whether blocks compute $x + A(x)$; not in the paper, the factor gains 1.
    """
    at_least_zero(lipschitz=lipschitz, softmax_constant=softmax_constant)
    steps = [layer.stretch(lipschitz, softmax_constant, residual) for layer in layers]
    return np.array([math.prod(steps[i + 1 :]) for i in range(len(steps))])


def deep_order(
    layers: Sequence[LayerNorms],
    *,
    resolution: Real,
    examples: Real,
    tokens: Real,
    token_norm: Real = 1.0,
    readout: Real = 1.0,
    lipschitz: Real = 1.0,
    softmax_constant: Real = 2.0,
    constant: Real = 1.0,
) -> float:
    r"""A deep network with scalar output, to order.

    $$\ln \mathcal N \lesssim \frac{B_w^2}{\epsilon^2} \Big( 1 + \sum_i \alpha_i^{2/3} \big[
        (d L_\sigma B_{C,\infty})^{2/3} + (c\, d L_\sigma B_C B_V B_{QK,\infty} B_{in}^3)^{2/3}
        + (k L_\sigma B_C B_{V,\infty} B_{in})^{2/3} \big] \Big)^3 \ln(mT)$$

    Notation: `token_norm` is $B_X$; $B_{in}$ is $B_X$ in the first layer and 1 above, where the
        projection bounds all tokens.
    Departures: $\alpha_i$ runs over later layers; $B_w$ multiplies every term, not the first
        alone; $L_\sigma$ enters the output term, whose inputs have length up to $L_\sigma$. Theorem
        4.6 simplifies this with $B_X^2$, right for $B_X \le 1$ only: a score is quadratic in the
        first layer's tokens and multiplies a value, so $B_X^6$ after squaring.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> layers = [LayerNorms(one, one, one)]
        >>> 0 < deep_order(layers, resolution=1.0, examples=1e4, tokens=100)
        np.True_

    Reference: edelman2022, Theorem A.17 (Theorem 4.6).
    """
    at_least_zero(token_norm=token_norm, readout=readout)
    alpha = amplifications(layers, lipschitz=lipschitz, softmax_constant=softmax_constant)
    total = 1.0
    for i, layer in enumerate(layers):
        reach = token_norm if i == 0 else 1.0
        C, V, QK = layer.output, layer.value, layer.query_key
        inside = (C.outputs * lipschitz * C.largest) ** (2 / 3)
        scores = softmax_constant * QK.outputs * lipschitz * C.operator_norm * V.operator_norm
        inside += (scores * QK.largest * reach**3) ** (2 / 3)
        inside += (V.outputs * lipschitz * C.operator_norm * V.largest * reach) ** (2 / 3)
        total += alpha[i] ** (2 / 3) * inside
    return constant * readout**2 * total**3 / resolution**2 * math.log(examples * tokens)


def deep_explicit(
    layers: Sequence[LayerNorms],
    *,
    resolution: Real,
    examples: Real,
    tokens: Real,
    token_norm: Real = 1.0,
    readout: Real = 1.0,
    lipschitz: Real = 1.0,
    softmax_constant: Real = 1.0,
    shares: str = "best",
) -> float:
    r"""A deep network with scalar output, a true upper bound with all constants.

    Errors add up as $e_w + B_w \sum_i \alpha_i (e_{C,i} + c L_\sigma B_C B_V B_{in}^2 e_{QK,i} +
    L_\sigma B_C e_{V,i})$; each part is covered to its share of the resolution. `equal` shares are
    monotone in everything; `cheapest` ones follow the norms; `best` is the smaller of the two.

    Departures: ours; the paper states the order.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> layers = [LayerNorms(one, one, one)]
        >>> 0 < deep_explicit(layers, resolution=1.0, examples=1e4, tokens=100)
        True

    Reference: edelman2022, Theorem A.17.
    """
    at_least_zero(token_norm=token_norm, readout=readout)
    if readout == 0:
        return 0.0
    alpha = amplifications(layers, lipschitz=lipschitz, softmax_constant=softmax_constant)
    points = examples * tokens
    parts: list[tuple[LinearMap, float, float]] = []  # the map, its input norm, its weight
    for i, layer in enumerate(layers):
        reach = token_norm if i == 0 else 1.0
        carry = readout * alpha[i]
        through = carry * lipschitz * layer.output.operator_norm
        score = softmax_constant * through * layer.value.operator_norm * reach**2
        parts += [(layer.output, lipschitz, carry), (layer.query_key, reach, score)]
        parts += [(layer.value, reach, through)]
    weights = np.array([1.0] + [weight for _, _, weight in parts])

    def total(errors: np.ndarray, cover) -> float:
        cost = float(zhang(readout, 1.0, errors[0], examples))
        for (a, reach, _), e in zip(parts, errors[1:], strict=True):
            cost += float(cover(a, reach, e, points))
        return cost

    with np.errstate(divide="ignore"):
        equal = resolution / len(weights) / weights
    if shares == "equal":
        return total(equal, linear_map)
    costs = [readout**2] + [(a.outputs * a.largest * reach) ** 2 for a, reach, _ in parts]
    _, cheapest = allocate(costs, weights.tolist(), resolution)
    # What costs nothing may take any error, and so may what weighs nothing.
    cheapest = np.where(np.array(costs) == 0, np.inf, cheapest)
    other = total(cheapest, linear_map_inf)
    return other if shares == "cheapest" else min(total(equal, linear_map), other)
