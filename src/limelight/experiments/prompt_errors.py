r"""How far the trained layer's predictions are off, on drawn prompts of any law."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight.experiments.base import Experiment
from limelight.theory.zhang2024.population import exponential_covariances, one_covariance
from limelight.worlds.prompts import Prompts

#: Random numbers that a batch of prompts holds, and draws behind the error of least squares.
NUMBERS, DRAWS = 2**22, 4096


@kind("experiment.prompt_errors")
class PromptErrors(Experiment):
    r"""Squared errors of the best layer, $A = \Gamma^{-1}$, averaged over fresh prompts.

    Leaves `error` and `standard_error` for the layers trained at each of the lengths `trained`, then
    for one that was trained at the length of these prompts; `zero`, the error of predicting 0; and
    `least`, that of least squares without noise, which is also Bayes' predictor.

    Args:
        world: The law of the test prompts; where its covariances are random, so were those of the
            training.
        trained: Lengths $N$ of the prompts in training.
        prompts: Fresh prompts.

    Reference: zhang2024, Theorems 4.2 and 4.5, Section 4.2.
    """

    world: Prompts = Prompts()
    trained: tuple[int, ...] = eqx.field(static=True, default=(), converter=tuple)
    prompts: int = eqx.field(static=True, default=100_000)

    def layers(self) -> Float[Array, "lengths dimension"]:
        """The best layers, diagonal, one per length."""
        world, lengths = self.world, (*self.trained, self.world.examples)
        if world.shift == "random":
            laws = [exponential_covariances(world.dimension, N) for N in lengths]
        else:
            laws = [one_covariance(world.spectrum, N) for N in lengths]
        return jnp.stack([jnp.asarray(law.minimum) for law in laws])

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw prompts, batch by batch, and average."""
        world, layers = self.world, self.layers()
        k_prompts, k_least = named(key, "prompts", "least")

        def one(key: PRNGKey) -> Array:
            if world.shift == "orthogonal":
                prompt = world.sample(key, None, jnp.array(0))
                beta, query, target = prompt.statistic, prompt.query, prompt.target
            else:
                beta, query, target = world.reduced(key)
            guesses = layers @ (query * beta)
            return jnp.append((guesses - target) ** 2, target**2)

        def batch(_, key: PRNGKey):
            errors = jax.vmap(one)(jr.split(key, size))
            return None, (jnp.mean(errors, axis=0), jnp.mean(errors**2, axis=0))

        size = min(self.prompts, max(1, NUMBERS // (world.examples + 2 * world.dimension)))
        keys = jr.split(k_prompts, -(-self.prompts // size))
        _, (means, squares) = jax.lax.scan(batch, None, keys)
        mean, spread = jnp.mean(means, axis=0), jnp.mean(squares, axis=0)
        return {
            "error": mean[:-1],
            "standard_error": jnp.sqrt((spread - mean**2) / (size * len(keys)))[:-1],
            "zero": mean[-1],
            "least": self._least(k_least),
        }

    def _least(self, key: PRNGKey) -> Array:
        r"""$E\,\mathrm{tr}(\Lambda(I - P_X))$, with $P_X$ on the span of the prompt."""
        world = self.world
        if world.examples >= world.dimension:  # the prompt spans everything
            return jnp.zeros(())

        def left(key: PRNGKey) -> Array:
            x = jr.normal(key, (world.examples, world.dimension))
            basis, _ = jnp.linalg.qr((x * jnp.sqrt(world.spectrum)[None, :]).T)
            return jnp.sum(world.spectrum) - jnp.sum(world.spectrum[:, None] * basis**2)

        return jnp.mean(jax.vmap(left)(jr.split(key, DRAWS)))

    def check(self) -> None:
        """Refuse laws and counts that make no sense."""
        self.world.check()
        check_least(self, ("prompts",))
        if any(length < 1 for length in self.trained):
            raise InputError(f"trained = {self.trained}", "lengths of at least 1")
