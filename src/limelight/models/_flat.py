"""A model's trained numbers as one vector, so that a table can keep them, and back."""

from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from limelight._core.errors import InputError
from limelight.models.base import Model, split

Kind = TypeVar("Kind", bound=Model)


def count(model: Model) -> int:
    """How many numbers a model has, or the shapes of one."""
    return sum(leaf.size for leaf in jax.tree.leaves(model))


def to_vector(model: Model) -> Float[Array, " numbers"]:
    """Every trained number, array by array."""
    return ravel_pytree(split(model)[0])[0]


def from_vector(vector: Float[Array | np.ndarray, " numbers"], like: Kind) -> Kind:
    """The model with the numbers that `to_vector` made of one of the same sizes.

    `like` is such a model, or its shapes as `jax.eval_shape` gives them; everything in it is
    trained.
    """
    if count(like) != len(vector):
        raise InputError(
            f"{len(vector)} numbers for a model of {count(like)}",
            "are its sizes those it was trained with?",
        )
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), like)
    flat, undo = ravel_pytree(blank)
    return undo(jnp.asarray(vector, flat.dtype))
