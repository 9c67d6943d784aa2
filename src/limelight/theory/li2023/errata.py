r"""Numeric evidence for the errata of li2023: what is printed, and what holds instead.

`erratum(4)` evaluates both. Rows of docs/errata.md that have no number here are decided by claims.
"""

import math
from collections.abc import Callable

import numpy as np

from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.li2023.attention import attention_envelopes, mass_ceiling
from limelight.theory.li2023.neurons import cap_share, lucky_share

#: What is measured, the printed statement and the corrected one.
Evidence = tuple[str, Condition, Condition]

#: The paper's synthetic setting: sigma, delta, c_0, and sigma + tau.
VALUE_ERROR, KEY_ERROR, NOISE, SLACK = 0.1, 0.2, 0.01, 0.13
PATTERNS, DIMENSION, WIDTH = 5, 10, 1000


def _start() -> Evidence:
    printed = KEY_ERROR**2 / NOISE**2 - 1  # distance of delta^2/c_0^2 mu from mu
    return (
        "error of keys at the start, which Assumption 1 wants below 1/2",
        Condition("as printed", printed, "<", 0.5),
        Condition("corrected, perturbed by delta", KEY_ERROR, "<", 0.5),
    )


def _readout() -> Evidence:
    """Outputs of examples of one class that differ in the order of their tokens alone."""
    rng = np.random.default_rng(0)
    tokens, width = 20, 50
    roles = np.repeat(np.arange(PATTERNS), tokens // PATTERNS)
    hidden = np.maximum(rng.normal(size=(PATTERNS, width)), 0)  # of a query of each pattern
    orders = [rng.permutation(roles) for _ in range(200)]
    one, each = rng.choice([-1.0, 1.0], width), rng.choice([-1.0, 1.0], (tokens, width))
    spread = [
        float(np.std([np.sum(readout * hidden[order]) for order in orders]))
        for readout in (one, each)
    ]
    return (
        "standard deviation of the output over examples of one class",
        Condition("with one sign per neuron, as in the proofs", spread[0], ">", 1e-9),
        Condition("with a sign per position, as in Algorithm 1", spread[1], ">", 1e-9),
    )


def _mass() -> Evidence:
    ceiling = mass_ceiling(0.5, 0.04)["idle"]
    return (
        "mass of an idle query on the relevant tokens, at alpha_* 0.5 and alpha_# 0.04",
        Condition("as printed, against what any weights reach", 1.0, "<=", ceiling),
        Condition("corrected", 0.5 / 0.54, "<=", ceiling + 1e-12),
    )


def _envelope() -> Evidence:
    logit = (1 - KEY_ERROR) ** 2  # of the `scale` start: keys and queries shrink by delta
    mass = 20 * math.exp(logit) / (20 * math.exp(logit) + 30)
    ideal, own = (float(attention_envelopes(g, 20, 50, KEY_ERROR).low) for g in (1.0, logit))
    return (
        "lower envelope p_n of the mass of a pattern-1 query, `scale` start, 20 of 50 tokens",
        Condition("as printed, q = 1, against the mass", ideal, "<=", mass),
        Condition("corrected, q the root of the own-pattern logit", own, "<=", mass),
    )


def _lucky_set() -> Evidence:
    promised = WIDTH * lucky_share(PATTERNS, SLACK)
    return (
        "expected lucky neurons of 1,000, against the number of Lemma 3",
        Condition("as printed", WIDTH * cap_share(DIMENSION, SLACK), ">=", promised),
        Condition("corrected, best aligned", WIDTH / PATTERNS, ">=", promised),
    )


def _margin() -> Evidence:
    rows = np.random.default_rng(0).normal(size=(200_000, DIMENSION))
    cosines = rows[:, :PATTERNS] / np.linalg.norm(rows, axis=1, keepdims=True)
    angles = np.arccos(cosines)
    others = angles[:, 1:].min(axis=1)
    bound = lucky_share(PATTERNS, SLACK)
    return (
        "share of lucky neurons at the start, 200,000 Gaussian rows, against Lemma 3",
        Condition(
            "with the margin of its proof",
            float((angles[:, 0] + SLACK <= others - SLACK).mean()),
            ">=",
            bound,
        ),
        Condition("corrected, best aligned", float((angles[:, 0] <= others).mean()), ">=", bound),
    )


def _attention_rate() -> Evidence:
    return (
        "zeta = 1 - eta^10, which (10) wants positive",
        Condition("at eta = 2, where position-wise readouts train best", 1 - 2.0**10, ">", 0.0),
        Condition("at eta = 1/2", 1 - 0.5**10, ">", 0.0),
    )


def _rows() -> Evidence:
    return (
        "expected squared length of an output row at the start over M xi^2",
        Condition("as printed, of the whole row", DIMENSION / PATTERNS, "<=", 1.0),
        Condition("corrected, of its part in the span of P", PATTERNS / PATTERNS, "<=", 1.0),
    )


def _two_bits() -> Evidence:
    output = np.array([2.5, -0.5])  # for the label (1, 1): the second bit is wrong
    joint, bits = max(1 - float(output.sum()), 0.0), float(np.maximum(1 - output, 0).sum())
    return (
        "loss of an output with a wrong bit, which must not be 0",
        Condition("as printed, joint", joint, ">", 0.0),
        Condition("corrected, per bit", bits, ">", 0.0),
    )


def _zeroed() -> Evidence:
    kept = math.exp(1.0) / (math.exp(1.0) + 1.0)  # the removed token keeps its logit of 0
    return (
        "weight on the only token that is kept of two",
        Condition("as printed, the other set to zero", kept, ">=", 1.0),
        Condition("corrected, the other masked out", 1.0, ">=", 1.0),
    )


def _fraction() -> Evidence:
    before, after = 20 / 50, 20 / 40
    return (
        "alpha_* after 10 irrelevant tokens of 50 are removed",
        Condition("as printed, reduced", after, "<", before),
        Condition("corrected, raised", after, ">", before),
    )


EVIDENCE: dict[int, Callable[[], Evidence]] = {
    1: _start,
    2: _readout,
    3: _mass,
    4: _envelope,
    5: _lucky_set,
    6: _margin,
    11: _attention_rate,
    13: _rows,
    16: _two_bits,
    17: _zeroed,
    18: _fraction,
}


def erratum(number: int = 4) -> Bound:
    """Evidence for one erratum: the printed statement and the corrected one, both evaluated.

    Args:
        number: As in docs/errata.md.

    Example:
        >>> import limelight as ll
        >>> ll.theory.li2023.erratum(4).applies
        False

    Reference: li2023.
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
        reference=f"li2023, erratum E{number}",
    )
