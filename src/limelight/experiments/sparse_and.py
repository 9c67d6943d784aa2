r"""Learning a sparse function from a fixed sample: the protocol of edelman2022's Figures 2 and 4.

Full-batch training of the one-block decoder; every few iterations a look at a fixed fresh holdout,
dropout off. A trial succeeds when its best holdout accuracy exceeds .99.

Three savings leave that statistic as it is. A look stops after the first part of the holdout once
it holds so many errors that no threshold can be passed. A trial ends at its first success, because
success is a maximum (a random share of trials goes on to the last iteration, so that training loss
and final accuracy are known for an honest sample). And trials share one program whatever their
number of examples, and their lanes are refilled; see `engine.lanes`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool

from limelight._core.errors import (
    InputError,
    check_between,
    check_least,
    check_multiple,
    check_positive,
    check_word,
)
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.slots import Layout
from limelight._core.types import Number, PRNGKey
from limelight._engine.grid import assign
from limelight.experiments.packed import Packed
from limelight.models import decoder
from limelight.models.decoder._kernel import padded
from limelight.models.decoder._masks import check_dropout
from limelight.models.decoder._update import Clipped, flatten
from limelight.train._decoder import DecoderTraining, DecoderTrial
from limelight.train._holdout import Holdout, HoldoutLog
from limelight.worlds import SparseBoolean

#: Tokens and examples that one program holds at a time, by kind of device: enough to keep it busy,
#: few enough that the last trials do not leave most of it idle.
IN_FLIGHT = {"cpu": (40_000, 4_000), "gpu": (12_000_000, 14_000)}
#: Examples of a trial at most, so that the last block stays within what masks have room for.
MOST_BLOCK = 256
MOST = decoder.MOST - MOST_BLOCK
#: Number of the first holdout example, beyond all training examples.
HOLDOUT = 2**20


@kind("experiment.sparse_and")
class SparseAnd(Packed):
    r"""One trial: a hidden subset, $m$ labelled inputs, a network trained on them.

    Notation: `examples` is their $m$, `world.length` their $T$, `world.sparsity` their $s$.
    Departures: dropout masks come from 16-bit draws (keep probability .899994 for .9); with
    `numbers="bfloat16"` token vectors and what meets them in the attention are rounded to 8 bits of
    mantissa during training (on a GPU the parts of a query's gradient too), and all other products
    to 10 (TF32, where a GPU has it), not in looks. Holdout labels are never noisy.

    Args:
        world: Bits and labels.
        examples: Training examples.
        iterations: Steps of full-batch training.
        every: Steps between two looks at the holdout.
        update: The optimiser.
        dropout: Probability of dropping, in attention weights and residuals.
        embedding_dropout: The same for embedded tokens; `None` for `dropout`. Zero is another
            protocol than the paper's.
        holdout: Fresh inputs to look at.
        first: Inputs of the first stage of a look; all of them for looks without early rejection.
        success: Accuracy to exceed.
        loose: A second, lower accuracy to exceed.
        share: Share of trials that run to the end whatever they reach.
        curves: Whether the whole course of every trial is kept.
        numbers: `float32`, or `bfloat16` for token vectors in training.
        width: Of the network.
        heads: Attention heads.
        hidden: Of the MLP.
        block: Examples that are computed together.
        capacity: Most examples of a sweep; found by it.
        typical: Mean examples of a sweep; found by it.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.SparseAnd(ll.worlds.SparseBoolean(length=100), examples=50).check()

    Reference: edelman2022, Section 5 and Appendix C.
    """

    world: SparseBoolean = SparseBoolean(length=100, sparsity=3)
    examples: Number = 100
    iterations: int = eqx.field(static=True, default=1000)
    every: int = eqx.field(static=True, default=10)
    update: Clipped = Clipped()
    dropout: float = eqx.field(static=True, default=0.1)
    embedding_dropout: float | None = eqx.field(static=True, default=None)
    holdout: int = eqx.field(static=True, default=10_000)
    first: int = eqx.field(static=True, default=2_500)
    success: float = eqx.field(static=True, default=0.99)
    loose: float = eqx.field(static=True, default=0.975)
    share: Number = 1.0
    curves: bool = eqx.field(static=True, default=False)
    numbers: str = eqx.field(static=True, default="float32")
    width: int = eqx.field(static=True, default=64)
    heads: int = eqx.field(static=True, default=16)
    hidden: int = eqx.field(static=True, default=256)
    block: int = eqx.field(static=True, default=20)
    capacity: int | None = eqx.field(static=True, default=None)
    typical: float | None = eqx.field(static=True, default=None)

    #: Measured on fig2: FLOPs of all iterations over the time, trials that end early included.
    pace: ClassVar[Mapping[str, float]] = {"cpu": 5e10, "gpu": 1.5e13}

    # --- sizes ----------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        self.update.check()
        decoder.check_sizes(self.world.length, self.width, self.heads, self.hidden)
        check_word("numbers", self.numbers, ("float32", "bfloat16"))
        check_between(self, ("block",), 1, MOST_BLOCK)
        check_between(self, ("capacity",), 1, MOST)
        check_positive(self, ("typical",))
        whole, most = self.examples == round(self.examples), self.capacity or MOST
        if not whole or not 1 <= self.examples <= most:
            raise InputError(f"examples = {self.examples}", f"a whole number, 1 to {most}")
        check_multiple(self, "iterations", "every")
        check_least(self, ("holdout",))
        check_between(self, ("first",), 1, self.holdout)
        check_dropout("dropout", self.dropout)
        if self.embedding_dropout is not None:
            check_dropout("embedding_dropout", self.embedding_dropout)
        if not 0 < self.loose <= self.success < 1:
            raise InputError(
                f"success = {self.success:g}, loose = {self.loose:g}",
                "accuracies below 1, loose not above success",
            )
        check_between(self, ("share",), 0, 1)

    def with_room(self, cells: Sequence[Any]) -> "SparseAnd":
        """Room for the largest training set of the sweep."""
        sizes = [int(cell.examples) for cell in cells]
        most = max(*sizes, self.capacity or 0)
        return assign(self, {"capacity": most, "typical": sum(sizes) / len(sizes)})

    @property
    def keep(self) -> float:
        """Probability of keeping an attention weight or a residual."""
        return 1.0 - self.dropout

    @property
    def keep_tokens(self) -> float:
        """Probability of keeping an entry of a token."""
        dropped = self.dropout if self.embedding_dropout is None else self.embedding_dropout
        return 1.0 - dropped

    @property
    def places(self) -> int:
        """Places of a program: bits, [CLS], padding."""
        return padded(self.world.length + 1)

    @property
    def training(self) -> DecoderTraining:
        """How networks are trained between two looks."""
        return DecoderTraining(
            self._network(jr.key(0)),
            self.places,
            self.block,
            self.every,
            self.keep,
            self.keep_tokens,
            self.numbers,
        )

    @property
    def exam(self) -> Holdout:
        """How the holdout is looked at."""
        return Holdout(self.holdout, self.first, self.loose)

    def parts(self) -> int:
        """Blocks of this many examples."""
        return -(-int(self.examples) // self.block)

    def most_parts(self) -> int:
        """Blocks of the largest training set."""
        return -(-int(self.capacity or self.examples) // self.block)

    def room(self) -> tuple[int, int]:
        """As many blocks as keep the device busy, and slots for trials of a typical size."""
        tokens, examples = IN_FLIGHT.get(jax.default_backend(), IN_FLIGHT["cpu"])
        fitting = min(tokens // self.places, examples) // self.block
        blocks = max(self.most_parts(), fitting)
        typical = (self.typical or self.capacity or self.examples) / self.block
        # A slot costs a look and an update even while it is empty, so there are few to spare.
        return max(1, int(blocks / max(1.0, 0.85 * typical))), blocks

    def flops(self) -> float:
        """All iterations: a token meets every head's query twice and back; looks by tables.

        Of the looks the first stage is counted, which is all that most of them take.
        """
        n, d, m = self.world.length + 1, self.width, int(self.examples)
        row = 2 * (4 * d + 2 * self.hidden) * d  # of the [CLS] token alone
        step = 3 * m * (4 * n * d * self.heads + row)
        late = 2 * (d + 2 * self.hidden) * d  # of it, what tables leave to do
        look = (self.first + m) * (4 * (n - 1) * (d + self.heads) + late)
        return self.iterations * (step + look / self.every)

    # --- a trial --------------------------------------------------------------------------------

    def begin(self, key: PRNGKey) -> DecoderTrial:
        """Draw subset, sample, holdout and weights."""
        names = "truth", "init", "data", "drop", "share"
        k_truth, k_init, k_data, k_drop, k_share = named(key, *names)
        truth = self.world.draw(k_truth)
        size = self.most_parts() * self.block
        bits, labels = self._draw(k_data, truth, size)
        weights = flatten(self._network(k_init))
        blocks = self.most_parts(), self.block
        pad = self.places - self.world.length
        n = self.iterations // self.every
        none, nothing = jnp.zeros(n, int), jnp.full(n, jnp.nan)
        return DecoderTrial(
            weights=weights,
            memory=self.update.init(weights),
            update=jax.tree.map(jnp.asarray, self.update),
            drop=jr.key_data(k_drop),
            bits=jnp.pad(bits[:size], ((0, 0), (0, pad))).reshape(*blocks, -1),
            labels=labels[:size].reshape(blocks),
            examples=jnp.asarray(self.examples).astype(int),
            holdout=bits[size:],
            answers=labels[size:],
            to_the_end=jr.bernoulli(k_share, self.share),
            look=jnp.array(0),
            looks=HoldoutLog(none, none > 0, nothing, none, nothing),
        )

    def advance(self, states: DecoderTrial, layout: Layout) -> tuple[DecoderTrial, Bool[Array, ""]]:
        """The iterations up to the next look, and the look, if tables are safe."""
        training = self.training
        states = training(states, layout)
        models = training.models(states.weights)
        ready = jax.vmap(decoder.tables)(models)
        alive = jnp.asarray(layout.alive) & ~jax.vmap(self.ended)(states)
        # What has ended is not looked at: a diverged trial must not slow down the others.
        safe = jnp.all(jax.vmap(lambda tables: tables.is_safe())(ready) | ~alive)
        seen = self.exam.look(decoder.table, (models, ready, states), alive)
        return self._record(states, seen, jnp.broadcast_to(safe, alive.shape)), ~safe

    def repair(self, states: DecoderTrial, mine: Bool[Array, " slots"]) -> DecoderTrial:
        """The look again, with one maximum per example instead of tables."""
        models = self.training.models(states.weights)
        ready = jax.vmap(decoder.tables)(models)
        slow = lambda model, ready, bits: decoder.plain(model, bits)
        alive = mine & ~jax.vmap(self.ended)(states)
        seen = self.exam.look(slow, (models, ready, states), alive)
        return self._record(states, seen, mine)

    def _record(
        self, states: DecoderTrial, seen: HoldoutLog, valid: Bool[Array, " slots"]
    ) -> DecoderTrial:
        def record(state: DecoderTrial, now: HoldoutLog, valid: Bool[Array, ""]) -> DecoderTrial:
            still = self.ended(state) | ~valid
            put = lambda log, value: jnp.where(still, log, log.at[state.look].set(value))
            looks = jax.tree.map(put, state.looks, now)
            return eqx.tree_at(
                lambda s: (s.looks, s.look), state, (looks, state.look + jnp.where(still, 0, 1))
            )

        return jax.vmap(record)(states, seen, valid)

    def ended(self, state: DecoderTrial) -> Bool[Array, ""]:
        """At the last iteration, at the first success unless it goes on, or when it diverged."""
        seen = jnp.arange(len(state.looks.loss)) < state.look
        broken = jnp.any(seen & ~jnp.isfinite(state.looks.loss))
        won = jnp.any(seen & self.exam.passes(state.looks, self.success)) & ~state.to_the_end
        return (state.look >= len(state.looks.loss)) | broken | won

    def result(self, state: DecoderTrial) -> dict[str, Array]:
        """Success, accuracies, training loss; the whole course if asked for."""
        looks = state.looks
        seen = jnp.arange(len(looks.loss)) < state.look
        accuracy = self.exam.accuracy(looks)
        last = jnp.maximum(state.look - 1, 0)
        success = seen & self.exam.passes(looks, self.success)
        fitted = seen & (looks.loss < 1e-4) & (looks.missed == 0)
        when = lambda found: jnp.where(
            jnp.any(found), (jnp.argmax(found) + 1.0) * self.every, jnp.inf
        )
        out = {
            "success": jnp.any(success),
            "success_loose": jnp.any(seen & self.exam.passes(looks, self.loose)),
            "first_success": when(success),
            "fitted": when(fitted),
            "memorised": when(seen & (looks.missed == 0)),
            "best_accuracy": jnp.max(jnp.where(seen, accuracy, 0.0)),
            "last_accuracy": accuracy[last],
            "training_loss": looks.loss[last],
            "lowest_training_loss": jnp.min(jnp.where(seen, looks.loss, jnp.inf)),
            "iterations_run": state.look * self.every,
            "to_the_end": state.to_the_end,
            "gap": jnp.max(jnp.where(seen, looks.gap, 0.0)),
            "diverged": jnp.any(seen & ~jnp.isfinite(looks.loss)),
        }
        if self.curves:
            out["trace.accuracy"] = jnp.where(seen, accuracy, jnp.nan)
            out["trace.loss"] = jnp.where(seen, looks.loss, jnp.nan)
        return out

    # --- parts of it ----------------------------------------------------------------------------

    def _network(self, key: PRNGKey) -> decoder.Decoder:
        return decoder.init(key, self.world.length, self.width, self.heads, self.hidden)

    def _draw(self, key: PRNGKey, truth, size: int):
        """Training examples, then those of the holdout, whose labels are never noisy."""

        def one(index):
            noise = jnp.where(index < HOLDOUT, self.world.label_noise, 0.0)
            world = assign(self.world, {"label_noise": noise})
            return world.labelled(jr.fold_in(key, index), truth)

        # Numbered apart, so that a holdout does not depend on the room for training examples.
        holdout = HOLDOUT + jnp.arange(self.holdout)
        return jax.vmap(one)(jnp.concatenate([jnp.arange(size), holdout]))
