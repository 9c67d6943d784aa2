r"""Population gradient descent on the symmetric manifold of jelassi2022, as an experiment."""

from functools import lru_cache
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from limelight._core.errors import InputError, check_between, check_least, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments.base import Experiment
from limelight.models.positional import Activation
from limelight.theory.jelassi2022 import Layer, LayerState, Rates, best_alpha, descend, spaced
from limelight.theory.jelassi2022.full import manifold_residuals
from limelight.theory.jelassi2022.population import (
    Population,
    Statistics,
    condensed,
    count_law,
    drawn,
    monomials,
)
from limelight.worlds.laws import check_partition

#: Of all looks, how many lie beyond `steps`.
LATE = 20
#: Steps after which full gradient descent is no longer compared.
COMPARED = 2000


@kind("experiment.idealized")
class Idealized(Experiment):
    r"""The idealized run: three numbers under population gradient descent, in float64.

    Leaves the course at `looks` steps (`trace.*`; look number `looks - LATE - 1` is step `steps`,
    the last one step `steps * longer`), what was followed at every step, the best strength
    $\alpha^*(A_0)$ and loss for the attention at the start, and the population's lost mass.

    Notation: `diagonal` is $\beta$, `linear` $\nu$, `rate` $\eta_v$, `ratio` $\eta_A/\eta_v$.

    Args:
        tokens: Patches.
        size: Patches in a set.
        density: Probability of a mark in a random set.
        diagonal: Frozen diagonal of the logits.
        linear: Linear part of the activation.
        temperature: Divides the logits.
        rate: Step size of the value vector.
        ratio: Step size of the logits over that; 1 is the paper's single rate.
        steps: Steps.
        longer: How many times as many are run in the end.
        looks: Steps at which everything is read.
        prune: Atoms of the population below this probability are dropped.
        draws: Size of a population that is drawn instead; 0 for the exact one.
        stop: Whether to stand still once $\alpha$ has passed a maximum and $\gamma > 1$.
        cautious: Whether $\alpha$ starts at half its optimum where that is below the paper's start,
            which for a large diagonal is too large to be stable.
        compare: Whether full gradient descent runs beside it, on every image (8 patches).
        part: What the run is for, in a figure that has several.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Idealized(tokens=8, size=2).check()

    Reference: jelassi2022, Parametrization 3.1, Lemmas 4.1 to 4.3, Theorem 4.1.
    """

    double: ClassVar[bool] = True

    tokens: int = eqx.field(static=True, default=16)
    size: int = eqx.field(static=True, default=4)
    density: float = eqx.field(static=True, default=0.5)
    diagonal: Number = 1.0
    linear: Number = 0.01
    temperature: Number = 1.0
    rate: Number = 3e-3
    ratio: Number = 3000.0
    steps: int = eqx.field(static=True, default=1000)
    longer: int = eqx.field(static=True, default=1)
    looks: int = eqx.field(static=True, default=120)
    prune: float = eqx.field(static=True, default=0.0)
    draws: int = eqx.field(static=True, default=0)
    stop: bool = eqx.field(static=True, default=False)
    cautious: bool = eqx.field(static=True, default=False)
    compare: bool = eqx.field(static=True, default=False)
    part: str = eqx.field(static=True, default="")

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Descend, look, and note the best strength for the attention at the start."""
        k_draw, k_full = named(key, "draw", "full")
        population = self.population(k_draw)
        best = best_alpha(population, self.layer)
        alpha, gamma, rho = self.layer.start()
        if self.cautious:
            alpha = jnp.minimum(alpha, best.alpha / 2)
        rates = Rates(jnp.asarray(self.rate, float), self.rate * jnp.asarray(self.ratio, float))
        state, watch, course = descend(
            population,
            self.layer,
            rates,
            LayerState(alpha, gamma, rho),
            self.schedule,
            stop=self.stop,
        )
        finite = jnp.isfinite(course.loss[-1])
        out = {f"trace.{name}": log for name, log in course._asdict().items()}
        passed = (state.gamma > 1) & (state.alpha < watch.top)
        out |= watch._asdict() | {"finite": finite, "passed": passed & finite}
        out |= {"best_alpha": best.alpha, "best_loss": best.loss}
        out["lost"] = jnp.asarray(population.lost, float)
        out["residual"] = self._residual(k_full, rates)
        return out

    @property
    def layer(self) -> Layer:
        """The network."""
        activation = Activation(3, self.linear)
        return Layer(self.tokens, self.size, self.diagonal, self.temperature, activation)

    @property
    def schedule(self) -> tuple[int, ...]:
        """The steps that are looked at."""
        late = np.geomspace(self.steps, self.steps * self.longer, LATE + 1)[1:]
        return (*spaced(self.steps, self.looks - LATE), *(int(t) for t in late.round()))

    def population(self, key: PRNGKey) -> Population:
        """The law of the data: exact, or drawn."""
        if self.draws:
            counts = drawn(key, self.tokens, self.size, self.density, self.draws)
            return condensed(counts, self.size)
        return exact_law(self.tokens, self.size, self.density, self.prune)

    def _residual(self, key: PRNGKey, rates: Rates) -> Array:
        if not self.compare:
            return jnp.full((), jnp.nan)
        # A partition without any order in it.
        groups = np.arange(self.tokens) % (self.tokens // self.size)
        sets = np.random.default_rng(0).permutation(groups)
        steps = min(self.steps, COMPARED)
        found = manifold_residuals(key, self.layer, self.density, rates, steps, sets)
        return jnp.max(jnp.stack(list(found)))

    def check(self) -> None:
        """Refuse sizes that do not divide and settings that make no sense."""
        check_partition("strided", self.tokens, self.size)
        if self.size < 2:
            raise InputError(f"size = {self.size}", "a set of one has no same-set entries")
        check_between(self, ("density",), 0, 1)
        check_positive(self, ("rate", "ratio", "temperature", "linear"))
        check_least(self, ("steps", "longer"))
        check_least(self, ("looks",), LATE + 2)
        check_least(self, ("draws", "prune"), 0)


def exact_law(tokens: int, size: int, density: float, prune: float = 0.0) -> Statistics:
    """The exact population; its arrays are made once."""
    weights, table, lost = _law(tokens, size, density, prune)
    return Statistics(weights=jnp.asarray(weights), monomials=jnp.asarray(table), lost=lost)


@lru_cache(maxsize=4)
def _law(tokens: int, size: int, density: float, prune: float):
    """The exact law as plain arrays: a program is built twice, the law is made once."""
    integers, weights = count_law(tokens, size, density, prune)
    total = float(weights.sum())
    return weights / total, monomials(integers).astype(float), max(1 - total, 0.0)
