r"""The instance model of xu2022 as numbers: a Gram matrix, sizes, noise, dimension.

Tokens $x_i = u_{k_i} + h_i$ with unit centres $u_1..u_C$ and $h_i \sim N(0, (\sigma^2/d) I_d)$, so
$|h_i| \approx \sigma$: the noise level is the ratio of noise to signal in norm.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from limelight._core import gram as grams
from limelight._core.errors import InputError
from limelight._core.gram import Number

#: Distance of orthonormal centres.
ORTHONORMAL = float(np.sqrt(2))


@dataclass(frozen=True, eq=False)
class Setting:
    r"""Everything the theory needs of a cluster model; no token is ever drawn here.

    Args:
        gram: Inner products of the centres, $\rho_{ab} = \langle u_a, u_b\rangle = 1 - r_{ab}^2/2$.
        sizes: Tokens in each cluster, their $m_k$.
        sigma: Noise level, their $\sigma$.
        dimension: Of a token, their $d$; infinity for the limit law.

    Example:
        >>> Setting.equal(clusters=10, size=50, sigma=0.5, dimension=384).tokens
        500.0
    """

    gram: np.ndarray
    sizes: np.ndarray
    sigma: Number
    dimension: Number = np.inf

    def __post_init__(self):
        gram = np.array(self.gram, dtype=float)
        sizes = np.array(self.sizes, dtype=float)
        object.__setattr__(self, "gram", gram)
        object.__setattr__(self, "sizes", sizes)
        grams.check(gram)
        if sizes.shape != (len(gram),):
            raise InputError(
                f"{len(gram)} centres but {sizes.size} sizes", "one size for each cluster"
            )
        if not (np.isfinite(sizes).all() and (sizes >= 1).all()):
            raise InputError(f"sizes = {sizes.tolist()}", "every cluster has at least one token")
        if not (np.isfinite(self.sigma) and self.sigma > 0):
            raise InputError(f"sigma = {self.sigma}", "a positive noise level")
        if np.isnan(self.dimension) or self.dimension < self.rank:
            raise InputError(
                f"dim = {self.dimension} is too small for centres that span {self.rank}",
                f"at least {self.rank}",
            )

    @classmethod
    def equal(
        cls,
        clusters: int = 10,
        size: Number = 50,
        sigma: Number = 0.5,
        dimension: Number = np.inf,
        cosine: Number = 0.0,
    ) -> "Setting":
        """Equal sizes, all pairs of centres at one angle (orthonormal by default)."""
        return cls(
            grams.equiangular(clusters, cosine), np.full(clusters, float(size)), sigma, dimension
        )

    @classmethod
    def from_points(
        cls, points: np.ndarray, sizes: Any, sigma: Number, dimension: Number = np.inf
    ) -> "Setting":
        """Centres in the directions of given points."""
        return cls(grams.from_points(points), np.asarray(sizes, dtype=float), sigma, dimension)

    @classmethod
    def random(cls, generator: np.random.Generator) -> "Setting":
        """A cluster model drawn at random: number and sizes of clusters, angles, noise, dimension.

        At least one cluster has two tokens.
        """
        C = int(generator.integers(1, 6))
        points = generator.standard_normal((C, C + 2)) + generator.uniform(0, 3)
        sizes = generator.integers(1, 40, C).astype(float)
        sizes[0] = max(sizes[0], 2)
        sigma = float(np.exp(generator.uniform(np.log(0.05), np.log(2))))
        dimension = float(np.round(np.exp(generator.uniform(np.log(C + 2), np.log(1e6)))))
        return cls.from_points(points, sizes, sigma, dimension)

    def at(self, **changes) -> "Setting":
        """The same setting with some numbers changed."""
        return replace(self, **changes)

    @property
    def clusters(self) -> int:
        """Number of clusters, their $C$."""
        return len(self.sizes)

    @property
    def tokens(self) -> float:
        """Number of tokens, their $m$."""
        return float(self.sizes.sum())

    @cached_property
    def rank(self) -> int:
        """Dimensions that the centres span."""
        return grams.rank(self.gram)

    @cached_property
    def gaps(self) -> np.ndarray:
        r"""$D_{ab} = 1 - \rho_{ab} = r_{ab}^2/2$."""
        return np.clip(1.0 - self.gram, 0.0, None)

    @cached_property
    def distances(self) -> np.ndarray:
        r"""$r_{ab} = |u_a - u_b|$."""
        return np.sqrt(2 * self.gaps)

    @cached_property
    def nearest(self) -> float:
        r"""Their $r_\ell$: the smallest distance between two centres; infinite for one cluster."""
        return float(self.distances[self.others].min()) if self.clusters > 1 else np.inf

    @cached_property
    def farthest(self) -> float:
        """Their $r_u$: the largest distance between two centres; 0 for one cluster."""
        return float(self.distances.max())

    @cached_property
    def others(self) -> np.ndarray:
        """True off the diagonal."""
        return ~np.eye(self.clusters, dtype=bool)

    @cached_property
    def representatives(self) -> np.ndarray:
        """One cluster for each kind that can differ: by size alone when all angles are equal."""
        off = self.gram[self.others]
        if len(off) and np.ptp(off) > 1e-12:
            return np.arange(self.clusters)
        return np.unique(self.sizes, return_index=True)[1]

    @property
    def finite_dimension(self) -> float:
        """Dimension of a token, where the limit law will not do."""
        if not np.isfinite(self.dimension):
            raise InputError("a finite dimension is needed here", "set dim")
        return float(self.dimension)

    def check_masked(self, masked: bool) -> None:
        """Refuse to mask the diagonal of a single token."""
        if masked and self.tokens < 2:
            raise InputError("one token with its diagonal masked attends to nothing", "add a token")

    def token_mean(self, by_cluster: np.ndarray) -> np.ndarray:
        """The average over tokens of a number that each cluster's tokens share (last axis)."""
        return np.asarray((np.asarray(by_cluster) * self.sizes).sum(axis=-1) / self.tokens)


def check_strength(strength: Any) -> np.ndarray:
    """The logit scale as an array; refuse what is negative or not finite."""
    strength = np.asarray(strength, dtype=float)
    if not np.isfinite(strength).all() or (strength < 0).any():
        raise InputError(f"lambda = {strength}", "finite and not negative")
    return strength


def check_delta(delta: Number) -> float:
    """A failure probability, strictly between 0 and 1."""
    if not 0 < delta < 1:
        raise InputError(f"delta = {delta}", "a probability strictly between 0 and 1")
    return delta
