r"""Differential equations followed step by step, with something watched on the way.

A path may be 100,000 steps long; only what `watch` keeps of it is held in memory.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.types import Number, Scalar

Kept = TypeVar("Kept")
State = Float[Array, " size"]

#: Dormand and Prince's coefficients: the stages, and the error of the fifth order.
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


class Moment(NamedTuple):
    """A place on a path: time, state, velocity."""

    time: Scalar
    state: State
    velocity: State


Watch = Callable[[Kept, Moment, Moment], Kept]


def follow_flow(
    field: Callable[[State], State],
    start: State,
    watch: Watch,
    kept: Kept,
    going: Callable[[Kept], Bool[Array, ""]],
    *,
    most: int,
    rtol: Number = 1e-6,
    atol: Number = 1e-10,
    first: Number = 1e-2,
    until: Number = jnp.inf,
) -> tuple[Moment, Kept, Int[Array, ""]]:
    """Follow $y' = f(y)$ by Dormand and Prince's method of order 5(4), each path at its own pace.

    Args:
        field: $f$.
        start: The first state.
        watch: What is kept after an accepted step, from what was kept and the two ends.
        kept: What is kept at the start.
        going: Whether to go on.
        most: Steps at most, rejected ones among them.
        rtol: Relative error of a step.
        atol: Absolute error of a step.
        first: The first step.
        until: A time that no step passes; to end there, `going` must say so.

    Returns:
        The last point, what was kept, and the steps that were tried.
    """

    def attempt(carry):
        here, step, kept, tries = carry
        step = jnp.minimum(step, until - here.time)
        slopes, ahead = [here.velocity], here.state
        for row in STAGES:
            moved = sum(a * k for a, k in zip(row, slopes, strict=True) if a)
            ahead = here.state + step * moved
            slopes.append(field(ahead))
        off = step * sum(e * k for e, k in zip(ERROR, slopes, strict=True) if e)
        scale = atol + rtol * jnp.maximum(jnp.abs(here.state), jnp.abs(ahead))
        error = jnp.sqrt(jnp.mean((off / scale) ** 2))
        good = error <= 1
        there = Moment(here.time + step, ahead, slopes[-1])
        after = watch(kept, here, there)
        pick = lambda new, old: jax.tree.map(lambda a, b: jnp.where(good, a, b), new, old)
        pace = jnp.clip(0.9 * jnp.maximum(error, 1e-10) ** -0.2, 0.2, 5.0)
        pace = jnp.where(jnp.isfinite(error), pace, 0.2)
        return pick(there, here), step * pace, pick(after, kept), tries + 1

    begun = (_first_point(field, start), jnp.asarray(first, float), kept, jnp.array(0))
    end, _, kept, tries = jax.lax.while_loop(
        lambda carry: going(carry[2]) & (carry[3] < most), attempt, begun
    )
    return end, kept, tries


def flow_at(
    field: Callable[[State], State],
    start: State,
    times: Float[Array, " looks"],
    read: Callable[[State], Kept],
    *,
    most: int,
    rtol: Number = 1e-9,
    atol: Number = 1e-11,
) -> tuple[Kept, Int[Array, ""]]:
    """What is read of a flow at given times, the first of them 0, and the steps of the longest leg.

    The first step of a leg is a hundredth of it; `most` bounds the steps of a leg. A leg that needs
    more ends early: compare the steps with `most` where that matters.
    """

    def leg(state, span):
        going = lambda time: time < span
        watch = lambda kept, here, there: there.time
        end, _, tries = follow_flow(
            field, state, watch, jnp.zeros(()), going,
            most=most, rtol=rtol, atol=atol, first=span / 100, until=span,
        )  # fmt: skip
        return end.state, (read(end.state), tries)

    _, (found, tries) = jax.lax.scan(leg, start, jnp.diff(times))
    join = lambda one, rest: jnp.concatenate([one[None], rest])
    return jax.tree.map(join, read(start), found), jnp.max(tries)


def follow_descent(
    field: Callable[[State], State],
    start: State,
    watch: Watch,
    kept: Kept,
    going: Callable[[Kept], Bool[Array, ""]],
    *,
    most: int,
    rate: Number,
) -> tuple[Moment, Kept, Int[Array, ""]]:
    """Euler's steps of one size, gradient descent: arguments and results as in `follow_flow`."""

    def move(carry):
        here, kept, steps = carry
        ahead = here.state + rate * here.velocity
        there = Moment(here.time + rate, ahead, field(ahead))
        return there, watch(kept, here, there), steps + 1

    return jax.lax.while_loop(
        lambda carry: going(carry[1]) & (carry[2] < most),
        move,
        (_first_point(field, start), kept, jnp.array(0)),
    )


def _first_point(field: Callable[[State], State], start: State) -> Moment:
    return Moment(jnp.zeros((), start.dtype), start, field(start))
