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


def extreme(rows: Rows) -> Bool[Array, " tokens"]:
    """Which rows are vertices of their convex hull, in one to three dimensions, exactly.

    In a plane a vertex sees all others within half a turn. In space it has an edge, along which the
    others are seen in a plane.

    Example:
        >>> import jax.numpy as jnp
        >>> square = jnp.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.4]])
        >>> extreme(square).tolist()
        [True, True, True, True, False]
    """
    off = rows[None, :, :] - rows[:, None, :]
    if rows.shape[1] == 1:
        return jnp.all(off >= 0, axis=(1, 2)) | jnp.all(off <= 0, axis=(1, 2))
    if rows.shape[1] == 2:
        return jax.vmap(within_half_turn)(off)

    def along(seen: Float[Array, "tokens 3"], axis: Float[Array, "3"]) -> Bool[Array, ""]:
        turned = jnp.eye(3)[jnp.argmin(jnp.abs(axis))]
        first = jnp.cross(axis, turned)
        flat = jnp.stack([seen @ first, seen @ jnp.cross(axis, first)], axis=1)
        apart = jnp.linalg.norm(axis) > 0
        scale = jnp.where(apart, jnp.sum(axis**2), 1.0)
        return within_half_turn(flat / scale) & apart

    def one(seen: Float[Array, "tokens 3"]) -> Bool[Array, ""]:
        return jnp.any(jax.lax.map(lambda axis: along(seen, axis), seen))

    return jax.vmap(one)(off)


def within_half_turn(seen: Float[Array, "tokens 2"]) -> Bool[Array, ""]:
    """Whether all directions fit into less than half a turn; what has no length does not count."""
    length = jnp.linalg.norm(seen, axis=1)
    angle = jnp.arctan2(seen[:, 1], seen[:, 0])
    far = jnp.max(length)
    angle = jnp.sort(jnp.where(length > 1e-12 * far, angle, angle[jnp.argmax(length)]))
    gaps = jnp.diff(jnp.append(angle, angle[0] + 2 * jnp.pi))
    return jnp.max(gaps) > jnp.pi
