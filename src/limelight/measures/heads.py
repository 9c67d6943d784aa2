r"""What single heads attend to: how many keys, themselves, the class token, what matters.

All take attention $A$ of one block: heads first, a row for each query, rows adding up to 1.
"""

import jax.numpy as jnp
from jax.scipy.special import entr
from jaxtyping import Array, Bool, Float

Heads = Float[Array, "heads queries keys"]
Each = Float[Array, "heads queries"]


def entropy(attention: Heads) -> Each:
    r"""$-\sum_j A_{ij} \ln A_{ij}$ of every row; $\ln$ of the keys where attention is even.

    Example:
        >>> entropy(jnp.array([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]])).round(3).tolist()
        [[0.6930000185966492, 0.0]]
    """
    return jnp.sum(entr(attention), axis=-1)


def effective_keys(attention: Heads) -> Each:
    r"""$N_\text{eff} = 1/\sum_j A_{ij}^2$: over how many keys independent noise is averaged.

    Example:
        >>> effective_keys(jnp.array([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]])).tolist()
        [[2.0, 1.0]]
    """
    return 1.0 / jnp.sum(attention**2, axis=-1)


def summary(
    attention: Heads, first: int, relevant: Bool[Array, " patches"], classed: bool = True
) -> dict[str, Float[Array, " heads"]]:
    r"""Numbers of every head, on one image.

    `class_*` is of the class token's row, where there is one (else of the mean row); the others are
    means over the rows of patches. `relevant` is the mass on the patches that matter over that on
    all patches, `itself` the weight $A_{ii}$ of a patch on itself, and `class` its weight on the
    class token.

    Args:
        attention: Of one block.
        first: The row of the first patch: 1 after a class token alone, 0 without one.
        relevant: Which patches matter to the label.
        classed: Whether the first row is a class token, where rows stand before the patches.
    """
    rows, classed = attention[:, first:], classed and first > 0
    asking = attention[:, :1] if classed else jnp.mean(rows, axis=1, keepdims=True)
    own = lambda A: A[..., first:] @ relevant.astype(A.dtype) / jnp.sum(A[..., first:], axis=-1)
    mean = lambda each: jnp.mean(each, axis=-1)
    return {
        "class_entropy": mean(entropy(asking)),
        "class_relevant": mean(own(asking)),
        "class_itself": asking[:, 0, 0] if classed else jnp.full(len(asking), jnp.nan),
        "entropy": mean(entropy(rows)),
        "effective_keys": mean(effective_keys(rows)),
        "itself": mean(jnp.diagonal(rows[..., first:], axis1=1, axis2=2)),
        "relevant": mean(own(rows)),
        "class": mean(rows[..., 0]) if classed else jnp.full(len(rows), jnp.nan),
    }


def relevant_mass(
    attention: Heads, first: int, relevant: Bool[Array, " patches"], classed: bool = True
) -> Float[Array, " heads"]:
    """Of what `looked_at` gives to patches, the share of those that matter."""
    seen = looked_at(attention, first, classed)
    return seen @ relevant.astype(seen.dtype) / jnp.sum(seen, axis=-1)


def looked_at(attention: Heads, first: int, classed: bool = True) -> Float[Array, "heads patches"]:
    """Weight of every patch in the class token's row, or in the mean patch's without one."""
    row = attention[:, 0] if classed and first else jnp.mean(attention[:, first:], axis=1)
    return row[:, first:]


def rolled_out(
    attention: Heads, below: Float[Array, "queries keys"]
) -> Float[Array, "queries keys"]:
    r"""Attention rollout: one more block on top of those below.

    $$R_b = \tfrac12 (\bar A_b + I) R_{b-1}, \quad R_0 = I$$

    with $\bar A_b$ the mean over heads. A row says how much of every input token reaches that row,
    if sums pass on a half each and perceptrons change nothing.

    Args:
        attention: Of the block.
        below: $R_{b-1}$.

    Reference: Abnar and Zuidema 2020, "Quantifying attention flow in transformers", Section 3.1.

    Example:
        >>> even = jnp.full((1, 2, 2), 0.5)
        >>> rolled_out(even, jnp.eye(2)).tolist()
        [[0.75, 0.25], [0.25, 0.75]]
    """
    mean = jnp.mean(attention, axis=0)
    return 0.5 * (mean @ below + below)
