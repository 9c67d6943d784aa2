r"""Partitions of patches into sets of one size: square blocks, scattered, or strided.

A partition is written as one number per patch: the set it belongs to.
"""

import math

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Int

from limelight._core.types import PRNGKey


def grid(side: int, block: int) -> Int[Array, " tokens"]:
    """Square blocks of a square image, in row order.

    Example:
        >>> grid(4, 2).reshape(4, 4)[0].tolist()
        [0, 0, 1, 1]
    """
    row, column = jnp.divmod(jnp.arange(side * side), side)
    return (row // block) * (side // block) + column // block


def scattered(key: PRNGKey, tokens: int, size: int) -> Int[Array, " tokens"]:
    """A uniformly random partition into sets of one size."""
    return jr.permutation(key, strided(tokens, size))


def strided(tokens: int, size: int) -> Int[Array, " tokens"]:
    """Every `tokens / size`-th patch shares a set: no two neighbours do."""
    return jnp.arange(tokens) % (tokens // size)


def partition(key: PRNGKey, kind: str, tokens: int, size: int) -> Int[Array, " tokens"]:
    """A partition by name; only `random` uses the key."""
    if kind == "random":
        return scattered(key, tokens, size)
    return grid(math.isqrt(tokens), math.isqrt(size)) if kind == "grid" else strided(tokens, size)


def members(sets: Int[Array, " tokens"], size: int) -> Int[Array, "sets size"]:
    """The patches of each set, in rising order.

    Example:
        >>> members(jnp.array([0, 1, 0, 1]), 2).tolist()
        [[0, 2], [1, 3]]
    """
    return jnp.argsort(sets, stable=True).reshape(-1, size)
