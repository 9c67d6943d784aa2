"""Equal angles, two clusters and rank collapse: formulas against numbers, solvers and draws."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from limelight._core.errors import InputError
from limelight.measures.similarity import mean_cosine
from limelight.theory.geshkovski2023 import angles, limits, residuals, statements
from limelight.theory.geshkovski2023.angles import equal_layer, equal_rate, merge_time, pair_rate


def test_equal_angles_at_known_times():
    for beta, known in ((1.0, [0.15184934, 0.58977282, 0.98745967, 0.99999574]),
                        (4.0, [0.03544140, 0.11806565, 0.73878498, 0.99987656])):  # fmt: skip
        found = [angles.cosine_after(t, 32, beta) for t in (1, 2, 4, 8)]
        np.testing.assert_allclose(found, known, atol=1e-7)
    found = [angles.cosine_after(t, 32, 1.0, softmax=False) for t in (0.5, 1, 2)]
    np.testing.assert_allclose(found, [0.05270025, 0.18994211, 0.89467375], atol=1e-7)


def test_times_against_another_quadrature():
    for n, end, known in ((32, 0.5, 174.65224044), (32, 0.999, 178.73092952),
                          (1000, 0.5, 20.87801541), (1000, 0.999, 24.35180485)):  # fmt: skip
        assert angles.equal_time(n, 9.0, end=end) == pytest.approx(known, rel=1e-8)
    slow, _ = quad(lambda g: 1 / equal_rate(g, 7, 2.0, softmax=False), -0.05, 0.9)
    assert angles.equal_time(7, 2.0, -0.05, 0.9, False) == pytest.approx(slow, rel=1e-9)


def test_two_clusters():
    known = {2.0: 5.163265, 4.0: 10.831207, 9.0: 466.710653}
    for beta, time in known.items():
        assert merge_time(beta) == pytest.approx(time, abs=1e-6)
    assert merge_time(4.0, share=0.25) == pytest.approx(8.148918, abs=1e-6)
    path = solve_ivp(lambda t, g: pair_rate(g, 0.5, 3.0), (0, 3), [0.0], t_eval=(1, 3), rtol=1e-11,
                     atol=1e-12)  # fmt: skip
    np.testing.assert_allclose(path.y[0], [0.11004323, 0.48920446], atol=1e-7)
    ratios = [merge_time(25.0, g) / angles.merge_law(25.0, g) for g in (0.0, -0.5, 0.5)]
    np.testing.assert_allclose(ratios, [1.003, 0.955, 1.067], atol=6e-4)
    assert angles.MERGED == 0.999


def test_one_layer_after_another():
    u, found = 1.0, []
    for _ in range(5):
        u = equal_layer(u, 16, 2.0)
        found.append(u)
    np.testing.assert_allclose(
        found, [0.58651, 0.0191724, 1.15961e-7, 2.43643e-23, 2.25986e-70], rtol=1e-5
    )
    u, seen = 1.0, {}
    for layer in range(1, 25):
        seen[layer] = u = equal_layer(u, 16, 2.0, skip=1.0, step=0.5)
    known = {1: 0.956756, 4: 0.634652, 12: 0.00321301, 24: 1.91579e-7}
    np.testing.assert_allclose([seen[k] for k in known], list(known.values()), rtol=1e-5)
    assert equal_layer(0.3, 16, 0.0) == 0


def test_one_layer_by_its_definition():
    n, beta, u = 5, 1.5, 0.4
    root = np.linalg.cholesky((1 - u) + u * np.eye(n))
    for skip, step in ((0.0, 1.0), (1.0, 0.5)):
        weights = np.exp(beta * root @ root.T)
        moved = skip * root + step * (weights / weights.sum(axis=1, keepdims=True)) @ root
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        assert 1 - moved[0] @ moved[3] == pytest.approx(equal_layer(u, n, beta, skip, step))


@pytest.mark.parametrize(
    ("n", "row"),
    [
        (16, "1/3 2/3 4/8 18/35 99/196 614/1225"),
        (64, "1/4 1/4 3/6 9/18 49/97 308/615"),
        (196, "1/4 1/4 2/5 6/12 25/50 155/308"),
    ],
)
def test_layers_until_half(n, row):
    for beta, pair in zip((1, 2, 4, 6, 8, 10), row.split(), strict=True):
        plain, skipped = (int(part) for part in pair.split("/"))
        assert angles.layers_until(n, float(beta))[0] == plain
        assert angles.layers_until(n, float(beta), skip=1.0)[0] == skipped


def test_half_spheres():
    for n, d, known in ((10, 3, 0.08984375), (32, 16, 0.5), (5, 5, 1.0)):
        assert angles.hemisphere_probability(n, d) == known
    circle = np.sort(np.random.default_rng(0).uniform(0, 2 * np.pi, (20_000, 5)), axis=1)
    gaps = np.diff(np.concatenate([circle, circle[:, :1] + 2 * np.pi], axis=1), axis=1)
    drawn = (gaps.max(axis=1) > np.pi).mean()
    assert drawn == pytest.approx(angles.hemisphere_probability(5, 2), abs=0.015)


def test_the_bound_of_rank_collapse_on_draws():
    rng = np.random.default_rng(1)
    for n, d in ((4, 3), (12, 6)):
        for _ in range(20):
            X, W, V = rng.normal(size=(n, d)), *rng.normal(size=(2, d, d))
            logits = X @ W @ X.T / np.sqrt(d)
            P = np.exp(logits - logits.max(axis=1, keepdims=True))
            after = P / P.sum(axis=1, keepdims=True) @ X @ V
            b = np.abs(W).sum(axis=0).max() * np.sqrt(
                np.abs(V).sum(axis=0).max() * np.abs(V).sum(axis=1).max()
            )
            assert residuals.weight_size(W, V) == pytest.approx(b)
            bound = residuals.collapse_bound(residuals.log_residual(X), b, d)
            log = np.log(4 * b / np.sqrt(d)) + 3 * residuals.log_residual(X)
            assert bound == pytest.approx(log)
            assert residuals.log_residual(after) < bound
    E = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0]])
    assert residuals.residual_range(E) == 2
    assert residuals.spread_factor(E) == pytest.approx((2 + 1) / 3)


def test_the_spread_factor_pair_by_pair():
    E = np.random.default_rng(5).normal(size=(7, 7))
    pairs = list(itertools.product(range(7), repeat=2))
    rows = sum(max(abs(E[i, j] - E[i, k]) for j, k in pairs) for i in range(7))
    columns = max(sum(abs(E[i, j] - E[i, k]) for i in range(7)) for j, k in pairs)
    assert residuals.spread_factor(E) == pytest.approx(rows / columns, rel=1e-13)
    traced = jax.jit(residuals.spread_factor)(jnp.asarray(E))
    assert float(traced) == pytest.approx(rows / columns, rel=1e-6)


def test_statements_outside_their_conditions():
    assert not statements.equal_angles(tokens=4, cosine=-0.4).applies
    assert not statements.metastable(cosine=0.9995).applies
    assert not statements.high_dimension(dimension=10**6).applies
    assert statements.rank_collapse().applies
    assert not statements.rank_collapse(size=10.0).applies
    assert statements.layer_count(tokens=16, strength=30.0).void
    assert statements.path_count(3, 2, 1).value == 27
    assert statements.path_count(3, 2, 10**9).quantities["of this length"] == 0  # at once
    with pytest.raises(InputError, match="tokens"):
        statements.one_cluster(tokens=1)


def test_which_theorem_speaks():
    kind = lambda V, B=None: limits.limit_kind(V, B)[0]
    turn = [[np.cos(1.2), -np.sin(1.2)], [np.sin(1.2), np.cos(1.2)]]
    assert kind(2.0) == "boolean"
    assert kind(np.eye(3)) == "polytope"
    assert kind(np.diag([1.0, 0.3])) == "hyperplanes"
    assert kind([[0.647, 0.819], [0.612, 0.633]]) == "hyperplanes"
    assert kind(np.diag([1.0, 1.0, -0.5])) == "mixed"
    assert kind(np.eye(2), turn) == kind(np.eye(2), -np.eye(2)) == "none"
    assert kind(-np.eye(2)) == kind(turn) == "none"
    _, failed = limits.limit_kind(np.eye(2), -np.eye(2))
    assert any("eigenvalue of B" in condition.name for condition in failed)


# --- errata: what is printed beside what holds ------------------------------------------------


def test_normalised_euler_steps_of_a_tenth_are_not_the_flow():
    for beta, known in ((1.0, 0.050), (4.0, 0.130)):
        u, worst = 1.0, 0.0
        for step in range(1, 81):
            u = equal_layer(u, 32, beta, skip=1.0, step=0.1)
            if step % 5 == 0:
                worst = max(worst, abs(1 - u - angles.cosine_after(0.1 * step, 32, beta)))
        assert worst == pytest.approx(known, abs=6e-3)


def test_the_rank_of_a_thresholded_matrix_is_no_number_of_clusters():
    angle = np.array([0.0, 0.04, 0.08])  # a chain: neighbours are close, its ends are not
    gram = np.cos(angle[:, None] - angle[None, :]) >= 0.999
    assert np.linalg.matrix_rank(gram.astype(float)) == 3
    assert (np.diff(angle) <= np.arccos(0.999)).all()  # one component


def test_the_released_runge_kutta_is_euler():
    """Attention frozen over a step, and one stage added to all tokens alike."""
    rng = np.random.default_rng(0)
    z, V, P = rng.normal(size=(6, 2)), rng.normal(size=(2, 2)), rng.dirichlet(np.ones(6), size=6)
    field = lambda z, i: ((z - z[i]) * P[i][:, None]).sum(axis=0) @ V.T
    for i in range(6):
        a = 0.1 * field(z, i)
        b = 0.1 * field(z + a / 2, i)
        c = 0.1 * field(z + b / 2, i)
        d = 0.1 * field(z + c, i)
        np.testing.assert_allclose((a + 2 * b + 2 * c + d) / 6, 0.1 * field(z, i), atol=1e-15)


def test_the_norm_of_the_plots_and_of_the_functions():
    """The released functions leave out the root; doubling the rows shows which is a norm."""
    rows = np.random.default_rng(0).normal(size=(5, 3))
    product = lambda R: np.abs(R).sum(axis=0).max() * np.abs(R).sum(axis=1).max()
    assert product(2 * rows) == pytest.approx(4 * product(rows))
    assert np.exp(residuals.log_norm(2 * rows)) == pytest.approx(2 * np.sqrt(product(rows)))


def test_a_decay_that_is_printed_from_time_zero_on_begins_later():
    """At n = 2 and no strength 1 - cosine is 1 at first; the appendix wants at most .97."""
    printed = np.exp(2 / 3) / 2
    assert 1 - angles.cosine_after(0.0, 2, 0.0) == pytest.approx(1.0)
    assert printed == pytest.approx(0.97, abs=0.005)


def test_the_exponent_and_the_prefactor_of_merging():
    """Slopes of ln T and of ln(βT) between β = 16 and 25, by SciPy's quadrature."""
    rate = lambda g, beta: 2 * (1 - g**2) / (1 + np.exp(beta * (1 - g)))
    known = {0.0: (0.950, 0.9994), -0.5: (1.453, 1.5023), 0.5: (0.442, 0.4920)}
    for start, (plain, scaled) in known.items():
        times = [merge_time(beta, start) for beta in (16.0, 25.0)]
        for beta, time in zip((16.0, 25.0), times, strict=True):
            slow = quad(lambda g, beta=beta: 1 / rate(g, beta), start, 0.999, limit=500)[0]
            assert time == pytest.approx(slow, rel=1e-6)
        grown = np.log(times[1] / times[0])
        assert grown / 9 == pytest.approx(plain, abs=1e-3)
        assert (grown + np.log(25 / 16)) / 9 == pytest.approx(scaled, abs=1e-4)
    assert merge_time(16.0) == pytest.approx(2.8e5, rel=1e-2)


# --- rescaled tokens with keys and queries of any kind, by SciPy alone ------------------------


def rescaled(V, B, start, until):
    """z' = sum_j P_ij V (z_j - z_i) with the logits of e^(tV) z under B; the last z and P."""
    spectrum, basis = np.linalg.eig(np.asarray(V, float))
    back = np.linalg.inv(basis)

    def attention(t, z):
        x = z @ np.real((basis * np.exp(t * spectrum)) @ back).T
        logits = x @ B @ x.T
        P = np.exp(logits - logits.max(axis=1, keepdims=True))
        return P / P.sum(axis=1, keepdims=True)

    def field(t, y):
        z = y.reshape(start.shape)
        return ((attention(t, z) @ z - z) @ np.asarray(V).T).ravel()

    path = solve_ivp(field, (0, until), start.ravel(), method="LSODA", rtol=1e-9, atol=1e-11)
    z = path.y[:, -1].reshape(start.shape)
    return z, attention(until, z)


def test_a_token_that_stays_bounded_has_the_exceptional_row_until_rounding_takes_it():
    start = np.array([[-1.0], [0.0], [1.0]])
    for t in (0.5, 1.0):
        P = rescaled([[1.0]], np.eye(1), start, t)[1]
        np.testing.assert_allclose(
            P[1], [1 / 3] * 3, atol=1e-6
        )  # the middle token stays where it is
    moved = start + np.array([[0.0], [1e-9], [0.0]])  # unstable: the least push decides
    P = rescaled([[1.0]], np.eye(1), moved, 8.0)[1]
    assert P.max(axis=1).min() > 0.999
    assert (np.linalg.svd(P, compute_uv=False) > 1e-6).sum() == 2


def test_outside_the_theorem_on_polytopes_tokens_can_end_at_one_point():
    """-I is not positive: always. A rotation is not symmetric: from most starts, not from all."""
    turn = np.array([[np.cos(1.2), -np.sin(1.2)], [np.sin(1.2), np.cos(1.2)]])
    starts = [np.random.default_rng(seed).uniform(-2, 2, (12, 2)) for seed in range(4)]
    apart = lambda z: np.linalg.norm(z[:, None] - z[None], axis=2).max()
    ends = lambda B: np.array([apart(rescaled(np.eye(2), B, one, 10.0)[0]) for one in starts])
    assert (ends(-np.eye(2)) < 0.002).all()
    assert (ends(turn) < 0.002).sum() == 3
    assert ends(turn).max() > 0.6
    assert (ends(np.eye(2)) > 2).all()


@pytest.mark.parametrize(
    "B", [[[1, 0, 0.4], [0, 1, 0.3], [0.4, 0.3, 1]], np.diag([1.0, 1.0, -1.0])]
)
def test_a_mixed_spectrum_without_what_the_proof_needs(B):
    """Subspaces that B does not make orthogonal; a B that is indefinite on the second one."""
    start = np.random.default_rng(3).uniform(-2, 2, (10, 3))
    z, P = rescaled(np.diag([1.0, 1.0, -0.5]), np.asarray(B, float), start, 8.0)
    leaders = P.argmax(axis=1)
    shell = np.linalg.norm(z[:, :2] - z[leaders, :2], axis=1).max()
    assert len(set(leaders)) > 1
    assert shell < 1e-3 * np.ptp(start[:, :2])


def test_similarity_is_what_is_left_of_the_norm():
    """For unit rows the part beside their mean is (1 - s)(n - 1)/n of the whole."""
    rows = np.random.default_rng(4).normal(size=(7, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    s = np.mean([rows[i] @ rows[j] for i in range(7) for j in range(7) if i != j])
    left = ((rows - rows.mean(axis=0)) ** 2).sum() / (rows**2).sum()
    with jax.enable_x64(True):
        assert float(mean_cosine(jnp.asarray(rows))) == pytest.approx(s, abs=1e-14)
    assert left == pytest.approx((1 - s) * 6 / 7)
