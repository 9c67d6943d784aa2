r"""Whether trained positions know their neighbours: how local the similarity of encodings is."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from limelight._core.errors import InputError
from limelight._core.numerics import unit

Encodings = Float[Array, "patches width"]


def side_of(patches: int) -> int:
    """Patches along the side of a square grid of them."""
    side = round(patches**0.5)
    if side * side != patches:
        raise InputError(f"{patches} patches do not make a square", "such as 49, 7 x 7, or 196")
    return side


def similarity(encodings: Encodings) -> Float[Array, "patches patches"]:
    r"""$P P^\top$ divided by its largest entry in size, so that it lies in $[-1, 1]$.

    Departures: "rescaled" is all that the paper says of its figure.

    Reference: jelassi2022, Figure 1(a).
    """
    gram = encodings @ encodings.T
    return gram / jnp.max(jnp.abs(gram))


def cosines(encodings: Encodings) -> Float[Array, "patches patches"]:
    """Cosines between encodings less their mean."""
    centred = encodings - jnp.mean(encodings, axis=0, keepdims=True)
    return unit(centred) @ unit(centred).T


def locality(encodings: Encodings) -> Float[Array, ""]:
    r"""Mean cosine of next neighbours less that of pairs more than two patches apart.

    Patches lie row by row on a square grid; next neighbours share an edge, and far pairs are those
    at Euclidean distance above 2. Encodings drawn independently have 0 on average.

    Reference: ours; what jelassi2022's Figures 1(a) and 5 show, as one number.
    """
    near, far = _pairs(side_of(len(encodings)))
    G = cosines(encodings)
    mean = lambda pairs: jnp.sum(jnp.where(pairs, G, 0.0)) / pairs.sum()
    return mean(near) - mean(far)


def neighbour_share(encodings: Encodings) -> Float[Array, ""]:
    """Share of patches whose most similar other patch is among their eight neighbours."""
    count = len(encodings)
    row, column = np.divmod(np.arange(count), side_of(count))
    apart = np.maximum(abs(row[:, None] - row), abs(column[:, None] - column))
    G = jnp.where(jnp.eye(count, dtype=bool), -jnp.inf, cosines(encodings))
    nearest = jnp.argmax(G, axis=-1)
    return jnp.mean(jnp.asarray(apart == 1)[jnp.arange(count), nearest], dtype=float)


def _pairs(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Which pairs of patches are next neighbours, and which are far apart."""
    row, column = np.divmod(np.arange(side * side), side)
    down, across = abs(row[:, None] - row), abs(column[:, None] - column)
    far = down**2 + across**2 > 4
    if not far.any():
        raise InputError(
            f"on a {side} x {side} grid no two patches are far apart", "3 x 3 at least"
        )
    return down + across == 1, far
