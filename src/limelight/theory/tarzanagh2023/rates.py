r"""How fast the direction of the max-margin solution is reached, and what stays off it (S13).

On the path of constrained minimisers $W_R = cW_{mm} + B$ with a bounded $B$ in the span of the
support's $A_c$, where $\langle A_c, B\rangle = \ln(k_c/\lambda_c)$ up to a multiple of $W_{mm}$ and
$k_c = |\ell'(\gamma_{opt})|(\gamma_{opt} - \gamma_t)$. Derived here.
"""

from typing import Literal, NamedTuple

import numpy as np

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.theory.tarzanagh2023.svm import Constraints, Margin

LossName = Literal["logistic", "linear", "exp"]


def slope(loss: LossName, margin: Real) -> float:
    r"""$|\ell'|$ at a margin: $1/(1+e^m)$, 1, or $e^{-m}$.

    Example:
        >>> slope("logistic", 0.0), slope("linear", 5.0)
        (0.5, 1.0)
    """
    if loss not in ("logistic", "linear", "exp"):
        raise InputError(f"no loss {loss!r}", "logistic, linear or exp")
    return {
        "logistic": lambda: float(np.exp(-np.logaddexp(0.0, margin))),
        "linear": lambda: 1.0,
        "exp": lambda: float(np.exp(-margin)),
    }[loss]()


def pair_offset(level: Real, loss: LossName) -> float:
    r"""What $p_2$ tends to in the world `pair`: $\frac12\ln(C|\ell'(C)|/|\ell'(1)|)$.

    Example:
        >>> round(pair_offset(100.0, "linear"), 6), round(pair_offset(100.0, "logistic"), 6)
        (2.302585, -47.040784)
    """
    log_slope = {
        "logistic": lambda m: -float(np.logaddexp(0.0, m)),
        "linear": lambda m: 0.0,
        "exp": lambda m: -float(m),
    }
    if loss not in log_slope:
        raise InputError(f"no loss {loss!r}", "logistic, linear or exp")
    return 0.5 * (float(np.log(level)) + log_slope[loss](level) - log_slope[loss](1.0))


class PathLimits(NamedTuple):
    r"""Limits along the path: $c(1-\rho)$ and $c^2(1-\cos)$, and whether they are known."""

    margin: float
    cosine: float
    known: bool


def path_limits(
    margin: Margin, where: Constraints, scores, chosen, loss: LossName = "logistic"
) -> PathLimits:
    r"""Limits of $c(1-\rho)$ and $c^2(1-\cos)$ on the regularisation path.

    Known if every support token has $\lambda_c > 0$ and the $A_c$ of the support are independent.

    Example:
        >>> from limelight.theory.tarzanagh2023 import constraints, max_margin
        >>> data = [[[1.0, 0.0], [0.0, 0.0]]], [[1.0]], [0]
        >>> path_limits(max_margin(*data), constraints(*data), [[1.0, 0.0]], [0], "linear").known
        True
    """
    gamma, alpha = np.asarray(scores, float), np.asarray(chosen, int)
    near = np.nonzero(margin.gaps <= 1 + 1e-7)[0] if margin.feasible else np.zeros(0, int)
    rows, lam = where.rows[near], margin.multipliers[near]
    gram = rows @ rows.T
    if not len(near) or lam.min() < 1e-9 or np.linalg.cond(gram) > 1e10:
        return PathLimits(np.nan, np.nan, False)
    sample, token = where.sample[near], where.token[near]
    own = gamma[sample, alpha[sample]]
    better = own - gamma[sample, token]
    if better.min() <= 0:
        return PathLimits(np.nan, np.nan, False)
    k = np.array([slope(loss, m) for m in own]) * better
    B = np.linalg.solve(gram, np.log(k / lam)) @ rows
    W = margin.weights.ravel()
    B = B - W * (B @ W) / (W @ W)
    return PathLimits(-float((rows @ B).min()), float(B @ B / (2 * W @ W)), True)
