r"""The heart: one trial is a scan over steps; `vmap` makes many.

Training stops early, for the whole batch, where no trial's outcome can change any more: a trial is
*settled* once its loss is exactly zero on every training example and the update has no memory, or
once it has diverged.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Bool, Float, Int

from limelight.core.errors import InputError
from limelight.core.keys import named
from limelight.core.numerics import tree_finite
from limelight.core.types import PRNGKey
from limelight.models.base import Model, split
from limelight.worlds.base import World, example

Trace = Mapping[str, Float[Array, ""]]


def hinge(output: Float[Array, ""], label: Float[Array, ""]) -> Float[Array, ""]:
    r"""$\max(1 - y F, 0)$; its gradient at the kink is 0, so that zero loss means no gradient."""
    return jax.nn.relu(1.0 - label * output)


def logistic(output: Float[Array, ""], label: Float[Array, ""]) -> Float[Array, ""]:
    r"""$\log(1 + e^{-y F})$."""
    return jax.nn.softplus(-label * output)


LOSSES: dict[str, Callable] = {"hinge": hinge, "logistic": logistic}
#: Losses whose gradient vanishes where they are zero.
FLAT_AT_ZERO = ("hinge",)
#: Updates that do nothing when the gradient is zero, whatever came before.
MEMORYLESS = ("sgd",)


class Record(eqx.Module):
    """How a training run went."""

    steps: Int[Array, ""]
    diverged: Bool[Array, ""]
    loss: Float[Array, ""]


class State(eqx.Module):
    """What one trial carries from block to block."""

    trained: Any
    memory: Any
    block: Int[Array, ""]
    settled: Bool[Array, ""]
    diverged: Bool[Array, ""]
    traces: Any


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
        loss: `hinge` or `logistic`.
        optimizer: `sgd`, `adam` or `adamw`.
        decay: Weight decay of `adamw`.
        every: Steps between two looks: traces are logged and early exit is considered then.
        early_exit: Whether a settled batch may stop; the result is the same either way.
    """

    steps: int = eqx.field(static=True, default=400)
    batch: int | None = eqx.field(static=True, default=16)
    rate: float = 1.0
    examples: int = 64
    capacity: int | None = eqx.field(static=True, default=None)
    loss: Literal["hinge", "logistic"] = eqx.field(static=True, default="hinge")
    optimizer: Literal["sgd", "adam", "adamw"] = eqx.field(static=True, default="sgd")
    decay: float = 0.0
    every: int = eqx.field(static=True, default=20)
    early_exit: bool = eqx.field(static=True, default=True)

    def check(self) -> None:
        """Refuse settings that make no sense."""
        for name in ("steps", "examples", "every"):
            if getattr(self, name) < 1:
                raise InputError(f"train.{name} = {getattr(self, name)}", "at least 1")
        if self.batch is not None and self.batch < 1:
            raise InputError(f"train.batch = {self.batch}", "at least 1, or none for all examples")
        if self.rate <= 0:
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
        for name, known in (("loss", LOSSES), ("optimizer", ("sgd", "adam", "adamw"))):
            if getattr(self, name) not in known:
                raise InputError(
                    f"unknown train.{name} {getattr(self, name)!r}", "known: " + ", ".join(known)
                )

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
        k_data, k_batch, k_drop = named(key, "data", "batch", "drop")
        capacity = self.capacity or int(self.examples)
        pool = jax.vmap(
            lambda i: (lambda e: (model.prepare(e), e.label))(example(world, k_data, truth, i))
        )(jnp.arange(capacity))
        trained, rest = split(model)
        optimizer = self._optimizer()

        def losses(trained, rows, keys):
            net = eqx.combine(trained, rest)
            prepared, labels = rows
            output = jax.vmap(net)(prepared, keys)
            return jax.vmap(LOSSES[self.loss])(output, labels)

        present = jnp.arange(capacity) < self.examples

        def objective(trained, step):
            k_drops = jr.fold_in(k_drop, step)
            if self.batch is None:
                value = losses(trained, pool, jr.split(k_drops, capacity))
                return jnp.sum(jnp.where(present, value, 0.0)) / self.examples
            u = jr.uniform(jr.fold_in(k_batch, step), (self.batch,))
            index = jnp.minimum(jnp.floor(u * self.examples).astype(int), self.examples - 1)
            rows = jax.tree.map(lambda leaf: leaf[index], pool)
            return jnp.mean(losses(trained, rows, jr.split(k_drops, self.batch)))

        def update(carry, step):
            trained, memory = carry
            gradient = jax.grad(objective)(trained, step)
            change, memory = optimizer.update(gradient, memory, trained)
            return (eqx.apply_updates(trained, change), memory), None

        def training_loss(trained):
            value = losses(trained, pool, jr.split(k_drop, capacity))
            return jnp.sum(jnp.where(present, value, 0.0)) / self.examples

        def advance(state: State) -> State:
            steps = state.block * self.every + jnp.arange(self.every)
            (trained, memory), _ = jax.lax.scan(update, (state.trained, state.memory), steps)
            diverged = ~tree_finite(trained)
            # A diverged trial keeps its last finite weights; its flag says what happened.
            trained = jax.tree.map(
                lambda new, old: jnp.where(diverged, old, new), trained, state.trained
            )
            settled = diverged
            if self._can_settle():
                settled = settled | (training_loss(trained) == 0.0)
            seen = look(eqx.combine(trained, rest))
            # What is settled stays: the log is filled to its end, so that stopping changes nothing.
            after = jnp.arange(self.blocks + 1) > state.block
            traces = jax.tree.map(lambda log, now: jnp.where(after, now, log), state.traces, seen)
            return State(trained, memory, state.block + 1, settled, diverged, traces)

        start = look(model)
        state = State(
            trained,
            optimizer.init(trained),
            jnp.array(0),
            jnp.array(False),
            jnp.array(False),
            jax.tree.map(lambda now: jnp.broadcast_to(now, (self.blocks + 1,)), start),
        )
        state = jax.lax.while_loop(
            lambda s: (s.block < self.blocks) & ~(s.settled & self.early_exit), advance, state
        )
        record = Record(state.block * self.every, state.diverged, training_loss(state.trained))
        return eqx.combine(state.trained, rest), record, state.traces

    def _optimizer(self) -> optax.GradientTransformation:
        if self.optimizer == "sgd":
            return optax.sgd(self.rate)
        if self.optimizer == "adam":
            return optax.adam(self.rate)
        return optax.adamw(self.rate, weight_decay=self.decay)

    def _can_settle(self) -> bool:
        return self.loss in FLAT_AT_ZERO and self.optimizer in MEMORYLESS
