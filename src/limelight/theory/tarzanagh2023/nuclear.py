r"""The nuclear-norm SVM of separate keys and queries, with a certified gap.

$$\min\|W\|_* \ \text{with}\ \langle A_c, W\rangle \ge 1
\qquad\text{dual:}\quad \max\sum_c\lambda_c,\ \lambda \ge 0,\ \|\sum_c\lambda_cA_c\|_{op} \le 1$$

`splitting` (ADMM) is quick where the margin is not small; `cutting_planes` is slower and exact
everywhere. Both end with a primal and a dual solution, so that the gap between them is a proof.

Reference: tarzanagh2023 (Att-SVM*); the algorithms are ours.
"""

from typing import NamedTuple

import numpy as np

from limelight._core.arrays import Real
from limelight.theory.tarzanagh2023.svm import Constraints, Margin

#: A solve whose primal and dual values are farther apart than this, relatively, is not certified.
CLOSED = 1e-4


class NuclearMargin(NamedTuple):
    """A feasible $W$ of nearly least nuclear norm, and how near: the relative duality gap.

    Example:
        >>> NuclearMargin(np.eye(2), norm=2.0, gap=0.0).certified
        True
    """

    weights: np.ndarray
    norm: float
    gap: float

    @property
    def certified(self) -> bool:
        """Whether the gap is closed."""
        return self.gap <= CLOSED


def nuclear_margin(
    where: Constraints, frobenius: Margin, tolerance: Real = 1e-8, planes: bool = True
) -> NuclearMargin:
    """The better of both algorithms, the second one tried only where the first leaves a gap.

    Example:
        >>> from limelight.theory.tarzanagh2023.svm import constraints, least_norm
        >>> A = constraints(np.eye(2)[None], np.ones((1, 1)), [0])
        >>> round(nuclear_margin(A, least_norm(A.rows)).norm, 6)  # a vector: Euclidean
        0.707107
    """
    if not frobenius.feasible:
        return NuclearMargin(np.full(where.shape, np.nan), np.inf, np.nan)
    A = where.rows.reshape(-1, *where.shape)
    found = splitting(A, frobenius.weights.reshape(where.shape), tolerance)
    if found.gap > max(tolerance, 1e-6) and planes:
        other = cutting_planes(A, frobenius.weights.reshape(where.shape))
        found = min(found, other, key=lambda one: one.gap)
    return found


def splitting(A: np.ndarray, start: np.ndarray, tolerance: Real, most: int = 3000) -> NuclearMargin:
    """ADMM on (W, its gaps), over-relaxed, its penalty balanced; from the Frobenius solution."""
    C, shape = len(A), A.shape[1:]
    scale = float(np.linalg.norm(start))
    flat = A.reshape(C, -1) * scale
    Z = start.ravel() / scale
    s = np.maximum(1.0, flat @ Z)
    U, u, rho = np.zeros_like(Z), np.zeros(C), 1.0
    inverse = np.linalg.inv(np.eye(C) + flat @ flat.T)
    best = NuclearMargin(start, float(np.linalg.norm(start, "nuc")), np.inf)
    for step in range(1, most + 1):
        b = Z - U + (s - u) @ flat
        W = b - (inverse @ (flat @ b)) @ flat
        a = flat @ W
        W, a = 1.6 * W - 0.6 * Z, 1.6 * a - 0.6 * s
        left, sizes, right = np.linalg.svd((W + U).reshape(shape), full_matrices=False)
        before = Z, s
        Z = ((left * np.maximum(sizes - 1 / rho, 0)) @ right).ravel()
        s = np.maximum(1.0, a + u)
        U, u = U + W - Z, u + a - s
        if step % 25:
            continue
        best = min(best, _certified(flat, Z, -rho * u, shape), key=lambda one: one.gap)
        if best.gap <= tolerance:
            break
        primal = float(np.hypot(np.linalg.norm(W - Z), np.linalg.norm(a - s)))
        dual = rho * float(np.hypot(np.linalg.norm(Z - before[0]), np.linalg.norm(s - before[1])))
        factor = 2.0 if primal > 5 * dual else 0.5 if dual > 5 * primal else 1.0
        rho, U, u = rho * factor, U / factor, u / factor
    return best._replace(weights=best.weights * scale, norm=best.norm * scale)


def _certified(flat: np.ndarray, Z: np.ndarray, lam: np.ndarray, shape) -> NuclearMargin:
    """A primal and a dual solution made feasible, and the gap between them."""
    least = float((flat @ Z).min())
    lam = np.maximum(lam, 0.0)
    size = float(np.linalg.norm((lam @ flat).reshape(shape), 2))
    if least <= 0 or size == 0:
        return NuclearMargin(Z.reshape(shape), np.inf, np.inf)
    W = Z.reshape(shape) / least
    norm = float(np.linalg.norm(W, "nuc"))
    return NuclearMargin(W, norm, (norm - float(lam.sum()) / size) / norm)


def cutting_planes(A: np.ndarray, start: np.ndarray, rounds: int = 150) -> NuclearMargin:
    """Linear programs over collected pairs (a, b) of unit vectors, in place of the operator norm.

    The value of a program is an upper bound of the dual, its multipliers are a feasible W; the
    singular pairs above 1 of its solution are what it did not know yet.
    """
    from scipy.optimize import linprog

    C, shape = len(A), A.shape[1:]
    scale = float(np.linalg.norm(start))
    A = A * scale
    pairs: list[np.ndarray] = []

    def add(matrix: np.ndarray, above: float) -> None:
        left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
        pairs.extend(np.outer(left[:, k], right[k]) for k in np.nonzero(sizes > above)[0])

    for matrix in (*A, start):
        add(matrix, 0.0 if matrix is not start else 1e-9 * scale)
    best = NuclearMargin(start / scale, float(np.linalg.norm(start / scale, "nuc")), np.inf)
    for _ in range(rounds):
        known = np.array(pairs).reshape(len(pairs), -1)
        cuts = known @ A.reshape(C, -1).T
        found = linprog(-np.ones(C), cuts, np.ones(len(cuts)), bounds=(0, None), method="highs")
        if found.status != 0:
            break
        W = -found.ineqlin.marginals @ known
        spread = np.tensordot(found.x, A, 1)
        sizes = np.linalg.svd(spread, compute_uv=False)
        least = float((A.reshape(C, -1) @ W).min())
        if least > 0:
            W = W.reshape(shape) / least
            norm = float(np.linalg.norm(W, "nuc"))
            gap = (norm - float(found.x.sum()) / max(sizes[0], 1.0)) / norm
            best = min(best, NuclearMargin(W, norm, gap), key=lambda one: one.gap)
        if best.gap <= 1e-6 or sizes[0] <= 1 + 1e-9:
            break
        add(spread, 1.0)
    return best._replace(weights=best.weights * scale, norm=best.norm * scale)
