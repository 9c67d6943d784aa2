"""The iterations between two tests of many decoders that share a program.

Trials differ in how many examples they have, so a program sees blocks of examples, and which slot
each belongs to; a slot's gradient is the sum over its blocks.

This is a loop of its own, beside `train.loop`, because speed needs three things which a loop over
one trial cannot have. Its gradients are sums over blocks of several trials, so the trials of a
program take their steps together, on a GPU all at once, elsewhere block after block. It ends at
every test, and the host puts a waiting trial where one has ended. And the dropout masks of all its
steps are drawn ahead of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.backend import on_gpu
from limelight._core.slots import Layout, nothing_of
from limelight.models import decoder
from limelight.models.decoder._kernel import fits
from limelight.models.decoder._masks import mix
from limelight.models.decoder._update import Clipped, flatten, shape_of
from limelight.train._holdout import HoldoutLog
from limelight.train.losses import two_way_entropy


class DecoderTrial(eqx.Module):
    """One trial under way."""

    weights: Float[Array, " weights"]
    memory: Any
    update: Clipped
    drop: Any
    bits: Bool[Array, "parts block places"]
    labels: Bool[Array, "parts block"]
    examples: Int[Array, ""]
    holdout: Bool[Array, "size length"]
    answers: Bool[Array, " size"]
    to_the_end: Bool[Array, ""]
    look: Int[Array, ""]
    looks: HoldoutLog


@dataclass(frozen=True)
class DecoderTraining:
    """How networks are trained.

    Args:
        like: A network of the right sizes.
        places: Places of a program: bits, [CLS], padding.
        block: Examples that are computed together.
        every: Iterations.
        keep: Probability of keeping an attention weight or a residual.
        keep_tokens: Probability of keeping an entry of a token.
        numbers: `float32`, or `bfloat16` for token vectors.
    """

    like: decoder.Decoder
    places: int
    block: int
    every: int
    keep: float
    keep_tokens: float
    numbers: str

    def __call__(self, states: DecoderTrial, layout: Layout) -> DecoderTrial:
        """Every slot's trial after these iterations."""
        flat, marked = jax.vmap(flatten), shape_of(self.like)[1]
        mine = lambda leaf: leaf[layout.owner, layout.part]
        bits, labels = mine(states.bits), mine(states.labels)
        index = layout.part[:, None] * self.block + jnp.arange(self.block)[None]
        sizes = states.examples[layout.owner][:, None]
        share = jnp.where(index < sizes, 1.0 / sizes, 0.0)
        busy = jnp.arange(len(layout.part)) < layout.taken
        count = jnp.sum((index < sizes) & busy[:, None], axis=1)
        move = lambda update, *rest: update(*rest, marked)

        def slopes(models, words):
            given = bits, labels, share, words
            if on_gpu():
                return jax.grad(self.losses)(models, *given, count, layout)
            model = lambda i: jax.tree.map(lambda leaf: leaf[i], models)
            of = lambda i, *block: jax.grad(self.loss)(model(i), *block)
            return _over_blocks(of, layout, given)

        def step(carry, words):
            weights, memory = carry
            gradient = flat(slopes(self.models(weights), words))
            return jax.vmap(move)(states.update, weights, gradient, memory), None

        # Drawn ahead of the steps: inside, the compiler would hash anew wherever a bit is read.
        words = jax.vmap(lambda i: self._words(states, layout, index, i))(jnp.arange(self.every))
        start = states.weights, states.memory
        (weights, memory), _ = jax.lax.scan(step, start, words)
        return eqx.tree_at(lambda s: (s.weights, s.memory), states, (weights, memory))

    def models(self, weights: Float[Array, "slots weights"]) -> decoder.Decoder:
        """The networks of all slots."""
        return jax.vmap(shape_of(self.like)[0])(weights)

    def loss(self, model: decoder.Decoder, bits, labels, share, words) -> Float[Array, ""]:
        """A block's part of a trial's loss."""
        with self._precision():
            logits = decoder.absorbed(model, bits, words, *self._settings)
        return jnp.sum(share * two_way_entropy(logits, labels))

    def losses(
        self, models: decoder.Decoder, bits, labels, share, words, count, layout: Layout
    ) -> Float[Array, ""]:
        """The sum of all trials' losses, from everything that belongs to their blocks."""
        fused = on_gpu() and fits(self.like.width, self.like.heads)
        with self._precision():
            given = models, bits, words, count, layout
            logits = decoder.together(*given, *self._settings, fused=fused)
        share, labels = (decoder.of_slots(leaf, layout) for leaf in (share, labels))
        return jnp.sum(share.ravel() * two_way_entropy(logits.reshape(-1, 2), labels.ravel()))

    @property
    def _settings(self) -> tuple:
        return self.keep, self.keep_tokens, jnp.dtype(self.numbers)

    def _precision(self) -> Any:
        """Of matrix products."""
        narrow = "highest" if self.numbers == "float32" else "tensorfloat32"
        return jax.default_matmul_precision(narrow)

    def _words(self, states: DecoderTrial, layout: Layout, index, step) -> decoder.Words:
        count = (2 * (states.look * self.every + step)).astype(jnp.uint32)
        both = lambda drop, count: mix(count + jnp.arange(2, dtype=jnp.uint32), drop)
        keys = jax.vmap(both)(states.drop, count)
        settings = self.places, self.like.width, self.keep, self.keep_tokens
        return jax.vmap(lambda key, rows: decoder.draw(key, rows, *settings))(
            keys[layout.owner], index
        )


def _over_blocks(of: Callable, layout: Layout, given: tuple) -> decoder.Decoder:
    """The sum of the blocks' gradients, slot by slot.

    One block at a time stays in the cache, and idle ones cost nothing.
    """

    def add(i, total):
        block = jax.tree.map(lambda leaf: leaf[i], (layout.owner, *given))
        return jax.tree.map(lambda leaf, new: leaf.at[block[0]].add(new), total, of(*block))

    one, slots = nothing_of(of, (layout.owner, *given)), len(layout.alive)
    nothing = jax.tree.map(lambda leaf: jnp.zeros((slots, *leaf.shape), leaf.dtype), one)
    return jax.lax.fori_loop(0, layout.taken, add, nothing)
