r"""Two token sets that attend across: source queries, target keys, some pairs wrong (xu2022)."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from limelight._core.errors import check_between, check_least, check_positive
from limelight._core.kinds import kind
from limelight._core.numerics import count
from limelight._core.shown import Shown, shown_of
from limelight._core.types import Number, PRNGKey
from limelight.worlds.base import World
from limelight.worlds.clusters import LARGEST, Centres, Cloud, reduced_noise


class Pair(eqx.Module):
    """Queries of one source cluster, and the target set that they attend to."""

    queries: Float[Array, "queries width"]
    target: Cloud

    @property
    def wanted(self) -> Float[Array, " width"]:
        """The target centre that the queries should find."""
        return self.target.centres[0]


@kind("world.pairs")
class Pairs(World[Centres, Pair]):
    r"""Source tokens of one cluster and a target whose matching cluster may be depleted.

    Target centres $u'_b$ are orthonormal; the source centre has $\langle u_0,u'_0\rangle$ =
    `alignment` and is orthogonal to the others. Of the $m_k$ tokens of the matching target cluster
    a share `wrong` belongs to other clusters instead, spread evenly: wrong pseudo-labels.

    Notation: `sigma_source`, `sigma_target` their $\sigma$ in the two domains; `size` $m_k$.
    Departures: the paper states its cross-attention argument in words; this model is ours.

    Args:
        clusters: Target clusters.
        size: Tokens in a cluster, and queries.
        alignment: Inner product of the source centre and its match.
        wrong: Share of the matching cluster that is of other clusters.
        sigma_source: Noise of the queries.
        sigma_target: Noise of keys and values.
        dimension: Dimension of a token, at no cost.

    Example:
        >>> import limelight as ll
        >>> ll.worlds.Pairs(clusters=3, size=4, wrong=0.25).check()  # refuses what makes no sense
    """

    clusters: int = eqx.field(static=True, default=10)
    size: int = eqx.field(static=True, default=50)
    alignment: Number = 1.0
    wrong: Number = 0.0
    sigma_source: Number = 1.0
    sigma_target: Number = 1.0
    dimension: Number = 100_000

    def draw(self, key: PRNGKey) -> Centres:
        """Target centres, then the source centre, in one more coordinate than clusters."""
        targets = jnp.eye(self.clusters, self.clusters + 1)
        align = jnp.asarray(self.alignment, dtype=float)
        source = align * targets[0] + jnp.sqrt(jnp.maximum(1 - align**2, 0.0)) * jnp.eye(
            1, self.clusters + 1, self.clusters
        ).reshape(-1)
        return Centres(jnp.concatenate([targets, source[None]]))

    @property
    def counts(self) -> tuple[int, ...]:
        """Target tokens of each cluster, as `labels` has them; without a program to compile."""
        gone = round(round(float(self.wrong) * self.size, 3))  # as `count` rounds
        each, more = divmod(gone, max(self.clusters - 1, 1))
        others = (self.size + each + (place < more) for place in range(self.clusters - 1))
        return (self.size - gone, *others)

    def labels(self) -> Int[Array, " tokens"]:
        """The cluster of each target token: the matching one first, then what replaces it."""
        place = jnp.arange(self.clusters * self.size)
        kept = self.size - count(self.wrong, self.size)
        stray = 1 + (place - kept) % max(self.clusters - 1, 1)
        first = jnp.where(place < kept, 0, stray)
        return jnp.where(place < self.size, first, place // self.size)

    def sample(self, key: PRNGKey, truth: Centres, index: Int[Array, ""]) -> Pair:
        """Queries and target, in common coordinates."""
        tokens, span = self.clusters * self.size, self.clusters + 1
        noise = reduced_noise(key, self.size + tokens, span, self.dimension)
        noise = noise / jnp.sqrt(jnp.asarray(self.dimension, dtype=float))
        wide = jnp.pad(truth.centres, ((0, 0), (0, noise.shape[1] - span)))
        labels = self.labels()
        queries = wide[-1][None, :] + self.sigma_source * noise[: self.size]
        keys = wide[labels] + self.sigma_target * noise[self.size :]
        return Pair(queries, Cloud(keys, wide[:-1], labels))

    def tell(self, truth: Centres, item: Pair) -> Shown:
        """The target's tokens by cluster, and the queries beside them."""
        target = shown_of(item.target, ())
        values = np.concatenate([np.asarray(item.queries), target.values])
        assert target.groups is not None
        groups = np.concatenate([np.full(len(item.queries), len(target.names)), target.groups])
        return Shown(values, groups, (*target.names, "queries"), layout="plane")

    def check(self) -> None:
        """Refuse shares and cosines out of range."""
        check_least(self, ("clusters",), 2, "world.")
        check_least(self, ("size",), prefix="world.")
        check_between(self, ("alignment",), -1, 1, "world.")
        check_between(self, ("wrong",), 0, 1, "world.")
        check_positive(self, ("sigma_source", "sigma_target"), "world.")
        check_between(self, ("dimension",), self.clusters + 1, LARGEST, "world.")
