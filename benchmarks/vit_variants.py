"""Other ways to take a training step of many small ViTs, for `vit.py --variants`.

A small ViT's step on a GPU is hundreds of kernels of a few microseconds, and many of them belong to
the update, a few for each of some sixty arrays of weights. With all weights in one vector a step
casts, clips and updates them in a few kernels. Sums for the length of the gradient are then taken
in another order, so the last digit may differ.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from limelight.models import Model
from limelight.models.base import split
from limelight.train.images import decays

#: What is tried: its name, networks at once, whether in one vector, and the course's `numbers`.
VARIANTS = (
    ("weights in one vector", 1, True, "bfloat16"),
    ("weights in one vector", 10, True, "bfloat16"),
    ("arrays in float32, products in bfloat16", 1, False, "float32"),
    ("weights in one vector", 40, True, "bfloat16"),
)


class Flat(Model):
    """A network whose weights lie in one vector.

    Args:
        vector: All trained weights.
        rest: What is not trained.
        network: From a vector to the weights as the network has them.
    """

    fixed = ("rest",)
    vector: jax.Array
    rest: Any
    network: Callable[[jax.Array], Model] = eqx.field(static=True)

    def whole(self) -> Model:
        """The network itself."""
        return eqx.combine(self.network(self.vector), self.rest)

    def prepare(self, example: Any) -> Any:
        """As the network prepares it."""
        return self.whole().prepare(example)

    def __call__(self, prepared: Any, key: Any = None) -> jax.Array:
        """What the network answers."""
        return self.whole()(prepared, key)


def flat(model: Model) -> tuple[Flat, np.ndarray]:
    """A network with its weights in one vector, and which of them decay."""
    trained, rest = split(model)
    vector, network = ravel_pytree(trained)
    marks = jax.tree.map(lambda leaf, yes: np.full(leaf.shape, yes), trained, decays(trained))
    decay = np.concatenate([mark.ravel() for mark in jax.tree.leaves(marks)])
    return Flat(vector, rest, network), decay


def adamw(decay: np.ndarray, clip: float) -> Callable[[Any], optax.GradientTransformation]:
    """AdamW of one vector with a clipped gradient: from a rate to the optimizer."""
    weigh = lambda updates, state, weights: (
        jax.tree.map(lambda u, w: u + jnp.asarray(decay, u.dtype) * w, updates, weights),
        state,
    )
    decayed = optax.GradientTransformation(lambda weights: optax.EmptyState(), weigh)
    return lambda rate: optax.chain(
        optax.clip_by_global_norm(clip),
        optax.scale_by_adam(),
        decayed,
        optax.scale_by_learning_rate(rate),
    )
