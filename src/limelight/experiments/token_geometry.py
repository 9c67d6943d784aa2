r"""Where rescaled tokens go: vertices of a polytope, parallel hyperplanes, or both."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_between, check_least, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.experiments.base import Experiment
from limelight.measures.clustering import extreme
from limelight.models.sphere_attention import RescaledAttention, RescaledMoves
from limelight.theory.ode import flow_at
from limelight.worlds.sphere import Box

#: Directions in which the hull is watched; singular values below this count as none.
DIRECTIONS, NOUGHT = 128, 1e-6


@kind("experiment.token_geometry")
class TokenGeometry(Experiment):
    r"""Rescaled tokens $z = e^{-tV}x$ until $T$, and what the theorems say of them there.

    The leader of token $i$ is where row $i$ of $P$ is largest. Leaves `gap`, the second largest
    $1 - \max_jP_{ij}$; `rank` of $P$; `leaders`, how many there are; `shell`, the largest distance
    of a token from its leader over the diameter, in the eigenspace of the largest eigenvalue
    $\lambda_1$; `planes`, the distance of $\langle\varphi_1, z_i\rangle$ from
    $\{\max, 0, \min\}$ over its range; `vertices`, whether every leader was a vertex of the hull at
    the start; `growth`, the largest increase of the hull's support in 128 directions between two
    looks, over the diameter; `spread` and `spread.half`, what the other coordinates span at $T$ and
    at $T/2$.

    Args:
        world: The tokens at their start.
        model: The value matrix.
        until: $T$; refused where the logits there would be noise of rounding.
        looks: Looks, evenly in time.
        tolerance: Relative error of a step.
        steps: Steps at most between two looks; a run that needs more is not `finished`.

    Example:
        >>> TokenGeometry().check()

    Reference: geshkovski2023.
    """

    double: ClassVar[bool] = True
    gaps: ClassVar[tuple[str, ...] | None] = ()

    world: Box = Box()
    model: RescaledAttention = RescaledAttention()
    until: Number = 10.0
    looks: int = eqx.field(static=True, default=20)
    tolerance: Number = 1e-9
    steps: int = eqx.field(static=True, default=100_000)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw tokens, move them, and look."""
        (k_tokens,) = named(key, "tokens")
        z = self.world.sample(k_tokens, None, jnp.array(0)).tokens
        moves = self.model.init(key, self.world, None)
        seen, tries = self.follow(moves, z)
        end, P = seen[-1], moves.weights(jnp.asarray(self.until, float), seen[-1])
        leader = jnp.argmax(P, axis=1)
        led = jnp.zeros(len(z), bool).at[leader].set(True)
        top = np.isclose(spectrum := self._spectrum, spectrum.max())
        lead = lambda z: z @ moves.inverse[np.flatnonzero(top)].T
        rest = lambda z: jnp.ptp(z @ moves.inverse[np.flatnonzero(~top)].T, axis=0)
        span = lambda z: jnp.max(rest(z)) if not top.all() else jnp.zeros(())
        first, apart = lead(end)[:, 0], lead(end) - lead(end)[leader]
        ends = jnp.stack([jnp.max(first), jnp.zeros(()), jnp.min(first)])
        off = jnp.min(jnp.abs(first[:, None] - ends[None, :]), axis=1)
        return {
            "gap": jnp.sort(1 - jnp.max(P, axis=1))[-2],
            "rank": jnp.sum(jnp.linalg.svd(P, compute_uv=False) > NOUGHT),
            "leaders": jnp.sum(led),
            "shell": jnp.max(jnp.linalg.norm(apart, axis=1)) / diameter(lead(end)),
            "planes": jnp.max(off) / jnp.ptp(first),
            "vertices": jnp.all(extreme(z) | ~led),
            "growth": self._growth(seen) / diameter(z),
            "spread": span(end),
            "spread.half": span(seen[self.looks // 2]),
            "finished": tries < self.steps,
        }

    def follow(
        self, moves: RescaledMoves, z: Float[Array, "tokens width"]
    ) -> tuple[Float[Array, "looks tokens width"], Array]:
        """The tokens at every look, the start among them, and the steps of the longest leg."""
        size, shape = z.size, z.shape

        def field(state: Array) -> Array:  # the last entry is time
            moved = moves.velocity(state[size], state[:size].reshape(shape))
            return jnp.append(moved.ravel(), 1.0)

        times = jnp.linspace(0.0, 1.0, self.looks + 1) * self.until
        return flow_at(
            field, jnp.append(z.ravel(), 0.0), times, lambda s: s[:size].reshape(shape),
            most=self.steps, rtol=self.tolerance, atol=1e-2 * self.tolerance,
        )  # fmt: skip

    def _growth(self, seen: Float[Array, "looks tokens width"]) -> Scalar:
        around = np.random.default_rng(0).standard_normal((seen.shape[2], DIRECTIONS))
        around = jnp.asarray(around / np.linalg.norm(around, axis=0))
        return jnp.max(jnp.diff(jnp.max(seen @ around, axis=1), axis=0))

    @property
    def _spectrum(self) -> np.ndarray:
        return np.linalg.eigvals(self.model.matrix).real

    @property
    def loop_length(self) -> int:
        """Steps between two looks, about."""
        return 30

    def check(self) -> None:
        """Refuse settings that make no sense, and times beyond the reach of the numbers."""
        self.world.check()
        self.model.check(self.world)
        check_between(self.world, ("dimension",), 1, 3, "world.")
        check_least(self, ("looks", "steps"))
        check_positive(self, ("until", "tolerance"))
        largest = self.world.dimension * float(self.world.half) ** 2
        most = np.log(0.01 * 2.0**52 / largest) / (2 * self._spectrum.max())
        if self.until > most:
            raise InputError(f"until = {self.until:g}: logits there are noise", f"below {most:.3g}")


def diameter(rows: Float[Array, "tokens width"]) -> Scalar:
    """The largest distance of two rows."""
    off = rows[:, None, :] - rows[None, :, :]
    return jnp.sqrt(jnp.max(jnp.sum(off**2, axis=-1)))
