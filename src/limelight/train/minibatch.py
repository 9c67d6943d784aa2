r"""Training on a fixed set of examples by mini-batches: the usual way, for any world and model.

Training stops early, for the whole batch of trials, where no trial's outcome can change any more: a
trial is *settled* once its loss is exactly zero on every training example and the update has no
memory, or once it has diverged.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from limelight._core.errors import InputError, check_least, check_multiple, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.models.base import Model, split
from limelight.train._loop import LoopState, Trace, descend
from limelight.train.losses import FLAT_AT_ZERO, Loss, check_loss, loss_of, target
from limelight.train.optimizers import MEMORYLESS, Optimizer, check_optimizer, make_optimizer
from limelight.worlds.base import World, example


class Record(eqx.Module):
    """How a training run went."""

    steps: Int[Array, ""]
    diverged: Bool[Array, ""]
    loss: Float[Array, ""]


class Task(eqx.Module):
    """One training set and the untrained part of one model: what a step differentiates.

    Args:
        train: The settings.
        rest: The model without its trained part.
        prepared: The training set as the model reads it, padded to the capacity.
        targets: What the loss compares outputs with: the labels, or the whole examples.
        k_batch: Names the batches.
        k_drop: Names the dropout masks, where a model has any.
    """

    train: "Train"
    rest: Any
    prepared: Any
    targets: Any
    k_batch: PRNGKey
    k_drop: PRNGKey

    def batch_loss(self, trained: Any, step: Int[Array, ""]) -> Float[Array, ""]:
        """Mean loss of the examples that a step draws."""
        key, train = jr.fold_in(self.k_drop, step), self.train
        if train.batch is None:
            return self.mean_loss(trained, key)
        u = jr.uniform(jr.fold_in(self.k_batch, step), (train.batch,))
        index = jnp.minimum(jnp.floor(u * train.examples).astype(int), train.examples - 1)
        return jnp.mean(self._losses(trained, index, key))

    def mean_loss(self, trained: Any, key: PRNGKey | None = None) -> Float[Array, ""]:
        """Mean loss of the whole training set, without dropout unless a key is given."""
        index = jnp.arange(len(jax.tree.leaves(self.targets)[0]))
        value = self._losses(trained, index, key)
        return jnp.sum(jnp.where(index < self.train.examples, value, 0.0)) / self.train.examples

    def _losses(self, trained: Any, index, key: PRNGKey | None) -> Float[Array, " batch"]:
        model = eqx.combine(trained, self.rest)
        rows, targets = jax.tree.map(lambda leaf: leaf[index], (self.prepared, self.targets))
        if model.stochastic and key is not None:
            outputs = jax.vmap(model)(rows, jr.split(key, len(index)))
        else:
            outputs = jax.vmap(lambda row: model(row))(rows)
        return jax.vmap(loss_of(self.train.loss))(outputs, targets)


@kind("train.minibatch")
class Train(eqx.Module):
    r"""Stochastic gradient training on a data set that is a key and a number.

    Example $i < N$ of the training set is `example(key, truth, i)`; a step draws `batch` of them
    with replacement (all $N$, masked, when `batch` is `None`). So the size of the training set is
    traced: a grid over it compiles once. The optimizer is built inside the traced function, so
    its rate is traced too and its trajectory is the plain one.

    An optimizer may be any of Optax: `optax.lion(1e-3)`, or a function of the rate such as
    `lambda rate: optax.sgd(rate, momentum=0.9)`, whose rate can then be swept.

    Notation: `steps` is their $T$, `batch` their $B$, `rate` their $\eta$, `examples` their $N$.

    Args:
        steps: Updates.
        batch: Examples per step; `None` for the whole training set.
        rate: Step size.
        examples: Size of the training set.
        capacity: Largest training set a program has room for; what an axis over `examples` needs
            is found by the sweep.
        loss: `hinge`, `per_bit` (for several label bits), `logistic`, `cross_entropy` (for
            classes); or a function of an output and its example.
        optimizer: `sgd`, `adam` or `adamw`; an Optax optimizer, used as it is (leave `rate` at 1);
            or a function that makes one from `rate`.
        decay: Weight decay of `adamw`.
        every: Steps of a block: after each, traces are logged and early exit is considered.
        early_exit: Whether a settled batch may stop; the result is the same either way.

    Example:
        >>> import limelight as ll
        >>> train = ll.Train(steps=200, batch=8, rate=2.0, examples=32, every=20)
        >>> train.blocks  # of 20 steps each, between which traces are logged
        10
    """

    steps: int = eqx.field(static=True, default=400)
    batch: int | None = eqx.field(static=True, default=16)
    rate: Number = 1.0
    examples: Number = 64
    capacity: int | None = eqx.field(static=True, default=None)
    loss: Loss = eqx.field(static=True, default="hinge")
    optimizer: Optimizer = eqx.field(static=True, default="sgd")
    decay: Number = 0.0
    every: int = eqx.field(static=True, default=20)
    early_exit: bool = eqx.field(static=True, default=True)

    def check(self) -> None:
        """Refuse settings that make no sense."""
        check_least(self, ("examples", "batch"), prefix="train.")
        if self.examples != round(self.examples):
            raise InputError(f"train.examples = {self.examples}", "a whole number")
        check_positive(self, ("rate",), "train.")
        check_multiple(self, "steps", "every", "train.")
        if self.capacity is not None and self.examples > self.capacity:
            raise InputError(
                f"train.examples = {self.examples} exceeds train.capacity = {self.capacity}",
                "leave train.capacity unset",
            )
        check_loss("train.loss", self.loss)
        check_optimizer("train.optimizer", self.optimizer, self.rate)
        if self.decay != 0.0 and self.optimizer != "adamw":
            raise InputError(
                f"train.decay = {self.decay:g} with another optimizer than adamw",
                "set train.optimizer to adamw, or leave train.decay at 0",
            )

    @property
    def blocks(self) -> int:
        """Blocks of steps."""
        return self.steps // self.every

    def __call__(
        self,
        key: PRNGKey,
        world: World,
        truth: Any,
        model: Model,
        read: Callable[[Model], Trace] = lambda model: {},
    ) -> tuple[Model, Record, Trace]:
        """Train one model; what `read` reads is logged before the first step and after each block.

        A settled trial stands still, so its log goes on with its last reading.
        """
        trained, rest = split(model)
        task = self._task(key, world, truth, model, rest)
        decay = self.decay if self.optimizer == "adamw" else None
        optimizer = make_optimizer(self.optimizer, self.rate, decay=decay)

        def settled(state: LoopState) -> Bool[Array, ""]:
            done = state.diverged
            if self._still_at_zero(rest):
                done = done | (task.mean_loss(state.weights) == 0.0)
            # Asked even where it does not count: so both are one program, and round alike.
            return done & self.early_exit

        end = descend(
            task.batch_loss,
            optimizer,
            trained,
            self.blocks,
            self.every,
            read=lambda weights: read(eqx.combine(weights, rest)),
            ends=settled,
        )
        loss = task.mean_loss(end.weights)
        record = Record(end.block * self.every, end.diverged | ~jnp.isfinite(loss), loss)
        return eqx.combine(end.weights, rest), record, end.held()

    def _task(self, key: PRNGKey, world: World, truth: Any, model: Model, rest: Any) -> Task:
        k_data, k_batch, k_drop = named(key, "data", "batch", "drop")

        def row(index):
            item = example(world, k_data, truth, index)
            return model.prepare(item), target(self.loss, item)

        prepared, targets = jax.vmap(row)(jnp.arange(self.capacity or int(self.examples)))
        return Task(self, rest, prepared, targets, k_batch, k_drop)

    def _still_at_zero(self, model: Model) -> bool:
        """Whether zero training loss means that no later step changes anything."""
        return self.loss in FLAT_AT_ZERO and self.optimizer in MEMORYLESS and not model.stochastic
