r"""Training linear attention on drawn prompts: a fixed set, or fresh ones at every step."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array

from limelight._core.errors import InputError, check_between, check_least, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments.base import Experiment
from limelight.experiments.prompt_flow import PromptFlow
from limelight.models.linear_attention import LinearAttention
from limelight.train._loop import Moved, run_blocks
from limelight.worlds.prompts import Prompts


@kind("experiment.prompt_descent")
class PromptDescent(Experiment):
    r"""Gradient descent on prompts, beside the flow of the population from the same start.

    A fixed set of $P$ prompts enters through three moments: with $z = \mathrm{vec}(x_q\beta^\top)$
    and $a = \mathrm{vec}A$ the loss is $c - 2 b^\top a + a^\top Ca$, so that a step costs $d^4$
    whatever $P$.

    Leaves the population's loss after the last step over the least one (`over`), that of the best
    matrix for the drawn set (`fitted`), and the times at which the levels are passed, by descent
    (`time`) and by the flow (`flow.time`).

    Args:
        dimension: Length of a covariate.
        examples: Examples of a prompt.
        spread: Of the spectrum.
        model: The layer.
        prompts: Prompts of a fixed set; 0 for fresh ones at every step.
        batch: Fresh prompts per step.
        whiten: Whether covariates are centred and tasks whitened over the set, as in the released
            code.
        rate: $\eta$, of the half of the mean squared error.
        steps: Steps.

    Example:
        >>> PromptDescent(dimension=3, prompts=100).prompts
        100

    Reference: zhang2024; Zhang et al. (2025), Appendix on implementation, and its code.
    """

    double: ClassVar[bool] = True
    gaps: ClassVar[tuple[str, ...] | None] = ("fitted", "time", "flow.time")

    dimension: int = eqx.field(static=True, default=4)
    examples: int = eqx.field(static=True, default=31)
    spread: Number = 0.6
    model: LinearAttention = LinearAttention(scale=0.3)
    prompts: int = eqx.field(static=True, default=20_000)
    batch: int = eqx.field(static=True, default=64)
    whiten: bool = eqx.field(static=True, default=False)
    rate: Number = 0.25
    steps: int = eqx.field(static=True, default=20_000)

    @property
    def flow(self) -> PromptFlow:
        """The flow of the population."""
        return PromptFlow(self.dimension, self.examples, "linear", self.spread, self.model)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Follow the flow, then descend from the same start."""
        flowed, law = self.flow.trial(key), self.flow.law
        k_data, k_steps = named(key, "data", "steps")
        middles = (law.levels[:-1] + law.levels[1:]) / 2
        pull, fitted = self._fixed(k_data) if self.prompts else (self._fresh(k_steps), None)

        def step(model: Any, times: Array, numbers: Array) -> Moved:
            (number,) = numbers
            matrix, back = jax.vjp(lambda m: m.matrix, model)
            (move,) = back(pull(number, matrix))
            model = jax.tree.map(lambda w, v: w + self.rate * v, model, move)
            below = law.loss(model.matrix) < middles
            now = jnp.where(jnp.isnan(times) & below, (number + 1) * self.rate, times)
            return Moved(model, now, {})

        def over(matrix: Array) -> Array:
            return law.loss(matrix) / law.levels[-1] - 1

        never = jnp.full(self.dimension, jnp.nan)
        end = run_blocks(step, self.flow.begin(key, law), never, self.steps)
        return {
            "over": over(end.weights.matrix),
            "fitted": jnp.asarray(jnp.nan) if fitted is None else over(fitted),
            "time": end.memory,
            "flow.time": flowed["time"],
            "flow.finished": flowed["finished"],
        }

    def _fixed(self, key: PRNGKey) -> tuple[Callable[[Array, Array], Array], Array]:
        """The pull of a drawn set on a matrix, and the set's best matrix."""
        d = self.dimension
        k_x, k_w = named(key, "x", "w")
        scale = jnp.sqrt(Prompts(d, spread=self.spread).spectrum)
        x = jr.normal(k_x, (self.prompts, self.examples + 1, d)) * scale[None, None, :]
        w = jr.normal(k_w, (self.prompts, d))
        if self.whiten:
            x, w = x - jnp.mean(x, axis=0, keepdims=True), w - jnp.mean(w, axis=0, keepdims=True)
            w = jnp.linalg.solve(jnp.linalg.cholesky(w.T @ w / self.prompts), w.T).T
        y = jnp.einsum("pni,pi->pn", x, w)
        beta = jnp.einsum("pn,pni->pi", y[:, :-1], x[:, :-1]) / self.examples
        z = (x[:, -1, :, None] * beta[:, None, :]).reshape(self.prompts, d * d)
        curvature, slope = z.T @ z / self.prompts, y[:, -1] @ z / self.prompts
        pull = lambda _, matrix: (slope - curvature @ matrix.ravel()).reshape(d, d)
        return pull, jnp.linalg.solve(curvature, slope).reshape(d, d)

    def _fresh(self, key: PRNGKey) -> Callable[[Array, Array], Array]:
        """The pull of fresh prompts, others at every step."""
        world = Prompts(self.dimension, self.examples, self.spread)

        def pull(number: Array, matrix: Array) -> Array:
            asked = jax.vmap(world.reduced)(jr.split(jr.fold_in(key, number), self.batch))
            beta = asked.statistics[:, 0]
            guess = jnp.einsum("bi,ij,bj->b", asked.query, matrix, beta)
            off = (asked.target - guess) / self.batch
            return jnp.einsum("b,bi,bj->ij", off, asked.query, beta)

        return pull

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.flow.check()
        check_least(self, ("batch", "steps"))
        check_least(self, ("prompts",), 0)
        check_between(self, ("spread",), 0, 1)
        check_positive(self, ("rate",))
        if 0 < self.prompts < self.dimension**2:
            raise InputError(
                f"prompts = {self.prompts} fix no matrix", f"at least {self.dimension**2}, or 0"
            )
