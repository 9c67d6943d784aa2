r"""Gradient flow in three numbers: the paper's single rate, in the limit of small steps.

With one rate $\eta$ for all weights, gradient descent follows

$$\dot\alpha = -\partial_\alpha L, \quad
  \dot\gamma = -\frac{\kappa}{D(C-1)} \partial_\gamma L, \quad
  \dot\rho = -\frac{\kappa}{D(D-C)} \partial_\rho L, \quad \kappa = 1,$$

at the time $\eta t$. The loss is up to $10^5$ times more curved in $\alpha$ than in attention, so
explicit steps need millions of them. An implicit method (Rosenbrock's, of second order, as in
MATLAB's `ode23s`) follows the same path in hundreds.

Reference: jelassi2022, Parametrization 3.1 ($\eta$ as small as one likes, $T \ge poly(d)/\eta$) and
Lemma 4.3.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from limelight._core.types import Number
from limelight.theory.jelassi2022.descent import loss
from limelight.theory.jelassi2022.layer import Layer, LayerState
from limelight.theory.jelassi2022.population import Population

#: Coefficients of the method.
DELTA, LAST = 1 / (2 + 2**0.5), 6 + 2**0.5
#: The error of a step that is let pass, absolute and relative, and the first step.
TOLERANCE, FIRST = 1e-5, 1e-6


class Flow(NamedTuple):
    r"""The path, one value per step; what was not needed repeats the end.

    Args:
        time: $\eta t$.
        state: $\alpha, \gamma, \rho$.
        velocity: Their derivatives.
        steps: Steps that were taken.
    """

    time: Float[Array, " steps"]
    state: Float[Array, "steps 3"]
    velocity: Float[Array, "steps 3"]
    steps: Int[Array, ""]


def flow(
    population: Population,
    layer: Layer,
    start: LayerState,
    until: Number,
    *,
    ratio: Number = 1.0,
    most: int = 2000,
    tolerance: float = TOLERANCE,
) -> Flow:
    r"""Follow the flow up to a time.

    Args:
        population: The law of the data.
        layer: The network.
        start: The first state.
        until: The last time.
        ratio: $\kappa$, how much faster attention moves than the paper's single rate has it.
        most: Steps at most; a run that needs more ends before `until`, and its last time says so.
        tolerance: Error of a step, absolute and relative.
    """
    C, D = layer.size, layer.tokens
    mobility = jnp.array([1.0, ratio / (D * (C - 1)), ratio / (D * (D - C))])
    value = lambda y: loss(population, layer, LayerState(y[0], y[1], y[2]))
    slope, bend = jax.grad(value), jax.hessian(value)
    velocity = lambda y: -mobility * slope(y)
    first = jnp.stack([jnp.asarray(x, float) for x in start])
    row = lambda entry: jnp.broadcast_to(entry, (most + 1, *jnp.shape(entry)))
    paths = (row(jnp.zeros(())), row(first), row(velocity(first)))

    def attempt(carry):
        count, tries, step, (times, states, velocities) = carry
        t, y, v = times[count], states[count], velocities[count]
        step = jnp.minimum(step, until - t)
        jacobian = -mobility[:, None] * bend(y)
        solve = lambda b: jnp.linalg.solve(jnp.eye(3) - step * DELTA * jacobian, b)
        k1 = solve(v)
        middle = velocity(y + 0.5 * step * k1)
        k2 = solve(middle - k1) + k1
        after = y + step * k2
        ahead = velocity(after)
        k3 = solve(ahead - LAST * (k2 - middle) - 2 * (k1 - v))
        off = step / 6 * jnp.abs(k1 - 2 * k2 + k3) / (tolerance * (1 + jnp.abs(y)))
        error = jnp.max(off)
        good = jnp.isfinite(error) & (error <= 1)
        factor = jnp.where(error > 0, 0.8 * error ** (-1 / 3), 5.0)
        step_after = step * jnp.where(jnp.isfinite(factor), jnp.clip(factor, 0.2, 5.0), 0.2)
        place = count + 1
        put = lambda log, entry: jnp.where(good, log.at[place].set(entry), log)
        logs = (put(times, t + step), put(states, after), put(velocities, ahead))
        return count + good, tries + 1, step_after, logs

    def going(carry):
        count, tries, _, (times, *_) = carry
        return (count < most) & (tries < 4 * most) & (times[count] < until)

    begun = (jnp.array(0), jnp.array(0), jnp.asarray(FIRST, float), paths)
    count, _, _, (times, states, velocities) = jax.lax.while_loop(going, attempt, begun)
    seen = jnp.minimum(jnp.arange(most + 1), count)
    return Flow(times[seen], states[seen], velocities[seen], count)
