r"""The heart: one trial is a scan over steps; `vmap` makes many.

Training stops early, for the whole batch, where no trial's outcome can change any more: a trial is
*settled* once its loss is exactly zero on every training example and the update has no memory, or
once it has diverged.
"""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Bool, Float, Int

from limelight.core.errors import InputError, check_word
from limelight.core.keys import named
from limelight.core.kinds import kind
from limelight.core.numerics import tree_finite
from limelight.core.types import Number, PRNGKey
from limelight.models.base import Model, split
from limelight.worlds.base import World, example

#: Numbers by name: one look, or (after training) the log of all looks.
Trace = Mapping[str, Array]


def hinge(output: Float[Array, "*bits"], label: Float[Array, "*bits"]) -> Float[Array, ""]:
    r"""$\max(1 - y^\top F, 0)$; its gradient at the kink is 0: zero loss means no gradient."""
    return jax.nn.relu(1.0 - jnp.sum(label * output))


def per_bit(output: Float[Array, "*bits"], label: Float[Array, "*bits"]) -> Float[Array, ""]:
    r"""$\sum_u \max(1 - y_u F_u, 0)$: unlike `hinge` it asks every label bit to be right."""
    return jnp.sum(jax.nn.relu(1.0 - label * output))


def logistic(output: Float[Array, ""], label: Float[Array, ""]) -> Float[Array, ""]:
    r"""$\log(1 + e^{-y F})$."""
    return jax.nn.softplus(-label * output)


LOSSES: dict[str, Callable] = {"hinge": hinge, "per_bit": per_bit, "logistic": logistic}
#: Losses whose gradient vanishes where they are zero.
FLAT_AT_ZERO = ("hinge", "per_bit")
#: Updates that do nothing when the gradient is zero, whatever came before.
MEMORYLESS = ("sgd",)


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
        labels: Its labels.
        k_batch: Names the batches.
        k_drop: Names the dropout masks, where a model has any.
    """

    train: "Train"
    rest: Any
    prepared: Any
    labels: Float[Array, "capacity ..."]
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
        index = jnp.arange(len(self.labels))
        value = self._losses(trained, index, key)
        return jnp.sum(jnp.where(index < self.train.examples, value, 0.0)) / self.train.examples

    def _losses(self, trained: Any, index, key: PRNGKey | None) -> Float[Array, " batch"]:
        model = eqx.combine(trained, self.rest)
        rows = jax.tree.map(lambda leaf: leaf[index], self.prepared)
        keys = None if key is None else jr.split(key, len(index))
        outputs = jax.vmap(model)(rows, keys)
        return jax.vmap(LOSSES[self.train.loss])(outputs, self.labels[index])


class State(eqx.Module):
    """What one trial carries from block to block."""

    trained: Any
    memory: Any
    block: Int[Array, ""]
    settled: Bool[Array, ""]
    diverged: Bool[Array, ""]
    traces: Any


@kind("train.minibatch")
class Train(eqx.Module):
    r"""Stochastic gradient training on a data set that is a key and a number.

    Example $i < N$ of the training set is `example(key, truth, i)`; a step draws `batch` of them
    with replacement (all $N$, masked, when `batch` is `None`). So the size of the training set is
    traced: a grid over it compiles once. The optimizer is built inside the traced function, so
    its rate is traced too and its trajectory is the plain one.

    Notation: `steps` is their $T$, `batch` their $B$, `rate` their $\eta$, `examples` their $N$.

    Args:
        steps: Updates.
        batch: Examples a step; `None` for the whole training set.
        rate: Step size.
        examples: Size of the training set.
        capacity: Largest training set a program has room for; what an axis over `examples` needs
            is found by the sweep.
        loss: `hinge`, `per_bit` (for several label bits) or `logistic`.
        optimizer: `sgd`, `adam` or `adamw`.
        decay: Weight decay of `adamw`.
        every: Steps between two looks: traces are logged and early exit is considered then.
        early_exit: Whether a settled batch may stop; the result is the same either way.
    """

    steps: int = eqx.field(static=True, default=400)
    batch: int | None = eqx.field(static=True, default=16)
    rate: Number = 1.0
    examples: Number = 64
    capacity: int | None = eqx.field(static=True, default=None)
    loss: str = eqx.field(static=True, default="hinge")
    optimizer: str = eqx.field(static=True, default="sgd")
    decay: Number = 0.0
    every: int = eqx.field(static=True, default=20)
    early_exit: bool = eqx.field(static=True, default=True)

    def check(self) -> None:
        """Refuse settings that make no sense."""
        for name in ("steps", "examples", "every"):
            if getattr(self, name) < 1:
                raise InputError(f"train.{name} = {getattr(self, name)}", "at least 1")
        if self.examples != round(self.examples):
            raise InputError(f"train.examples = {self.examples}", "a whole number")
        if self.batch is not None and self.batch < 1:
            raise InputError(f"train.batch = {self.batch}", "at least 1, or none for all examples")
        if not self.rate > 0:
            raise InputError(f"train.rate = {self.rate:g}", "a positive step size")
        if self.steps % self.every:
            raise InputError(
                f"train.steps = {self.steps} is not a multiple of train.every = {self.every}",
                "choose train.every to divide train.steps",
            )
        if self.capacity is not None and self.examples > self.capacity:
            raise InputError(
                f"train.examples = {self.examples} exceeds train.capacity = {self.capacity}",
                "leave train.capacity unset",
            )
        check_word("train.loss", self.loss, tuple(LOSSES))
        check_word("train.optimizer", self.optimizer, ("sgd", "adam", "adamw"))

    @property
    def blocks(self) -> int:
        """Looks at the run, the one at the start not counted."""
        return self.steps // self.every

    def __call__(
        self,
        key: PRNGKey,
        world: World,
        truth: Any,
        model: Model,
        look: Callable[[Model], Trace] = lambda model: {},
    ) -> tuple[Model, Record, Trace]:
        """Train one model; `look` is logged before the first step and after every block."""
        trained, rest = split(model)
        task = self._task(key, world, truth, model, rest)
        advance = self._advance(task, look)
        logs = jax.tree.map(lambda now: jnp.broadcast_to(now, (self.blocks + 1,)), look(model))
        no = jnp.array(False)
        memory: Any = self._optimizer().init(trained)  # pyright: ignore[reportArgumentType]
        state = State(trained, memory, jnp.array(0), no, no, logs)
        # Under vmap this loop runs until every trial is done, and holds the finished ones still.
        state = jax.lax.while_loop(
            lambda s: (s.block < self.blocks) & ~(s.settled & self.early_exit), advance, state
        )
        loss = task.mean_loss(state.trained)
        record = Record(state.block * self.every, state.diverged | ~jnp.isfinite(loss), loss)
        return eqx.combine(state.trained, rest), record, state.traces

    def _task(self, key: PRNGKey, world: World, truth: Any, model: Model, rest: Any) -> Task:
        k_data, k_batch, k_drop = named(key, "data", "batch", "drop")

        def row(index):
            item = example(world, k_data, truth, index)
            return model.prepare(item), item.label

        prepared, labels = jax.vmap(row)(jnp.arange(self.capacity or int(self.examples)))
        return Task(self, rest, prepared, labels, k_batch, k_drop)

    def _advance(self, task: Task, look: Callable[[Model], Trace]) -> Callable[[State], State]:
        optimizer = self._optimizer()

        def update(carry, step):
            trained, memory, finite = carry
            loss, gradient = jax.value_and_grad(task.batch_loss)(trained, step)
            change, memory = optimizer.update(gradient, memory, trained)
            return (eqx.apply_updates(trained, change), memory, finite & jnp.isfinite(loss)), None

        def advance(state: State) -> State:
            steps = state.block * self.every + jnp.arange(self.every)
            start = (state.trained, state.memory, jnp.array(True))
            (trained, memory, finite), _ = jax.lax.scan(update, start, steps)
            diverged = state.diverged | ~(finite & tree_finite(trained))
            # A diverged trial keeps, for good, the last weights that were seen finite.
            keep = lambda new, old: jnp.where(diverged, old, new)
            trained = jax.tree.map(keep, trained, state.trained)
            memory = jax.tree.map(keep, memory, state.memory)
            settled = diverged
            if self._still_at_zero(task.rest):
                settled = settled | (task.mean_loss(trained) == 0.0)
            # What is settled stays: the log is filled to its end, so stopping changes nothing.
            later = jnp.arange(self.blocks + 1) > state.block
            fill = lambda log, now: jnp.where(later, now, log)
            traces = jax.tree.map(fill, state.traces, look(eqx.combine(trained, task.rest)))
            return State(trained, memory, state.block + 1, settled, diverged, traces)

        return advance

    def _still_at_zero(self, model: Model) -> bool:
        """Whether zero training loss means that no later step changes anything."""
        return self.loss in FLAT_AT_ZERO and self.optimizer in MEMORYLESS and not model.stochastic

    def _optimizer(self) -> optax.GradientTransformation:
        if self.optimizer == "sgd":
            return optax.sgd(self.rate)
        if self.optimizer == "adam":
            return optax.adam(self.rate)
        return optax.adamw(self.rate, weight_decay=self.decay)
