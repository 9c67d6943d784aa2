r"""How alike the tokens of one image are: one definition, and those that others have used.

Over the patches of one image, with $u_i = x_i / |x_i|$,

$$s = \frac{1}{n (n - 1)} \sum_{i \ne j} \langle u_i, u_j \rangle$$

is the mean cosine of two different patches. Tokens are those that leave a block, as they are: no
class token, no diagonal, no absolute value, no norm before. Every one of these choices changes the
number, and some turn a trend around: see `DEFINITIONS`.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight.models.layers import Norm

Rows = Float[Array, "rows width"]
#: What a length of zero is taken for.
TINY = 1e-30


class Definition(NamedTuple):
    """A way to measure it: how it differs from ours, and where it is from."""

    words: str
    source: str


#: By name; `cosine` is ours.
DEFINITIONS = {
    "cosine": Definition(
        "mean cosine of two different patches, tokens as they leave the block",
        "ours; also the loops shown in Evo-ViT #4 and PatchVisionTransformer #3",
    ),
    "absolute": Definition(
        "the same, of absolute values: opposite tokens count as alike",
        "Gong et al. 2021, patch diversification",
    ),
    "whole": Definition(
        "absolute values over all pairs of all tokens: the diagonal and the class token count",
        "Wang et al. 2022, anti-oversmoothing, Appendix F.3",
    ),
    "columns": Definition(
        "the code of ViT-Anti-Oversmoothing #2 on an array of tokens by width: it compares the"
        " columns, not the tokens",
        "ViT-Anti-Oversmoothing #2, #7, as it is often copied",
    ),
    "normed": Definition(
        "mean cosine of two different patches after the network's last norm",
        "features as most libraries return them",
    ),
}
#: The cosine again, of tokens that went through attention alone, without sums and perceptrons.
ALONE = "alone"
#: Distance from the mean token over the length: `residual` of the network, `residual_alone`.
RESIDUAL = "residual"


def mean_cosine(rows: Rows) -> Float[Array, ""]:
    r"""$s$: the mean cosine of two different rows, through $|\sum_i u_i|^2 = n + \sum_{i \ne j}$.

    Example:
        >>> round(float(mean_cosine(jnp.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))), 4)
        0.3333
    """
    u, n = unit(rows), len(rows)
    return (jnp.sum(jnp.sum(u, axis=0) ** 2) - jnp.sum(u * u)) / (n * (n - 1))


def similarities(rows: Rows, first: int, last_norm: Norm | None) -> dict[str, Float[Array, ""]]:
    """Every one of `DEFINITIONS`, and the residual.

    Args:
        rows: All tokens of one image; at least two of them are patches.
        first: The row of the first patch.
        last_norm: The norm before the network's output; `None` without one.
    """
    patches = rows[first:]
    n, u, every, columns = len(patches), unit(patches), unit(rows), unit(rows.T)
    return {
        "cosine": mean_cosine(patches),
        "absolute": (jnp.sum(jnp.abs(u @ u.T)) - jnp.sum(u * u)) / (n * (n - 1)),
        "whole": jnp.mean(jnp.abs(every @ every.T)),
        "columns": jnp.mean(jnp.abs(columns @ columns.T)),
        "normed": mean_cosine(patches if last_norm is None else last_norm(patches)),
        RESIDUAL: residual(patches),
    }


def residual(rows: Rows) -> Float[Array, ""]:
    r"""$|X - 1 \bar x^\top|_F / |X|_F$, what rank collapse sends to 0.

    For rows of one length $s = 1 - r^2 n / (n - 1)$.

    Example:
        >>> residual(jnp.ones((4, 3))).item()
        0.0
    """
    centred = rows - jnp.mean(rows, axis=0, keepdims=True)
    return jnp.sqrt(jnp.sum(centred**2) / jnp.maximum(jnp.sum(rows**2), TINY))


def mixed_residual(rows: Rows) -> Float[Array, ""]:
    r"""$|X - 1 \bar x^\top|$ in the norm $(|\cdot|_1 |\cdot|_\infty)^{1/2}$ of Dong et al. 2021.

    Example:
        >>> round(float(mixed_residual(jnp.array([[1.0, 0.0], [-1.0, 0.0]]))), 4)
        1.4142
    """
    size = jnp.abs(rows - jnp.mean(rows, axis=0, keepdims=True))
    return jnp.sqrt(jnp.max(jnp.sum(size, axis=0)) * jnp.max(jnp.sum(size, axis=1)))


def unit(rows: Rows) -> Rows:
    """Rows of length one; a row of zeros stays."""
    return rows / jnp.maximum(jnp.linalg.norm(rows, axis=-1, keepdims=True), TINY)
