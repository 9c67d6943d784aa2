"""Small numerical facts that several shelves lean on."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from limelight._core.backend import on_gpu


def count(fraction, total: int):
    """Tokens that a fraction of `total` stands for: rounded, halves to the even number.

    The product is first taken to whole thousandths and rounded in integers, so that float32 and
    float64 agree: in float32 `0.065 * 100` is not 6.5. Works on traced arrays, and on numbers
    without JAX, which would compile a small program for each operation.

    Example:
        >>> [int(count(a, 50)) for a in (0.05, 0.07, 0.5)]
        [2, 4, 25]
    """
    plain = isinstance(fraction, int | float | np.number) and abs(fraction * total) < 1e6
    lib = np if plain else jnp
    whole, part = lib.divmod(lib.round(fraction * total * 1000.0).astype(lib.int32), 1000)
    up = (part > 500) | ((part == 500) & (whole % 2 == 1))
    return whole + up.astype(lib.int32)


def masked_softmax(
    logits: Float[Array, "*batch keys"], kept: Bool[Array, " keys"]
) -> Float[Array, "*batch keys"]:
    """Softmax over the kept keys only; a removed key gets exactly 0, not the weight of logit 0."""
    return jax.nn.softmax(logits, axis=-1, where=kept)


def softmax_mean(
    logits: Float[Array, "*batch keys"],
    values: Float[Array, "keys dimension"],
    kept: Bool[Array, " keys"],
) -> Float[Array, "*batch dimension"]:
    r"""Mean of the values by `masked_softmax`, $\sum_j e^{l_j} v_j / \sum_j e^{l_j}$ over kept $j$.

    On a CPU the sum is divided out after the product with the values, as in the formula, so that
    fewer passes over all pairs are left: a step of training takes a fifth less. On a GPU the order
    of operations is that of the published tables, the weights first.
    """
    if on_gpu():
        return masked_softmax(logits, kept) @ values
    logits = jnp.where(kept, logits, -jnp.inf)
    # The mean does not depend on the largest logit, so no gradient passes through it.
    largest = jax.lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True))
    weights = jnp.exp(logits - largest)
    return weights @ values / jnp.sum(weights, axis=-1, keepdims=True)


def unit(x: Float[Array, "*shape"], axis: int = -1) -> Float[Array, "*shape"]:
    """Vectors scaled to length 1."""
    return x / jnp.linalg.norm(x, axis=axis, keepdims=True)


def ranks(scores: Float[Array, "*rows n"]) -> Int[Array, "*rows n"]:
    """The place of every score in its row, smallest first; of equal ones the first comes first."""
    return jnp.argsort(jnp.argsort(scores, axis=-1), axis=-1)


def widened(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The same numbers in float32 or better: what sums need where the rest is in bfloat16."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def tree_finite(tree) -> Bool[Array, ""]:
    """Whether every number in a pytree of arrays is finite."""
    leaves = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]
    return jnp.all(jnp.stack(leaves)) if leaves else jnp.array(True)
