"""Images as grids of noisy patches whose clusters form regions, some corrupted (xu2022)."""

from dataclasses import replace
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from limelight._core.errors import check_between, check_least, check_positive, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import ranks
from limelight._core.shown import Shown, shown_of
from limelight._core.types import Number, PRNGKey
from limelight.worlds.base import World
from limelight.worlds.clusters import LARGEST, Centres, Cloud, cloud

LAYOUTS = ("regions", "fragmented", "scattered", "permuted")


class RegionImage(eqx.Module):
    """A grid of patches in row order, and which of them are corrupted."""

    patches: Cloud
    corrupted: Bool[Array, " patches"]


@kind("world.regions")
class Regions(World[Centres, RegionImage]):
    r"""A $g \times g$ grid of tokens around orthonormal centres, a share of them corrupted.

    Layouts: `regions` (Voronoi cells, one random seed per cluster), `fragmented` (three seeds per
    cluster), `scattered` (labels independent and uniform), `permuted` (the labels of regions in
    random order).

    Notation: `sigma` their $\sigma$; `loud` is the noise level of a corrupted patch, ours.
    Departures: the paper has no such experiment; it claims its outcome in words.

    Args:
        side: Patches along a side.
        clusters: Clusters, each with a centre of its own.
        layout: Where the clusters lie.
        sigma: Noise level of a clean patch.
        loud: Noise level of a corrupted patch; equal to `sigma` for no corruption.
        share: Share of the patches that is corrupted, rounded to a count.
        independent: Whether each patch is corrupted by a coin of its own instead of a fixed count.
        frame: `fixed` centres on the axes, or a `fresh` random orthonormal frame in every image.
        dimension: Dimension of a token.
        method: The sampler of `clusters`; `direct` gives all coordinates, as networks need them,
            and so does a fresh frame.

    Example:
        >>> import limelight as ll
        >>> ll.worlds.Regions(side=6, clusters=4, layout="scattered").tokens
        36
    """

    side: int = eqx.field(static=True, default=14)
    clusters: int = eqx.field(static=True, default=6)
    layout: Literal["regions", "fragmented", "scattered", "permuted"] = eqx.field(
        static=True, default="regions"
    )
    sigma: Number = 0.5
    loud: Number = 1.5
    share: Number = 0.1
    independent: bool = eqx.field(static=True, default=False)
    frame: Literal["fixed", "fresh"] = eqx.field(static=True, default="fixed")
    dimension: Number = 384
    method: Literal["auto", "direct", "reduced"] = eqx.field(static=True, default="auto")

    @property
    def tokens(self) -> int:
        """Patches in an image."""
        return self.side**2

    def draw(self, key: PRNGKey) -> Centres:
        """The centres on the first axes (of a fresh frame only the number is known)."""
        return Centres(jnp.eye(self.clusters))

    def labels(self, key: PRNGKey) -> Int[Array, " patches"]:
        """The cluster of each patch."""
        k_seeds, k_order = named(key, "seeds", "order")
        if self.layout == "scattered":
            return jr.randint(k_seeds, (self.tokens,), 0, self.clusters)
        copies = 3 if self.layout == "fragmented" else 1
        seeds = self.side * jr.uniform(k_seeds, (copies * self.clusters, 2))
        row, column = jnp.divmod(jnp.arange(self.tokens), self.side)
        place = jnp.stack([row, column], axis=-1) + 0.5
        far = jnp.sum((place[:, None, :] - seeds[None, :, :]) ** 2, axis=-1)
        labels = jnp.argmin(far, axis=-1) % self.clusters
        return jr.permutation(k_order, labels) if self.layout == "permuted" else labels

    def corrupted(self, key: PRNGKey) -> Bool[Array, " patches"]:
        """Which patches are corrupted."""
        if self.independent:
            return jr.bernoulli(key, self.share, (self.tokens,))
        return ranks(jr.uniform(key, (self.tokens,))) < jnp.round(
            jnp.asarray(self.share, dtype=float) * self.tokens
        )

    def sample(self, key: PRNGKey, truth: Centres, index: Int[Array, ""]) -> RegionImage:
        """One image."""
        k_labels, k_loud, k_noise, k_frame = named(key, "labels", "loud", "noise", "frame")
        labels, loud = self.labels(k_labels), self.corrupted(k_loud)
        scale = jnp.where(loud, jnp.asarray(self.loud, float), jnp.asarray(self.sigma, float))
        if self.frame == "fixed":
            tokens = cloud(k_noise, truth.centres, labels, scale, self.dimension, self.method)
            return RegionImage(tokens, loud)
        centres = random_frame(k_frame, self.clusters, int(self.dimension))
        return RegionImage(
            cloud(k_noise, centres, labels, scale, int(self.dimension), "direct"), loud
        )

    def tell(self, truth: Centres, item: RegionImage) -> Shown:
        """The patches, the cluster of each, and a sign on the corrupted ones."""
        told, loud = shown_of(item.patches, ()), np.asarray(item.corrupted).astype(int)
        return replace(told, layout="grid", signs=loud, token="patch")

    def check(self) -> None:
        """Refuse shapes and levels that make no sense."""
        check_word("world.layout", self.layout, LAYOUTS)
        check_least(self, ("side",), 2, "world.")
        check_least(self, ("clusters",), prefix="world.")
        check_positive(self, ("sigma", "loud"), "world.")
        check_between(self, ("share",), 0, 1, "world.")
        check_between(self, ("dimension",), self.clusters, LARGEST, "world.")


def random_frame(key: PRNGKey, vectors: int, dimension: int) -> Float[Array, "vectors dimension"]:
    """Orthonormal vectors in random directions, by Gram and Schmidt twice (no batched QR)."""
    start = jr.normal(key, (vectors, dimension))

    def orthogonal(done, i):
        v = start[i]
        for _ in range(2):
            v = v - done.T @ (done @ v)
        return done.at[i].set(v / jnp.linalg.norm(v)), None

    frame, _ = jax.lax.scan(orthogonal, jnp.zeros_like(start), jnp.arange(vectors))
    return frame
