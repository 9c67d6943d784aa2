r"""What is read of a training course as it goes by: levels that the loss rests at, and when.

The loss falls all the way, at the speed $2|\theta'|^2$, so one pass is enough. Level $m$ is *seen*
where the slowest moment near $L_m$ is ten times slower than the fastest ones before and after it.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from limelight._core.types import Number, Scalar
from limelight.theory.ode import Moment
from limelight.theory.zhang2024.population import PromptLoss

#: A window about a level, of the smaller step beside it; and how slow a plateau is to be.
WINDOW, SLOW = 0.1, 0.1


class Course(NamedTuple):
    """What was read so far.

    Args:
        loss: The loss.
        excess: The loss above the least one.
        crossed: When the loss first fell below each threshold; NaN before.
        peak: The largest speed between neighbouring levels.
        valley: The smallest speed in the window of each inner level.
        offset: Distance of the loss from the level there, of the smaller step beside it.
        cosine: Between the layer there and the one that has learned so many eigenvectors.
        dwell: Time in the window.
        looked: The loss at given times.
        apart: The largest distance from a closed form, where there is one.
    """

    loss: Scalar
    excess: Scalar
    crossed: Float[Array, " thresholds"]
    peak: Float[Array, " levels"]
    valley: Float[Array, " inner"]
    offset: Float[Array, " inner"]
    cosine: Float[Array, " inner"]
    dwell: Float[Array, " inner"]
    looked: Float[Array, " looks"]
    apart: Scalar


class Watcher:
    """Reads a course step by step.

    Args:
        law: The loss.
        matrix: The layer's matrix from its weights.
        times: When to look.
        closed: The loss at a time, by a closed form.
    """

    def __init__(
        self,
        law: PromptLoss,
        matrix: Callable[[Array], Array],
        times: Array,
        closed: Callable[[Array], Array] | None = None,
    ):
        self.law, self.matrix, self.times, self.closed = law, matrix, times, closed
        self.levels = law.levels
        steps = self.levels[:-1] - self.levels[1:]
        self.smaller = jnp.minimum(steps[:-1], steps[1:])
        middles = (self.levels[:-1] + self.levels[1:]) / 2
        whole, least = law.constant - self.levels[-1], self.levels[-1]
        self.thresholds = jnp.append(middles, least + whole * jnp.array([0.5, 0.01]))

    def begin(self, start: Array) -> Course:
        """Nothing read yet."""
        matrix, d = self.matrix(start), len(self.law.slope)
        none = jnp.full(d - 1, jnp.nan)
        return Course(
            self.law.loss(matrix),
            self.law.excess(matrix),
            jnp.full(d + 2, jnp.nan),
            jnp.zeros(d),
            jnp.full(d - 1, jnp.inf),
            none,
            none,
            jnp.zeros(d - 1),
            jnp.full(self.times.shape, jnp.nan),
            jnp.zeros(()),
        )

    def __call__(self, kept: Course, here: Moment, there: Moment) -> Course:
        """One more step."""
        matrix, levels, inner = self.matrix(there.state), self.levels, self.levels[1:-1]
        loss, speed = self.law.loss(matrix), 2 * jnp.sum(there.velocity**2)
        fell, took = kept.loss - loss, there.time - here.time
        when = here.time + took * (kept.loss - self.thresholds) / jnp.where(fell > 0, fell, 1.0)
        now = jnp.isnan(kept.crossed) & (loss < self.thresholds)
        between = (loss > levels[1:]) & (loss <= levels[:-1])
        half = WINDOW * self.smaller
        near = jnp.abs(loss - inner) <= half
        slowest = near & (speed < kept.valley)
        put = lambda new, old: jnp.where(slowest, new, old)
        shared = jnp.minimum(kept.loss, inner + half) - jnp.maximum(loss, inner - half)
        share = jnp.where(fell > 0, jnp.maximum(shared, 0.0) / jnp.where(fell > 0, fell, 1.0), near)
        passed = (self.times > here.time) & (self.times <= there.time)
        line = kept.loss - fell * (self.times - here.time) / took
        off = jnp.abs(loss - self.closed(there.time)) if self.closed else 0.0
        return Course(
            loss,
            self.law.excess(matrix),
            jnp.where(now, when, kept.crossed),
            jnp.where(between, jnp.maximum(kept.peak, speed), kept.peak),
            put(speed, kept.valley),
            put(jnp.abs(loss - inner) / self.smaller, kept.offset),
            put(self._cosines(matrix), kept.cosine),
            kept.dwell + took * share,
            jnp.where(passed, line, kept.looked),
            jnp.maximum(kept.apart, off),
        )

    def _cosines(self, matrix: Array) -> Array:
        """With principal component regression on the first m eigenvectors, m = 1, …, d - 1."""
        best = self.law.minimum
        products, squares = jnp.cumsum(matrix.diagonal() * best), jnp.cumsum(best**2)
        return (products / jnp.sqrt(squares * jnp.sum(matrix**2)))[:-1]

    def above(self, kept: Course, last: int, share: Number) -> Bool[Array, ""]:
        """Whether the loss is still farther above a level than a share of the step to it."""
        left = kept.excess if last == len(self.levels) - 1 else kept.loss - self.levels[last]
        return left > share * (self.levels[last - 1] - self.levels[last])

    def seen(self, kept: Course) -> Bool[Array, " inner"]:
        """Which inner levels are plateaus."""
        return kept.valley <= SLOW * jnp.minimum(kept.peak[:-1], kept.peak[1:])
