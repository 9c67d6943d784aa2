r"""The norms that capacity bounds consume, with one convention for all of them.

$\|M\|_{p,q}$ is the $q$-norm of the vector of $p$-norms of the **columns** of $M$. So
$\|M\|_{2,\infty}$ is the largest column length, and for tokens as rows $\|X^\top\|_{2,\infty}$ is
the largest token length. Two inequalities hold with it and are what the proofs use:
$\|P v\| \le \|P\|_{2,\infty} \|v\|_1$ and $\|P Q\|_{2,\infty} \le \|P\|_2 \|Q\|_{2,\infty}$.

Every function takes NumPy or JAX arrays and answers in kind.

Reference: edelman2022, Section 2 and Appendix A.
"""

from typing import Any

from limelight._core.arrays import Real, namespace


def _norm(values: Any, order: Real, axis: int) -> Any:
    xp = namespace(values)
    size = xp.abs(values)
    if order == float("inf"):
        return xp.max(size, axis=axis, initial=0.0)
    if order == 1:
        return xp.sum(size, axis=axis)
    # Scaled by the largest entry, so that neither tiny nor huge entries are lost in their squares.
    top = xp.max(size, axis=axis, keepdims=True, initial=0.0)
    safe = xp.where(top > 0, top, 1.0)
    scaled = xp.sum((size / safe) ** order, axis=axis) ** (1.0 / order)
    return xp.squeeze(safe, axis) * scaled


def norm_pq(matrix: Any, p: Real, q: Real) -> Any:
    r"""$\|M\|_{p,q}$: the $q$-norm of the $p$-norms of the columns.

    Example:
        >>> import numpy as np
        >>> M = np.array([[3.0, 0.0], [4.0, 1.0]])
        >>> [float(norm_pq(M, 2, q)) for q in (float("inf"), 1)]
        [5.0, 6.0]
        >>> float(norm_pq(M, 1, 1))
        8.0
    """
    return _norm(_norm(matrix, p, 0), q, 0)


def colmax(matrix: Any) -> Any:
    r"""Length of the longest column, $\|M\|_{2,\infty}$."""
    return norm_pq(matrix, 2, float("inf"))


def colsum(matrix: Any) -> Any:
    r"""Sum of the lengths of the columns, $\|M\|_{2,1}$."""
    return norm_pq(matrix, 2, 1)


def rowmax(matrix: Any) -> Any:
    r"""Length of the longest row, $\|M^\top\|_{2,\infty}$."""
    return colmax(matrix.T)


def rowsum(matrix: Any) -> Any:
    r"""Sum of the lengths of the rows, $\|M^\top\|_{2,1}$."""
    return colsum(matrix.T)


def frobenius(matrix: Any) -> Any:
    r"""Root of the sum of squares, $\|M\|_F$."""
    return norm_pq(matrix, 2, 2)


def spec(matrix: Any) -> Any:
    r"""Largest singular value, $\|M\|_2$.

    Example:
        >>> import numpy as np
        >>> round(float(spec(np.diag([1.0, -3.0]))), 12)
        3.0
    """
    if 0 in matrix.shape:
        return namespace(matrix).asarray(0.0)
    return namespace(matrix).linalg.norm(matrix, ord=2)


def largest(matrix: Any) -> Any:
    """Largest entry in absolute value."""
    return norm_pq(matrix, float("inf"), float("inf"))


def head_norms(query: Any, key: Any, value: Any) -> dict[str, Any]:
    r"""The norms of one head that its capacity bound consumes, each a scalar.

    Lengths are over output coordinates: rows of $W_Q W_K^\top$ for the query-key map, its columns
    for the same map seen from the asking token, columns of $W_V$ for the value map.

    Reference: edelman2022, Corollary 4.4.
    """
    product = query @ key.T
    return {
        "query_key.largest": rowmax(product),
        "query_key.total": rowsum(product),
        "query_key.spectral": spec(product),
        "query_side.largest": colmax(product),
        "query_side.total": colsum(product),
        "value.largest": colmax(value),
        "value.total": colsum(value),
        "value.spectral": spec(value),
    }
