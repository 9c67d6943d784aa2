r"""Linear rules on patches in hidden sets: natural, fitted and searched, tested on fresh draws."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import unit
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.experiments.base import Experiment
from limelight.theory.jelassi2022.blurred import blurred_error
from limelight.train._loop import Moved, descend, run_blocks
from limelight.train.optimizers import make_optimizer
from limelight.worlds import Spatial, dataset
from limelight.worlds._partitions import members
from limelight.worlds.spatial import Structure

#: Test images drawn at a time.
BATCH = 10_000


@kind("experiment.linear_rules")
class LinearRules(Experiment):
    r"""How often $\mathrm{sign} \sum_j \langle w_j, X_j\rangle$ is wrong, for three ways to $w$.

    `natural` is $w_j = w^*$; `logistic` is fitted to examples; `searched` has $w_j = a_j w^*$ with
    the $a_j$ found by descent on the exact error, blurred a little, from a random start. Each
    leaves the number of `draws` fresh images that it gets wrong (`wrong.*`); a tie is decided by a
    coin.

    Args:
        tokens: Patches.
        size: Patches in a set.
        density: Probability of a mark in a random set.
        dimension: Length of a patch; the fewer, the better the fit.
        examples: Examples of the fit.
        iterations: Accelerated gradient steps of the fit.
        search: Steps of the search.
        spread: How far from 1 the search starts.
        draws: Fresh test images.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.LinearRules(tokens=16, density=0.5).check()

    Reference: jelassi2022, Theorem 3.1.
    """

    gaps: ClassVar[tuple[str, ...] | None] = ()

    tokens: int = eqx.field(static=True, default=36)
    size: int = eqx.field(static=True, default=4)
    density: Number = 0.4
    dimension: int = eqx.field(static=True, default=4)
    examples: int = eqx.field(static=True, default=20_000)
    iterations: int = eqx.field(static=True, default=150)
    search: int = eqx.field(static=True, default=300)
    spread: Number = 0.3
    draws: int = eqx.field(static=True, default=1_000_000)

    @property
    def world(self) -> Spatial:
        """The law of the images."""
        return Spatial(self.tokens, self.size, self.dimension, self.density, partition="strided")

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Fit, search, test."""
        k_truth, k_data, k_search, k_test = named(key, "truth", "data", "search", "test")
        truth = self.world.draw(k_truth)
        fitted, slope = self._fit(k_data, truth)
        along = fitted @ truth.feature
        across = jnp.linalg.norm(fitted - jnp.outer(along, truth.feature))
        searched, value = self._search(k_search, truth)
        weights = jnp.stack([jnp.ones(self.tokens), along, searched])
        noise = self.world.deviation * jnp.array([0.0, 1.0, 0.0]) * across
        wrong = self._test(k_test, truth, weights, noise)
        return {
            "wrong.natural": wrong[0],
            "wrong.logistic": wrong[1],
            "wrong.searched": wrong[2],
            "fit.slope": slope,
            "search.value": value,
            "search.spread": jnp.std(searched) / jnp.mean(searched),
        }

    def _fit(
        self, key: PRNGKey, truth: Structure
    ) -> tuple[Float[Array, "tokens dimension"], Scalar]:
        """Logistic regression by accelerated gradient descent; the last slope says how well."""
        data = dataset(self.world, key, truth, self.examples)
        signed = data.tokens.reshape(self.examples, -1) * data.label[:, None]
        loss = lambda w: jnp.mean(jax.nn.softplus(-signed @ w))
        # The logistic loss bends at most a quarter as much as the squares of its inputs.
        power = lambda _, u: unit(signed.T @ (signed @ u) / self.examples)
        top = jax.lax.fori_loop(0, 20, power, jnp.ones(signed.shape[1]))
        rate = 3.0 / jnp.linalg.norm(signed.T @ (signed @ unit(top)) / self.examples)

        def accelerated(w, before, numbers) -> Moved:
            t = numbers[0] * 1.0
            ahead = w + t / (t + 3.0) * (w - before)
            return Moved(ahead - rate * jax.grad(loss)(ahead), w, {})

        start = jnp.zeros(signed.shape[1])
        w = run_blocks(accelerated, start, start, self.iterations).weights
        slope = jnp.linalg.norm(jax.grad(loss)(w))
        return w.reshape(self.tokens, self.dimension), slope

    def _search(self, key: PRNGKey, truth: Structure) -> tuple[Float[Array, " tokens"], Scalar]:
        """Descent on the blurred error over one weight a patch."""
        groups = members(truth.sets, self.size)
        error = lambda a: blurred_error(a, groups, self.density)
        optimizer = make_optimizer("adam", optax.cosine_decay_schedule(0.02, self.search))
        start = 1.0 + self.spread * jr.uniform(key, (self.tokens,), minval=-1.0)
        loss = lambda a, _: error(a)
        a = descend(loss, optimizer, start, self.search, watch=False).weights
        return a, error(a)

    def _test(
        self,
        key: PRNGKey,
        truth: Structure,
        weights: Float[Array, "rules tokens"],
        noise: Float[Array, " rules"],
    ) -> Array:
        """Wrong answers of each rule on fresh images, drawn as marks."""

        def one(key):
            k_marks, k_noise, k_coin = named(key, "marks", "noise", "coin")
            label, _, marks = self.world.marked(k_marks, truth.sets)
            score = label * (weights @ marks.astype(float)) + noise * jr.normal(k_noise, ())
            # Weights of 1 give whole sums; anything below this is a tie.
            tie = jnp.abs(score) < 1e-5
            return jnp.where(tie, jr.bernoulli(k_coin), score < 0)

        def batch(total, key):
            return total + jnp.sum(jax.vmap(one)(jr.split(key, size)), axis=0), None

        size = min(BATCH, self.draws)
        keys = jr.split(key, self.draws // size)
        total, _ = jax.lax.scan(batch, jnp.zeros(weights.shape[0], int), keys)
        return total

    def check(self) -> None:
        """Refuse worlds and sizes that make no sense."""
        self.world.check()
        check_least(self, ("examples", "iterations", "search", "draws"))
        if self.draws > BATCH and self.draws % BATCH:
            raise InputError(f"draws = {self.draws}", f"a multiple of {BATCH:,}")
