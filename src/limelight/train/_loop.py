"""The training loop: blocks of steps, what is read between them, and when they end.

A trainer says what a block of steps does to the weights and to whatever the steps remember. The
loop runs the blocks, logs readings, keeps the last finite weights, and stops when asked to. It is
written for one trial; under `vmap` it runs until every trial has ended, and holds the ended ones.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from limelight._core.numerics import tree_finite

#: Numbers by name: of one moment, or (after training) the log of all of them.
Trace = Mapping[str, Array]


class Moved(NamedTuple):
    """What a block leaves.

    Args:
        weights: The weights.
        memory: What its last step hands to the next one.
        report: Numbers to log.
        finite: Whether all was finite; `None` where nobody asks, and what is not finite stays.
    """

    weights: Any
    memory: Any
    report: Trace
    finite: Bool[Array, ""] | None = None


#: A block of steps: from weights, memory and the numbers of its steps to what it leaves.
Block = Callable[[Any, Any, Int[Array, " every"]], Moved]


class LoopState(eqx.Module):
    """A trial between two blocks.

    Args:
        weights: The weights, the last finite ones where training diverged.
        memory: What the steps remember.
        block: Blocks run.
        kept: The last block whose weights were kept; later ones were not finite.
        ended: Whether the loop was asked to stop.
        readings: What was read before the first step and after every block: one row more than
            there are blocks.
        reports: What every block reported: one row per block.
    """

    weights: Any
    memory: Any
    block: Int[Array, ""]
    kept: Int[Array, ""]
    ended: Bool[Array, ""]
    readings: Trace
    reports: Trace

    @property
    def diverged(self) -> Bool[Array, ""]:
        """Whether something was not finite."""
        return self.kept < self.block

    def held(self) -> Trace:
        """The readings, with that of the weights that were kept in every row after it.

        It is the log of a trial that stands still from there on, whenever its loop stopped.
        """
        return jax.tree.map(
            lambda log: log[jnp.minimum(jnp.arange(len(log)), self.kept)], self.readings
        )


def run_blocks(
    block: Block,
    weights: Any,
    memory: Any,
    blocks: int,
    every: int = 1,
    *,
    read: Callable[[Any], Trace] = lambda weights: {},
    ends: Callable[[LoopState], Bool[Array, ""]] | None = None,
) -> LoopState:
    """Run blocks of steps until they end; rows after the end are NaN (0 for whole numbers).

    Once a block was not finite, its weights and all later ones are dropped: the trial keeps, for
    good, the weights from before.

    Args:
        block: What happens in a block.
        weights: What the first block starts from.
        memory: What its first step remembers.
        blocks: Blocks at most.
        every: Steps of a block.
        read: What is read off the weights, before the first step and after every block; also off
            weights that are then dropped.
        ends: Whether to stop, asked after every block; `None` for never.
    """

    def advance(weights: Any, memory: Any, number: Int[Array, ""], kept: Int[Array, ""]):
        moved = block(weights, memory, number * every + jnp.arange(every))
        rows = dict(read(moved.weights)), dict(moved.report)
        if moved.finite is None:
            return moved.weights, moved.memory, number + 1, rows
        broken = (kept < number) | ~moved.finite
        weights = jax.tree.map(lambda new, old: jnp.where(broken, old, new), moved.weights, weights)
        return weights, moved.memory, jnp.where(broken, kept, number + 1), rows

    first, zero = jax.tree.map(jnp.asarray, dict(read(weights))), jnp.array(0)
    if ends is None:
        return _to_the_end(advance, weights, memory, blocks, first)

    def body(state: LoopState) -> LoopState:
        weights, memory, kept, rows = advance(state.weights, state.memory, state.block, state.kept)
        readings = _put(state.readings, state.block + 1, rows[0])
        reports = _put(state.reports, state.block, rows[1])
        state = LoopState(weights, memory, state.block + 1, kept, state.ended, readings, reports)
        return eqx.tree_at(lambda s: s.ended, state, ends(state))

    shapes = jax.eval_shape(advance, weights, memory, zero, zero)[-1][1]
    readings = _put({name: _blank(blocks + 1, row) for name, row in first.items()}, zero, first)
    reports = {name: _blank(blocks, row) for name, row in shapes.items()}
    start = LoopState(weights, memory, zero, zero, jnp.array(False), readings, reports)
    return jax.lax.while_loop(lambda s: (s.block < blocks) & ~s.ended, body, start)


def _to_the_end(
    advance: Callable, weights: Any, memory: Any, blocks: int, first: Trace
) -> LoopState:
    """All blocks, as a scan: its length is known, so its cost is too."""

    def body(carry, number):
        weights, memory, kept = carry
        weights, memory, kept, rows = advance(weights, memory, number, kept)
        return (weights, memory, kept), rows

    start = weights, memory, jnp.array(0)
    (weights, memory, kept), rows = jax.lax.scan(body, start, jnp.arange(blocks))
    readings = {name: jnp.concatenate([first[name][None], log]) for name, log in rows[0].items()}
    return LoopState(weights, memory, jnp.array(blocks), kept, jnp.array(False), readings, rows[1])


def descend(
    loss: Callable[[Any, Int[Array, ""]], Float[Array, ""]],
    optimizer: optax.GradientTransformation,
    weights: Any,
    blocks: int,
    every: int = 1,
    *,
    watch: bool = True,
    **hooks: Any,
) -> LoopState:
    """Run an optimizer on a loss of weights and step; reports the mean loss of every block's steps.

    Where nobody is to `watch`, losses and weights that are not finite stay. The hooks are `read`
    and `ends` of `run_blocks`.
    """

    def update(carry, number):
        weights, memory, finite = carry
        value, gradient = jax.value_and_grad(loss)(weights, number)
        change, memory = optimizer.update(gradient, memory, weights)
        return (eqx.apply_updates(weights, change), memory, finite & jnp.isfinite(value)), value

    def block(weights, memory, numbers) -> Moved:
        carry = weights, memory, jnp.array(True)
        if len(numbers) == 1:
            (weights, memory, finite), mean = update(carry, numbers[0])
        else:
            (weights, memory, finite), losses = jax.lax.scan(update, carry, numbers)
            mean = jnp.mean(losses)
        finite = finite & tree_finite(weights) if watch else None
        return Moved(weights, memory, {"loss": mean}, finite)

    return run_blocks(block, weights, optimizer.init(weights), blocks, every, **hooks)


def _blank(rows: int, like: Any) -> Array:
    """A log of numbers of this shape, still empty."""
    nothing = jnp.nan if jnp.issubdtype(like.dtype, jnp.inexact) else 0
    return jnp.full((rows, *like.shape), nothing, like.dtype)


def _put(logs: Trace, number: Int[Array, ""], now: Trace) -> dict[str, Array]:
    return {name: log.at[number].set(now[name]) for name, log in logs.items()}
