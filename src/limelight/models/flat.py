"""A model's trained numbers as one vector, so that a table can keep them, and back."""

import math
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from limelight.core.errors import InputError
from limelight.models.base import Model, split

Kind = TypeVar("Kind", bound=Model)


def count(model: Model) -> int:
    """How many numbers a model has, or the shapes of one."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(model))


def to_vector(model: Model) -> Float[Array, " numbers"]:
    """Every trained number, array by array."""
    return jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(split(model)[0])])


def from_vector(vector: Float[Array | np.ndarray, " numbers"], like: Kind) -> Kind:
    """The model with these numbers.

    Args:
        vector: What `to_vector` made of a model of the same sizes.
        like: Such a model, or its shapes as `jax.eval_shape` gives them; everything in it is
            trained.
    """
    if count(like) != len(vector):
        raise InputError(
            f"{len(vector)} numbers for a model of {count(like)}",
            "are its sizes those it was trained with?",
        )
    leaves, places = jax.tree.flatten(like)
    ends = np.cumsum([math.prod(leaf.shape) for leaf in leaves])
    parts = jnp.split(jnp.asarray(vector), ends[:-1])
    shaped = [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(places, shaped)
