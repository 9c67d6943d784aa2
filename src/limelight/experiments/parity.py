r"""Learning a sparse parity online: the protocol of edelman2022's Figure 3.

The network of `models.decoder`, with its dropout; every iteration takes a step on a fresh batch, so
there is no sample to fit and nothing to hold out. The loss stays on a plateau at $\ln 2$ and then
falls, if it falls.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from limelight._core.backend import on_gpu
from limelight._core.errors import InputError, check_least, check_multiple
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.slots import nothing_of
from limelight._core.types import PRNGKey
from limelight._engine.grid import assign
from limelight.experiments.base import Experiment
from limelight.models import decoder
from limelight.models.decoder._masks import check_dropout
from limelight.models.decoder._update import Clipped, flatten, shape_of
from limelight.train._holdout import says_one
from limelight.train._loop import LoopState, Moved, run_blocks
from limelight.train.losses import two_way_entropy
from limelight.worlds import SparseBoolean

#: Loss below which a run has left the plateau for good.
LEARNED = 0.1


@kind("experiment.parity")
class Parity(Experiment):
    r"""One run: a hidden subset, a network, a fresh batch every iteration.

    Leaves the batch loss averaged over `every` iterations (`trace.loss`, dropout on, as trained),
    the loss of a batch with dropout off at the end of each such span (`trace.clean`), the same at
    the last iteration, and the accuracy on fresh inputs there, dropout off, against labels without
    noise.

    Notation: `world.length` is their $T$, `world.sparsity` their $s$.
    Departures: dropout masks come from 16-bit draws (keep probability .899994 for .9).

    Args:
        world: Bits and labels.
        batch: Fresh inputs per iteration.
        iterations: Steps.
        every: Steps that one logged loss averages.
        patience: Iterations that a run goes on once the logged loss is below .1; `None` for all.
        update: The optimiser.
        dropout: Probability of dropping, everywhere.
        test: Fresh inputs for the accuracy at the end.
        width: Of the network.
        heads: Attention heads.
        hidden: Of the MLP.
        block: Inputs that are computed together.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Parity(iterations=100).world.rule
        'xor'

    Reference: edelman2022, Section 5 and Figure 3.
    """

    world: SparseBoolean = SparseBoolean(length=10, sparsity=3, rule="xor")
    batch: int = eqx.field(static=True, default=2048)
    iterations: int = eqx.field(static=True, default=10_000)
    every: int = eqx.field(static=True, default=10)
    patience: int | None = eqx.field(static=True, default=None)
    update: Clipped = Clipped()
    dropout: float = eqx.field(static=True, default=0.1)
    test: int = eqx.field(static=True, default=10_000)
    width: int = eqx.field(static=True, default=64)
    heads: int = eqx.field(static=True, default=16)
    hidden: int = eqx.field(static=True, default=256)
    block: int = eqx.field(static=True, default=32)

    #: Measured on fig3-runs: FLOPs of the iterations that ran over the time.
    pace: ClassVar[Mapping[str, float]] = {"cpu": 2e10, "gpu": 6e12}

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        self.update.check()
        decoder.check_sizes(self.world.length, self.width, self.heads, self.hidden)
        check_multiple(self, "iterations", "every")
        check_least(self, ("patience",), 0)
        if not (1 <= self.block <= self.batch <= decoder.MOST) or self.batch % self.block:
            raise InputError(
                f"batch = {self.batch}, block = {self.block}",
                f"blocks must divide the batch, which is at most {decoder.MOST}",
            )
        check_least(self, ("test",))
        check_dropout("dropout", self.dropout)

    @property
    def places(self) -> int:
        """Bits and [CLS]; no padding, for contexts shorter than a tile of the fused kernel."""
        return self.world.length + 1

    @property
    def loop_length(self) -> int:
        """Logged spans of a run that nothing ends early."""
        return self.iterations // self.every

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train to the end and read the losses."""
        k_truth, k_init, k_train, k_test = named(key, "truth", "init", "train", "test")
        truth = self.world.draw(k_truth)
        start = self._network(k_init)
        undo, _ = shape_of(start)
        weights = flatten(start)
        segment = partial(self._segment, key=k_train, truth=truth)
        # What is not finite stays, and shows in the losses.
        memory, blocks = self.update.init(weights), self.loop_length
        end = run_blocks(segment, weights, memory, blocks, self.every, ends=self._ended)
        loss, clean_loss = end.reports["loss"], end.reports["clean"]
        clean = assign(self, {"world.label_noise": 0.0})
        bits, labels = clean._sample(k_test, truth, -(-self.test // self.block) * self.block)
        right = says_one(self._clean(undo(end.weights), bits)) == labels
        return {
            "trace.loss": loss,
            "trace.clean": clean_loss,
            "last_clean": clean_loss[end.block - 1],
            "accuracy": jnp.mean(right[: self.test].astype(float)),
            "iterations_run": end.block * self.every,
            "diverged": ~jnp.isfinite(loss[end.block - 1]),
        }

    def _ended(self, state: LoopState) -> Bool[Array, ""]:
        if self.patience is None:
            return jnp.array(False)
        below = state.reports["loss"] < LEARNED  # NaN beyond what has run
        since = (state.block - 1 - jnp.argmax(below)) * self.every
        return jnp.any(below) & (since >= self.patience)

    def _segment(
        self, weights: Array, memory: Any, iterations: Int[Array, " every"], key: PRNGKey, truth
    ) -> Moved:
        """The steps of one logged span, and the loss of its last batch without dropout."""
        undo, marked = shape_of(self._network(jr.key(0)))
        loss = jax.value_and_grad(lambda weights, *block: self._loss(undo(weights), *block))

        def step(carry, one):
            weights, memory = carry
            bits, labels, words = one
            value, gradient = _over_blocks(
                lambda *block: loss(weights, *block), bits, labels, words
            )
            return self.update(weights, gradient, memory, marked), value

        keys = jax.vmap(lambda i: jr.fold_in(key, i))(iterations)
        bits, labels = jax.vmap(lambda k: self._sample(named(k, "data")[0], truth, self.batch))(
            keys
        )
        # Drawn ahead of the steps: inside, the compiler would hash anew wherever a bit is read.
        words = jax.vmap(lambda k: self._words(named(k, "drop")[0]))(keys)
        blocks = lambda leaf: leaf.reshape(self.every, -1, self.block, *leaf.shape[2:])
        given = blocks(self._padded(bits)), blocks(labels), jax.tree.map(blocks, words)
        (weights, memory), losses = jax.lax.scan(step, (weights, memory), given)
        clean = jnp.mean(two_way_entropy(self._clean(undo(weights), bits[-1]), labels[-1]))
        return Moved(weights, memory, {"loss": jnp.mean(losses), "clean": clean})

    def _loss(self, model: decoder.Decoder, bits, labels, words) -> Float[Array, ""]:
        """A block's part of the batch loss."""
        keep = 1.0 - self.dropout
        logits = decoder.absorbed(model, bits, words, keep, keep)
        return jnp.sum(two_way_entropy(logits, labels)) / self.batch

    def _clean(self, model: decoder.Decoder, bits: Bool[Array, "n length"]) -> Float[Array, "n 2"]:
        """Logits without dropout, by the same route: a maximum an example, so safe at any gap."""
        n = bits.shape[0]
        one = jnp.zeros((self.block,), jnp.int32)
        sizes = self.places, self.width
        words = decoder.draw(jnp.zeros(2, jnp.uint32), one, *sizes, 1.0, 1.0)
        logits = lambda part: decoder.absorbed(model, part, words)
        parts = self._padded(bits).reshape(-1, self.block, self.places)
        return (jax.vmap if on_gpu() else _mapped)(logits)(parts).reshape(n, 2)

    def _sample(self, key: PRNGKey, truth, size: int):
        one = lambda index: self.world.labelled(jr.fold_in(key, index), truth)
        return jax.vmap(one)(jnp.arange(size))

    def _words(self, key: PRNGKey) -> decoder.Words:
        keep = 1.0 - self.dropout
        sizes = self.places, self.width
        drawn = jr.bits(key, (2,), jnp.uint32)
        return decoder.draw(drawn, jnp.arange(self.batch), *sizes, keep, keep)

    def _padded(self, bits: Bool[Array, "*n length"]) -> Bool[Array, "*n places"]:
        more = [(0, 0)] * (bits.ndim - 1) + [(0, self.places - self.world.length)]
        return jnp.pad(bits, more)

    def _network(self, key: PRNGKey) -> decoder.Decoder:
        return decoder.init(key, self.world.length, self.width, self.heads, self.hidden)


def _over_blocks(of, *parts) -> tuple[Float[Array, ""], Float[Array, " weights"]]:
    """Losses and gradients added up over blocks: all at once on a GPU, one by one elsewhere."""
    if on_gpu():
        return jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), jax.vmap(of)(*parts))
    add = lambda total, one: (jax.tree.map(jnp.add, total, of(*one)), None)
    return jax.lax.scan(add, nothing_of(of, parts), parts)[0]


def _mapped(of):
    return lambda parts: jax.lax.map(of, parts)
