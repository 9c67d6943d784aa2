"""Max-margin token selection: solvers against known numbers, each other and SciPy."""

import itertools

import jax
import numpy as np
import pytest
from scipy.optimize import minimize

from limelight.theory.tarzanagh2023 import compiled, nuclear, rates, statements, svm
from limelight.worlds.selections import Arrangements


def by_hand():
    """The world of the check values: tokens, queries, scores."""
    i, t, j = np.ogrid[:2, :4, :3]
    X = (3 + 5 * i + 7 * t + 2 * j + 3 * i * t + 4 * t * j + 6 * i * j + t * t * j + i * j * j) % 11
    i, j = np.ogrid[:2, :3]
    Z = (2 + 3 * i + 5 * j + i * j * j) % 7
    X, Z = (X - 5) / 5, (Z - 3) / 3
    return X, Z, np.array([[1.0], [-1.0]]) * (X @ (0.9 - 0.37 * np.arange(3)))


X, Z, SCORES = by_hand()
OPT = np.array([1, 3])
ONES = np.ones((1, 1))
PLANE = Arrangements("uneven").arrays()[0]


def test_the_world_its_loss_and_its_gradient():
    np.testing.assert_allclose(X[0, :2], [[-0.4, 0, 0.4], [1, 0.2, -0.6]])
    assert SCORES.argmax(axis=1).tolist() == [1, 3]
    i, j = np.ogrid[:3, :3]
    loss, pull = statements.loss_and_pull(X, Z, SCORES, 0.1 * (i - j) + 0.05 * i * j)
    assert loss == pytest.approx(0.7771977310526, abs=1e-9)
    assert np.linalg.norm(pull) == pytest.approx(0.1728636020944, abs=1e-9)
    np.testing.assert_allclose(-pull[0], [0.0498733959, 0.1053399433, -0.0466104985], atol=1e-9)


@pytest.mark.parametrize(
    ("token", "p", "multipliers"),
    [
        (0, (-0.0990099010, 0.9900990099), (0, 0.9900990099)),
        (1, (1, 0), (0, 1)),
        (2, (-1, -1.1), (1.1, 1.11)),
    ],
)
def test_three_tokens_in_the_plane(token, p, multipliers):
    found = svm.max_margin(PLANE, ONES, [token])
    np.testing.assert_allclose(found.weights.ravel(), p, atol=1e-9)
    np.testing.assert_allclose(found.multipliers, multipliers, atol=1e-9)
    assert found.certified


def test_head_and_prompt_by_hand():
    for name, margin, relaxed, support in (
        ("tight", (4 / 3, 1 / 3), (4 / 3, 1 / 3), 3),
        ("loose", (1.25, 0.25), (1, 0), 2),
    ):
        tokens, _, Y = Arrangements(name).arrays()
        own = tokens[:, 1]
        head = svm.least_norm(Y[:, None] * own)
        np.testing.assert_allclose(head.weights, (0, 1), atol=1e-9)
        near = head.gaps <= 1 + 1e-6
        assert near.sum() == support
        args = (tokens, np.ones((3, 1)), [1, 1, 1])
        np.testing.assert_allclose(svm.max_margin(*args).weights.ravel(), margin, atol=1e-9)
        found = svm.max_margin(*args, bounds=near.astype(float))
        np.testing.assert_allclose(found.weights.ravel(), relaxed, atol=1e-9)


def test_the_frobenius_solution_by_hand():
    found, where = svm.max_margin(X, Z, OPT), svm.constraints(X, Z, OPT)
    assert found.norm == pytest.approx(1.1633264136, abs=1e-9)
    known = [0.07511366, 0.56035213, 0, 0, 0, 0.71786256]
    np.testing.assert_allclose(found.multipliers, known, atol=1e-7)
    np.testing.assert_allclose(
        found.weights[0], [-0.280195283, -0.6012983305, 0.2732455439], atol=1e-7
    )
    near = found.gaps <= 1 + 1e-6
    assert list(zip(where.sample[near], where.token[near], strict=True)) == [(0, 0), (0, 2), (1, 2)]
    assert svm.locally_optimal(found, where, SCORES, OPT)
    # Invariants: the sum of multipliers, the rank, and that W over its smallest gap is feasible.
    assert found.multipliers.sum() == pytest.approx(found.norm**2)
    assert np.linalg.matrix_rank(found.weights, 1e-9) <= 2
    other, where = svm.max_margin(X, Z, [0, 0]), svm.constraints(X, Z, [0, 0])
    assert other.norm == pytest.approx(2.9737391871, abs=1e-9)
    near = other.gaps <= 1 + 1e-6
    support = list(zip(where.sample[near], where.token[near], strict=True))
    assert support == [(0, 2), (0, 3), (1, 1), (1, 2)]
    assert not svm.locally_optimal(other, where, SCORES, [0, 0])


def test_a_general_solver_finds_no_better_solution():
    """SciPy's sequential quadratic programming, which knows nothing of multipliers."""
    random = np.random.default_rng(3)
    rows = svm.constraints(
        random.normal(size=(3, 4, 3)), random.normal(size=(3, 3)), [0, 1, 2]
    ).rows
    found = svm.least_norm(rows)
    wanted = {"type": "ineq", "fun": lambda w: rows @ w - 1, "jac": lambda w: rows}
    slow = minimize(
        lambda w: w @ w / 2, np.zeros(9), jac=lambda w: w, constraints=[wanted], method="SLSQP"
    )
    assert slow.success
    np.testing.assert_allclose(found.weights, slow.x, atol=1e-6)


def test_an_infeasible_choice_comes_with_its_certificate():
    found = svm.max_margin(np.array([[[0.0], [1.0], [-1.0]]]), ONES, [0])
    assert not found.feasible
    assert found.multipliers.sum() == pytest.approx(1)
    assert found.error < 1e-12
    assert svm.max_margin(PLANE, ONES, [0], kept=np.array([[True, False, False]])).norm == 0


def test_the_nuclear_solution_by_hand():
    where, plain = svm.constraints(X, Z, OPT), svm.max_margin(X, Z, OPT)
    found = nuclear.nuclear_margin(where, plain, tolerance=1e-10)
    assert found.norm == pytest.approx(1.6409130929, abs=1e-6)
    assert found.gap < 1e-9
    sizes = np.linalg.svd(found.weights, compute_uv=False)
    np.testing.assert_allclose(sizes, [1.0577452, 0.5831679, 0], atol=1e-5)
    assert np.linalg.norm(plain.weights, "nuc") == pytest.approx(1.64425017, abs=1e-7)
    cosine = (found.weights * plain.weights).sum() / np.linalg.norm(found.weights) / plain.norm
    assert cosine == pytest.approx(0.9631355, abs=1e-5)
    planes = nuclear.cutting_planes(where.rows.reshape(-1, 3, 3), plain.weights)
    assert planes.norm == pytest.approx(found.norm, abs=1e-5)
    assert (where.rows @ found.weights.ravel()).min() >= 1 - 1e-9


def test_inside_a_program_as_outside():
    """One program for feasible and infeasible worlds, and for padding, against `svm`."""
    random = np.random.default_rng(0)
    unit = lambda *shape: (lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True))(
        random.normal(size=shape)
    )
    worlds = 12
    tokens, queries = unit(worlds, 5, 4, 2), unit(worlds, 5, 2)
    kept = np.ones((worlds, 5, 4), bool)
    kept[::2, 3:] = False  # no such samples
    kept[1::4, :, 3] = False
    scores = np.where(kept, np.einsum("wstd,wd->wst", tokens, unit(worlds, 2)), -9.0)
    chosen = scores.argmax(axis=2)

    def both(*world):
        choice = compiled.solve_choice(*world)
        return choice, compiled.solve_nuclear(choice, most=1500)

    with jax.enable_x64(True):
        found, star = jax.device_get(jax.jit(jax.vmap(both))(tokens, queries, scores, kept, chosen))
    seen = set()
    for w in range(worlds):
        used = np.nonzero(kept[w].any(axis=1))[0]
        args = tokens[w, used], queries[w, used], chosen[w, used], kept[w, used]
        slow, where = svm.max_margin(*args), svm.constraints(*args)
        assert bool(found.feasible[w]) == slow.feasible
        assert found.error[w] < 1e-10
        seen.add(slow.feasible)
        if slow.feasible:
            np.testing.assert_allclose(found.weights[w], slow.weights, atol=1e-8 * slow.norm)
            local = svm.locally_optimal(slow, where, scores[w, used], chosen[w, used])
            assert bool(found.local[w]) == local
            if star.gap[w] < 1e-6:
                least = nuclear.nuclear_margin(where, slow)
                assert star.norm[w] == pytest.approx(least.norm, rel=1e-5)
                seen.add("nuclear")
    assert seen == {True, False, "nuclear"}


def test_the_nuclear_solve_inside_a_program_closes_its_gap():
    """No more samples than dimensions: every solve is certified, chosen and missing tokens or no.

    A chosen token has no constraint, and must not hold up the splitting either.
    """
    random = np.random.default_rng(1)
    unit = lambda *shape: (lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True))(
        random.normal(size=shape)
    )
    worlds, n, T, d = 12, 4, 5, 4
    tokens, queries, scores = unit(worlds, n, T, d), unit(worlds, n, d), unit(worlds, n, T)
    kept = np.ones((worlds, n, T), bool)
    kept[::2, 3:] = False  # no such samples
    kept[::3, :, 4] = False
    chosen = np.where(kept, scores, -9.0).argmax(axis=2)

    def gap(*world):
        star = compiled.solve_nuclear(compiled.solve_choice(*world))
        return star.norm, star.gap

    with jax.enable_x64(True):
        norm, gaps = jax.device_get(jax.jit(jax.vmap(gap))(tokens, queries, scores, kept, chosen))
    assert gaps.max() <= 1e-8
    for w in range(worlds):
        used = np.nonzero(kept[w].any(axis=1))[0]
        args = tokens[w, used], queries[w, used], chosen[w, used], kept[w, used]
        least = nuclear.nuclear_margin(svm.constraints(*args), svm.max_margin(*args))
        assert norm[w] == pytest.approx(least.norm, rel=1e-7)


def test_limits_of_the_path_and_the_offset_of_a_pair():
    limits = rates.path_limits(svm.max_margin(X, Z, OPT), svm.constraints(X, Z, OPT), SCORES, OPT)
    assert limits.margin == pytest.approx(0.4207060350, abs=1e-8)
    assert limits.cosine == pytest.approx(0.9011883691, abs=1e-8)
    assert rates.pair_offset(100, "linear") == pytest.approx(2.302585, abs=1e-6)
    assert rates.pair_offset(100, "logistic") == pytest.approx(-47.040784, abs=1e-6)
    assert rates.slope("logistic", 2.0) == pytest.approx(1 / (1 + np.exp(2)))


@pytest.mark.parametrize(("c", "off"), [(12.0, (0.16, 0.34)), (24.0, (0.03, 0.08))])
def test_a_path_that_is_minimised_nears_these_limits(c, off):
    """The least loss on a sphere by SciPy, at radii where it can still be computed."""
    plain, where = svm.max_margin(X, Z, OPT), svm.constraints(X, Z, OPT)
    R, scale = c * plain.norm, np.exp(c)  # the loss above its infimum is of order exp(-c)
    floor = np.log1p(np.exp(-SCORES.max(axis=1))).mean()

    def loss(w):
        W = R * w.reshape(3, 3) / np.linalg.norm(w)
        value, pull = statements.loss_and_pull(X, Z, SCORES, W)
        slope = -R * pull.ravel() / np.linalg.norm(w)
        return scale * (value - floor), scale * (slope - w * (slope @ w) / (w @ w))

    w = minimize(loss, plain.weights.ravel(), jac=True, method="BFGS").x
    size = np.linalg.norm(w) / plain.norm
    missing = 1 - (where.rows @ w).min() / size
    turned = 1 - w @ plain.weights.ravel() / size / plain.norm**2
    assert c * missing == pytest.approx(0.4207060350, abs=off[0])
    assert c**2 * turned == pytest.approx(0.9011883691, abs=off[1])


def test_one_dimension_by_all_signs():
    """Tokens, queries, labels and head are signs: every world of two samples, three tokens."""
    good = total = 0
    for signs in itertools.product((-1.0, 1.0), repeat=8):
        x, z = np.array(signs[:6]).reshape(2, 3, 1), np.array(signs[6:]).reshape(2, 1)
        for labels in itertools.product((-1.0, 1.0), repeat=2):
            scores = np.array(labels)[:, None] * x[:, :, 0]
            top = scores.max(axis=1, keepdims=True)
            total += 1
            if (scores == top).sum() == 2:  # no copies
                good += svm.max_margin(x, z, scores.argmax(axis=1)).feasible
    assert statements.line(2, 3).value == good / total


def test_the_interpolated_problem_lies_between():
    tokens, _, Y = Arrangements("loose").arrays()
    head = svm.least_norm(Y[:, None] * tokens[:, 1])
    args = (tokens, np.ones((3, 1)), [1, 1, 1], head.gaps)
    slow = svm.interpolated(*args, clock=1e-9, norm=1.0)
    quick = svm.interpolated(*args, clock=1e9, norm=1.0)
    np.testing.assert_allclose(slow.weights.ravel(), (1.25, 0.25), atol=1e-6)
    np.testing.assert_allclose(quick.weights.ravel(), (1, 0), atol=1e-6)


def test_statements_say_what_they_need():
    assert statements.feasible(6, 30, 10).conditions[1].holds is False
    assert statements.infimum().quantities["loss at c = 30"] == pytest.approx(
        statements.infimum().value, abs=1e-9
    )
    assert statements.divergence().value < 0
    assert statements.prompt_and_weights().value < 1e-12
    found = statements.prompt_and_weights().quantities
    assert (found["p1"], found["p2"]) == pytest.approx((0.41597619, 2.83373475), abs=1e-7)
    joint = statements.joint()
    assert joint.quantities["cosine to the relaxed SVM"] == pytest.approx(1)
    assert joint.quantities["the same as a fixed point"] == pytest.approx(
        joint.quantities["norm of the prompt's SVM"]
    )


def test_the_first_gradient_of_an_arrangement_raises_every_gap():
    """And yet short steps end elsewhere: x3 of `test_what_the_statements_leave_out`."""
    keys, scores, _ = Arrangements("x3").arrays()
    pull = statements.loss_and_pull(keys, ONES, scores, np.zeros((2, 1)))[1].ravel()
    gaps = (keys[0, :1] - keys[0, 1:]) @ pull / np.linalg.norm(pull)
    assert gaps.min() == pytest.approx(0.5429, abs=5e-5)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_true_of_every_solution(seed):
    n, d = 3, 4
    tokens, queries, scores = statements.drawn_world(n, 5, d, seed)
    where = svm.constraints(tokens, queries, scores.argmax(axis=1))
    solved = svm.least_norm(where.rows)
    W = solved.weights.reshape(d, d)
    assert solved.multipliers.sum() == pytest.approx(np.linalg.norm(W) ** 2)
    assert np.linalg.matrix_rank(W, tol=1e-8) <= min(n, d)
    least = nuclear.nuclear_margin(where, solved)
    assert least.norm <= np.linalg.norm(W, "nuc") * (1 + 1e-7)
    for other in np.random.default_rng(seed).normal(size=(20, d, d)) + 3 * W / np.linalg.norm(W):
        size = np.linalg.norm(other)
        rho = (where.rows @ other.ravel()).min() / size * np.linalg.norm(W)
        if rho > 0:
            assert (other * W).sum() / size / np.linalg.norm(W) >= rho - 1e-9


def test_what_the_converse_needs_is_told():
    """The support of x4's first choice is three keys on a line: its Gram matrix has a 0."""
    keys, scores, _ = Arrangements("x4").arrays()
    found, where = svm.max_margin(keys, ONES, [0]), svm.constraints(keys, ONES, [0])
    near = found.gaps <= 1 + 1e-6
    assert near.sum() == 3
    assert np.linalg.matrix_rank(where.rows[near]) == 2
    assert not svm.locally_optimal(found, where, scores, [0])
    # In a drawn world the support is independent, and the statement says so.
    X, Z, scores = statements.drawn_world(6, 8, 10, 0)
    where = svm.constraints(X, Z, np.argsort(-scores, axis=1)[:, 1])
    rows = where.rows[svm.least_norm(where.rows).gaps <= 1 + 1e-6]
    told = statements.local_optimality(rank=1).quantities["independence of the support"]
    assert told == pytest.approx(np.linalg.svd(rows, compute_uv=False).min() ** 2)
    assert told > 1e-3
