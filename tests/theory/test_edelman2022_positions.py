"""Trained positions and drawn complexities, against heads that are moved and sums done slowly."""

import itertools

import numpy as np
import pytest

from limelight.models.heads import softmax
from limelight.papers import load
from limelight.theory.covering import LinearMap
from limelight.theory.edelman2022 import HeadNorms, head_explicit
from limelight.theory.edelman2022.positions import sensitivity, trained_positions
from limelight.theory.edelman2022.rademacher import drawn_complexity

paper = load("edelman2022")


def test_no_head_moves_more_than_its_sensitivity():
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(300):
        T, d = rng.integers(1, 6), rng.integers(1, 5)
        QK, V = rng.normal(size=(d, d)) * rng.exponential(), rng.normal(size=(d, d))
        Z = rng.normal(size=(T, d)) * rng.exponential()
        moved = rng.normal(size=(T, d))
        moved *= 1e-3 / np.linalg.norm(moved, axis=1, keepdims=True)
        head = lambda X, QK=QK, V=V: softmax(X @ QK.T @ X[-1]) @ X @ V
        longest = max(np.linalg.norm(X, axis=1).max() for X in (Z, Z + moved))
        norms = HeadNorms(LinearMap.of_columns(QK.T), LinearMap.of_columns(V), float(longest))
        change = np.linalg.norm(head(Z + moved) - head(Z))
        worst = max(worst, change / (1e-3 * sensitivity(norms)))
    assert 0.3 < worst <= 1 + 1e-9


def test_trained_positions_cost_a_term_that_is_linear_in_the_tokens():
    head = HeadNorms(LinearMap(4, 1.0, spectral=1.0), LinearMap(4, 1.0, spectral=1.0), 1.0)
    given = {"examples": 100}
    few, more, many = (
        trained_positions(head, 1.0, 1.0, tokens=T, **given) for T in (10**4, 2 * 10**4, 10**9)
    )
    fixed = head_explicit(head.placed(1.0), 1.0, tokens=10**9, **given)
    assert few < more < many
    assert many > fixed
    assert many / trained_positions(head, 1.0, 1.0, tokens=5 * 10**8, **given) == pytest.approx(
        2, abs=0.05
    )
    assert trained_positions(head, 0.0, 1.0, tokens=50, **given) == pytest.approx(
        float(head_explicit(head, 1.0, tokens=50, **given))
    )
    assert paper.find("positions").evaluate({}).value > 0


def test_the_drawn_complexity_is_the_mean_over_all_signs():
    points = np.random.default_rng(2).normal(size=(6, 3))
    every = [np.linalg.norm(np.array(e) @ points) for e in itertools.product((-1, 1), repeat=6)]
    exact = 2.0 * np.mean(every) / 6
    drawn = drawn_complexity(points, 2.0, 40_000)
    assert drawn.mean() == pytest.approx(exact, abs=5 * drawn.std() / 200)
    bound = paper.find("definitionA.1").evaluate({})
    assert bound.applies
    assert bound.value < bound.quantities["closed form"] < bound.quantities["by covering"]
