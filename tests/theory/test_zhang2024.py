"""Linear attention on linear regression: formulas against numbers, draws, gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from limelight.theory.zhang2024 import dynamics, population, prediction, statements
from limelight.theory.zhang2024.population import gamma, linear_spectrum, one_covariance

FOUR = linear_spectrum(4, 0.6)
ODD = np.array([[1, 0.2, 0], [0.2, 0.5, 0.1], [0, 0.1, 0.3]])
SLANT = np.array([[(i + 1) * (j + 2) / 10 - 0.3 * (i == j) for j in range(3)] for i in range(3)])
near = lambda value: pytest.approx(value, rel=1e-9)


def test_levels_and_gamma_of_the_spectrum_of_four():
    np.testing.assert_allclose(FOUR, [0.4, 0.3, 0.2, 0.1])
    levels = [1, 0.640579710145, 0.377372162975, 0.209804595408, 0.135995071598]
    np.testing.assert_allclose(one_covariance(FOUR, 31).levels, levels, rtol=1e-9)
    bends = [0.445161290323, 0.341935483871, 0.238709677419, 0.135483870968]
    np.testing.assert_allclose(gamma(FOUR, 31), bends, rtol=1e-9)


def test_loss_gradient_and_risk_for_a_covariance_that_is_not_diagonal():
    assert population.loss(SLANT, ODD, 10) == near(1.928964)
    np.testing.assert_allclose(population.pull(SLANT, ODD, 10)[0], [0.9224, 0.09676, -0.10956])
    assert population.risk(SLANT, ODD, ODD, np.eye(3), 4) == near(2.31228)
    big = 1.1 * ODD + 0.18 * np.eye(3)
    best = np.linalg.inv(big)
    assert population.loss(best, ODD, 10) == near(0.493390043358)
    assert np.trace(best @ best) ** 0.25 == near(1.648679729009)
    np.testing.assert_allclose(
        best[0], [0.825442512352, -0.257120071865, 0.055457270402], rtol=1e-9
    )


def test_the_pull_is_minus_half_the_automatic_gradient():
    with jax.enable_x64(True):
        slope = jax.grad(lambda A: population.loss(A, ODD, 10))(jnp.asarray(SLANT))
        np.testing.assert_allclose(population.pull(SLANT, ODD, 10), -slope / 2, atol=1e-14)
        A, law = jnp.asarray(np.arange(16.0).reshape(4, 4) / 9), one_covariance(FOUR, 31)
        np.testing.assert_allclose(law.pull(A), -jax.grad(law.loss)(A) / 2, atol=1e-14)
        assert float(law.loss(A)) == near(population.loss(np.asarray(A), np.diag(FOUR), 31))
        assert float(law.excess(A)) == near(float(law.loss(A) - law.levels[-1]))


def test_the_loss_does_not_notice_a_rotation():
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    A = np.arange(16.0).reshape(4, 4) / 9
    turned = population.loss(turn @ A @ turn.T, turn @ np.diag(FOUR) @ turn.T, 31)
    assert turned == near(one_covariance(FOUR, 31).loss(A))


def test_a_course_and_a_wait_against_a_solver():
    assert dynamics.half_way(4, 1.0, 31, 1e-3) == near(3.589781355977)
    bend = 1.0 * (1 + 5 / 31)
    assert dynamics.white_course(3.589781355977, 4, 1.0, 31, 1e-3) == near(0.5 / bend)
    # v' = a_v d G, U = u I: v' = <U, G>, u' = v g with g = 1 - gamma a and A = v u I.
    field = lambda t, y: (g := 1 - bend * y[0] * y[1]) and (4 * y[1] * g, y[0] * g)
    path = solve_ivp(field, (0, 4), (1e-3, 1e-3 / 2), rtol=1e-11, atol=1e-14, dense_output=True)
    for t in (1.0, 3.0, 4.0):
        v, u = path.sol(t)
        assert v * u == pytest.approx(dynamics.white_course(t, 4, 1.0, 31, 1e-3), rel=1e-7)
    assert dynamics.wait(0.4, 0.445161290323, 0.01) == near(620.94228975)
    end = (0.5 / 0.445161290323) ** (1 / 3)
    slow = quad(lambda r: 1 / (0.16 * r**2 * (1 - 0.445161290323 * r**3)), 0.01, end, limit=200)[0]
    assert dynamics.wait(0.4, 0.445161290323, 0.01) == pytest.approx(slow, rel=1e-7)


def test_prediction_errors_and_the_useless_length():
    task = np.array([1, -2, 0.5, 1])
    assert prediction.one_task(FOUR, 31, task, 0.5).at(50) == near(0.420021353459)
    assert prediction.useless_length(FOUR, 31) == near(3.648361218347)
    white = np.ones(5)
    assert one_covariance(white, 10).levels[-1] == near(1.875)
    assert prediction.random_tasks(white, 10).at(3) == near(4.609375)
    assert prediction.random_tasks(white, 10).at(10) == near(1.875)  # trained where it is tested
    for spectrum in (FOUR, white, population.uneven_spectrum(7)):
        assert prediction.useless_length(spectrum, 10**7) == pytest.approx(
            len(spectrum) + 1, rel=1e-5
        )


def test_the_two_forms_of_the_error_agree():
    """Theorem 4.2 and the risk of any law, where both speak."""
    layer, cov = np.diag(1 / gamma(FOUR, 31)), np.diag(FOUR)
    for M in (1, 5, 200):
        exact = population.risk(layer, cov, cov, np.eye(4), M)
        assert prediction.random_tasks(FOUR, 31).at(M) == near(exact)


def test_errors_under_shifts():
    layer = np.diag(1 / gamma(FOUR, 31))
    error = lambda S: population.risk(layer, np.diag(S), np.diag(S), np.eye(4), 100)
    found = [error(c * FOUR) for c in (0.5, 2, 3)] + [error(FOUR[::-1])]
    expected = [0.166058073634, 1.363834994195, 8.628987461027, 1.786297990305]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    for N in (3, 31, 1000):  # at c = 2 and M = N it is 2 tr Lambda, exactly
        twice, layer = 2 * np.diag(FOUR), np.diag(1 / gamma(FOUR, N))
        assert population.risk(layer, twice, twice, np.eye(4), N) == near(2)


def test_random_covariances_against_draws_of_their_moments():
    law = population.exponential_covariances(4, 31)
    assert law.minimum[0] == near(0.303921568627)
    assert law.levels[-1] == near(1.568627450980)
    draws = np.random.default_rng(0).exponential(size=(400_000, 4))
    bends = (1 + 1 / 31) * draws + draws.sum(axis=1, keepdims=True) / 31
    products = draws[:, :, None] * (draws * bends)[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(products.mean(axis=0) - law.curvature) < 5 * error).all()
    assert np.abs((draws**2).mean() - law.slope[0]) < 0.03
    # The bound of the theorem, as it is recalled, lies below what is needed, by a factor of d.
    norm = (bends.max(axis=1) * (draws**2).sum(axis=1)).mean()
    recalled = 2 * np.linalg.norm(law.slope) / (2 * norm)
    needed = 2 * 2 * law.slope.sum() / law.curvature.trace()
    assert 4 * recalled < needed


def test_a_two_point_law_breaks_the_recalled_bound_for_another_start():
    """Theta = e_2 and a rare large second eigenvalue: the first loss is above that of 0."""
    spectra, chances, d = np.array([[1.0, 10.0], [1.0, 1e-3]]), np.array([1e-3, 0.999]), 2
    bends = np.array([gamma(lam, 1e9) for lam in spectra])
    slope, curve = chances @ spectra**2, chances @ (spectra**2 * bends)
    norm = chances @ (bends.max(axis=1) * (spectra**2).sum(axis=1))
    square = 0.99 * 2 * np.linalg.norm(slope) / (np.sqrt(d) * norm)  # sigma squared
    change = lambda a: -2 * square * slope @ a + square**2 * curve @ a**2
    assert change(np.array([0.0, 1.0])) > 0
    assert change(np.ones(2) / np.sqrt(d)) < 0  # the start that is a multiple of the identity


def test_statements_say_when_they_do_not_apply():
    assert not statements.convergence(scale=5.0).applies
    assert statements.convergence(scale=0.5).applies
    assert not statements.plateau_levels(heads=3).applies
    assert not statements.plateau_levels(spread=0.0).applies
    assert statements.useless_prompts().value == near(3.648361218347)
    assert statements.prediction_error(response="sign", length=10**9, examples=10**6).value == (
        pytest.approx(1 - 2 / np.pi, rel=1e-6)
    )
    assert statements.covariate_shift(examples=10**7, length=10**7).value == pytest.approx(1.0)
    assert statements.query_shift().value == pytest.approx(0.0085, abs=5e-4)
    assert statements.abrupt_drop().value == near(dynamics.half_way(4, 0.25, 31, 1e-3))
    assert statements.long_plateaus().value == 3


def test_other_queries_and_other_tasks_by_sums_over_coordinates():
    """Everything is diagonal, so the traces of the formula are sums that a hand can write."""
    d, N, M, spread = 4, 50, 30, 0.6
    found = statements.query_shift(dimension=d, examples=N, spread=spread, length=M)
    S = statements._spectrum(d, spread)
    A = 1 / gamma(S, N)
    asked = {"query": np.array([0.1, 0.2, 0.3, 0.9]), "task": np.array([4.0, 0.0, 1.0, 0.1])}

    def error(Sq, W):
        noise = ((W * S).sum() * S + S * W * S) / M
        return ((Sq * W) * (1 - 2 * A * S) + Sq * A**2 * (S * W * S + noise)).sum()

    one = np.ones(d)
    assert found.value == pytest.approx(error(asked["query"], one) / asked["query"].sum())
    other = error(S, asked["task"]) / (S * asked["task"]).sum()
    assert found.quantities["the same for other tasks"] == pytest.approx(other)


def test_sentences_on_the_layer_and_its_limits():
    eye = np.eye(5)
    for N in (5, 17):
        layer = np.diag(1 / gamma(np.ones(5), N))
        # Trained and tested at N = M = d: d(d+1)/(2d+1), where least squares errs by 0.
        assert population.risk(layer, eye, eye, eye, N) == pytest.approx(5 * 6 / (N + 6))
        # Covariates of twice the covariance: exactly twice the trace, for every N = M.
        assert population.risk(layer, 2 * eye, 2 * eye, eye, N) == pytest.approx(2 * 5)
    for spectrum in (np.ones(4), np.array([0.4, 0.3, 0.2, 0.1])):
        assert prediction.useless_length(spectrum, 10**8) == pytest.approx(5, rel=1e-6)  # d + 1


def test_how_long_a_step_may_be_at_the_minimum():
    """Largest curvature of half the loss there, merged .70 and separate .63: steps of 2.8, 3.2."""
    law = one_covariance(FOUR, 31)
    best = np.diag(law.minimum)

    def merged(y):
        return law.loss(y[0] * y[1:].reshape(4, 4)) / 2

    def separate(y):
        v, K, Q = y[:4], y[4:20].reshape(4, 4), y[20:].reshape(4, 4)
        return law.loss(np.einsum("h,hi,hj->ij", v, Q, K)) / 2

    v = np.linalg.norm(best) ** 0.5  # both are balanced there
    third = np.diag(best) ** (1 / 3)
    ends = {
        merged: np.concatenate([[v], best.ravel() / v]),
        separate: np.concatenate([third, np.diag(third).ravel(), np.diag(third).ravel()]),
    }
    known = {merged: (0.70, 2.8), separate: (0.63, 3.2)}
    for half, end in ends.items():
        assert half(end) == pytest.approx(law.levels[-1] / 2)
        top = np.linalg.eigvalsh(curvature(half, end)).max()
        assert top == pytest.approx(known[half][0], abs=0.006)
        assert 2 / top == pytest.approx(known[half][1], abs=0.06)


def curvature(f, at, h=1e-4):
    """Second derivatives, by differences."""
    off = h * np.eye(len(at))
    rows = [
        [f(at + a + b) - f(at + a - b) - f(at - a + b) + f(at - a - b) for b in off] for a in off
    ]
    return np.array(rows) / (4 * h**2)
