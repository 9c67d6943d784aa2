r"""The idealized run with the paper's single rate, followed to the end as a gradient flow."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.errors import InputError, check_least, check_positive
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments.base import Experiment
from limelight.experiments.idealized import exact_law
from limelight.models.positional import Activation
from limelight.theory.jelassi2022 import Layer, LayerState, best_alpha
from limelight.theory.jelassi2022.descent import error, loss
from limelight.theory.jelassi2022.flow import flow
from limelight.worlds.laws import check_partition


@kind("experiment.single_rate")
class SingleRate(Experiment):
    r"""Population descent with one small rate for all weights, up to the time $\eta t$ = `until`.

    Leaves the path, one value per step of the solver (`trace.*`, the end repeated), error and loss
    at the end, the best strength for the attention at the start, and the constants of Lemma 4.3:
    the largest $|\dot\rho| / (\alpha^p (1 + \Gamma G^{p-1}))$, which it bounds by a logarithm over
    $D$.

    Notation: `diagonal` is $\beta$, `linear` $\nu$.

    Args:
        tokens: Patches.
        size: Patches in a set.
        density: Probability of a mark in a random set.
        diagonal: Frozen diagonal of the logits.
        linear: Linear part of the activation.
        until: The last time, steps times their size.
        prune: Atoms of the population below this probability are dropped.
        most: Steps of the solver at most.
        part: What the run is for, in a figure that has several.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.SingleRate(tokens=8, size=2).check()

    Reference: jelassi2022, Parametrization 3.1, Lemma 4.3, Section 4.1.
    """

    double: ClassVar[bool] = True

    tokens: int = eqx.field(static=True, default=16)
    size: int = eqx.field(static=True, default=4)
    density: float = eqx.field(static=True, default=0.5)
    diagonal: Number = 1.0
    linear: Number = 0.01
    until: Number = 1e9
    prune: float = eqx.field(static=True, default=0.0)
    most: int = eqx.field(static=True, default=700)
    part: str = eqx.field(static=True, default="")

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Follow the flow; nothing is random, and the key is not used."""
        del key
        population = exact_law(self.tokens, self.size, self.density, self.prune)
        layer = Layer(
            self.tokens, self.size, self.diagonal, jnp.asarray(1.0), Activation(3, self.linear)
        )
        path = flow(population, layer, layer.start(), self.until, most=self.most)
        end = LayerState(*path.state[-1])
        return {
            "trace.time": path.time,
            **{f"trace.{n}": path.state[:, i] for i, n in enumerate(LayerState._fields)},
            "trace.gamma_velocity": path.velocity[:, 1],
            "steps": path.steps,
            "reached": path.time[-1],
            "rho_constant": self._constant(layer, path.state, path.velocity),
            "error": error(population, layer, end),
            "loss": loss(population, layer, end),
            "best_alpha": jnp.asarray(best_alpha(population, layer).alpha),
            "lost": jnp.asarray(population.lost, float),
        }

    def _constant(self, layer: Layer, states: Array, velocities: Array) -> Array:
        """The largest constant that Lemma 4.3's bound on rho needs anywhere on the path."""

        def at(y: Array, velocity: Array) -> Array:
            state = LayerState(y[0], y[1], y[2])
            gain, same = layer.gain(state), layer.weights(state).same
            power = layer.activation.power
            return jnp.abs(velocity[2]) / (y[0] ** power * (1 + same * gain ** (power - 1)))

        return jnp.max(jax.vmap(at)(states, velocities))

    def check(self) -> None:
        """Refuse sizes that do not divide and settings that make no sense."""
        check_partition("strided", self.tokens, self.size)
        if self.size < 2 or self.size == self.tokens:
            raise InputError(f"size = {self.size}", "two patches per set or more, two sets or more")
        if not 0 <= self.density <= 1:
            raise InputError(f"density = {self.density:g}", "a probability, between 0 and 1")
        check_positive(self, ("until", "linear"))
        check_least(self, ("most",), 1)
        check_least(self, ("prune",), 0)
