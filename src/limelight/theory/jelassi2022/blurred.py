r"""The error of a threshold on a weighted sum of marks, smooth in the weights.

$\sum_j a_j \delta_j$ has a discrete law with no lattice where the weights differ. Blurred by a
little Gaussian noise its error is an integral of the characteristic function, which is a product
of cosines: exact, and differentiable in the weights.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from limelight._core.types import Number, Scalar


def blurred_error(
    weights: Float[Array, " tokens"],
    members: Int[Array, "sets size"],
    density: Number,
    blur: Number = 0.1,
    points: int = 1000,
    reach: Number = 5.0,
) -> Scalar:
    r"""$P[y \sum_j a_j \delta_j + h g < 0]$ with $g \sim N(0, 1)$, over labels and signal sets.

    $$\frac12 - \frac1\pi \int_0^\infty \frac{dt}{t}\, e^{-h^2t^2/2}\, \frac1L \sum_\ell
      \sin\Big(t \sum_{j \in S_\ell} a_j\Big) \prod_{j \notin S_\ell} (1 - q + q \cos a_j t)$$

    (Gil-Pelaez), by the midpoint rule on `points` intervals up to $t = $ `reach`$/h$. Where a sum
    of 0 is possible it counts one half, as if a coin decided.

    Args:
        weights: One per patch, $a_j$.
        members: The patches of each set.
        density: Probability of a random mark, $q$.
        blur: Standard deviation of the blur, $h$; the finest difference of sums that is seen.
        points: Points of the integral.
        reach: Where it ends, in units of $1/h$.
    """
    step = reach / blur / points
    t = step * (jnp.arange(points) + 0.5)
    # One factor per set and frequency, then the product over all other sets.
    factor = 1 - density + density * jnp.cos(weights[members][..., None] * t[None, None, :])
    inside = jnp.prod(factor, axis=1)
    count = members.shape[0]
    own = jnp.eye(count, dtype=bool)[..., None]
    others = jnp.prod(jnp.where(own, 1.0, inside[None, :, :]), axis=1)
    signal = jnp.sin(jnp.sum(weights[members], axis=1)[:, None] * t[None, :])
    wave = jnp.mean(signal * others, axis=0) * jnp.exp(-0.5 * (blur * t) ** 2) / t
    return 0.5 - step * jnp.sum(wave) / jnp.pi
