"""Which theorem on the limit of rescaled tokens speaks of a value matrix."""

from typing import Any

import numpy as np

from limelight.theory.base import Condition


def limit_kind(value: Any, product: Any = None) -> tuple[str, tuple[Condition, ...]]:
    r"""Which theorem speaks of $V$ and $B = Q^\top K$, with its conditions; else what fails.

    Example:
        >>> limit_kind([[1.0, 0.0], [0.0, 0.3]])[0], limit_kind([[0.0, -1.0], [1.0, 0.0]])[0]
        ('hyperplanes', 'none')
    """
    V = np.atleast_2d(np.asarray(value, dtype=float))
    B = np.eye(len(V)) if product is None else np.atleast_2d(np.asarray(product, dtype=float))
    lowest = float(np.linalg.eigvalsh((B + B.T) / 2)[0])
    spectrum, basis = np.linalg.eig(V)
    order = np.argsort(-np.abs(spectrum))
    top, gap = spectrum[order[0]], 0.0
    if len(V) > 1:
        gap = float(abs(top) - abs(spectrum[order[1]]))
    lead = np.real(basis[:, order[0]])
    symmetric = Condition("asymmetry of B", float(np.abs(B - B.T).max()), "<=", 1e-12)
    positive = Condition("smallest eigenvalue of B", lowest, ">", 0)
    real = Condition("imaginary part of lambda_1", float(abs(np.imag(top))), "==", 0)
    large = Condition("lambda_1", float(np.real(top)), ">", 0)
    one = Condition("|V - I|", float(np.abs(V - np.eye(len(V))).max()), "<=", 1e-12)
    same = int(np.isclose(spectrum, top).sum())
    whole = int(np.linalg.matrix_rank(V - np.real(top) * np.eye(len(V)))) == len(V) - same
    tried = {
        "boolean": (Condition("dimension", len(V), "==", 1), large, positive),
        "polytope": (one, symmetric, positive),
        "hyperplanes": (
            real, large,
            Condition("gap of the largest modulus", gap, ">", 1e-12),
            Condition("<phi_1, B phi_1>", float(lead @ B @ lead), ">", 0),
        ),
        "mixed": (
            real, large, symmetric, positive,
            Condition("lambda_1 is semisimple", int(whole), "==", 1),
            Condition("others of its modulus", int(np.isclose(abs(spectrum), abs(top)).sum()),
                      "==", same),
        ),
    }  # fmt: skip
    for name, conditions in tried.items():
        if all(condition.holds for condition in conditions):
            return name, conditions
    failed = [c for conditions in tried.values() for c in conditions if not c.holds]
    return "none", tuple(dict.fromkeys(failed))
