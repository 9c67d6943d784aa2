"""Descent on attention that selects: check values, counterexamples, padding; one program."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from limelight._core.errors import InputError
from limelight.experiments import SelectionPath, TokenSelection
from limelight.experiments._choices import draw_batch
from limelight.models import MergedSelector, TokenSelector
from limelight.theory.tarzanagh2023 import nuclear, statements, svm
from limelight.train._anchored import Batch, anchored_pull, automatic_pull
from limelight.worlds import Arrangements, Selections
from tests.theory.test_tarzanagh2023 import OPT, SCORES, X, Z

N, T, D = 2, 4, 3


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def padded(tokens, queries, scores):
    """A world in the room of the check values, so that all of them share one program."""
    n, t, d = tokens.shape
    room = lambda array, *shape: np.pad(
        array, [(0, b - a) for a, b in zip(array.shape, shape, strict=True)]
    )
    kept = room(np.ones((n, t), bool), N, T)
    kept[n:] = True  # a sample that does not exist has tokens of 0
    used = np.arange(N) < n
    parts = room(tokens, N, T, D), room(queries, N, D), room(scores, N, T), kept, used
    return Batch(*map(jnp.asarray, parts))


@jax.jit
def descend(batch, start, steps, first, plain):
    """Normalised steps of .1, the first one perhaps longer; or plain ones of length 1."""
    steppers = [
        TokenSelection(rule="plain", rate=1.0).stepper(batch),
        TokenSelection(rate=0.1, first=first).stepper(batch),
    ]
    step = lambda number, model: jax.lax.cond(
        plain, *(lambda m, f=f: f(m, number)[0] for f in steppers), model
    )
    return jax.lax.fori_loop(0, steps, step, MergedSelector(start)).weights


def run(batch, start=(), steps=20_000, first=0.0, plain=False):
    W = np.zeros((D, D))
    for place, value in enumerate(start):
        W[place, 0] = value
    W = np.asarray(descend(batch, jnp.asarray(W), steps, jnp.asarray(first, float), plain))
    return W, np.asarray(jnp.argmax(batch.logits(jnp.asarray(W)), axis=1))


def arranged(name):
    tokens, scores, _ = Arrangements(name).arrays()
    return padded(tokens, np.ones((len(tokens), 1)), scores)


def read(W, chosen, free=()):
    """Cosine and margin ratio to the SVM of a choice, without some constraints."""
    where = svm.constraints(X, Z, chosen)
    rows = where.rows[[(i, t) not in free for i, t in zip(where.sample, where.token, strict=True)]]
    found = svm.least_norm(rows)
    size = np.linalg.norm(W)
    return float((W.ravel() @ found.weights) / size / found.norm), float(
        (rows @ W.ravel()).min() / size * found.norm
    )


def test_the_direction_is_that_of_the_automatic_gradient_and_goes_on_beyond_it():
    batch = padded(X, Z, SCORES)
    W = jnp.asarray(np.random.default_rng(0).normal(size=(D, D)))
    losses = ("logistic", "linear", "exp")
    pulls = jax.jit(
        lambda: [(anchored_pull(batch, W, l), automatic_pull(batch, W, l)) for l in losses]
    )
    for exact, automatic in pulls():
        np.testing.assert_allclose(np.exp(exact.log_norm) * exact.direction, automatic, atol=1e-15)
    exactly = jax.jit(anchored_pull)
    far = exactly(batch, 1e4 * jnp.asarray(svm.max_margin(X, Z, OPT).weights))
    assert jnp.linalg.norm(far.direction) == pytest.approx(1)
    assert far.log_norm < -9000
    with jax.enable_x64(False):
        small = Batch(
            *(np.asarray(p, np.float32) if p.dtype == float else p for p in map(np.asarray, batch))
        )
        W32 = 50 * np.asarray(svm.max_margin(X, Z, OPT).weights, np.float32)
        single = np.asarray(exactly(small, jnp.asarray(W32)).direction)
    wide = np.asarray(exactly(batch, jnp.asarray(W32, float)).direction)
    assert (single * wide).sum() > 1 - 1e-6


def test_descent_by_hand():
    batch = padded(X, Z, SCORES)
    W, ids = run(batch, steps=500)
    assert ids.tolist() == [1, 3]
    assert np.linalg.norm(W) == pytest.approx(49.3738181473, abs=1e-6)
    np.testing.assert_allclose(W[0], [-12.8762027, -26.5134473, 11.2142124], atol=1e-6)
    assert read(W, OPT) == pytest.approx((0.9982069182, 0.9882141839), abs=1e-8)
    W, _ = run(batch)
    cosine, rho = read(W, OPT)
    assert rho == pytest.approx(0.99975411, abs=1e-7)
    assert cosine >= rho
    c = np.linalg.norm(W) / svm.max_margin(X, Z, OPT).norm
    assert c * (1 - rho) == pytest.approx(0.422585, abs=1e-5)
    first = anchored_pull(batch, jnp.zeros((D, D))).direction
    assert (svm.constraints(X, Z, OPT).rows @ np.asarray(first).ravel()).min() == pytest.approx(
        0.3121621050, abs=1e-8
    )


def test_tied_scores_drop_the_constraint_against_the_tie():
    scores = np.round(np.array([[1.0], [-1.0]]) * (X @ np.array([-0.5, -0.5, 0.5])), 12)
    W, ids = run(padded(X, Z, scores))
    assert ids.tolist() == [3, 1]
    cosine, rho = read(W, ids)
    assert (cosine, rho) == pytest.approx((0.76947, 0.14703), abs=1e-4)
    assert read(W, ids, free={(0, 0)})[0] > 0.9999
    # Where it is bound for, the SVM without the tied token, lies as far from the whole SVM.
    where = svm.constraints(X, Z, ids)
    tied = [pair == (0, 0) for pair in zip(where.sample, where.token, strict=True)]
    limit = svm.least_norm(where.rows[~np.array(tied)]).weights
    assert read(limit, ids) == pytest.approx((0.770370, 0.148714), abs=1e-6)


@pytest.mark.parametrize("c", [3, 10, 30])
def test_a_choice_that_is_not_locally_optimal_is_left(c):
    """From its own max-margin direction, at any radius; the best tokens are kept from theirs."""
    batch, ends = padded(X, Z, SCORES), []
    for chosen in ([0, 0], OPT):
        start = c * svm.max_margin(X, Z, chosen).weights  # c is the norm over that of the SVM
        W = descend(batch, jnp.asarray(start), 20_000, jnp.asarray(0.0), False)
        ends.append(np.asarray(jnp.argmax(batch.logits(W), axis=1)).tolist())
    assert ends[0] != [0, 0]
    assert ends[1] == list(OPT)
    left = svm.max_margin(X, Z, ends[0])
    assert svm.locally_optimal(left, svm.constraints(X, Z, ends[0]), SCORES, ends[0])


def test_in_the_plane_few_worlds_can_select_their_best_tokens():
    """n = 6, T = 8, d = 2: separable in 22 or 23 worlds of 100, settled in 16 or 17.

    Whether a choice can be separated is asked a linear program too, which knows no margin.
    """
    world = Selections(tokens=8, dimension=2)
    trial = TokenSelection(world=world, model=TokenSelector(scale=0.0), samples=6, steps=2000)
    keys = jr.split(jr.key(7), 300)

    def both(key):
        found = trial.trial(key)
        return found["feasible"], found["settled"], draw_batch(key, world, 6, 6)[0]

    feasible, settled, data = jax.device_get(jax.jit(jax.vmap(both))(keys))
    for w in range(60):
        chosen = data.scores[w].argmax(axis=1)
        rows = svm.constraints(data.tokens[w], data.queries[w], chosen).rows
        slow = linprog(np.zeros(4), -rows, -np.ones(len(rows)), bounds=(None, None))
        assert (slow.status == 0) == feasible[w]
    # Four standard errors of a share of 300.
    assert feasible.mean() == pytest.approx(0.225, abs=0.097)
    assert settled.mean() == pytest.approx(0.165, abs=0.086)


def test_names_of_tokens_and_axes_do_not_matter():
    random = np.random.default_rng(0)
    turn = np.linalg.qr(random.normal(size=(D, D)))[0]
    order = np.array([random.permutation(T) for _ in range(N)])
    W, ids = run(padded(X, Z, SCORES), steps=500)
    moved = np.take_along_axis(X @ turn.T, order[:, :, None], axis=1)
    batch = padded(moved, Z @ turn.T, np.take_along_axis(SCORES, order, axis=1))
    other, names = run(batch, steps=500)
    np.testing.assert_allclose(turn.T @ other @ turn, W, atol=1e-9 * np.linalg.norm(W))
    assert np.take_along_axis(order, names[:, None], axis=1)[:, 0].tolist() == ids.tolist()


def test_trajectories_in_the_plane():
    uneven = arranged("uneven")
    for steps, known in (
        (200, (19.8704326761, 0.5875760161)),
        (1000, (99.8679846794, 0.9159882395)),
    ):
        np.testing.assert_allclose(run(uneven, (0, -1), steps)[0][:2, 0], known, atol=1e-7)
    p = run(uneven, steps=100, plain=True)[0]
    np.testing.assert_allclose(p[:2, 0], (0.41597619, 2.83373475), atol=1e-7)
    for y in (1, 0.5, 0, -0.5, -1, -1.5):
        assert run(uneven, (0, y), 2000)[1][0] == (y <= -1)
        assert run(arranged("equal"), (0, y), 2000)[1][0] == 0


@pytest.mark.parametrize(
    ("name", "start", "first", "sample", "token"),
    [
        ("x1", (0, 0), 0, 0, 1),
        ("x1", (0, 5), 0, 0, 0),
        ("x2", (10, 0), 0, 1, 0),
        ("x2", (30, 0), 0, 1, 1),
        ("x3", (0, 0), 0, 0, 3),
        ("x3", (0, 0), 0.5, 0, 0),
        ("x4", (3, 0.5), 0, 0, 0),
        ("x4", (10, 1), 0, 0, 0),
        ("x4", (30, -3), 0, 0, 0),
    ],
)
def test_what_the_statements_leave_out(name, start, first, sample, token):
    W, ids = run(arranged(name), start, first=first)
    assert ids[sample] == token
    if (name, start) == ("x2", (30, 0)):
        assert W[1, 0] == pytest.approx(0.02361252, abs=1e-6)
    if name == "x4":
        assert W[0, 0] / np.linalg.norm(W) > 0.999  # the direction (1, 0) of its SVM


def test_the_offset_of_a_pair():
    tokens, scores, _ = Arrangements("pair").arrays(100.0)
    for steps, cosine in ((200, 0.70711), (1000, 0.86715), (20_000, 0.99972)):
        W, _ = run(padded(tokens, np.ones((2, 1)), scores), steps=steps)
        assert W[0, 0] / np.linalg.norm(W) == pytest.approx(cosine, abs=2e-5)


def loss_on_the_ball(tokens, queries, scores, R, c):
    """The loss above its infimum, which is of order exp(-c), at (K, Q) of squared norm 2R."""
    floor, size = np.log1p(np.exp(-scores.max(axis=1))).mean(), np.sqrt(2 * R)

    def loss(flat):
        K, Q = size * flat.reshape(2, *2 * tokens.shape[2:]) / np.linalg.norm(flat)
        value, pull = statements.loss_and_pull(tokens, queries, scores, K @ Q.T)
        slope = -size * np.stack([pull @ Q, pull.T @ K]).ravel()
        slope -= flat * (slope @ flat) / (flat @ flat)
        return np.exp(c) * (value - floor), np.exp(c) * slope / np.linalg.norm(flat)

    return loss


def test_the_path_of_keys_and_queries_is_the_least_loss_on_their_ball():
    """Two worlds at a radius of 10, against SciPy's minimiser from random factors."""
    world, c = Selections(tokens=4, dimension=3), 10.0
    path = SelectionPath(world=world, samples=2, radius=c, ball="keys")
    both = lambda key: (path.trial(key), draw_batch(key, world, 2, 2)[0])
    found, data = jax.device_get(jax.jit(jax.vmap(both))(jr.split(jr.key(2), 2)))
    for w in range(2):
        tokens, queries, scores = data.tokens[w], data.queries[w], data.scores[w]
        where = svm.constraints(tokens, queries, scores.argmax(axis=1))
        star = nuclear.nuclear_margin(where, svm.least_norm(where.rows))
        R = c * star.norm
        random = np.random.default_rng(w)
        loss = loss_on_the_ball(tokens, queries, scores, R, c)
        tries = [minimize(loss, random.normal(size=18), jac=True) for _ in range(12)]
        flat = min(tries, key=lambda one: one.fun).x
        K, Q = flat.reshape(2, 3, 3)
        W = K @ Q.T
        rho = (where.rows @ W.ravel()).min() / np.linalg.norm(W, "nuc") * star.norm
        assert rho == pytest.approx(found["nuclear.rho"][w], abs=2e-3)
        assert found["left"][w] < 0.01
        assert 0.7 < rho < 0.97


def test_room_does_not_change_a_draw():
    draw = lambda world, room: jax.jit(lambda: draw_batch(jr.key(3), world, 2, room)[0])()
    narrow = draw(Selections(tokens=3, dimension=4), 2)
    roomy = Selections(tokens=3, dimension=4, most_tokens=5, most_dimension=7)
    wide = draw(roomy, 4)
    np.testing.assert_allclose(wide.tokens[:2, :3, :4], narrow.tokens, atol=1e-15)
    np.testing.assert_allclose(wide.scores[:2, :3], narrow.scores, atol=1e-15)
    assert not np.asarray(wide.tokens)[:, 3:].any()
    assert not np.asarray(wide.tokens)[2:].any()
    W = np.random.default_rng(1).normal(size=(4, 4))
    big = jnp.asarray(np.pad(W, (0, 3)))
    one, other = jax.jit(
        lambda: (anchored_pull(narrow, jnp.asarray(W)), anchored_pull(wide, big))
    )()
    np.testing.assert_allclose(other.direction[:4, :4], one.direction, atol=1e-12)
    assert other.log_norm == pytest.approx(float(one.log_norm))


def test_bad_settings_are_one_line():
    for wrong, word in (
        (TokenSelection(samples=0), "samples"),
        (TokenSelection(steps=10, looks=4), "looks"),
        (TokenSelection(world=Selections("mixed")), "mixed"),
        (TokenSelection(world=Arrangements("nowhere"), samples=0), "nowhere"),
        (TokenSelection(world=Selections(tokens=9, most_tokens=4)), "most_tokens"),
    ):
        with pytest.raises(InputError, match=word):
            wrong.check()
