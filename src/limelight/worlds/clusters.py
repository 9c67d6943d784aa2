r"""Noisy tokens around unit centres: the instance model of xu2022, at any dimension.

Everything attention does to such tokens is a function of inner products, so the space may be
rotated: centres are written in the $p$ coordinates they span, and the Gaussian matrix of the other
$d-p$ coordinates is replaced by its lower triangular (Bartlett) factor. Memory and time then do
not depend on $d$.
"""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from limelight._core import gram as grams
from limelight._core.errors import InputError, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.worlds.base import World

METHODS = ("auto", "direct", "reduced")
#: Whole numbers that a degree of freedom may be.
LARGEST = 2**31 - 1


class Centres(eqx.Module):
    """What one trial keeps fixed: the centres, in as few coordinates as they need."""

    centres: Float[Array, "clusters rank"]


class Cloud(eqx.Module):
    """Tokens around centres.

    Args:
        tokens: One per row, in the coordinates of the sampler.
        centres: One per row, in the same coordinates.
        labels: The cluster of each token.
    """

    tokens: Float[Array, "tokens width"]
    centres: Float[Array, "clusters width"]
    labels: Int[Array, " tokens"]

    @property
    def targets(self) -> Float[Array, "tokens width"]:
        """The centre of each token."""
        return self.centres[self.labels]

    @property
    def noise(self) -> Float[Array, "tokens width"]:
        """What was added to each centre."""
        return self.tokens - self.targets


@kind("world.clusters")
class Clusters(World[Centres, Cloud]):
    r"""Tokens around the centres of their clusters, which have any feasible Gram matrix.

    $x_i = u_{k_i} + h_i$ with $h_i \sim N(0, (\sigma^2/d) I_d)$.

    Notation: `clusters` is their $C$, `size` their $m_k$, `sigma` their $\sigma$, `dimension` their
        $d$. $\sigma$ is the ratio of noise to signal in norm, since $|h_i| \approx \sigma$.
    Departures: tokens come in rotated coordinates (see the module), which changes no inner product.

    Args:
        clusters: Number of clusters.
        size: Tokens in each cluster.
        sizes: Tokens in each cluster where they differ, as numbers or as a word such as `2-5-40`
            (`equal` for none); replaces `size`.
        cosine: Inner product of every two centres, when `gram` is not given.
        gram: Inner products of the centres, as a tuple of rows; replaces `cosine`.
        sigma: Noise level.
        dimension: Dimension of a token; swept for free with the reduced sampler.
        method: `reduced` (any dimension, cost independent of it), `direct`, or `auto`: direct where
            that takes fewer numbers and the dimension is known when the program is built.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.Clusters(clusters=3, size=4, sigma=0.5, dimension=16)
        >>> make = lambda: world.sample(jr.key(1), world.draw(jr.key(0)), jax.numpy.array(0))
        >>> jax.eval_shape(make).tokens.shape[0]
        12

    Reference: xu2022, Section 2.
    """

    clusters: int = eqx.field(static=True, default=10)
    size: int = eqx.field(static=True, default=50)
    sizes: str | tuple[int, ...] | None = eqx.field(static=True, default=None)
    cosine: Number = 0.0
    gram: tuple[tuple[float, ...], ...] | None = eqx.field(static=True, default=None)
    sigma: Number = 0.5
    dimension: Number = 1024
    method: Literal["auto", "direct", "reduced"] = eqx.field(static=True, default="auto")

    @classmethod
    def from_gram(cls, gram: np.ndarray, **settings) -> "Clusters":
        """Centres with the given inner products; `core.gram` makes some."""
        grams.check(gram)
        rows = tuple(tuple(float(v) for v in row) for row in gram)
        return cls(clusters=len(rows), gram=rows, **settings)

    @property
    def counts(self) -> tuple[int, ...]:
        """Tokens in each cluster."""
        if self.sizes is None or self.sizes == "equal":
            return (self.size,) * self.clusters
        return parse_sizes(self.sizes) if isinstance(self.sizes, str) else self.sizes

    @property
    def tokens(self) -> int:
        """Tokens in all."""
        return sum(self.counts)

    @property
    def rank(self) -> int:
        """Coordinates the centres take."""
        return self.clusters if self.gram is None else grams.rank(np.array(self.gram))

    @property
    def matrix(self) -> Float[np.ndarray, "clusters clusters"]:
        """The Gram matrix, on concrete numbers."""
        if self.gram is not None:
            return np.array(self.gram)
        return grams.equiangular(self.clusters, float(self.cosine))

    def draw(self, key: PRNGKey) -> Centres:
        """The centres; which ones is fixed by the Gram matrix up to a rotation."""
        if self.gram is not None:
            return Centres(jnp.asarray(grams.coordinates(np.array(self.gram)), dtype=float))
        return Centres(equiangular_centres(self.clusters, self.cosine))

    def sample(self, key: PRNGKey, truth: Centres, index: Int[Array, ""]) -> Cloud:
        """One set of tokens."""
        labels = jnp.repeat(jnp.arange(self.clusters), np.array(self.counts))
        scale = jnp.broadcast_to(jnp.asarray(self.sigma, dtype=float), labels.shape)
        return cloud(key, truth.centres, labels, scale, self.dimension, self.method)

    def check(self) -> None:
        """Refuse infeasible geometry and sizes, with the reason."""
        if self.gram is not None and len(self.gram) != self.clusters:
            raise InputError(f"clusters = {self.clusters} but the Gram matrix has {len(self.gram)}")
        grams.check(self.matrix)
        if len(self.counts) != self.clusters or min(self.counts) < 1:
            raise InputError(f"sizes = {self.counts}", "one positive size for each cluster")
        if not (np.isfinite(self.sigma) and self.sigma > 0):
            raise InputError(f"sigma = {self.sigma}", "a positive noise level")
        check_word("world.method", self.method, METHODS)
        if not self.rank <= self.dimension <= LARGEST:
            raise InputError(
                f"dimension = {self.dimension} for centres that take {self.rank} coordinates",
                f"between {self.rank} and {LARGEST}",
            )


def parse_sizes(word: str) -> tuple[int, ...]:
    """Sizes from a word, so that an axis can hold them.

    Example:
        >>> parse_sizes("2-5-40")
        (2, 5, 40)
    """
    parts = word.split("-")
    if not all(part.isdigit() for part in parts):
        raise InputError(f"sizes = {word!r}", "whole numbers joined by -, such as 2-5-40")
    return tuple(int(part) for part in parts)


def cloud(
    key: PRNGKey,
    centres: Float[Array, "clusters rank"],
    labels: Int[Array, " tokens"],
    scale: Float[Array, " tokens"],
    dimension: Number,
    method: str = "auto",
) -> Cloud:
    """Tokens around given centres with a noise level each, in the sampler's coordinates."""
    span, tokens = centres.shape[1], labels.shape[0]
    if chosen(method, dimension, span, tokens) == "direct":
        noise = jr.normal(key, (tokens, int(dimension)))
    else:
        noise = reduced_noise(key, tokens, span, dimension)
    noise = noise * (scale / jnp.sqrt(jnp.asarray(dimension, dtype=float)))[:, None]
    wide = jnp.pad(centres, ((0, 0), (0, noise.shape[1] - span)))
    return Cloud(wide[labels] + noise, wide, labels)


def chosen(method: str, dimension, span: int, tokens: int) -> str:
    """Which sampler is used: `auto` takes the direct one where it needs fewer numbers."""
    known = isinstance(dimension, int | np.integer)
    if method == "direct" and not known:
        raise InputError(
            "the direct sampler needs its dimension when the program is built",
            "use method = reduced where the dimension is swept",
        )
    if method != "auto":
        return method
    return "direct" if known and dimension < span + tokens else "reduced"


def reduced_noise(
    key: PRNGKey, tokens: int, span: int, dimension: Number
) -> Float[Array, "tokens width"]:
    r"""Standard Gaussian noise in rotated coordinates: the law of all its inner products is exact.

    The first `span` coordinates are Gaussian. The other $N = d - p$ ones are the lower triangular
    factor $L$ of an $m \times N$ Gaussian matrix: $L_{ab} \sim N(0,1)$ for $a > b$ and
    $L_{aa}^2 \sim \chi^2_{N-a}$. Where $N < m$ the factor has only $N$ columns; the rest are zero,
    so any $d \ge p$ is allowed and may be traced.
    """
    k_normal, k_diagonal = named(key, "normal", "diagonal")
    normal = jr.normal(k_normal, (tokens, span + tokens))
    free = jnp.asarray(dimension, dtype=float) - span
    place = jnp.arange(tokens)
    diagonal = jnp.sqrt(jr.chisquare(k_diagonal, jnp.maximum(free - place, 1.0), (tokens,)))
    low = jnp.tril(normal[:, span:], -1) + jnp.diag(diagonal)
    low = jnp.where((place < free)[None, :], low, 0.0)
    return jnp.concatenate([normal[:, :span], low], axis=1)


def equiangular_centres(clusters: int, cosine: Number) -> Float[Array, "clusters clusters"]:
    r"""The symmetric root of $(1-\rho)I + \rho 11^\top$: rows at one angle, $\rho$ traced."""
    cosine = jnp.asarray(cosine, dtype=float)
    narrow = jnp.sqrt(1 - cosine)
    wide = jnp.sqrt(jnp.maximum(1 - cosine + clusters * cosine, 0.0))
    return narrow * jnp.eye(clusters) + (wide - narrow) / clusters
