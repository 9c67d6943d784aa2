r"""The worst token of a draw, by cluster and by number of neighbours: what certificates bound."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight.core.types import PRNGKey
from limelight.measures.noise import square_errors
from limelight.models.smoother import nearest_order
from limelight.worlds.base import World, example


@dataclass(frozen=True)
class WorstErrors:
    r"""The largest $e_i/\sigma$ of each cluster, or of each $K$ for nearest-neighbour averaging.

    Both are traces of a fixed length, NaN beyond what there is, so that studies of different sizes
    share one table. `cluster` is filled by softmax operators. `neighbour` ($K = 1, 2, ..$) and
    `neighbour_ratio`, the largest $e_i/|h_i|$, are filled by nearest-neighbour ones.

    Args:
        clusters: Room for clusters.
        neighbours: Room for $K$.
    """

    clusters: int = 6
    neighbours: int = 40
    name: str = "worst"

    def __call__(
        self, key: PRNGKey, world: World, truth: Any, model: Any
    ) -> dict[str, Float[Array, " room"]]:
        """The measure."""
        draw = example(world, key, truth, jnp.array(0))
        sigma = jnp.asarray(world.sigma, dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
        cluster = jnp.full(self.clusters, jnp.nan)
        neighbour = ratio = jnp.full(self.neighbours, jnp.nan)
        if model.operator.startswith("knn"):
            before = jnp.linalg.norm(draw.noise, axis=-1)
            after = self._by_neighbours(draw, model)
            neighbour = jnp.max(after, axis=0) / sigma
            ratio = jnp.max(after / before[:, None], axis=0)
        else:
            after = jnp.sqrt(square_errors(model(model.prepare(draw)), draw.targets)) / sigma
            cluster = jax.ops.segment_max(after, draw.labels, self.clusters)
            cluster = jnp.where(jnp.isfinite(cluster), cluster, jnp.nan)
        return {"cluster": cluster, "neighbour": neighbour, "neighbour_ratio": ratio}

    def _by_neighbours(self, draw, model) -> Float[Array, "tokens room"]:
        """Errors after averaging the first K neighbours, for every K at once."""

        metric = model.operator.partition("-")[2]
        order = nearest_order(draw.tokens, metric=metric)[:, : self.neighbours]

        def step(total, column):
            total = total + draw.tokens[column] - draw.targets
            return total, jnp.linalg.norm(total, axis=-1)

        _, sums = jax.lax.scan(step, jnp.zeros_like(draw.tokens), order.T)
        errors = sums.T / jnp.arange(1.0, order.shape[1] + 1)[None, :]
        room = self.neighbours - order.shape[1]
        return jnp.pad(errors, ((0, 0), (0, room)), constant_values=jnp.nan)


worst_errors = WorstErrors()
