r"""Fixed filters on one image, and cross-attention on one pair: both populations, side by side."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight.measures.noise import square_errors
from limelight.models.smoother import cross_weights, knn_weights, local_weights, softmax_weights
from limelight.worlds.base import World, example

#: Filters by name: weights of the patches for each other, from the patches and the grid's side.
FILTERS: dict[str, Callable[[Float[Array, "patches width"], int], Array]] = {
    "conv3": lambda x, side: local_weights(side, 1),
    "conv5": lambda x, side: local_weights(side, 2),
    "att4": lambda x, side: softmax_weights(x, 4.0),
    "att6": lambda x, side: softmax_weights(x, 6.0),
    "att8": lambda x, side: softmax_weights(x, 8.0),
    "att6_masked": lambda x, side: softmax_weights(x, 6.0, mask_self=True),
    "cos10": lambda x, side: softmax_weights(x, 10.0, normalise=True),
    "cos10_masked": lambda x, side: softmax_weights(x, 10.0, normalise=True, mask_self=True),
    "knn10": lambda x, side: knn_weights(x, 10.0),
}
#: What a classifier is fitted on: single patches, and three filters.
READ = ("raw", "conv3", "att6", "cos10_masked")


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
        weights = {name: make(x, world.side) for name, make in FILTERS.items()}
        read = {}
        for name, w in weights.items():
            parts = populations(
                square_errors(w @ x, targets), image.corrupted, world.sigma, world.loud
            )
            read |= {f"{name}.{part}": value for part, value in parts.items()}
        return read


@kind("measure.domain_accuracy")
@dataclass(frozen=True)
class DomainAccuracy:
    r"""A classifier of patches, fitted on a quiet source and read on a perturbed target.

    The world is the target; the source is the same without corrupted patches. A patch belongs to
    the class whose mean over the source's labelled patches is nearest, after each filter of
    `READ` (`raw` is none). `FILTER.source` is the share of right patches on fresh source images,
    `FILTER.target` on target images.

    Departures: the paper asks the question and argues in words; the classifier is ours.

    Args:
        images: Images for fitting, for the source's test and for the target's.
        dimension: Length of a patch; that of the world is not used.

    Example:
        >>> DomainAccuracy(images=4).name
        'domain'

    Reference: xu2022, Section 1.
    """

    images: int = 8
    dimension: int = 32
    name: str = "domain"

    def __call__(
        self, key: PRNGKey, world: Any, truth: Any, model: Any
    ) -> dict[str, Float[Array, ""]]:
        """The measure."""
        # All coordinates are drawn: means over several images need one frame.
        world = replace(world, dimension=self.dimension, method="direct")
        quiet = replace(world, share=0.0)
        k_fit, k_source, k_target = named(key, "fit", "source", "target")
        draw = lambda k, of: jax.vmap(lambda i: example(of, k, truth, i))(jnp.arange(self.images))
        fit, source, target = draw(k_fit, quiet), draw(k_source, quiet), draw(k_target, world)
        read = {}
        for name in READ:
            behind = lambda image, name=name: filtered(name, image.patches.tokens, world.side)
            means = class_means(jax.vmap(behind)(fit), fit.patches.labels, world.clusters)
            for part, images in (("source", source), ("target", target)):
                found = nearest(jax.vmap(behind)(images), means)
                read[f"{name}.{part}"] = jnp.mean(found == images.patches.labels, dtype=float)
        return read


def filtered(name: str, x: Float[Array, "patches width"], side: int) -> Array:
    """Patches after a filter; as they are where the name is `raw`."""
    return x if name == "raw" else FILTERS[name](x, side) @ x


def class_means(x: Array, labels: Array, classes: int) -> Float[Array, "classes width"]:
    """The mean of the patches of each class, over all images."""
    member = jax.nn.one_hot(labels.reshape(-1), classes)
    total = jnp.maximum(jnp.sum(member, axis=0), 1)
    return member.T @ x.reshape(-1, x.shape[-1]) / total[:, None]


def nearest(
    x: Float[Array, "images patches width"], means: Float[Array, "classes width"]
) -> Int[Array, "images patches"]:
    """The class whose mean is nearest, patch by patch."""
    half = jnp.sum(means**2, axis=-1) / 2
    return jnp.argmax(x @ means.T - half[None, None], axis=-1)


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


filter_errors, cross_errors, domain_accuracy = FilterErrors(), CrossErrors(), DomainAccuracy()
