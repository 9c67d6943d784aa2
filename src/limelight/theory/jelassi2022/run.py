r"""One idealized run from plain numbers to plain numbers, in double precision."""

from dataclasses import dataclass
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from limelight._core.errors import InputError
from limelight._core.types import Number
from limelight.models.positional import Activation
from limelight.theory.jelassi2022.descent import Rates, Snapshot, Watched, descend, spaced
from limelight.theory.jelassi2022.layer import Layer, LayerState
from limelight.theory.jelassi2022.optimum import Optimum, best_alpha
from limelight.theory.jelassi2022.population import Population, enumerated

#: How often a run is read.
READINGS = 100


@dataclass(frozen=True)
class Run:
    r"""What became of $\alpha, \gamma, \rho$.

    Args:
        path: Everything that was read, one value per reading.
        watch: What was followed at every step.
        best: The best $\alpha$ for the attention at the start, and its loss.
        lost: The population's lost mass.

    Example:
        >>> sorted(Run.__dataclass_fields__)
        ['best', 'lost', 'path', 'watch']
    """

    path: Snapshot
    watch: Watched
    best: Optimum
    lost: float

    @cached_property
    def end(self) -> dict[str, float]:
        """The last reading."""
        return {name: float(log[-1]) for name, log in self.path._asdict().items()}

    @property
    def rise(self) -> float:
        r"""$R = \max_t \alpha_t / \alpha^*(A_0)$: above 1, $\alpha$ rose again."""
        return float(self.watch.top) / float(self.best.alpha)

    @property
    def stiffness(self) -> float:
        r"""Largest $\eta_v \partial_\alpha^2 L$ at a reading: stable below 2."""
        return float(np.max(self.path.stiffness))


def idealized(
    tokens: int = 16,
    size: int = 4,
    density: Number = 0.5,
    diagonal: Number = 1.0,
    linear: Number = 0.01,
    rate: Number = 3e-3,
    ratio: Number = 3000.0,
    steps: int = 2000,
    prune: Number = 0.0,
    stop: bool = False,
) -> Run:
    r"""Run the recursion from the idealized start.

    Args:
        tokens: Patches, $D$.
        size: Patches in a set, $C$.
        density: Probability of a random mark, $q$.
        diagonal: Frozen diagonal, $\beta$.
        linear: Linear part of the activation, $\nu$; its root is where $\alpha$ starts, or half the
            best $\alpha$ where `stop` is set and that is smaller.
        rate: Step size of the value vector, $\eta_v$.
        ratio: Step size of the logits over that, $\eta_A/\eta_v$.
        steps: Steps.
        prune: Atoms of the population below this are dropped.
        stop: Whether to end once $\alpha$ has passed a maximum and $\gamma > 1$.

    Example:
        >>> run = idealized(tokens=8, size=2, density=0.4, rate=0.02, ratio=1.0, steps=20000)
        >>> round(run.end["gamma"], 6), round(run.end["rho"], 6)
        (1.49715, -0.498163)
    """
    if size < 2 or not (rate > 0 and ratio > 0 and linear > 0) or steps < 1:
        raise InputError(
            f"size = {size}, linear = {linear:g}, rate = {rate:g}, ratio = {ratio:g},"
            f" steps = {steps}",
            "two patches per set or more, at least one step, and the others positive",
        )
    with jax.enable_x64(True):
        population = enumerated(tokens, size, density, prune)
        number = lambda x: jnp.asarray(x, float)
        activation = Activation(3, number(linear))
        layer = Layer(tokens, size, number(diagonal), number(1.0), activation)
        rates = Rates(number(rate), number(rate * ratio))
        reads = jnp.array(spaced(steps, READINGS))
        found = _compiled(population, layer, rates, reads, jnp.array(stop))
        watch, path, best = jax.tree.map(np.asarray, found)
    return Run(path, watch, best, population.lost)


@eqx.filter_jit
def _compiled(population: Population, layer: Layer, rates: Rates, reads: Array, stop: Array):
    best = best_alpha(population, layer)
    start = layer.start()
    alpha = jnp.where(stop, jnp.minimum(start.alpha, best.alpha / 2), start.alpha)
    start = LayerState(alpha, start.gamma, start.rho)
    _, watch, path = descend(population, layer, rates, start, reads, stop=stop)
    return watch, path, best
