r"""Max-margin token selection: the Frobenius-norm problem, solved exactly and certified.

$$\min \tfrac12\|W\|_F^2 \quad\text{with}\quad \langle A_c, W\rangle \ge b_c, \qquad
A_{it} = (x_{i\alpha_i} - x_{it})z_i^\top,\ t \ne \alpha_i,$$

where $b = 1$, unless said. It is Lawson and Hanson's least-distance problem: one solve of
non-negative least squares gives the solution or a certificate that there is none.

Reference: tarzanagh2023 (Att-SVM); Lawson and Hanson (1974), Chapter 23.
"""

from typing import NamedTuple

import numpy as np

from limelight._core.arrays import Real

#: A token supports a margin if its gap is at most 1 and this.
SUPPORT = 1e-6
#: A solve whose largest violation of the optimality conditions is above this is not certified.
CERTIFIED = 1e-8


class Margin(NamedTuple):
    r"""A solved problem.

    Args:
        weights: $W$, or a vector; not numbers where no $W$ separates.
        multipliers: $\lambda_c \ge 0$ with $W = \sum_c\lambda_cA_c$; where nothing separates,
            weights that add to 1 with $\sum_c\lambda_cA_c = 0$.
        gaps: $\langle A_c, W\rangle$.
        feasible: Whether some $W$ separates.
        error: The largest violation of the optimality conditions, relative.

    Example:
        >>> keys = np.array([[[-0.1, 1], [1, 0], [0, 0]]])
        >>> max_margin(keys, np.ones((1, 1)), [1]).weights.ravel()
        array([1., 0.])
    """

    weights: np.ndarray
    multipliers: np.ndarray
    gaps: np.ndarray
    feasible: bool
    error: float

    @property
    def norm(self) -> float:
        r"""$\|W\|_F$; infinite where nothing separates."""
        return float(np.linalg.norm(self.weights)) if self.feasible else np.inf

    @property
    def certified(self) -> bool:
        """Whether the solution, or that there is none, is proved up to rounding."""
        return self.error <= CERTIFIED


class Constraints(NamedTuple):
    """The matrices $A_c$ as rows, and the sample and the token of each."""

    rows: np.ndarray
    sample: np.ndarray
    token: np.ndarray
    shape: tuple[int, int]


def constraints(tokens, queries, chosen, kept=None) -> Constraints:
    r"""$A_{it} = (x_{i\alpha_i} - x_{it})z_i^\top$, every sample, every kept $t \ne \alpha_i$.

    Args:
        tokens: $X$, samples by tokens by dimension.
        queries: $Z$, samples by dimension; a column of ones turns $W$ into a prompt.
        chosen: $\alpha$, one token per sample.
        kept: Which tokens exist; all of them when not given.

    Example:
        >>> constraints([[[1.0, 0.0], [0.0, 0.0]]], [[1.0]], [0]).rows
        array([[1., 0.]])
    """
    X, Z, alpha = np.asarray(tokens, float), np.asarray(queries, float), np.asarray(chosen, int)
    there = np.ones(X.shape[:2], bool) if kept is None else np.array(kept, bool)
    there[np.arange(len(X)), alpha] = False
    sample, token = np.nonzero(there)
    away = X[sample, alpha[sample]] - X[sample, token]
    shape = (X.shape[2], Z.shape[1])
    rows = (away[:, :, None] * Z[sample][:, None, :]).reshape(len(sample), shape[0] * shape[1])
    return Constraints(rows, sample, token, shape)


def least_norm(rows: np.ndarray, bounds: np.ndarray | Real = 1.0) -> Margin:
    r"""The least $\|w\|$ with $\langle a_c, w\rangle \ge b_c$, $b \ge 0$ and not all of it 0.

    With $u = \arg\min_{u\ge0}\|Eu - f\|$, $E = (A^\top; b^\top)$, $f = (0, …, 0, 1)$ and $r = Eu -
    f$: nothing separates if $r = 0$, else $w = -r_{1:d}/r_{d+1}$.

    Example:
        >>> least_norm(np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 0.0])).weights
        array([0.5, 0.5])
    """
    from scipy.optimize import nnls

    b = np.broadcast_to(np.asarray(bounds, float), (len(rows),))
    if not len(rows):
        return Margin(np.zeros(rows.shape[1]), np.zeros(0), np.zeros(0), True, 0.0)
    # Only inner products of the rows enter, so that a triangle stands for long rows.
    short = np.linalg.qr(rows.T, mode="r") if rows.shape[1] > len(rows) else rows.T
    E = np.vstack([short, b])
    f = np.append(np.zeros(len(short)), 1.0)
    u, _ = nnls(E, f, maxiter=max(1000, 30 * len(rows)))
    r = E @ u - f
    if np.linalg.norm(r) < 1e-9:
        weights = u / (b @ u)
        off = float(np.abs(weights @ rows).max())
        nothing = np.full(rows.shape[1], np.nan)
        return Margin(nothing, weights, np.full(len(rows), np.nan), False, off)
    w, multipliers = _polished(rows, b, -u / r[-1])
    gaps = rows @ w
    square = float(w @ w)
    error = max(
        float(np.max(b - gaps, initial=0.0)),
        float(np.abs(w - multipliers @ rows).max()) / max(1.0, float(np.abs(w).max())),
        float(np.abs(multipliers * (gaps - b)).max()) / max(1.0, square),
        float(np.max(-multipliers, initial=0.0)),
        abs(square - float(b @ multipliers)) / square,
    )
    return Margin(w, multipliers, gaps, True, error)


def _polished(
    rows: np.ndarray, b: np.ndarray, multipliers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same active set solved once more as equations, where that lowers the error."""
    active = multipliers > 0
    gram = rows[active] @ rows[active].T
    again = np.zeros_like(multipliers)
    again[active] = np.linalg.lstsq(gram, b[active], rcond=None)[0]
    both = [(lam @ rows, lam) for lam in (again, multipliers)]
    wrong = [np.max(b - rows @ w, initial=0.0) + np.max(-lam, initial=0.0) for w, lam in both]
    return both[int(np.argmin(wrong))]


def max_margin(tokens, queries, chosen, kept=None, bounds: np.ndarray | Real = 1.0) -> Margin:
    r"""The SVM of a choice of tokens; `bounds` per sample for the relaxed problems of S10.

    Example:
        >>> keys = np.array([[[-0.1, 1.0], [1.0, 0.0], [0.0, 0.0]]])
        >>> max_margin(keys, np.ones((1, 1)), [0]).weights.ravel().round(10)
        array([-0.0990099 ,  0.99009901])

    Reference: tarzanagh2023, Att-SVM.
    """
    A = constraints(tokens, queries, chosen, kept)
    b = np.broadcast_to(np.asarray(bounds, float), (len(np.asarray(tokens)),))[A.sample]
    found = least_norm(A.rows, b)
    return found._replace(weights=found.weights.reshape(A.shape))


def locally_optimal(margin: Margin, where: Constraints, scores, chosen) -> bool:
    """Whether every support token scores strictly less than the chosen one of its sample (S5).

    Example:
        >>> tokens, query, chosen = [[[1.0, 0.0], [0.0, 0.0]]], [[1.0]], [0]
        >>> where, margin = constraints(tokens, query, chosen), max_margin(tokens, query, chosen)
        >>> [locally_optimal(margin, where, [scores], chosen) for scores in ([1, 0], [0, 1])]
        [True, False]
    """
    if not margin.feasible:
        return False
    gamma = np.asarray(scores, float)
    near = margin.gaps <= 1 + SUPPORT
    own = gamma[where.sample, np.asarray(chosen, int)[where.sample]]
    return bool(np.all(gamma[where.sample, where.token][near] < own[near]))


def interpolated(
    tokens, queries, chosen, margins: np.ndarray, clock: Real, norm: Real, steps: int = 60
) -> Margin:
    r"""The SVM that a prompt follows when the head grows beside it (S10, derived here).

    Gaps at least $\max(0, 1 - (m_i - 1)\kappa)$ with $\kappa = c_v\|P\|/\|p\|$, a fixed point in
    $\|P\|$: a large $\|P\|$ lowers the bounds and with them the norm, so that bisection finds it.

    Args:
        tokens: $X$.
        queries: $Z$.
        chosen: One token per sample.
        margins: $m_i = Y_i\langle v_{mm}, x_{i\alpha_i}\rangle \ge 1$.
        clock: $c_v = \|v\|/\|v_{mm}\|$.
        norm: $\|p\|$.
        steps: Halvings.
    """

    def at(size: float) -> Margin:
        bounds = np.maximum(0.0, 1 - (margins - 1) * clock * size / norm)
        return max_margin(tokens, queries, chosen, bounds=bounds)

    low, high = 0.0, at(0.0).norm
    if not np.isfinite(high):
        return at(0.0)
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).norm > middle else (low, middle)
    return at((low + high) / 2)


def within_null_space(rows: np.ndarray, equal: np.ndarray) -> tuple[Margin, np.ndarray]:
    r"""The least $w$ with $\langle a_c, w\rangle \ge 1$ and $\langle e, w\rangle = 0$ for all $e$.

    Returns:
        The solution, in full coordinates, and an orthonormal basis of what the equalities span.
    """
    if not len(equal):
        return least_norm(rows), np.zeros((0, rows.shape[1]))
    _, sizes, right = np.linalg.svd(equal, full_matrices=True)
    rank = int((sizes > 1e-10 * sizes[0]).sum())
    free = right[rank:]
    found = least_norm(rows @ free.T)
    return found._replace(weights=found.weights @ free), right[:rank]
