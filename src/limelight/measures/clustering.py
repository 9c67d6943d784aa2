r"""Clusters among tokens: pairs that are close, chains of them, and who leads whom."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.types import Number, Scalar

Rows = Float[Array, "tokens width"]
#: Cosines this close to 1 are one place.
CLOSE = 1e-3


def cosines(unit_rows: Rows) -> Float[Array, "tokens tokens"]:
    """Inner products of unit rows, the diagonal set to not a number."""
    gram = unit_rows @ unit_rows.T
    return jnp.where(jnp.eye(len(gram), dtype=bool), jnp.nan, gram)


def components(near: Bool[Array, "tokens tokens"]) -> Int[Array, ""]:
    """Connected components of a symmetric relation that holds on its diagonal.

    Example:
        >>> import jax.numpy as jnp
        >>> near = jnp.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
        >>> int(components(near))
        2
    """
    n = len(near)
    wider = lambda _, reach: (reach @ reach > 0).astype(jnp.float32)
    reach = jax.lax.fori_loop(0, max(n - 1, 1).bit_length(), wider, near.astype(jnp.float32))
    return jnp.sum(jnp.argmax(reach, axis=1) == jnp.arange(n))


def cluster_count(unit_rows: Rows, close: Number = CLOSE) -> Int[Array, ""]:
    r"""Components of $\langle x_i, x_j\rangle \ge 1 - \epsilon$.

    Example:
        >>> import jax.numpy as jnp
        >>> int(cluster_count(jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])))
        2
    """
    near = unit_rows @ unit_rows.T >= 1 - close
    return components(near | jnp.eye(len(near), dtype=bool))


def close_pairs(unit_rows: Rows, close: Number = CLOSE) -> Scalar:
    r"""Share of ordered pairs $i \ne j$ with a cosine above $1 - \epsilon$."""
    n = len(unit_rows)
    return jnp.sum(cosines(unit_rows) > 1 - close) / (n * (n - 1))


def extreme(rows: Rows, tries: int = 4096) -> Bool[Array, " tokens"]:
    """Which rows are vertices of their convex hull, by the perceptron: a plane is looked for.

    A vertex whose plane is not found in so many corrections counts as inside.

    Example:
        >>> import jax.numpy as jnp
        >>> square = jnp.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.4]])
        >>> extreme(square, 64).tolist()
        [True, True, True, True, False]
    """

    def one(number: Int[Array, ""]) -> Bool[Array, ""]:
        off = rows[number] - rows
        length = jnp.linalg.norm(off, axis=1, keepdims=True)
        off = jnp.where(length > 0, off / jnp.where(length > 0, length, 1.0), 0.0)
        other = jnp.arange(len(rows)) != number
        side = lambda normal: jnp.where(other, off @ normal, jnp.inf)

        def turn(_, normal):
            found = side(normal)
            worst = jnp.argmin(found)
            return jnp.where(found[worst] <= 0, normal + off[worst], normal)

        normal = jax.lax.fori_loop(0, tries, turn, jnp.mean(off, axis=0))
        return jnp.min(side(normal)) > 0

    return jax.vmap(one)(jnp.arange(len(rows)))
