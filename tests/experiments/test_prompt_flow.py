"""Training linear attention: descent by hand, conservation laws, limits, draws."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight.experiments import PromptDescent, PromptErrors, PromptFlow
from limelight.models import LinearAttention, SeparateAttention
from limelight.theory.ode import follow_descent, follow_flow
from limelight.theory.zhang2024.population import linear_spectrum, one_covariance
from limelight.theory.zhang2024.prediction import random_tasks

VALUE = (0.10, 0.12, 0.09)
KEY = ((0.1, 0.02, 0.03), (0.02, 0.11, 0.01), (0.03, 0.02, 0.12))
QUERY = ((0.09, 0.01, 0.02), (0.01, 0.1, 0.03), (0.02, 0.03, 0.1))
THREE = np.array([0.5, 0.3, 0.2])


def test_descent_by_hand_and_through_the_layer():
    """Ten thousand steps of the formulas in NumPy; the layer's own gradient at the start."""
    law, (v, K, Q) = one_covariance(THREE, 20), map(np.array, (VALUE, KEY, QUERY))
    losses = {}
    for step in range(10_001):
        A = sum(v[h] * np.outer(Q[h], K[h]) for h in range(3))
        if step in (0, 500, 2000, 10_000):
            losses[step] = law.loss(A)
        G = law.pull(A)
        dv = np.array([Q[h] @ G @ K[h] for h in range(3)])
        dK, dQ = v[:, None] * (Q @ G), v[:, None] * (K @ G.T)
        if step == 0:
            with jax.enable_x64(True):
                model = SeparateAttention(*(jnp.asarray(w) for w in (v, K[:, None], Q[:, None])))
                (moved,) = jax.vjp(lambda m: m.matrix, model)[1](jnp.asarray(G))
                np.testing.assert_allclose(moved.value, dv, rtol=1e-12)
                np.testing.assert_allclose(moved.key[:, 0], dK, rtol=1e-12)
                np.testing.assert_allclose(moved.query[:, 0], dQ, rtol=1e-12)
        if step < 10_000:
            v, K, Q = v + 0.1 * dv, K + 0.1 * dK, Q + 0.1 * dQ
    expected = [0.999166272785, 0.563041214611, 0.275698951690, 0.164795894992]
    np.testing.assert_allclose(list(losses.values()), expected, rtol=1e-9)
    np.testing.assert_allclose(v, [1.203910280739, 1.399937128788, 1.564788192677], rtol=1e-9)


def test_leaving_out_the_length_is_another_scale_and_another_time():
    """Without 1/N: weights by N^(-1/3), time by N^(-2/3); a whole descent, step by step."""
    law, N = one_covariance(THREE, 20), 20
    v, K, Q = map(np.array, (VALUE, KEY, QUERY))
    small = [w * N ** (-1 / 3) for w in (v, K, Q)]
    for _ in range(300):
        A = np.einsum("h,hi,hj->ij", v, Q, K)
        G = law.pull(A)
        v, K, Q = (
            v + 0.1 * np.einsum("hi,ij,hj->h", Q, G, K),
            K + 0.1 * v[:, None] * (Q @ G),
            Q + 0.1 * v[:, None] * (K @ G.T),
        )
        a, k, q = small
        G = N * law.pull(N * np.einsum("h,hi,hj->ij", a, q, k))  # the prediction is N times larger
        rate = 0.1 * N ** (-2 / 3)
        small = [
            a + rate * np.einsum("hi,ij,hj->h", q, G, k),
            k + rate * a[:, None] * (q @ G),
            q + rate * a[:, None] * (k @ G.T),
        ]
    np.testing.assert_allclose(small[0] * N ** (1 / 3), v, rtol=1e-10)


def test_leaving_out_the_length_with_merged_weights():
    """Without 1/N: weights by N^(-1/2), time by 1/N; a whole descent, step by step."""
    law, N, random = one_covariance(THREE, 20), 20, np.random.default_rng(0)
    v, U = 0.1 * random.normal(size=2), 0.1 * random.normal(size=(2, 3, 3))
    a, B, early = v * N**-0.5, U * N**-0.5, v
    for _ in range(300):
        G = law.pull(np.einsum("h,hij->ij", v, U))
        v, U = v + 0.1 * np.einsum("hij,ij->h", U, G), U + 0.1 * v[:, None, None] * G
        G = N * law.pull(N * np.einsum("h,hij->ij", a, B))
        rate = 0.1 / N
        a, B = a + rate * np.einsum("hij,ij->h", B, G), B + rate * a[:, None, None] * G
    assert np.abs(v - early).max() > 0.1
    np.testing.assert_allclose(a * N**0.5, v, rtol=1e-10)
    np.testing.assert_allclose(B * N**0.5, U, rtol=1e-10)


def test_the_solver_against_a_circle_and_against_euler():
    with jax.enable_x64(True):
        field = lambda y: jnp.stack([-y[1], y[0]])
        watch, going = (lambda kept, here, there: there.time), (lambda time: time < 6.0)
        start, zero = jnp.array([1.0, 0.0]), jnp.zeros(())
        end, _, steps = follow_flow(
            field, start, watch, zero, going, most=1000, rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(end.state, [np.cos(end.time), np.sin(end.time)], atol=1e-7)
        assert 10 < steps < 400
        end, _, steps = follow_descent(field, start, watch, zero, going, most=9999, rate=1e-3)
        assert steps == 6000
        np.testing.assert_allclose(end.state, [np.cos(6), np.sin(6)], atol=4e-3)


def test_the_flow_conserves_ends_at_the_minimum_and_rests_at_its_levels():
    flow = PromptFlow(dimension=3, model=LinearAttention("separate", 4, 1, 0.1), tolerance=1e-8)
    table = flow.sweep({}, trials=3)
    assert table["finished"].all()
    assert (table["drift"] < 1e-7).all()
    assert (table["excess"] < 1e-3).all()
    assert (np.diff(table["time"], axis=1) > 0).all()
    assert (table["offset"] < 0.05).all()
    levels = one_covariance(linear_spectrum(3, 0.6), 31).levels
    assert (np.diff(levels) < 0).all()


def test_merged_flow_follows_the_closed_form():
    start = LinearAttention("merged", 1, 1, 1e-2, "aligned")
    table = PromptFlow(spread=0.0, model=start, tolerance=1e-9).sweep({}, trials=1)
    assert table["apart"][0] < 1e-8
    assert table["count"][0] == 0


def test_a_start_that_ends_at_the_saddle():
    """v = -sigma with a multiple of the identity: the theorem's sign is needed."""
    v, u, bend = -0.5, 0.25, 1 + 5 / 31  # white, d = 4: v' = 4 u g, u' = v g, g = 1 - bend v u
    for _ in range(40_000):
        g = 1 - bend * v * u
        v, u = v + 1e-3 * 4 * u * g, u + 1e-3 * v * g
    assert abs(v * u) < 1e-6


def test_a_negative_value_ends_at_the_mirror_image():
    """From -v and any other Theta: minus the value, minus the matrix, and the least loss."""
    law, random = one_covariance(THREE, 20), np.random.default_rng(2)
    theta = random.normal(size=(3, 2))
    U = theta @ theta.T / np.linalg.norm(theta @ theta.T)
    v, U = -0.3, 0.3 * U
    for _ in range(60_000):
        G = law.pull(v * U)
        v, U = v + 0.05 * np.sum(U * G), U + 0.05 * v * G
    assert law.loss(v * U) == pytest.approx(law.levels[-1], rel=1e-10)
    limit = np.sum(law.minimum**2) ** 0.25
    assert v == pytest.approx(-limit, rel=1e-3)
    np.testing.assert_allclose(U, -np.diag(law.minimum) / limit, atol=2e-3)


def test_moments_of_many_prompts_are_within_five_standard_errors():
    """Twenty sets of 20,000; the noise of one prompt is that of draws in NumPy."""
    law, A = one_covariance(linear_spectrum(4, 0.6), 31), 0.7 * np.eye(4) + 0.1
    with jax.enable_x64(True):
        run = PromptDescent(prompts=20_000)
        pull = jax.jit(lambda key: run._fixed(key)[0](0, jnp.asarray(A)))
        found = np.mean([pull(key) for key in jr.split(jr.key(5), 20)], axis=0)
    random, root = np.random.default_rng(1), np.sqrt(linear_spectrum(4, 0.6))
    x = root * random.normal(size=(20_000, 32, 4))
    w = random.normal(size=(20_000, 4))
    y = np.einsum("pni,pi->pn", x, w)
    beta = np.einsum("pn,pni->pi", y[:, :31], x[:, :31]) / 31
    off = y[:, 31] - np.einsum("pi,ij,pj->p", x[:, 31], A, beta)
    noise = np.std(off[:, None, None] * x[:, 31, :, None] * beta[:, None, :], axis=0)
    assert (np.abs(found - law.pull(A)) < 5 * noise / np.sqrt(400_000)).all()


def test_drawn_moments_are_those_of_the_population():
    """The pull of 20,000 prompts, a fixed set and fresh ones, within the noise of draws."""
    with jax.enable_x64(True):
        run = PromptDescent(prompts=20_000, batch=20_000)
        law, A = run.flow.law, jnp.eye(4) * 0.7
        pulls = lambda: (run._fixed(jr.key(0))[0](0, A), run._fresh(jr.key(1))(jnp.array(3), A))
        for pull in jax.jit(pulls)():
            np.testing.assert_allclose(pull, law.pull(A), atol=0.01)
        fitted = jax.jit(lambda: run._fixed(jr.key(0))[1])()
        assert law.loss(fitted) / law.levels[-1] - 1 < 0.005


def test_errors_are_those_of_the_theorem():
    table = PromptErrors(trained=(10,), lengths=(3, 31), prompts=20_000).sweep({}, trials=1)
    found = table["error.linear.0"][0].reshape(2, 2)
    error = table["se.linear.0"][0].reshape(2, 2)
    spectrum = linear_spectrum(4, 0.6)
    exact = [[random_tasks(spectrum, N).at(M) for N in (10, M)] for M in (3, 31)]
    assert (np.abs(found - exact) < 4.5 * error).all()
    draws = np.random.default_rng(0).normal(size=(4000, 3, 4)) * np.sqrt(spectrum)
    left = [1 - np.sum(spectrum[:, None] * np.linalg.qr(x.T)[0] ** 2) for x in draws]
    assert table["least"][0][0] == pytest.approx(np.mean(left), abs=5 * np.std(left) / 60)
    assert table["least"][0][1] == 0


@pytest.mark.parametrize(("spread", "trials", "most"), [(0.0, 100, 0.03), (0.6, 60, 0.0)])
def test_plateaus_that_are_seen_do_not_depend_on_the_tolerance(spread, trials, most):
    """Steps a hundred times as exact: three runs in a hundred at most count otherwise, or none."""
    flow = lambda tolerance: PromptFlow(
        spread=spread, model=LinearAttention("separate", 8, 1, 0.3), tolerance=tolerance
    )
    rough, fine = (flow(tolerance).sweep({}, trials=trials)["count"] for tolerance in (1e-6, 1e-8))
    assert np.mean(rough != fine) <= most
    assert rough.max() > 0
