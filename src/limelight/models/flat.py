"""A model's trained numbers as one vector, so that a table can keep them, and back."""

import math
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from limelight.core.errors import InputError
from limelight.models.base import Model, split

Kind = TypeVar("Kind", bound=Model)


def to_vector(model: Model) -> Float[Array, " numbers"]:
    """Every trained number, array by array."""
    return jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(split(model)[0])])


def from_vector(vector: Float[Array | np.ndarray, " numbers"], like: Kind) -> Kind:
    """The model with these trained numbers, everything else as in `like`.

    Args:
        vector: What `to_vector` made of a model of the same sizes.
        like: A model, or its shapes as `jax.eval_shape` gives them where nothing is fixed.
    """
    leaves, places = jax.tree.flatten(like, is_leaf=eqx.is_array)
    shapes = [leaf.shape for leaf in leaves]
    wanted = sum(math.prod(shape) for shape in shapes)
    if wanted != len(vector):
        raise InputError(f"{len(vector)} numbers for a model of {wanted}")
    parts: list[Any] = []
    start = 0
    for shape in shapes:
        size = math.prod(shape)
        parts.append(jnp.asarray(vector[start : start + size]).reshape(shape))
        start += size
    return jax.tree.unflatten(places, parts)
