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
from limelight.worlds.prompts import Prompts, Response

#: Random numbers that a batch of prompts holds, and draws behind the error of least squares.
NUMBERS, DRAWS = 2**22, 4096


@kind("experiment.prompt_errors")
class PromptErrors(Experiment):
    r"""Squared errors of the best layer, $A = \Gamma^{-1}$, averaged over fresh prompts.

    Leaves, for every response and noise, `error.RESPONSE.NOISE` and its standard error `se.…`: test
    length by test length, for the layers trained at each of the lengths `trained` and then for one
    that was trained at the test length. Beside them `zero`, the error of predicting 0 for the first
    of them, and for every length `least`, that of least squares without noise, which is Bayes'
    predictor there. All of them read the same draws.

    Args:
        world: The law of the test prompts; its response, noise and examples are those below. Where
            its covariances are random, so were those of the training.
        trained: Lengths $N$ of the prompts in training.
        lengths: Lengths $M$ of the test prompts.
        responses: What is made of $w^\top x$.
        noises: Deviations of the noise.
        prompts: Fresh prompts.

    Example:
        >>> PromptErrors().check()

    Reference: zhang2024, Theorems 4.2 and 4.5, Section 4.2.
    """

    world: Prompts = Prompts()
    trained: tuple[int, ...] = eqx.field(static=True, default=(), converter=tuple)
    lengths: tuple[int, ...] = eqx.field(static=True, default=(31,), converter=tuple)
    responses: tuple[Response, ...] = eqx.field(static=True, default=("linear",), converter=tuple)
    noises: tuple[float, ...] = eqx.field(static=True, default=(0.0,), converter=tuple)
    prompts: int = eqx.field(static=True, default=100_000)

    def layers(self) -> Float[Array, "lengths layers dimension"]:
        """The best layers, diagonal: for every test length, one per length of the training."""
        d, spectrum = self.world.dimension, self.world.spectrum
        random = self.world.shift == "random"
        law = lambda N: exponential_covariances(d, N) if random else one_covariance(spectrum, N)
        best = lambda N: jnp.asarray(law(N).minimum)
        fixed = [best(N) for N in self.trained]
        return jnp.stack([jnp.stack([*fixed, best(M)]) for M in self.lengths])

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw prompts, batch by batch, and average."""
        layers, longest = self.layers(), max(self.lengths)
        k_prompts, k_least = named(key, "prompts", "least")
        worlds = {
            f"{response}.{noise:g}": self._world(response, noise, longest)
            for response in self.responses
            for noise in self.noises
        }

        def one(key: PRNGKey) -> dict[str, Array]:
            found = {}
            for name, world in worlds.items():  # one key: the compiler draws once for all
                beta, query, target = world.reduced(key, self.lengths)
                guesses = jnp.einsum("mni,mi->mn", layers, beta * query[None, :])
                found[name] = jnp.append((guesses - target).ravel(), target) ** 2
            return found

        def batch(_, key: PRNGKey):
            errors = jax.vmap(one)(jr.split(key, size))
            mean = lambda power: {k: jnp.mean(e**power, axis=0) for k, e in errors.items()}
            return None, (mean(1), mean(2))

        size = min(self.prompts, max(1, NUMBERS // longest))
        keys = jr.split(k_prompts, -(-self.prompts // size))
        _, found = jax.lax.scan(batch, None, keys)
        means, squares = jax.tree.map(lambda part: jnp.mean(part, axis=0), found)
        count = size * len(keys)
        spread = {k: jnp.sqrt((squares[k] - means[k] ** 2) / count) for k in means}
        return {
            **{f"error.{name}": value[:-1] for name, value in means.items()},
            **{f"se.{name}": value[:-1] for name, value in spread.items()},
            "zero": means[next(iter(worlds))][-1],
            "least": jnp.stack([self._least(k_least, length) for length in self.lengths]),
        }

    def _world(self, response: Response, noise: float, examples: int) -> Prompts:
        one = self.world
        return Prompts(one.dimension, examples, one.spread, noise, response, one.shift, one.factor)

    def _least(self, key: PRNGKey, length: int) -> Array:
        r"""$E\,\mathrm{tr}(\Lambda(I - P_X))$, with $P_X$ on the span of the prompt."""
        d, spectrum = self.world.dimension, self.world.spectrum
        if length >= d:  # the prompt spans everything
            return jnp.zeros(())

        def left(key: PRNGKey) -> Array:
            x = jr.normal(key, (length, d)) * jnp.sqrt(spectrum)[None, :]
            basis, _ = jnp.linalg.qr(x.T)
            return jnp.sum(spectrum) - jnp.sum(spectrum[:, None] * basis**2)

        return jnp.mean(jax.vmap(left)(jr.split(key, DRAWS)))

    def check(self) -> None:
        """Refuse laws and counts that make no sense."""
        check_least(self, ("prompts",))
        if not self.lengths or min(*self.trained, *self.lengths, 1) < 1:
            raise InputError(f"lengths = {self.lengths}, trained = {self.trained}", "at least 1")
        if self.world.shift == "orthogonal":
            raise InputError("world.shift = orthogonal", "Prompts.sample draws such prompts")
        for response in self.responses:
            for noise in self.noises:
                self._world(response, noise, max(self.lengths)).check()
