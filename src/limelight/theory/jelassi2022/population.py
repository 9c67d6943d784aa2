r"""The population of jelassi2022's data as counts: exact by convolution, or drawn.

With $v = \alpha w^*$ and attention that knows only "same patch, same set, other set", an image
enters the network through five integers: with $n_\ell$ marked patches of signed sum $m_\ell$ in
set $\ell$,

$$M = \sum_\ell m_\ell, \quad N = \sum_\ell n_\ell, \quad K = \sum_\ell n_\ell m_\ell, \quad
  Q_2 = \sum_\ell m_\ell^2, \quad Q_3 = \sum_\ell m_\ell^3.$$

Their joint law does not depend on the parameters. The network is odd in the image, so the label
is fixed at $+1$ throughout.
"""

import abc
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError
from limelight._core.types import Number, PRNGKey
from limelight.theory.jelassi2022.layer import Layer, LayerState
from limelight.worlds.laws import check_partition

#: Atoms times set types beyond which an enumeration is refused: it takes minutes and gigabytes.
MOST_PAIRS = 20_000_000


class Population(eqx.Module):
    """Images with their weights, as far as the reduced network can tell them apart.

    Args:
        weights: The probability of each; their sum is 1.
        lost: Probability that was left out before the weights were scaled to 1; it bounds the
            error of any probability.
    """

    weights: eqx.AbstractVar[Float[Array, " atoms"]]
    lost: eqx.AbstractVar[float]

    @abc.abstractmethod
    def outputs(self, layer: Layer, state: LayerState) -> Float[Array, " atoms"]:
        """What the network says of each image, times its label."""


class Statistics(Population):
    r"""The five integers, for the cubic activation: $F$ is linear in six monomials of them.

    Args:
        weights: The probability of each.
        monomials: $M, K, Q_3, MN, MQ_2, M^3$ of each.
        lost: Probability left out.
    """

    weights: Float[Array, " atoms"]
    monomials: Float[Array, "atoms 6"]
    lost: float = eqx.field(static=True, default=0.0)

    def outputs(self, layer: Layer, state: LayerState) -> Float[Array, " atoms"]:
        r"""The cubic network.

        $$F = (D\alpha)^3 \big[a^3 M + 3a^2 b K + (3ab^2 + Cb^3) Q_3 + 3a^2 e\,MN
          + (6ab + 3Cb^2) e\,MQ_2 + (3ae^2 + 3Cbe^2 + De^3) M^3\big] + \nu D \alpha M$$

        with $a = \Lambda - \Gamma$, $b = \Gamma - \Xi$, $e = \Xi$.
        """
        power, linear = layer.activation.power, layer.activation.linear
        if power != 3:
            raise InputError(f"five integers serve power 3, not {power}", "draw the counts")
        a, b, e = layer.differences(state)
        C, D = layer.size, layer.tokens
        scale = (D * state.alpha) ** 3
        coefficients = jnp.stack(
            [
                scale * a**3 + linear * D * state.alpha,
                scale * 3 * a**2 * b,
                scale * (3 * a * b**2 + C * b**3),
                scale * 3 * a**2 * e,
                scale * (6 * a * b + 3 * C * b**2) * e,
                scale * (3 * a * e**2 + 3 * C * b * e**2 + D * e**3),
            ]
        )
        return self.monomials @ coefficients


class DrawnCounts(Population):
    """Positive and negative marks in each random set of drawn images: for any odd power.

    Args:
        weights: The same for all.
        positive: Positive marks, one column per random set.
        negative: Negative marks.
        lost: Nothing is left out; the draw itself is the error.
    """

    weights: Float[Array, " atoms"]
    positive: Int[Array, "atoms sets"]
    negative: Int[Array, "atoms sets"]
    lost: float = eqx.field(static=True, default=0.0)

    def outputs(self, layer: Layer, state: LayerState) -> Float[Array, " atoms"]:
        r"""$F = C \sigma(O_{sig}) + \sum_\ell [a_\ell \sigma(O_+) + b_\ell \sigma(O_-) + ..]$."""
        a, b, e = layer.differences(state)
        C = layer.size
        m = (self.positive - self.negative).astype(float)
        M = C + jnp.sum(m, axis=1, keepdims=True)
        response = lambda mark: layer.activation(
            layer.tokens * state.alpha * (a * mark + b * m + e * M)
        )
        idle = C - self.positive - self.negative
        random = self.positive * response(1) + self.negative * response(-1) + idle * response(0)
        signal = layer.activation(layer.tokens * state.alpha * (a + b * C + e * M[:, 0]))
        return C * signal + jnp.sum(random, axis=1)


def enumerated(tokens: int, size: int, density: Number, prune: Number = 0.0) -> Statistics:
    """The exact law by convolution over the random sets.

    Args:
        tokens: Patches, $D$.
        size: Patches in a set, $C$.
        density: Probability of a mark in a random set, $q$.
        prune: Atoms below this probability are dropped after each set; what they weighed is
            reported as `lost`.

    Example:
        >>> enumerated(8, 2, 0.4).weights.shape[0], enumerated(12, 3, 0.3).weights.shape[0]
        (56, 220)
    """
    integers, weights = count_law(tokens, size, density, prune)
    total = weights.sum()
    return Statistics(
        weights=jnp.asarray(weights / total, dtype=float),
        monomials=jnp.asarray(monomials(integers), dtype=float),
        lost=max(float(1 - total), 0.0),
    )


def drawn(key: PRNGKey, tokens: int, size: int, density: Number, draws: int) -> DrawnCounts:
    """Counts of `draws` random images: the population by Monte Carlo.

    Example:
        >>> import jax, jax.random as jr
        >>> make = lambda: drawn(jr.key(0), tokens=8, size=2, density=0.5, draws=10)
        >>> counts = jax.eval_shape(make)
        >>> type(counts).__name__
        'DrawnCounts'
    """
    check_partition("strided", tokens, size)
    chance = jr.uniform(key, (draws, tokens // size - 1, size))
    positive = jnp.sum(chance < density / 2, axis=2)
    negative = jnp.sum((chance >= density / 2) & (chance < density), axis=2)
    weights = jnp.full(draws, 1.0 / draws)
    return DrawnCounts(weights=weights, positive=positive, negative=negative)


def condensed(counts: DrawnCounts, size: int) -> Statistics:
    """Drawn counts as the five integers, at a cost that does not grow with the number of sets.

    Example:
        >>> import jax, jax.random as jr
        >>> found = jax.eval_shape(lambda: condensed(drawn(jr.key(0), 8, 2, 0.5, 10), 2))
        >>> found.monomials.shape
        (10, 6)
    """
    m, n = counts.positive - counts.negative, counts.positive + counts.negative
    add = lambda sets, signal: jnp.sum(sets, axis=1) + signal
    integers = jnp.stack(
        [
            add(m, size),
            add(n, size),
            add(n * m, size**2),
            add(m**2, size**2),
            add(m**3, size**3),
        ],
        axis=1,
    )
    return Statistics(weights=counts.weights, monomials=monomials(integers.astype(float)))


def monomials(integers: Any) -> Any:
    r"""$M, K, Q_3, MN, MQ_2, M^3$ from $M, N, K, Q_2, Q_3$; NumPy or JAX."""
    M, N, K, Q2, Q3 = (integers[:, i] for i in range(5))
    columns = [M, K, Q3, M * N, M * Q2, M**3]
    return (np if isinstance(integers, np.ndarray) else jnp).stack(columns, axis=1)


def count_law(
    tokens: int, size: int, density: Number, prune: Number = 0.0
) -> tuple[Int[np.ndarray, "atoms 5"], Float[np.ndarray, " atoms"]]:
    """The joint law of the five integers, given the label +1: atoms and their probabilities."""
    check_partition("strided", tokens, size)
    if not 0 <= density <= 1:
        raise InputError(f"density = {density:g}", "a probability, between 0 and 1")
    if not 0 <= prune < 1:
        raise InputError(f"prune = {prune:g}", "a probability, 0 or more and below 1")
    one, chance = _set_law(size, float(density))
    sets = tokens // size
    # A mixed-radix code of the five integers: sums of codes are codes of sums.
    low = np.array([-size, 0, -(size**2), 0, -(size**3)])
    span = 2 * np.array([size, size, size**2, size**2, size**3]) * sets + 1
    if math.prod(int(length) for length in span) > np.iinfo(np.int64).max:
        raise InputError(f"{sets} sets of {size} are too many to enumerate", "draw the counts")
    radix = np.concatenate([[1], np.cumprod(span[:-1])])
    codes, weights = np.array([0]), np.array([1.0])
    steps = (one - low) @ radix
    for done in range(1, sets):
        if len(codes) * len(steps) > MOST_PAIRS:
            raise InputError(
                f"{len(codes):,} atoms after {done} of {sets} sets of {size}: too many",
                "prune more, or draw the counts",
            )
        codes, place = np.unique((codes[:, None] + steps).ravel(), return_inverse=True)
        weights = np.bincount(place.ravel(), (weights[:, None] * chance).ravel())
        kept = weights >= prune
        codes, weights = codes[kept], weights[kept]
        if not len(codes):
            raise InputError(f"every atom weighs less than prune = {prune:g}", "prune less")
    integers = (codes[:, None] // radix) % span + low * (sets - 1)
    return integers + np.array([size, size, size**2, size**2, size**3]), weights


def _set_law(size: int, density: float) -> tuple[np.ndarray, np.ndarray]:
    """The five integers of one random set, and their probabilities."""
    found = []
    for positive in range(size + 1):
        for negative in range(size + 1 - positive):
            n, m = positive + negative, positive - negative
            ways = math.comb(size, n) * math.comb(n, positive)
            chance = ways * (density / 2) ** n * (1 - density) ** (size - n)
            if chance > 0:
                found.append(((m, n, n * m, m**2, m**3), chance))
    return np.array([f[0] for f in found]), np.array([f[1] for f in found])
