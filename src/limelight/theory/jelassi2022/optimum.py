r"""The best value strength for given attention: where $\alpha$ settles while attention is slow."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from limelight.core.types import Number
from limelight.theory.jelassi2022.descent import loss
from limelight.theory.jelassi2022.layer import Layer, State
from limelight.theory.jelassi2022.population import Population, enumerated

#: Values of $\alpha G$ between which the optimum is sought, and how many are tried at first.
SPAN, TRIES = (1e-2, 30.0), 200
GOLDEN = (5**0.5 - 1) / 2


class Optimum(NamedTuple):
    r"""$\alpha^*(A) = \arg\min_\alpha L(\alpha, A)$ and the loss there."""

    alpha: Number
    loss: Number


def best_alpha(
    population: Population, layer: Layer, gamma: Number = 0.0, rho: Number = 0.0
) -> Optimum:
    r"""The best $\alpha$ for fixed attention: a scan over $\alpha G$, then golden sections."""
    at = lambda alpha: loss(population, layer, State(alpha, gamma, rho))
    gain = layer.gain(State(0.0, gamma, rho))
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


def start_optimum(
    tokens: int = 36,
    size: int = 4,
    density: Number = 0.35,
    diagonal: Number = 1.0,
    slope: Number = 0.01,
    prune: Number = 1e-8,
) -> Optimum:
    r"""$\alpha^*$ and $L_0^* = \min_\alpha L(\alpha, A_0)$ at the start, in double precision.

    Example:
        >>> found = start_optimum(16, 4, 0.5, prune=0.0)
        >>> round(float(found.loss), 4)
        0.1416
    """
    with jax.enable_x64(True):
        population = enumerated(tokens, size, density, prune)
        layer = Layer(tokens, size, diagonal, slope=slope)
        return Optimum(*(float(x) for x in jax.jit(best_alpha)(population, layer)))
