"""Theorem 1 inside its hypotheses, on tables whose truth is known; no model is trained here."""

import numpy as np
import pytest

from limelight.papers import load
from limelight.papers.li2023 import hypotheses
from limelight.papers.li2023.hypotheses import POINT, RATE
from limelight.plot import render
from limelight.table import Table
from limelight.theory.li2023 import learning

FIGURE = load("li2023").figure("hypotheses")


def made(law, trials=400, wrong=0, width=5000):
    """Steps that follow a law of the three settings; `wrong` trials per cell with some loss."""
    rng = np.random.default_rng(0)
    points = FIGURE.grid[POINT]
    rows = [(point, trial) for point in points for trial in range(trials)]
    columns = {name: np.array([p[i] for p, _ in rows]) for i, name in enumerate(POINT)}
    columns |= {
        "cell": np.repeat(np.arange(len(points)), trials),
        "trial": np.array([t for _, t in rows]),
        "steps": np.array([law(*p) * rng.normal(1, 0.1) for p, _ in rows]),
        "test_loss": np.array([0.01 if t < wrong else 0.0 for _, t in rows]),
    }
    experiment = {
        "world": {"relevant": 0.4, "confusing": 0.08, "dimension": 10, "tokens": 100},
        "model": {"width": width, "key_error": 0.2},
        "train": {"examples": 256, "batch": 16, "steps": 8000, "every": 1},
    }
    return Table(columns, POINT, {"scale": "paper", "configuration": {"experiment": experiment}})


def theory(rate, error, patterns):
    """Equation (11) with its constant."""
    return 1000 / ((1 - 0.3 - error * patterns / np.pi) * rate * 0.4)


def verdicts(table):
    return {v.claim: v.verdict for v in FIGURE.verdict(table)}


def test_every_cell_is_inside_the_hypotheses():
    table = made(theory, trials=1)
    for _, rows in table.cells(*POINT):
        assert hypotheses.hypotheses(rows).applies
    rate, error, patterns = hypotheses.BASE
    [(_, base)] = [c for c in hypotheses.along(table, RATE) if c[0] == rate]
    by_hand = learning(
        relevant=0.4, confusing=0.08, examples=256, steps=8000, rate=rate, width=5000,
        patterns=patterns, value_error=error, noise=0.0, slack=hypotheses.SLACK,
    )  # fmt: skip
    assert hypotheses.hypotheses(base).quantities == by_hand.quantities


def test_what_the_theorem_says_is_found_true():
    table = made(theory)
    assert set(verdicts(table).values()) == {"holds"}
    slope = next(v for v in FIGURE.verdict(table) if v.claim == "T1.rate")
    assert slope.value == pytest.approx(1, abs=0.02)
    assert render(FIGURE.plot(table), "png", dots_per_inch=40)
    assert hypotheses.summary(table)


@pytest.mark.parametrize(
    ("law", "wrong", "fails"),
    [
        (theory, 20, {"T1.zero", "T1.small"}),
        (lambda rate, error, patterns: 100 / rate**2, 0, {"T1.rate", "T1.sigma", "T1.patterns"}),
        (lambda rate, error, patterns: theory(rate, 0.0, patterns), 0, {"T1.sigma", "T1.patterns"}),
    ],
)
def test_each_claim_can_fail(law, wrong, fails):
    found = verdicts(made(law, wrong=wrong))
    assert {name for name, verdict in found.items() if verdict == "fails"} == fails


def test_outside_the_hypotheses_nothing_is_decided():
    found = {v.claim: v for v in FIGURE.verdict(made(theory, width=1000))}
    assert {v.verdict for v in found.values()} == {"inconclusive"}
    assert "a hypothesis does not hold: width" in found["T1.zero"].note
