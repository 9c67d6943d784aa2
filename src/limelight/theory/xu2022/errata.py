r"""Numeric evidence for steps of xu2022's proofs: what is printed, and what holds instead.

`erratum(12)` evaluates both. The other rows of docs/errata.md have a statement or a claim.
"""

import math
from collections.abc import Callable

import numpy as np

from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition

#: What is measured, the printed statement and the corrected one.
Evidence = tuple[str, Condition, Condition]

DELTA = 0.05
#: A setting that meets the conditions of Theorem 2 but for the dimension: m, m_i, sigma, d, lambda.
TOKENS, SIZE, SIGMA, DIM, STRENGTH = 1000, 100, 0.3, 4096, 10.0


def _fluctuation(tokens: int, dimension: int) -> float:
    """The printed root of log(2m/(delta sigma)) / d."""
    return math.sqrt(math.log(2 * tokens / (DELTA * SIGMA)) / dimension)


def _largest_weight() -> Evidence:
    """Logits of one draw: ten orthonormal centres, a hundred tokens around each."""
    labels = np.repeat(np.arange(TOKENS // SIZE), SIZE)
    rng = np.random.default_rng(0)
    x = SIGMA / math.sqrt(DIM) * rng.normal(size=(TOKENS, DIM))
    x[np.arange(TOKENS), labels] += 1.0
    logits = STRENGTH * (x @ x.T)
    other = labels[:, None] != labels[None, :]
    bound = STRENGTH * 6 * SIGMA * _fluctuation(TOKENS, DIM)  # |sqrt2 - gamma| is 0 here
    return (
        "largest exponent of a weight, one draw",
        Condition("as printed, over all tokens", float(logits.max()), "<=", bound),
        Condition("corrected, over other clusters", float(logits[other].max()), "<=", bound),
    )


def _factor() -> Evidence:
    unit = TOKENS / SIZE * math.exp(-STRENGTH / 2)
    return (
        "5 (m/m_i) e^(-lambda/2), against what the next line puts in its place",
        Condition("as printed, 2 (m/m_i) e^(-lambda/2)", 5 * unit, "<=", 2 * unit),
        Condition("corrected, 5 (m/m_i) e^(-lambda/2)", 5 * unit, "<=", 5 * unit),
    )


def _sum() -> Evidence:
    leak = TOKENS / SIZE * math.exp(-STRENGTH / 2)
    noise = STRENGTH * SIGMA * _fluctuation(TOKENS, DIM)
    tau, nu = 2 * leak + 12 * noise, 5 * leak + 8 * noise  # nu with the factor of E16
    total = tau + 2 * nu
    return (
        "tau + 2 nu",
        Condition("as printed, 6 and 20", total, "<=", 6 * leak + 20 * noise),
        Condition("corrected, 12 and 28", total, "<=", (12 * leak + 28 * noise) * (1 + 1e-12)),
    )


def _quotient() -> Evidence:
    nu = tau = 0.2
    error = abs((1 + nu) / (1 - tau) - 1)  # A = 1 + nu, Z = 1 - tau, u = 1
    return (
        "|A/Z - u| where |A - u| = nu and |Z - 1| = tau, both 0.2",
        Condition("as printed, (1 + tau) nu + tau", error, "<=", (1 + tau) * nu + tau),
        Condition("corrected, (nu + tau)/(1 - tau)", error, "<=", (nu + tau) / (1 - tau) + 1e-12),
    )


def _numerator() -> Evidence:
    def sides(tokens: int) -> tuple[float, float]:
        # The printed condition leaves 12 lambda sigma sqrt(..) at most 0.15 at sigma = 1.
        return tokens * 1.15 + 6 * math.sqrt(tokens * math.log(2 * tokens / DELTA)), 5.0 * tokens

    few, many = sides(2), sides(20)  # 2.8 log(2m/delta) is 12.3 and 18.7
    return (
        "m + 6 sigma sqrt(m log(2m/delta)) + 12 m lambda sigma sqrt(..), against 5m, sigma = 1",
        Condition("as printed, any m: m = 2", few[0], "<=", few[1]),
        Condition("corrected, m >= 2.8 log(2m/delta): m = 20", many[0], "<=", many[1]),
    )


EVIDENCE: dict[int, Callable[[], Evidence]] = {
    12: _largest_weight,
    16: _factor,
    17: _sum,
    18: _quotient,
    21: _numerator,
}


def erratum(number: int = 12) -> Bound:
    """Evidence for one erratum: the printed step and the corrected one, both evaluated.

    Args:
        number: As in docs/errata.md.

    Reference: xu2022, proof of Theorem 2.
    """
    if number not in EVIDENCE:
        known = ", ".join(map(str, EVIDENCE))
        raise InputError(f"no number for erratum {number}", f"there is one for {known}")
    what, printed, corrected = EVIDENCE[number]()
    return Bound(
        name=f"E{number}: {what}",
        value=float(corrected.left),
        kind="corrected",
        conditions=(printed, corrected),
        reference=f"xu2022, erratum E{number}",
    )
