r"""Fixed filters on one image, and cross-attention on one pair: both populations, side by side."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight.measures.noise import square_errors
from limelight.models.smoother import cross_weights, knn_weights, local_weights, softmax_weights
from limelight.worlds.base import World, example


def populations(
    square: Float[Array, " patches"], corrupted: Bool[Array, " patches"], sigma, loud
) -> dict[str, Float[Array, ""]]:
    r"""Mean square error over clean patches in $\sigma^2$, over corrupted ones in $\sigma_c^2$."""
    clean = jnp.sum(jnp.where(corrupted, 0.0, square)) / jnp.sum(~corrupted)
    bad = jnp.sum(jnp.where(corrupted, square, 0.0)) / jnp.maximum(jnp.sum(corrupted), 1)
    return {"clean": clean / sigma**2, "corrupted": bad / loud**2}


@kind("measure.filter_errors")
@dataclass(frozen=True)
class FilterErrors:
    """What each of a fixed list of filters leaves of the noise, on the same image.

    `conv3`, `conv5` local averages; `att4`, `att6`, `att8` dot-product attention at that logit
    scale; `att6_masked` without the diagonal; `cos10`, `cos10_masked` cosine attention; `knn10` the
    ten nearest patches.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.filter_errors]
        >>> ll.Study(ll.worlds.Regions(), ll.models.Smoother(), None, measures).check()

    Reference: xu2022, Section 1 (claimed there in words).
    """

    name: str = "left"

    def __call__(
        self, key: PRNGKey, world: Any, truth: Any, model: Any
    ) -> dict[str, Float[Array, ""]]:
        """The measure."""
        image = example(world, key, truth, jnp.array(0))
        x, targets = image.patches.tokens, image.patches.targets
        weights = {
            "conv3": local_weights(world.side, 1),
            "conv5": local_weights(world.side, 2),
            "att4": softmax_weights(x, 4.0),
            "att6": softmax_weights(x, 6.0),
            "att8": softmax_weights(x, 8.0),
            "att6_masked": softmax_weights(x, 6.0, mask_self=True),
            "cos10": softmax_weights(x, 10.0, normalise=True),
            "cos10_masked": softmax_weights(x, 10.0, normalise=True, mask_self=True),
            "knn10": knn_weights(x, 10.0),
        }
        read = {}
        for name, w in weights.items():
            parts = populations(
                square_errors(w @ x, targets), image.corrupted, world.sigma, world.loud
            )
            read |= {f"{name}.{part}": value for part, value in parts.items()}
        return read


@kind("measure.cross_errors")
@dataclass(frozen=True)
class CrossErrors:
    r"""Cross-attention of a pair: `square` error over $\sigma_t^2$, `leaked` mass, and `itself`.

    `itself` is the square error of self-attention within the same target, for comparison.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.cross_errors]
        >>> ll.Study(ll.worlds.Pairs(), ll.models.Smoother(), None, measures).check()
    """

    name: str = "cross"

    def __call__(
        self, key: PRNGKey, world: World, truth: Any, model: Any
    ) -> dict[str, Float[Array, ""]]:
        """The measure."""
        pair = example(world, key, truth, jnp.array(0))
        keys = pair.target.tokens
        weights = cross_weights(pair.queries, keys, model.strength)
        wanted = jnp.broadcast_to(pair.wanted, pair.queries.shape)
        away = jnp.where(pair.target.labels == 0, 0.0, 1.0)
        scale = jnp.asarray(world.sigma_target, float) ** 2  # pyright: ignore[reportAttributeAccessIssue]
        itself = square_errors(softmax_weights(keys, model.strength) @ keys, pair.target.targets)
        return {
            "square": jnp.mean(square_errors(weights @ keys, wanted)) / scale,
            "leaked": jnp.mean(weights @ away),
            "itself": jnp.mean(itself) / scale,
        }


filter_errors, cross_errors = FilterErrors(), CrossErrors()
