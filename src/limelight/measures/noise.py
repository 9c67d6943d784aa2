r"""What is left of the noise: distances of smoothed tokens to their centres, and why.

Errors of the tokens of one draw depend on each other, so every measure here is one number per draw;
intervals are formed over draws.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight.models.smoother import nearest_order
from limelight.worlds.base import World, example


def square_errors(
    tokens: Float[Array, "tokens width"], targets: Float[Array, "tokens width"]
) -> Float[Array, " tokens"]:
    r"""$|x'_i - u_{k_i}|^2$ of each token."""
    return jnp.sum((tokens - targets) ** 2, axis=-1)


@kind("measure.noise_left")
@dataclass(frozen=True)
class NoiseLeft:
    r"""How far the tokens of one draw are from their centres after smoothing.

    `square` is the mean of $e_i^2/\sigma^2$ (its root over draws is the ratio of every table),
    `worst` and `best` the largest and smallest $e_i/\sigma$, `worst_ratio` the largest $e_i/|h_i|$,
    `mean_ratio` its mean, `improved` the share of tokens with $e_i < |h_i|$.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.noise_left]
        >>> ll.Study(ll.worlds.Clusters(), ll.models.Smoother(), None, measures).check()

    Reference: xu2022, Section 3.
    """

    name: str = "noise"

    def __call__(
        self, key: PRNGKey, world: World, truth: Any, model: Any
    ) -> dict[str, Float[Array, ""]]:
        """The measure."""
        draw = example(world, key, truth, jnp.array(0))
        after = jnp.sqrt(square_errors(model(model.prepare(draw)), draw.targets))
        before = jnp.sqrt(square_errors(draw.tokens, draw.targets))
        sigma = jnp.asarray(world.sigma, dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
        return {
            "square": jnp.mean((after / sigma) ** 2),
            "worst": jnp.max(after) / sigma,
            "best": jnp.min(after) / sigma,
            "worst_ratio": jnp.max(after / before),
            "mean_ratio": jnp.mean(after / before),
            "improved": jnp.mean(after < before),
        }


@kind("measure.noise_parts")
@dataclass(frozen=True)
class NoiseParts:
    r"""The squared error in units of $\sigma^2$ and its three parts: itself, averaging, leak.

    Mean over tokens of $|w_{ii} h_i|^2$, $|\sum_{j \in k, j \ne i} w_{ij} h_j|^2$ and
    $|\sum_{j \notin k} w_{ij}(x_j - u_k)|^2$; `square` is that of their sum.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.noise_parts]
        >>> ll.Study(ll.worlds.Clusters(), ll.models.Smoother(), None, measures).check()
    """

    name: str = "parts"

    def __call__(
        self, key: PRNGKey, world: World, truth: Any, model: Any
    ) -> dict[str, Float[Array, ""]]:
        """The measure."""
        draw = example(world, key, truth, jnp.array(0))
        weights = model.weights(model.prepare(draw))
        same = draw.labels[:, None] == draw.labels[None, :]
        diagonal = jnp.diagonal(weights)
        noise = draw.noise
        inside = jnp.where(same, weights, 0.0) - jnp.diag(diagonal)
        outside = jnp.where(same, 0.0, weights)
        leak = outside @ draw.tokens - jnp.sum(outside, axis=-1, keepdims=True) * draw.targets
        parts = {
            "itself": diagonal[:, None] * noise,
            "averaging": inside @ noise,
            "leak": leak,
        }
        parts["square"] = parts["itself"] + parts["averaging"] + parts["leak"]
        scale = jnp.asarray(world.sigma, dtype=float) ** 2  # pyright: ignore[reportAttributeAccessIssue]
        return {k: jnp.mean(jnp.sum(v**2, axis=-1)) / scale for k, v in parts.items()}


@kind("measure.noise_path")
@dataclass(frozen=True)
class NoisePath:
    r"""Mean of $e_i^2/\sigma^2$ before the first step of an iterated operator and after each.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.noise_path]
        >>> ll.Study(ll.worlds.Clusters(), ll.models.Smoother(), None, measures).check()
    """

    name: str = "path"

    def __call__(
        self, key: PRNGKey, world: World, truth: Any, model: Any
    ) -> dict[str, Float[Array, " steps"]]:
        """The measure."""
        draw = example(world, key, truth, jnp.array(0))
        left = lambda x: jnp.mean(square_errors(x, draw.targets))
        square = model.path(model.prepare(draw), left)
        return {"square": square / jnp.asarray(world.sigma, dtype=float) ** 2}  # pyright: ignore[reportAttributeAccessIssue]


@kind("measure.purity")
@dataclass(frozen=True)
class Purity:
    """Share of the weight that stays in the token's own cluster.

    Example:
        >>> import limelight as ll
        >>> ll.Study(ll.worlds.Clusters(), ll.models.Smoother(), None, [ll.measures.purity]).check()
    """

    name: str = "purity"

    def __call__(self, key: PRNGKey, world: World, truth: Any, model: Any) -> Float[Array, ""]:
        """The measure."""
        draw = example(world, key, truth, jnp.array(0))
        weights = model.weights(model.prepare(draw))
        same = draw.labels[:, None] == draw.labels[None, :]
        return jnp.mean(jnp.sum(jnp.where(same, weights, 0.0), axis=-1))


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

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.worst_errors]
        >>> ll.Study(ll.worlds.Clusters(), ll.models.Smoother(), None, measures).check()
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


@kind("measure.noise_products")
@dataclass(frozen=True)
class NoiseProducts:
    r"""The largest products of noise in one draw: what Lemma 2 bounds.

    `pairs` is the largest $|\langle h_i, h_j\rangle|/\sigma^2$ over $i \ne j$, `itself` the
    largest $|h_i|^2/\sigma^2$, `centres` the largest $|\langle h_i, u_k\rangle|/\sigma$. The model
    is not asked.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.noise_products]
        >>> ll.Study(ll.worlds.Clusters(), ll.models.Smoother(), None, measures).check()

    Reference: xu2022, Lemma 2.
    """

    name: str = "products"

    def __call__(
        self, key: PRNGKey, world: World, truth: Any, model: Any
    ) -> dict[str, Float[Array, ""]]:
        """The measure."""
        draw = example(world, key, truth, jnp.array(0))
        sigma = jnp.asarray(world.sigma, dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
        noise = draw.noise / sigma
        gram = jnp.abs(noise @ noise.T)
        return {
            "pairs": jnp.max(gram - jnp.diag(jnp.diagonal(gram))),
            "itself": jnp.max(jnp.diagonal(gram)),
            "centres": jnp.max(jnp.abs(noise @ draw.centres.T)),
        }


noise_left, noise_parts, noise_path, purity = NoiseLeft(), NoiseParts(), NoisePath(), Purity()
worst_errors = WorstErrors()
noise_products = NoiseProducts()
