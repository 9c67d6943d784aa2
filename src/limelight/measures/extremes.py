r"""The worst token of a draw, by cluster or over numbers of neighbours: what certificates bound."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight.core.kinds import kind
from limelight.core.types import PRNGKey
from limelight.measures.noise import square_errors
from limelight.models.smoother import nearest_order
from limelight.worlds.base import World, example


@kind("measure.worst_errors")
@dataclass(frozen=True)
class WorstErrors:
    r"""The largest errors of one draw; NaN for what the operator does not have.

    Softmax operators fill `cluster`, the largest $e_i/\sigma$ of each cluster (a trace, NaN beyond
    the last cluster, so that studies of different sizes share a table). Nearest-neighbour ones fill
    `growth`, the largest $e_i\sqrt K/\sigma$ over all tokens and all $K$ up to the smallest
    cluster; `ratio`, the largest $e_i/|h_i|$ over $K$ from `model.neighbours` on; and `beyond`, as
    `growth` but at a $K$ one fifth above the smallest cluster.

    Args:
        clusters: Room for clusters.
    """

    clusters: int = 6
    name: str = "worst"

    def __call__(self, key: PRNGKey, world: World, truth: Any, model: Any) -> dict[str, Array]:
        """The measure."""
        draw = example(world, key, truth, jnp.array(0))
        sigma = jnp.asarray(world.sigma, dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
        read = {"cluster": jnp.full(self.clusters, jnp.nan)}
        read |= dict.fromkeys(("growth", "ratio", "beyond"), jnp.array(jnp.nan))
        if model.operator.startswith("knn"):
            return read | self._neighbours(draw, sigma, model, min(world.counts))  # pyright: ignore[reportAttributeAccessIssue]
        after = jnp.sqrt(square_errors(model(model.prepare(draw)), draw.targets)) / sigma
        cluster = jax.ops.segment_max(after, draw.labels, self.clusters)
        return read | {"cluster": jnp.where(jnp.isfinite(cluster), cluster, jnp.nan)}

    def _neighbours(self, draw, sigma, model, size: int) -> dict[str, Float[Array, ""]]:
        """Every K at once, from running sums over the sorted neighbours."""
        most = min(size + max(1, size // 5), draw.tokens.shape[0])
        order = nearest_order(draw.tokens, metric=model.operator.partition("-")[2])[:, :most]

        def step(total, column):
            total = total + draw.tokens[column] - draw.targets
            return total, jnp.linalg.norm(total, axis=-1)

        _, sums = jax.lax.scan(step, jnp.zeros_like(draw.tokens), order.T)
        K = jnp.arange(1.0, most + 1)[:, None]
        growth = jnp.max(sums / jnp.sqrt(K), axis=-1) / sigma
        ratio = jnp.max(sums / K / jnp.linalg.norm(draw.noise, axis=-1)[None, :], axis=-1)
        inside = jnp.arange(1, most + 1) <= size
        used = inside & (jnp.arange(1, most + 1) >= model.neighbours)
        return {
            "growth": jnp.max(jnp.where(inside, growth, 0.0)),
            "ratio": jnp.max(jnp.where(used, ratio, 0.0)),
            "beyond": growth[-1],
        }


worst_errors = WorstErrors()
