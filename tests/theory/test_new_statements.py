"""Numbers of the newer papers' statements that small faults in the code went through unnoticed."""

import math
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from limelight._core.errors import InputError
from limelight.papers import load
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


def test_high_dimension_asks_for_a_dimension_that_nobody_can_draw():
    """d / ln d against 16 c² / γ(1/n)², γ by SciPy's solver."""
    n, beta = 32, 1.0
    rate = lambda _, g: 2 * (1 - g) * ((n - 1) * g + 1) / (np.exp(beta * (1 - g)) + n - 1)
    cosine = solve_ivp(rate, (0, 1 / n), [0.0], rtol=1e-10, atol=1e-14).y[0, -1]
    least = 16 * math.exp(20) / cosine**2
    asked = lambda d: next(
        c for c in clusters.high_dimension(n, d, beta).conditions if c.name == "ln(d / ln d)"
    )
    assert asked(10**6).right == pytest.approx(math.log(least), rel=1e-7)
    assert not asked(10**7).holds
    beyond = math.ceil(least * 60)  # ln d is below 60 there
    assert asked(beyond).holds
    assert asked(beyond).left == pytest.approx(math.log(beyond / math.log(beyond)))


def test_gamma_repairs_the_bound_of_rank_collapse_layer_by_layer():
    """Three layers of r -> 4bHΓ r³ / √d, one after another."""
    size, b, width, heads, slack = 0.1, 1.3, 64, 2, 2.1
    left = size
    for _ in range(3):
        left = 4 * b * heads * slack * left**3 / math.sqrt(width)
    found = clusters.rank_collapse(size, b, width, 3, heads, factor=slack)
    assert found.value == pytest.approx(left, rel=1e-9)
    assert found.applies
    printed = clusters.rank_collapse(size, b, width, 3, heads)
    assert found.quantities["as printed, without Gamma"] == pytest.approx(math.log10(printed.value))
    assert printed.value < found.value
    assert not clusters.rank_collapse(factor=0.5).applies  # no such ratio is below 1


def test_uneven_scores_can_turn_the_gradient_round():
    inside = selections.divergence(low=0.9, seed=3)
    assert inside.applies
    assert inside.value < 0
    outside = selections.divergence(low=0.9, seed=3, spread=3.0)
    assert not outside.applies
    assert outside.value > 0
    pair = selections.divergence(tokens=2, spread=3.0)  # one other token: nothing to differ from
    assert pair.applies
    assert pair.value < 0


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


#: Statements that are known to stand in the papers, though not word by word.
READ = {"infimum", "regularisation-path", "local", "feasible", "prompt"}


@pytest.mark.parametrize("key", ["tarzanagh2023", "zhang2024", "geshkovski2023"])
def test_what_was_recalled_says_so(key):
    """A statement is ours, or was read, or its note says that it was not."""
    for statement in load(key).statements:
        found = statement.evaluate({})
        ours = "(ours)" in statement.title or found.reference.startswith("limelight")
        told = any("recalled" in note for note in found.notes)
        assert told or ours or statement.label in READ, statement.label
