"""Which blocks of a program belong to which trial, where trials share it by parts.

A program has a fixed number of slots, one trial in each, and a fixed number of blocks of work. A
trial takes as many blocks as its size needs, so trials of different sizes share one program.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from limelight._core.backend import on_gpu


class Layout(eqx.Module):
    """Which blocks belong to which slots.

    Args:
        owner: The slot of each block; any slot for an idle one.
        part: Which of its trial's blocks it is.
        members: The blocks of each slot, in order.
        used: Which entries of `members` are blocks.
        taken: Blocks in use; they come first.
        alive: Which slots hold a trial.
    """

    owner: Int[Array | np.ndarray, " blocks"]
    part: Int[Array | np.ndarray, " blocks"]
    members: Int[Array | np.ndarray, "slots parts"]
    used: Bool[Array | np.ndarray, "slots parts"]
    taken: Int[Array | np.ndarray, ""]
    alive: Bool[Array | np.ndarray, " slots"]


def over_slots(f: Callable, trees: tuple, alive: Bool[Array, " slots"]) -> Any:
    """`f` of every slot: all at once on a GPU, one by one and only the living elsewhere."""
    if on_gpu():
        return jax.vmap(f)(*trees)
    nothing = nothing_of(f, trees)
    return jax.lax.map(
        lambda slot: jax.lax.cond(slot[0], lambda: f(*slot[1]), lambda: nothing), (alive, trees)
    )


def nothing_of(f: Callable, trees: tuple) -> Any:
    """Zeros, of the shapes that `f` leaves of the first of everything in `trees`."""
    shapes = jax.eval_shape(f, *jax.tree.map(lambda leaf: leaf[0], trees))
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
