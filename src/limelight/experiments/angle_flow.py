r"""Tokens on the sphere beside the exact law of their angles, as a flow or layer by layer."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.experiments.base import Experiment
from limelight.measures.clustering import cosines
from limelight.measures.similarity import mean_cosine
from limelight.models.sphere_attention import SphereAttention, SphereMoves
from limelight.theory.geshkovski2023.angles import (
    MERGED,
    equal_layer,
    equal_rate,
    equal_time,
    merge_time,
    pair_rate,
)
from limelight.theory.ode import flow_at
from limelight.worlds.sphere import Sphere

#: A late rate is read off distances in this range, over this many units of time.
RANGE, UNITS = (1e-11, 1e-3), 3.0
#: Where a power is read off the map of layers, and after how many layers it is given up.
SMALL, MOST = 1e-6, 1_000_000


@kind("experiment.angle_flow")
class AngleFlow(Experiment):
    r"""Every cosine of $n$ tokens beside the one that the law says, from start to one cluster.

    The law is that of equal angles, or of two clusters where the world has two groups; it goes
    along with the tokens. The flow ends where quadrature says that the law reaches .999, and
    `after` later. Leaves `apart`, the largest distance of a cosine from the law at any look;
    `apart.mean`, that of the mean cosine; `landed`, that of the lowest cosine from .999 where
    quadrature puts it; `late`, the rate at which the lowest cosine nears 1; `drift` of the norms;
    `energy`, its smallest increment; and `trace.lowest` where it is asked for. Of layers it also
    leaves how many the map of one number takes to $u = 1 - \cos < 10^{-6}$ (`below`), and there
    the relative distance of $u'$ from $(\beta/n)^2u^3$, or with a skip connection from
    $u/(1+\eta)^2$ (`power`); no numbers where it takes more than a million.

    Args:
        world: The tokens at their start.
        model: The strength, and what a layer does.
        layers: Layers; 0 for the flow.
        looks: Looks at the flow, evenly in time.
        after: Time that is added after the merging.
        tolerance: Relative error of a step.
        steps: Steps at most between two looks; a run that needs more is not `finished`.
        traced: Whether the lowest cosine is kept at every look.

    Example:
        >>> AngleFlow().check()

    Reference: limelight; geshkovski2023 in its later papers.
    """

    double: ClassVar[bool] = True
    gaps: ClassVar[tuple[str, ...] | None] = (
        *("drift", "energy", "landed", "late", "reached"),
        *("below", "power"),
    )

    world: Sphere = Sphere()
    model: SphereAttention = SphereAttention()
    layers: int = eqx.field(static=True, default=0)
    looks: int = eqx.field(static=True, default=64)
    after: Number = 0.0
    tolerance: Number = 1e-9
    steps: int = eqx.field(static=True, default=100_000)
    traced: bool = eqx.field(static=True, default=False)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw tokens, move them, and compare."""
        (k_tokens,) = named(key, "tokens")
        x = self.world.sample(k_tokens, None, jnp.array(0)).tokens
        moves = self.model.init(key, self.world, None)
        law = jnp.asarray(self.world.cosine if self._placed else 0.0, dtype=float)
        if self.layers:
            return self._through_layers(moves, x, 1 - law)
        rate, merged = self._law(law)
        times = jnp.linspace(0.0, 1.0, self.looks + 1) * (merged + self.after)
        size, shape = x.size, x.shape

        def field(state: Array) -> Array:
            x = state[:size].reshape(shape)
            return jnp.append(moves.velocity(x).ravel(), rate(state[size]))

        def read(state: Array) -> dict[str, Array]:
            x = state[:size].reshape(shape)
            off = jnp.abs(jnp.linalg.norm(x, axis=1) - 1)
            found = self._beside(x, state[size])
            return found | {"drift": jnp.max(off), "energy": moves.energy(x)}

        begun = jnp.append(x.ravel(), law)
        tolerances = {"rtol": self.tolerance, "atol": 1e-2 * self.tolerance}
        seen, tries = flow_at(field, begun, times, read, most=self.steps, **tolerances)
        return {
            "apart": jnp.max(seen["apart"]),
            "apart.mean": jnp.max(seen["mean"]),
            "landed": jnp.abs(seen["lowest"][-1] - MERGED),
            "late": late_rate(times, 1 - seen["lowest"]),
            "drift": jnp.max(seen["drift"]),
            "energy": jnp.min(jnp.diff(seen["energy"])),
            "finished": tries < self.steps,
            "reached": times[-1],
            **dict.fromkeys(("below", "power"), jnp.array(jnp.nan)),
            **self._trace(seen),
        }

    @property
    def _placed(self) -> bool:
        return self.world.start in ("equiangular", "groups")

    def _law(self, start: Scalar) -> tuple[Callable[[Any], Any], Scalar]:
        """The rate of the law, and when it has merged."""
        n, beta, softmax = self.world.tokens, self.model.strength, self.model.normalise == "softmax"
        if self.world.start == "groups":
            w = self.world.share
            return lambda g: pair_rate(g, w, beta), merge_time(beta, start, w)
        rate = lambda g: equal_rate(g, n, beta, softmax)
        return rate, equal_time(n, beta, start, MERGED, softmax)

    def _beside(self, x: Float[Array, "tokens width"], law: Scalar) -> dict[str, Array]:
        found = cosines(x)
        off = jnp.abs(found - law)
        if self.world.start == "groups":  # pairs within a group stay one
            off = jnp.minimum(off, jnp.abs(found - 1))
        return {
            "apart": jnp.nanmax(off),
            "mean": jnp.abs(mean_cosine(x) - law),
            "lowest": jnp.nanmin(found),
        }

    def _through_layers(self, moves: SphereMoves, x: Array, away: Scalar) -> dict[str, Array]:
        def step(carry, _):
            x, u = carry
            x, u = moves.layer(x), self._map(u)
            return (x, u), self._beside(x, 1 - u)

        _, seen = jax.lax.scan(step, (x, away), None, length=self.layers)
        unread = dict.fromkeys(("landed", "late", "drift", "energy", "reached"), jnp.array(jnp.nan))
        return unread | {
            "apart": jnp.max(seen["apart"]),
            "apart.mean": jnp.max(seen["mean"]),
            "finished": jnp.array(True),
            **self._power(away),
            **self._trace(seen),
        }

    def _map(self, away: Scalar) -> Scalar:
        m = self.model
        return equal_layer(away, self.world.tokens, m.strength, m.skip, m.step)

    def _power(self, away: Scalar) -> dict[str, Array]:
        """Layers until little is left, and how far the next one is from its power."""
        m, n = self.model, self.world.tokens
        more = lambda at: (at[0] >= SMALL) & (at[1] < MOST)
        u, layer = jax.lax.while_loop(more, lambda at: (self._map(at[0]), at[1] + 1), (away, 0))
        law = jnp.where(m.skip > 0, u / (1 + m.step) ** 2, (m.strength / n) ** 2 * u**3)
        off = jnp.where(law > 0, jnp.abs(self._map(u) / law - 1), u)  # strength 0: nothing is left
        there = lambda value: jnp.where(u < SMALL, value, jnp.nan)
        return {"below": there(layer), "power": there(off)}

    def _trace(self, seen: dict[str, Array]) -> dict[str, Array]:
        return {"trace.lowest": seen["lowest"].astype(jnp.float32)} if self.traced else {}

    @property
    def loop_length(self) -> int:
        """Steps between two looks, about."""
        return 1 if self.layers else 20

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        self.model.check(self.world)
        check_least(self, ("layers", "after"), 0)
        check_least(self, ("looks", "steps"))
        check_positive(self, ("tolerance",))
        if self.layers and self.world.start != "equiangular":
            raise InputError(f"layers = {self.layers} with other angles", "start = equiangular")
        if self.world.start == "groups" and self.model.normalise != "softmax":
            raise InputError("two groups have their law with softmax", "normalise = softmax")


def late_rate(times: Float[Array, " looks"], away: Float[Array, " looks"]) -> Scalar:
    r"""The slope of $-\ln(1 - \cos)$ over the last units of time in which it can be read."""
    fit = (away >= RANGE[0]) & (away <= RANGE[1])
    fit &= times >= jnp.max(jnp.where(fit, times, 0.0)) - UNITS
    weight = fit / jnp.maximum(jnp.sum(fit), 1)
    y = -jnp.log(jnp.where(fit, away, 1.0))
    off = times - jnp.sum(weight * times)
    slope = jnp.sum(weight * off * y) / jnp.sum(weight * off**2)
    return jnp.where(jnp.sum(fit) >= 3, slope, jnp.nan)
