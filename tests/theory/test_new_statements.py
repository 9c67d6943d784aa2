"""Numbers of the newer papers' statements that small faults in the code went through unnoticed."""

import math
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.theory.geshkovski2023 import statements as clusters
from limelight.theory.tarzanagh2023 import statements as selections
from limelight.theory.zhang2024 import statements as prompts
from limelight.theory.zhang2024.course import Watcher
from limelight.theory.zhang2024.population import linear_spectrum, one_covariance
from limelight.theory.zhang2024.prediction import error_of, one_task

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(20)  # exact for polynomials up to degree 39


def test_a_cubed_response_by_quadrature():
    """Every moment of y = (w x)³ + noise from a grid of nodes, in two dimensions."""
    spectrum, task, noise = np.array([0.7, 0.3]), np.array([0.4, -1.1]), 0.5
    x = np.stack(np.meshgrid(NODES, NODES), -1).reshape(-1, 2) * np.sqrt(spectrum)
    p = np.outer(WEIGHTS, WEIGHTS).ravel() / WEIGHTS.sum() ** 2
    y = (x @ task) ** 3
    slope = (p * y) @ x / spectrum  # of the best linear predictor
    best = p @ (y - x @ slope) ** 2
    second = (p * y**2) @ x**2 - ((p * y) @ x) ** 2
    expected = error_of(spectrum, 12, best + noise**2, second + noise**2 * spectrum, slope**2)
    found = one_task(spectrum, 12, task, noise, "cube")
    np.testing.assert_allclose([*found], [*expected], rtol=1e-12)


def test_the_least_loss_by_its_formula():
    spectrum, N = np.asarray(linear_spectrum(4, 0.6)), 31
    bend = ((N + 1) * spectrum + spectrum.sum()) / N
    found = prompts.global_minimum(4, N, 0.6)
    assert found.value == pytest.approx(float((spectrum * (1 - spectrum / bend)).sum()), rel=1e-6)


def test_plateaus_need_gaps_of_any_size_between_eigenvalues():
    gaps = lambda bound: [c.holds for c in bound.conditions if "gap" in c.name]
    assert gaps(prompts.plateau_levels(dimension=4, spread=0.6)) == [True]
    assert gaps(prompts.plateau_levels(dimension=4, spread=0.0)) == [False]


def test_high_dimension_by_its_formula():
    found = clusters.high_dimension(2, 3, 1.0, 0.01)
    by_hand = 2 * math.exp(10 * 2 * 0.01) * math.sqrt(math.log(3) / 3)
    assert found.value == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(
    "statement",
    [
        clusters.boolean_limit,
        clusters.half_sphere,
        clusters.high_dimension,
        clusters.equal_angles,
    ],
)
def test_two_tokens_are_enough_and_one_is_not(statement):
    assert np.isfinite(statement(tokens=2).value) or statement is clusters.high_dimension
    with pytest.raises(InputError, match="tokens"):
        statement(tokens=1)


def test_a_pair_without_a_score_is_refused():
    assert selections.pair(level=1.0).value == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(InputError, match="level"):
        selections.pair(level=0.0)


@pytest.mark.parametrize("weights", ["softmax", "sum"])
def test_late_rates_are_those_of_the_times(weights):
    near, nearer = (
        clusters.equal_angles(5, 1.5, 0.0, level, weights) for level in (1 - 1e-4, 1 - 1e-5)
    )
    rate = math.log(10) / (nearer.value - near.value)
    assert near.quantities["late rate of 1 - cosine"] == pytest.approx(rate, rel=1e-3)
    if weights == "softmax":
        assert clusters.half_sphere(5).quantities["late rate of 1 - cosine"] == pytest.approx(
            rate, rel=1e-3
        )


def test_a_layer_that_is_principal_component_regression_is_seen_as_such():
    law = one_covariance(np.asarray(linear_spectrum(4, 0.6)), 31)
    best = np.asarray(law.minimum)
    cosine = lambda a, b: (a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b)
    for m in (1, 2, 3):
        matrix = np.diag(np.where(np.arange(4) < m, best, 0)) + 0.01
        found = Watcher._cosines(SimpleNamespace(law=law), jnp.asarray(matrix))
        regressions = [np.diag(np.where(np.arange(4) < k, best, 0)) for k in (1, 2, 3)]
        np.testing.assert_allclose(found, [cosine(matrix, r) for r in regressions], rtol=1e-5)
