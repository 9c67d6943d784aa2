r"""The best value strength for given attention: where $\alpha$ settles while attention is slow."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from limelight._core.types import Number
from limelight.theory.jelassi2022.descent import loss
from limelight.theory.jelassi2022.layer import Layer, LayerState
from limelight.theory.jelassi2022.population import Population

#: Values of $\alpha G$ between which the optimum is sought, and how many are tried at first.
SPAN, TRIES = (1e-2, 30.0), 200
GOLDEN = (5**0.5 - 1) / 2


class Optimum(NamedTuple):
    r"""$\alpha^*(A) = \arg\min_\alpha L(\alpha, A)$ and the loss there.

    Example:
        >>> Optimum(alpha=0.5, loss=0.1).alpha
        0.5
    """

    alpha: Number
    loss: Number


def best_alpha(
    population: Population, layer: Layer, gamma: Number = 0.0, rho: Number = 0.0
) -> Optimum:
    r"""The best $\alpha$ for fixed attention: a scan over $\alpha G$, then golden sections.

    Example:
        >>> import jax, jax.random as jr
        >>> from limelight.theory.jelassi2022 import Layer, condensed, drawn
        >>> population = condensed(drawn(jr.key(0), 8, 2, 0.5, 100), 2)
        >>> best_alpha(population, Layer(tokens=8, size=2)).alpha.item() > 0
        True
    """
    at = lambda alpha: loss(population, layer, LayerState(alpha, gamma, rho))
    gain = layer.gain(LayerState(0.0, gamma, rho))
    tries = jnp.geomspace(*SPAN, TRIES) / gain
    best = jnp.argmin(jax.lax.map(at, tries))
    low, high = tries[jnp.maximum(best - 1, 0)], tries[jnp.minimum(best + 1, TRIES - 1)]

    def narrow(_, ends):
        low, high = ends
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        lower = at(left) < at(right)
        return jnp.where(lower, low, left), jnp.where(lower, right, high)

    low, high = jax.lax.fori_loop(0, 50, narrow, (low, high))
    alpha = (low + high) / 2
    return Optimum(alpha, at(alpha))
