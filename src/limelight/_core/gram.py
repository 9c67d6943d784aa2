r"""Gram matrices of unit vectors: make them, refuse impossible ones, turn them into coordinates.

Plain NumPy in double precision: no device is woken up to check four numbers.
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from limelight._core.errors import InputError

if TYPE_CHECKING:
    Number = float
else:  # NumPy's own numbers are welcome too
    Number = float | int | np.floating | np.integer

#: How far below zero an eigenvalue may be before a Gram matrix is refused, relative to its size.
SLACK = 1e-9

Gram = Float[np.ndarray, "clusters clusters"]


def equiangular(clusters: int, cosine: Number = 0.0) -> Gram:
    r"""All pairs of centres at one angle: $G_{ab} = \rho$ for $a \ne b$.

    Possible for $-1/(C-1) \le \rho < 1$ only.

    Example:
        >>> equiangular(3, 0.5)[0].tolist()
        [1.0, 0.5, 0.5]
    """
    if clusters < 1:
        raise InputError(f"clusters = {clusters}", "at least one")
    gram = np.full((clusters, clusters), float(cosine))
    np.fill_diagonal(gram, 1.0)
    if clusters > 1 and not -1.0 / (clusters - 1) - SLACK <= cosine < 1.0:
        raise InputError(
            f"{clusters} centres cannot all have cosine {cosine:g}",
            f"between {-1 / (clusters - 1):.4g} (the simplex) and 1, 1 excluded",
        )
    return gram


def simplex(clusters: int) -> Gram:
    r"""As far apart as possible: $\rho = -1/(C-1)$."""
    return equiangular(clusters, -1.0 / (clusters - 1) if clusters > 1 else 0.0)


def random_sphere(seed: int, clusters: int, dimension: int) -> Gram:
    """Centres drawn uniformly from the unit sphere of a space of the given dimension."""
    if clusters < 1 or dimension < 1:
        raise InputError(f"{clusters} centres in {dimension} dimensions", "at least one of each")
    return from_points(np.random.default_rng(seed).standard_normal((clusters, dimension)))


def from_points(points: Float[np.ndarray, "clusters dimension"]) -> Gram:
    """The Gram matrix of the directions of given points.

    Raises:
        InputError: For a point at the origin, or two points in one direction.
    """
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or not np.isfinite(points).all():
        raise InputError("points must be a matrix of finite numbers, one centre a row")
    length = np.linalg.norm(points, axis=1, keepdims=True)
    if (length == 0).any():
        raise InputError("a centre lies at the origin", "centres have unit length")
    unit = points / length
    gram = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(gram, 1.0)
    check(gram)
    return gram


def check(gram: Float[np.ndarray, "rows columns"]) -> None:
    """Refuse what is not the Gram matrix of distinct unit vectors, with the reason."""
    gram = np.asarray(gram, dtype=float)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not len(gram):
        raise InputError(f"a Gram matrix is square, not {gram.shape}")
    if not np.isfinite(gram).all():
        raise InputError("the Gram matrix has entries that are not finite")
    if np.abs(gram - gram.T).max() > SLACK:
        raise InputError("the Gram matrix is not symmetric")
    if np.abs(np.diag(gram) - 1).max() > SLACK:
        raise InputError("the Gram matrix has a diagonal other than 1", "centres have unit length")
    lowest = float(np.linalg.eigvalsh(gram)[0])
    if lowest < -SLACK * len(gram):
        raise InputError(
            f"no centres have this Gram matrix: its lowest eigenvalue is {lowest:.3g}",
            "it must be positive semidefinite",
        )
    off = gram[~np.eye(len(gram), dtype=bool)]
    if len(off) and off.max() >= 1 - SLACK:
        raise InputError("two clusters share a centre", "merge them, or move one")


def coordinates(gram: Gram) -> Float[np.ndarray, "clusters rank"]:
    """Centres with this Gram matrix, in as few coordinates as they span."""
    values, vectors = np.linalg.eigh(np.asarray(gram, dtype=float))
    kept = values > SLACK * len(gram)
    return (vectors * np.sqrt(np.clip(values, 0, None)))[:, kept][:, ::-1].copy()


def rank(gram: Gram) -> int:
    """Dimensions that the centres span."""
    return coordinates(gram).shape[1]
