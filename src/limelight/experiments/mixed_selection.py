r"""Attention under a nonlinear head, which may keep several tokens of a sample."""

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.errors import InputError, check_least, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments._choices import choice_of, chosen_tokens, draw_batch, with_room
from limelight.experiments.base import Experiment
from limelight.experiments.token_selection import EPS
from limelight.models.token_selector import TokenSelector
from limelight.theory.tarzanagh2023.compiled import least_norm_weights
from limelight.train._anchored import Batch
from limelight.train._loop import Moved, run_blocks
from limelight.worlds.base import dataset
from limelight.worlds.selections import Selections

#: The notebooks' two thresholds: a token above the second is kept, below the first it is not.
LOW, HIGH = 1e-6, 1e-3


@kind("experiment.mixed_selection")
class MixedSelection(Experiment):
    r"""Train $W$ under the head $\sum_k\mathrm{relu}(V^\top m)_k$ and classify every seed.

    Leaves why the released notebook would skip a seed: all labels are 1 (`positive`), a softmax
    weight lies between 1e-6 and 1e-3 (`between`), none is below 1e-6 (`finite`), or no $W$
    separates what is kept from the rest (`infeasible`); `kept` if none of these. Then cosines of
    $W$: to $W_{fin} + RW_{mm}$ with the fitted $R$ (`cosine`), of its part orthogonal to the
    differences inside the kept sets to $W_{mm}$ (`cosine.orthogonal`), and to the SVM of one token
    each (`cosine.one`).

    Args:
        world: A world of the law `mixed`.
        samples: $n$.
        rate: $\eta$.
        steps: Steps.
        most_samples: Room; 0 for what the cells of a sweep need.

    Example:
        >>> MixedSelection(steps=10).check()

    Reference: tarzanagh2023, nonlinear heads (S12), and the notebook on several tokens.
    """

    double: ClassVar[bool] = True

    world: Selections = Selections("mixed", tokens=4)
    samples: Number = 3
    rate: Number = 0.1
    steps: int = eqx.field(static=True, default=2000)
    most_samples: int = eqx.field(static=True, default=0)

    def with_room(self, cells: Sequence[Any]) -> "MixedSelection":
        """Room for the largest cell."""
        return with_room(self, cells)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train, then compare with what is kept."""
        k_truth, k_data, k_model = named(key, "truth", "data", "model")
        room = self.most_samples or int(self.samples)
        batch, truth = draw_batch(key, self.world, self.samples, room)
        data = dataset(self.world, k_data, self.world.draw(k_truth), room)
        start = TokenSelector().init(k_model, self.world, truth)

        def loss(W: Array) -> Array:
            model = eqx.tree_at(lambda m: m.weights, start, W)
            margins = data.label * jax.vmap(model)(data)
            return jnp.sum(jnp.where(batch.used, jax.nn.softplus(-margins), 0.0))

        def step(W: Array, number: Array) -> tuple[Array, None]:
            G = -jax.grad(loss)(W)
            return W + self.rate * G / (jnp.linalg.norm(G) + EPS), None

        def block(weights: Any, memory: Any, numbers: Array) -> Moved:
            return Moved(jax.lax.scan(step, weights, numbers)[0], memory, {})

        W = run_blocks(block, start.matrix, None, 1, self.steps).weights
        positive = jnp.all((data.label > 0) | ~batch.used)
        return {"positive": positive, **self._readings(batch, W)}

    def _readings(self, batch: Batch, W: Array) -> dict[str, Array]:
        n, T = batch.kept.shape
        there = batch.kept & batch.used[:, None]
        s = jnp.where(there, jax.nn.softmax(batch.logits(W), axis=1), 1.0)
        inside, outside = there & (s > HIGH), there & (s <= LOW)
        ids = chosen_tokens(batch, W)
        own = jnp.take_along_axis(batch.tokens, ids[:, None, None], axis=1)
        rows = (own - batch.tokens)[:, :, :, None] * batch.queries[:, None, None, :]
        rows = rows.reshape(n * T, -1)
        equal = jnp.where(inside.ravel()[:, None], rows, 0.0)
        back = jnp.linalg.pinv(equal, rtol=1e-10)
        across = lambda flat: flat - (flat @ back) @ equal  # off what the equalities span
        outer = jnp.where(outside.ravel()[:, None], rows, 0.0)
        outer = outer - (outer @ back) @ equal
        solved = least_norm_weights(outer @ outer.T, jnp.ones(n * T), outside.ravel())
        Wmm, flat = solved.multipliers @ outer, W.ravel()
        ratios = jnp.log(jnp.take_along_axis(s, ids[:, None], axis=1) / s)
        fin = back @ jnp.where(inside, ratios, 0.0).ravel()
        part = across(flat)
        fitted = fin + Wmm * (part @ Wmm) / (Wmm @ Wmm)
        cosine = lambda a, b: a @ b / (jnp.linalg.norm(a) * jnp.linalg.norm(b))
        found = {
            "between": jnp.any(there & (s > LOW) & (s <= HIGH)),
            "finite": ~jnp.any(outside),
            "infeasible": jnp.any(outside) & ~solved.feasible,
        }
        one = choice_of(batch, ids)
        return {
            **found,
            "several": jnp.sum(jnp.sum(inside, axis=1) > 1),
            "error": solved.error,
            "cosine": cosine(flat, fitted),
            "cosine.orthogonal": cosine(part, Wmm),
            "cosine.one": cosine(flat, one.weights.ravel()),
        }

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        check_least(self, ("samples", "steps"))
        check_least(self, ("most_samples",), 0)
        check_positive(self, ("rate",))
        if self.world.law != "mixed":
            raise InputError(f"world.law = {self.world.law} has a linear head", "mixed")
