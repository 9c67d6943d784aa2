r"""Theorem 3.2: a network that generalizes without patch association, and what it cannot be.

Attention of every patch goes to *another* set than its own, one for each set. The outputs are then
permuted among the sets, and the network sums them: it is the same function.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.types import Number


def same_logits(sets: Int[Array, " tokens"], strength: Number) -> Float[Array, "tokens tokens"]:
    r"""$A_{ij} = h$ where $j$ shares the set of $i$, 0 elsewhere."""
    return jnp.where(sets[:, None] == sets[None, :], strength, 0.0)


def shifted_logits(
    sets: Int[Array, " tokens"], count: int, strength: Number
) -> Float[Array, "tokens tokens"]:
    r"""$A_{ij} = h$ where $j$ is in set $\pi(\ell(i))$, $\pi$ a permutation without fixed points.

    Here $\pi(\ell) = \ell + 1$ modulo the number of sets, whose names mean nothing.
    """
    return jnp.where((sets[:, None] + 1) % count == sets[None, :], strength, 0.0)


def misses_itself(encodings: Float[Array, "tokens width"], size: int) -> Bool[Array, ""]:
    r"""Whether the longest encoding is missing from its own $C$ largest inner products.

    $\langle p_i, p_j\rangle \le |p_i| |p_j| \le |p_i|^2$ for the longest $p_i$, with equality only
    for $p_j = p_i$: never, for distinct encodings. So Theorem 3.2 is impossible for inner products
    over all $j$, and holds for free logits or without the diagonal.
    """
    longest = jnp.argmax(jnp.sum(encodings**2, axis=1))
    products = encodings @ encodings[longest]
    return jnp.sum(products > products[longest]) >= size
