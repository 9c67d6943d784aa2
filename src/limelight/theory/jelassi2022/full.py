r"""Full gradient descent on $(A, v)$ over a population that is enumerated image by image.

The oracle of the reduced recursion: nothing here knows of sets beyond the data, and the gradients
are taken automatically.
"""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.theory.jelassi2022.descent import Rates, change, gradient
from limelight.theory.jelassi2022.layer import Layer, LayerState
from limelight.theory.jelassi2022.population import enumerated
from limelight.worlds.spatial import unit_vector

#: Images beyond which a population is not enumerated.
MOST_IMAGES = 50_000


class WeightedImages(NamedTuple):
    """Every image of a population with its probability; the label is +1."""

    tokens: Float[Array, "images tokens dimension"]
    weights: Float[Array, " images"]


class Residuals(NamedTuple):
    r"""Largest distance of full from reduced descent, over all steps.

    Args:
        same: Over the entries of $A$ inside sets, from $\gamma$.
        other: Over the entries across sets, from $\rho$.
        value: Over the coordinates of $v$, from $\alpha w^*$.
    """

    same: Scalar
    other: Scalar
    value: Scalar


def every_image(
    sets: Int[np.ndarray, " tokens"], density: Number
) -> tuple[Int[np.ndarray, "images tokens"], Float[np.ndarray, " images"]]:
    """The marks of every image with label +1, over signal sets and random marks."""
    count = int(sets.max()) + 1
    tokens, size = len(sets), len(sets) // count
    if count * 3 ** (tokens - size) > MOST_IMAGES:
        raise InputError(f"{tokens} patches have too many images", "8 in sets of 2 are enough")
    random = np.array(list(itertools.product((-1, 0, 1), repeat=tokens - size)))
    marks = np.ones((count, len(random), tokens), dtype=int)
    for signal in range(count):
        marks[signal][:, sets != signal] = random
    busy = np.abs(random).sum(axis=1)
    chance = (density / 2) ** busy * (1 - density) ** (tokens - size - busy)
    return marks.reshape(-1, tokens), np.tile(chance / count, count)


def noisy(
    key: PRNGKey,
    marks: Int[np.ndarray, "images tokens"],
    weights: Float[np.ndarray, " images"],
    feature: Float[Array, " dimension"],
    deviation: Number,
) -> WeightedImages:
    """Images with noise across the feature, each beside its mirror, so that noise averages to 0."""
    noise = jr.normal(key, (*marks.shape, feature.shape[0]))
    noise = deviation * (noise - jnp.einsum("nd,k->ndk", noise @ feature, feature))
    signal = jnp.einsum("nd,k->ndk", marks.astype(float), feature)
    both = jnp.concatenate([signal + noise, signal - noise])
    return WeightedImages(both, jnp.tile(jnp.asarray(weights), 2) / 2)


def network_loss(
    layer: Layer,
    images: WeightedImages,
    logits: Float[Array, "tokens tokens"],
    value: Float[Array, " dimension"],
) -> Scalar:
    """The loss of the network with free logits and value vector, over a population."""
    F = network_outputs(layer, logits, images.tokens @ value)
    return jnp.sum(images.weights * jax.nn.softplus(-F))


def network_outputs(
    layer: Layer,
    logits: Float[Array, "tokens tokens"],
    projections: Float[Array, "images tokens"],
) -> Float[Array, " images"]:
    r"""$F$ of every image, from $z_j = \langle v, X_j\rangle$."""
    attention = jax.nn.softmax(logits / layer.temperature, axis=1)
    O = layer.tokens * projections @ attention.T
    return jnp.sum(layer.activation(O), axis=1)


def manifold_residuals(
    key: PRNGKey,
    layer: Layer,
    density: Number,
    rates: Rates,
    steps: int,
    sets: Int[np.ndarray, " tokens"],
    dimension: int = 3,
) -> Residuals:
    r"""Run both descents side by side and compare them at every step.

    Reference: jelassi2022, Lemmas 4.1 and 4.2.
    """
    k_feature, k_noise = jr.split(key)
    feature = unit_vector(k_feature, dimension)
    images = noisy(k_noise, *every_image(sets, density), feature, dimension**-0.5)
    population = enumerated(layer.tokens, layer.size, density)
    same = jnp.asarray(sets[:, None] == sets[None, :])
    diagonal = jnp.eye(layer.tokens, dtype=bool)
    slopes = jax.grad(lambda at: network_loss(layer, images, *at))

    def advance(carry, _):
        (logits, value), state, worst = carry
        up, push = slopes((logits, value))
        logits = logits - rates.attention * jnp.where(diagonal, 0.0, up)
        value = value - rates.value * push
        move = change(layer, gradient(population, layer, state)[0], rates)
        state = LayerState(*map(jnp.add, state, move))
        found = Residuals(
            jnp.max(jnp.where(same & ~diagonal, jnp.abs(logits - state.gamma), 0.0)),
            jnp.max(jnp.where(same, 0.0, jnp.abs(logits - state.rho))),
            jnp.max(jnp.abs(value - state.alpha * feature)),
        )
        return ((logits, value), state, Residuals(*map(jnp.maximum, worst, found))), None

    start = layer.start()
    none = jnp.zeros_like(start.alpha)
    full = (jnp.where(diagonal, layer.diagonal, 0.0), start.alpha * feature)
    carry = (full, start, Residuals(none, none, none))
    (_, _, worst), _ = jax.lax.scan(advance, carry, None, length=steps)
    return worst
