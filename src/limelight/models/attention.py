"""Attention heads as pure functions of their weights."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from limelight.core.numerics import masked_softmax


def bilinear_attention(
    tokens: Float[Array, "tokens dimension"],
    kept: Bool[Array, " tokens"],
    product: Float[Array, "dimension dimension"],
) -> Float[Array, "tokens tokens"]:
    r"""Softmax weights, a row for each query: $s_{lj} = \mathrm{softmax}_j(x_j^\top G x_l)$.

    Removed tokens are no keys. (They are no queries either: what reads the rows drops them.)

    Notation: `product` is $G = W_K^\top W_Q$.
    """
    return masked_softmax(tokens @ product.T @ tokens.T, kept)


def kept_mean(values: Float[Array, " tokens"], kept: Bool[Array, " tokens"]) -> Float[Array, ""]:
    r"""Mean over the kept tokens, $\frac{1}{|S|} \sum_{l \in S}$."""
    return jnp.sum(jnp.where(kept, values, 0.0)) / jnp.sum(kept)
