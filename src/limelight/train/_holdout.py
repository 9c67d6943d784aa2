r"""Tests on a holdout: what is known of a trial, and how little of the holdout that takes.

A test stops after the first part of the holdout once it holds so many errors that no threshold can
be passed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.backend import on_gpu
from limelight._core.slots import over_slots
from limelight.train.losses import two_way_entropy

#: Trials that the second stage of a look takes at a time.
SECOND = 8


class HoldoutLog(eqx.Module):
    """What the tests of one trial have shown: one number per test.

    Args:
        errors: Wrong holdout labels, in the first part where `whole` is false.
        whole: Whether the look saw the whole holdout.
        loss: Training loss, dropout off.
        missed: Wrong training labels, dropout off.
        gap: Gap of the tables.
    """

    errors: Int[Array, " looks"]
    whole: Bool[Array, " looks"]
    loss: Float[Array, " looks"]
    missed: Int[Array, " looks"]
    gap: Float[Array, " looks"]


@dataclass(frozen=True)
class Holdout:
    """How a holdout is looked at.

    Args:
        size: Its inputs.
        first: Those of the first stage.
        loose: The lowest accuracy that is asked about.
    """

    size: int
    first: int
    loose: float

    @property
    def limit(self) -> int:
        """Errors that settle a look: not even the loose threshold can be passed."""
        return math.ceil(self.allowed(self.loose))

    def allowed(self, accuracy: float) -> float:
        """Errors that a look must stay below to exceed an accuracy."""
        return round(self.size * (1.0 - accuracy), 6)

    def accuracy(self, looks: HoldoutLog) -> Float[Array, " looks"]:
        """Of every look, on the part that it saw."""
        return 1.0 - looks.errors / jnp.where(looks.whole, self.size, self.first)

    def passes(self, looks: HoldoutLog, accuracy: float) -> Bool[Array, " looks"]:
        """Strictly better than `accuracy`, counted in whole errors."""
        return looks.whole & (looks.errors < self.allowed(accuracy))

    def look(self, logits: Callable, trees: tuple, alive: Bool[Array, " slots"]) -> HoldoutLog:
        """Training set and first part of the holdout together, then the rest where it matters.

        Args:
            logits: What a network says of bits, from the network and its tables.
            trees: Networks, their tables and the states of their trials, a slot each.
            alive: Slots with a trial under way.
        """

        def first(model, ready, state: Any):
            length = state.holdout.shape[-1]
            bits = state.bits.reshape(-1, state.bits.shape[-1])[:, :length]
            labels, size = state.labels.reshape(-1), len(bits)
            out = logits(model, ready, jnp.concatenate([bits, state.holdout[: self.first]]))
            mine = jnp.arange(size) < state.examples
            mean = lambda values: jnp.sum(jnp.where(mine, values, 0.0)) / state.examples
            loss = mean(two_way_entropy(out[:size], labels))
            missed = jnp.sum(mine & (says_one(out[:size]) != labels))
            errors = jnp.sum(says_one(out[size:]) != state.answers[: self.first])
            return loss, missed, errors

        def rest(model, ready, state: Any):
            out = logits(model, ready, state.holdout[self.first :])
            return jnp.sum(says_one(out) != state.answers[self.first :])

        loss, missed, errors = over_slots(first, trees, alive)
        whole = jnp.full(len(errors), self.first == self.size)
        if self.first < self.size:
            errors, whole = self._second(rest, trees, errors, alive)
        return HoldoutLog(errors, whole, loss, missed, trees[1].gap)

    def _second(self, rest: Callable, trees: tuple, errors, alive):
        """The rest of the holdout for the trials that the first part did not settle."""
        slots = len(errors)
        turn = jnp.arange(min(SECOND, slots) if on_gpu() else 1)

        def more(carry):
            errors, waiting = carry
            # The first few that wait, by counting: slot i is the k-th when k have waited before.
            place = jnp.where(waiting, jnp.cumsum(waiting) - 1, slots)
            chosen = jnp.argmax(place[None] == turn[:, None], axis=1)
            really = jnp.any(place[None] == turn[:, None], axis=1)
            some = jax.tree.map(lambda leaf: leaf[chosen], trees)
            found = jnp.where(really, jax.vmap(rest)(*some), 0)
            return errors.at[chosen].add(found), waiting & (place >= len(turn))

        waiting = alive & (errors < self.limit)
        errors, _ = jax.lax.while_loop(lambda c: jnp.any(c[1]), more, (errors, waiting))
        return errors, waiting


def says_one(logits: Float[Array, "n 2"]) -> Bool[Array, " n"]:
    """The network's labels."""
    return logits[:, 1] > logits[:, 0]
