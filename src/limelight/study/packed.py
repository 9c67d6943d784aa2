"""Experiments whose trials end at different times, and share a program by parts.

A plain program runs as long as its slowest trial. A packed experiment advances by segments, and a
trial that has ended makes room for the next (see `study.lanes`). A trial's work is cut into blocks,
of its examples, say, and a program has room for so many blocks in all, so that trials of different
sizes share one compiled program.

What a trial leaves depends on its key alone: neither on its slot nor on its neighbours.
"""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from limelight.core.backend import on_gpu
from limelight.core.types import PRNGKey
from limelight.study.base import Experiment


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


class Packed(Experiment):
    """An experiment whose trials advance in segments."""

    @abc.abstractmethod
    def begin(self, key: PRNGKey) -> Any:
        """A trial at its start: one tree of arrays, of one shape for all cells of a program."""

    @abc.abstractmethod
    def advance(self, states: Any, layout: Layout) -> tuple[Any, Bool[Array, ""]]:
        """Every slot's trial one segment further, and whether `repair` has to finish it.

        Ended trials and empty slots must not matter, and an ended trial's result must not change.
        """

    def repair(self, states: Any, mine: Bool[Array, " slots"]) -> Any:
        """Finish a segment whose fast way did not hold, in the slots that were in it.

        Compiled only when that happens.
        """
        return states

    @abc.abstractmethod
    def ended(self, state: Any) -> Bool[Array, ""]:
        """Whether a trial has nothing left to do."""

    @abc.abstractmethod
    def result(self, state: Any) -> dict[str, Array]:
        """What an ended trial leaves."""

    @abc.abstractmethod
    def parts(self) -> int:
        """Blocks of this trial, on concrete numbers."""

    @abc.abstractmethod
    def most_parts(self) -> int:
        """Blocks of the largest trial that a program has room for."""

    @abc.abstractmethod
    def room(self) -> tuple[int, int]:
        """Slots and blocks of a program on the machine at hand."""

    @abc.abstractmethod
    def flops(self) -> float:
        """FLOPs of this trial at most, on concrete numbers."""

    @property
    def rows(self) -> int:
        """Trials in a chunk at most: what a crash can cost against lanes that run dry."""
        return 1024

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """One trial by itself, to its end."""
        parts = self.most_parts()
        index = jnp.arange(parts)
        all_, one = jnp.ones((1, parts), bool), jnp.ones(1, bool)
        alone = Layout(index * 0, index, index[None], all_, jnp.array(parts), one)
        first = lambda tree: jax.tree.map(lambda leaf: leaf[0], tree)
        states = jax.tree.map(lambda leaf: leaf[None], self.begin(key))

        def advance(states):
            states, broken = self.advance(states, alone)
            return jax.lax.cond(broken, lambda s: self.repair(s, one), lambda s: s, states)

        states = jax.lax.while_loop(lambda s: ~self.ended(first(s)), advance, states)
        return self.result(first(states))


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
