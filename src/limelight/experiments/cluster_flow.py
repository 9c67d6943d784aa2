r"""Clusters of tokens on the sphere as time goes by: how many, and when they form."""

from typing import ClassVar, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least, check_positive, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import unit
from limelight._core.types import Number, PRNGKey
from limelight.experiments.base import Experiment
from limelight.measures.clustering import CLOSE, close_pairs, cluster_count
from limelight.models.sphere_attention import SphereAttention
from limelight.worlds.sphere import Sphere

Spacing = Literal["even", "log"]
#: Rises of the number of clusters count from this time on.
SETTLED = 5.0
#: The share of close pairs whose passage is timed.
HALF = 0.5


def look_times(until: float, looks: int, spacing: str) -> np.ndarray:
    """The times at which clusters are counted, the first of them 0.

    Example:
        >>> look_times(30.0, 3, "even").tolist(), look_times(100.0, 3, "log").tolist()
        ([0.0, 10.0, 20.0, 30.0], [0.0, 1.0, 10.0, 100.0])
    """
    if spacing == "even":
        return np.linspace(0.0, until, looks + 1)
    return np.append(0.0, np.geomspace(1.0, until, looks).round(6))


@kind("experiment.cluster_flow")
class ClusterFlow(Experiment):
    r"""The flow by Runge-Kutta steps of one size, projected to the sphere after each.

    Leaves at every look the share of pairs of cosine above $1 - 10^{-3}$ (`trace.pairs`) and the
    number of chains of them (`trace.clusters`); the time at which half the pairs are close, between
    two steps (`crossed`, not a number if never); the largest rise of the number of clusters between
    two looks after $t = 5$ (`rise`); the largest drift of a norm in a step (`drift`) and the
    smallest increment of the energy between looks (`energy`): both are errors of the method.

    Args:
        world: The tokens at their start.
        model: The strength.
        until: The last time.
        looks: Looks after the start.
        spacing: Evenly in time, or in its logarithm from 1 on.
        step: Of the method; .1 errs by less than $10^{-5}$ up to strengths of 64.
        close: $\epsilon$.

    Example:
        >>> ClusterFlow().check()

    Reference: geshkovski2023 in its later papers, the diagram over time and strength.
    """

    double: ClassVar[bool] = True
    gaps: ClassVar[tuple[str, ...] | None] = ("crossed",)

    world: Sphere = Sphere(dimension=2, columns=2)
    model: SphereAttention = SphereAttention()
    until: float = eqx.field(static=True, default=30.0)
    looks: int = eqx.field(static=True, default=40)
    spacing: Spacing = eqx.field(static=True, default="even")
    step: float = eqx.field(static=True, default=0.1)
    close: Number = CLOSE

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw tokens, move them, and count."""
        (k_tokens,) = named(key, "tokens")
        x = self.world.sample(k_tokens, None, jnp.array(0)).tokens
        moves, h = self.model.init(key, self.world, None), self.step
        counts = np.diff(np.round(self.times / h)).astype(int)

        def step(number, carry):
            x, pairs, crossed, drift, begun = carry
            moved = runge_kutta(moves.velocity, x, h)
            drift = jnp.maximum(drift, jnp.max(jnp.abs(jnp.linalg.norm(moved, axis=1) - 1)))
            x, before = unit(moved), pairs
            pairs = close_pairs(x, self.close)
            part = (HALF - before) / jnp.where(pairs > before, pairs - before, 1.0)
            now = begun + h * (number + jnp.clip(part, 0.0, 1.0))
            new = (pairs >= HALF) & jnp.isnan(crossed)
            return x, pairs, jnp.where(new, now, crossed), drift, begun

        def look(carry, count):
            x, pairs, crossed, drift, begun = jax.lax.fori_loop(0, count, step, carry)
            seen = pairs, cluster_count(x, self.close), moves.energy(x)
            return (x, pairs, crossed, drift, begun + h * count), seen

        first = close_pairs(x, self.close), cluster_count(x, self.close), moves.energy(x)
        begun = (x, first[0], jnp.array(jnp.nan), jnp.zeros(()), jnp.zeros(()))
        (_, _, crossed, drift, _), seen = jax.lax.scan(look, begun, jnp.asarray(counts))
        pairs, clusters, energy = (
            jnp.concatenate([one[None], rest]) for one, rest in zip(first, seen, strict=True)
        )
        late = np.flatnonzero(self.times[:-1] >= SETTLED)
        rises = jnp.diff(clusters)[late]
        return {
            "crossed": crossed,
            "rise": jnp.max(rises) if len(late) else jnp.array(0),
            "drift": drift,
            "energy": jnp.min(jnp.diff(energy)),
            "trace.pairs": pairs.astype(jnp.float32),
            "trace.clusters": clusters.astype(jnp.int16),
        }

    @property
    def times(self) -> np.ndarray:
        """When it is looked."""
        return look_times(self.until, self.looks, self.spacing)

    @property
    def loop_length(self) -> int:
        """Steps between two looks, on average."""
        return max(round(self.until / self.step / self.looks), 1)

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        self.model.check(self.world)
        check_positive(self, ("until", "step", "close"))
        check_least(self, ("looks",))
        check_word("spacing", self.spacing, get_args(Spacing))
        if self.until / self.step / self.looks < 0.5:
            raise InputError(f"step = {self.step:g} with {self.looks} looks", "a smaller step")
        if self.model.normalise != "softmax":
            raise InputError("the sum moves as fast as e^strength", "normalise = softmax")


def runge_kutta(field, x: Float[Array, "tokens width"], h: float) -> Float[Array, "tokens width"]:
    """One step of order four."""
    a = field(x)
    b = field(x + h / 2 * a)
    c = field(x + h / 2 * b)
    d = field(x + h * c)
    return x + h / 6 * (a + 2 * b + 2 * c + d)
