r"""Population gradient descent as a recursion in three numbers.

Same-set entries of $A$ are equal, $D(C-1)$ of them, and so are the $D(D-C)$ cross-set ones; by the
chain rule the steps of full gradient descent on $(A, v)$ are

$$\alpha \mathrel{-}= \eta_v \partial_\alpha L, \quad
  \gamma \mathrel{-}= \frac{\eta_A}{D(C-1)} \partial_\gamma L, \quad
  \rho \mathrel{-}= \frac{\eta_A}{D(D-C)} \partial_\rho L.$$

Reference: jelassi2022, Lemmas 4.1 to 4.3, which say so up to constants and with high probability;
on the population the reduction is exact.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from limelight._core.types import Number, Scalar
from limelight.theory.jelassi2022.layer import Layer, LayerState
from limelight.theory.jelassi2022.population import Population

#: Association has begun when $\gamma - \rho$ is this large.
ONSET = 0.1


class Rates(NamedTuple):
    r"""Step sizes $\eta_v$ and $\eta_A$: equal in the paper, far apart where time matters.

    Example:
        >>> Rates(value=0.01, attention=0.01).attention
        0.01
    """

    value: Number
    attention: Number


class Watched(NamedTuple):
    r"""What is followed at every step.

    Args:
        step: Steps done.
        gap: Smallest $\gamma - \rho$ after the start.
        rising: Whether $\gamma$ rose at every step.
        faster: Whether $|\Delta\rho| < \Delta\gamma$ at every step.
        above: Whether $\gamma > |\rho|$ after every step.
        top: Largest $\alpha$ so far.
        onset: First step with $\gamma - \rho$ at least `ONSET`; -1 before it.
        level: The error there.
        halved: First step whose error is at most half of that; -1 before it.
    """

    step: Int[Array, ""]
    gap: Scalar
    rising: Bool[Array, ""]
    faster: Bool[Array, ""]
    above: Bool[Array, ""]
    top: Scalar
    onset: Int[Array, ""]
    level: Scalar
    halved: Int[Array, ""]


class Snapshot(NamedTuple):
    r"""What is read at one step, or stacked at several.

    The state, the population's loss and error $P[yF \le 0]$, the gain $G$, and the stiffness
    $\eta_v \partial^2_\alpha L$: descent in $\alpha$ is stable below 2.
    """

    step: Int[Array, "..."]
    alpha: Float[Array, "..."]
    gamma: Float[Array, "..."]
    rho: Float[Array, "..."]
    loss: Float[Array, "..."]
    error: Float[Array, "..."]
    gain: Float[Array, "..."]
    stiffness: Float[Array, "..."]


def loss(population: Population, layer: Layer, state: LayerState) -> Scalar:
    r"""$L = E \log(1 + e^{-yF})$."""
    return jnp.sum(population.weights * jax.nn.softplus(-population.outputs(layer, state)))


def error(population: Population, layer: Layer, state: LayerState) -> Scalar:
    r"""$P[yF \le 0]$, exact up to the population's lost mass; no number counts as wrong."""
    return jnp.sum(population.weights * ~(population.outputs(layer, state) > 0))


def gradient(population: Population, layer: Layer, state: LayerState) -> tuple[LayerState, Scalar]:
    r"""The gradient of the loss in the three numbers, and the error on the way.

    $\nabla L = -E[r \nabla (yF)]$ with $r = 1/(1 + e^{yF})$.
    """

    def weighed(state):
        output = population.outputs(layer, state)
        pull = jax.lax.stop_gradient(population.weights * jax.nn.sigmoid(-output))
        return -jnp.sum(pull * output), jnp.sum(population.weights * ~(output > 0))

    return jax.grad(weighed, has_aux=True)(LayerState(*(jnp.asarray(x, float) for x in state)))


def change(layer: Layer, slope: LayerState, rates: Rates) -> LayerState:
    """What one step of full gradient descent adds to the three numbers."""
    C, D = layer.size, layer.tokens
    return LayerState(
        -rates.value * slope.alpha,
        -rates.attention / (D * (C - 1)) * slope.gamma,
        -rates.attention / (D * (D - C)) * slope.rho,
    )


def descend(
    population: Population,
    layer: Layer,
    rates: Rates,
    start: LayerState,
    reads: Sequence[int] | Int[Array, " reads"],
    *,
    stop: bool | Bool[Array, ""] = False,
) -> tuple[LayerState, Watched, Snapshot]:
    r"""Run the recursion, and read everything at the given steps; the first should be 0.

    A state that is not finite ends the run: later readings repeat the step at which it did.

    Args:
        population: The law of the data.
        layer: The network.
        rates: Step sizes.
        start: The first state.
        reads: Steps at which everything is read, rising.
        stop: Whether to stand still once $\alpha$ has passed a maximum and $\gamma > 1$.

    Returns:
        The last state, what was followed, and one row per reading.

    Example:
        >>> import jax.random as jr
        >>> from limelight.theory.jelassi2022 import Layer, LayerState, condensed, drawn
        >>> population = condensed(drawn(jr.key(0), 8, 2, 0.5, 100), 2)
        >>> layer = Layer(tokens=8, size=2)
        >>> path = descend(population, layer, Rates(0.01, 0.01), LayerState(0.1, 0.0, 0.0), [0, 10])
        >>> type(path).__name__
        'tuple'
    """
    start = LayerState(*(jnp.asarray(x, float) for x in start))

    def done(state: LayerState, watch: Watched):
        return stop & (state.gamma > 1) & (state.alpha < watch.top)

    def advance(carry):
        state, watch = carry
        slope, wrong = gradient(population, layer, state)
        move = change(layer, slope, rates)
        return LayerState(*map(jnp.add, state, move)), _follow(watch, state, move, wrong)

    def until(carry, goal):
        finite = lambda state: jnp.isfinite(state.alpha + state.gamma + state.rho)
        more = lambda carry: (carry[1].step < goal) & finite(carry[0]) & ~done(*carry)
        state, watch = jax.lax.while_loop(more, advance, carry)
        return (state, watch), _snapshot(population, layer, rates, state, watch)

    (state, watch), snapshots = jax.lax.scan(
        until, (start, _watch(start)), jnp.asarray(reads, dtype=int)
    )
    return state, watch, snapshots


def spaced(steps: int, reads: int) -> tuple[int, ...]:
    """Steps to read at: 0, then evenly on a logarithmic scale, never twice the same where possible.

    Example:
        >>> spaced(1000, 5)
        (0, 1, 10, 100, 1000)
    """
    tail = np.geomspace(1, max(steps, 1), max(reads - 1, 1)).round().astype(int)
    return (0, *(int(t) for t in np.minimum(np.maximum(tail, np.arange(1, len(tail) + 1)), steps)))


def curvature(population: Population, layer: Layer, state: LayerState) -> Scalar:
    r"""$\partial^2_\alpha L$."""
    at = lambda alpha: loss(population, layer, LayerState(alpha, state.gamma, state.rho))
    return jax.grad(jax.grad(at))(jnp.asarray(state.alpha, float))


def _watch(start: LayerState) -> Watched:
    yes, never = jnp.array(True), jnp.array(-1)
    alpha = jnp.asarray(start.alpha)
    infinite = jnp.full_like(alpha, jnp.inf)
    return Watched(jnp.array(0), infinite, yes, yes, yes, alpha, never, infinite, never)


def _follow(watch: Watched, before: LayerState, move: LayerState, wrong: Scalar) -> Watched:
    """Take in one step; `wrong` is the error before it."""
    after = LayerState(*map(jnp.add, before, move))
    begun = (watch.onset < 0) & (before.gamma - before.rho >= ONSET)
    level = jnp.where(begun, wrong, watch.level)
    halved = (watch.halved < 0) & ((watch.onset >= 0) | begun) & (wrong <= level / 2)
    return Watched(
        step=watch.step + 1,
        gap=jnp.minimum(watch.gap, after.gamma - after.rho),
        rising=watch.rising & (move.gamma > 0),
        faster=watch.faster & (jnp.abs(move.rho) < move.gamma),
        above=watch.above & (after.gamma > jnp.abs(after.rho)),
        top=jnp.maximum(watch.top, after.alpha),
        onset=jnp.where(begun, watch.step, watch.onset),
        level=level,
        halved=jnp.where(halved, watch.step, watch.halved),
    )


def _snapshot(
    population: Population, layer: Layer, rates: Rates, state: LayerState, watch: Watched
) -> Snapshot:
    return Snapshot(
        watch.step,
        jnp.asarray(state.alpha),
        jnp.asarray(state.gamma),
        jnp.asarray(state.rho),
        loss(population, layer, state),
        error(population, layer, state),
        layer.gain(state),
        rates.value * curvature(population, layer, state),
    )
