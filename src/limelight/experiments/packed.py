"""Experiments whose trials end at different times, and share a program by parts.

A plain program runs as long as its slowest trial. A packed experiment advances by segments, and a
trial that has ended makes room for the next (see `engine.lanes`). The work of a trial is cut into
blocks, of its examples, say. A program has room for a fixed number of blocks in all, so that trials
of different sizes share it.

What a trial leaves depends on its key alone: neither on its slot nor on its neighbours.
"""

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from limelight._core.slots import Layout
from limelight._core.types import PRNGKey
from limelight._engine.lanes import Refilled
from limelight.experiments.base import Experiment


class Packed(Experiment):
    """An experiment whose trials advance in segments.

    Example:
        >>> import limelight as ll
        >>> isinstance(ll.experiments.SparseAnd(), ll.experiments.Packed)
        True
    """

    executor: ClassVar[Any] = Refilled()

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
