"""Lemma 2's coefficients, parts and margins against loops, and against what a step really does."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight.measures import FeatureTurns, Margins, SetGrowth, ValueParts, ValuePull
from limelight.measures.values import pull
from limelight.models import Shallow
from limelight.models.base import split
from limelight.papers.li2023.lemmas import NOISE
from limelight.train.losses import hinge
from limelight.train.minibatch import Train
from limelight.worlds import Patterns, PatternSets, dataset

WORLD = Patterns(tokens=12, relevant=0.5, confusing=0.17, noise=0.05)


def a_case(world=WORLD, scale=0.05, seed=1):
    truth = world.draw(jr.key(0))
    return truth, started(Shallow(width=40, output_scale=scale), world, truth, seed)


@eqx.filter_jit
def started(recipe, world, truth, seed):
    return recipe.init(jr.key(seed), world, truth)


@eqx.filter_jit
def drawn(world, truth, size):
    return dataset(world, jr.key(2), truth, size)


@eqx.filter_jit
def read(measure, world, truth, start, model):
    return measure.begin(jr.key(2), world, truth, start)(model)


@eqx.filter_jit
def outputs(model, data):
    return jax.vmap(model)(data)


def member_and_sign(model):
    """Which neurons are best aligned with p_1, with p_2, and have the output sign that fits."""
    best = np.asarray(model.weights.output)[:, :5].argmax(axis=1)
    total = np.sign(np.asarray(model.readout)).sum(axis=0)
    return np.stack([best == 0, best == 1]), np.stack([total > 0, total < 0])


def by_hand(model, data, mu):
    """V_i for both patterns with loops over examples, tokens and nothing else."""
    w, a = jax.tree.map(np.asarray, model.weights), np.asarray(model.readout)
    total = np.zeros((2, w.output.shape[0]))
    for X, y in zip(np.asarray(data.tokens), np.asarray(data.label), strict=True):
        F, part = 0.0, np.zeros_like(total)
        for l in range(len(X)):
            s = np.exp(X @ w.key.T @ w.query @ X[l])
            C = (s / s.sum()) @ X
            u = w.output @ w.value @ C
            F += a[l] @ np.maximum(u, 0) / len(X)
            part += np.outer(mu[:2] @ C, a[l] * (u >= 0)) / len(X)
        total += -y * part * (y * F < 1)
    return total / len(data.label)


@pytest.mark.usefixtures("double")
def test_the_coefficients_are_those_of_the_update_of_the_value_map():
    """One step on a batch: W_V mu_k moves by -eta sum_i V_i W_O(i), exactly; loops agree."""
    truth, model = a_case(scale=0.5)
    data = drawn(WORLD, truth, 6)
    mu = truth.patterns[:2]
    each = eqx.filter_jit(lambda model: jax.vmap(lambda e: pull(model, e, mu))(data))
    V = np.asarray(each(model)).mean(axis=0)
    np.testing.assert_allclose(V, by_hand(model, data, np.asarray(mu)), rtol=1e-9, atol=1e-15)
    trained, rest = split(model)
    loss = lambda t: jnp.mean(jax.vmap(hinge)(jax.vmap(eqx.combine(t, rest))(data), data.label))
    gradient = np.asarray(jax.jit(jax.grad(loss))(trained).weights.value)
    expected = V @ np.asarray(model.weights.output)
    np.testing.assert_allclose((gradient @ np.asarray(mu).T).T, expected, rtol=1e-9, atol=1e-15)
    assert np.abs(expected).max() > 1e-4


def test_what_is_reported_of_the_coefficients():
    truth, model = a_case(seed=8)
    data = drawn(WORLD, truth, 8)
    found = read(ValuePull(8), WORLD, truth, model, model)
    V = by_hand(model, data, np.asarray(truth.patterns))
    scaled = -V * 40**0.5  # an output weight has size 1/sqrt(40)
    member, sign = member_and_sign(model)
    chosen = member & sign
    assert float(found["lucky.mean"]) == pytest.approx(scaled[chosen].mean(), rel=1e-4)
    assert float(found["lucky.low"]) == pytest.approx(np.quantile(scaled[chosen], 0.05), rel=1e-3)
    others = np.abs(scaled[:, ~member.any(axis=0)])
    assert float(found["other.high"]) == pytest.approx(np.quantile(others, 0.95), rel=1e-3)
    assert float(found["active"]) == 1.0


def test_margins_and_who_still_pulls():
    """Outputs scaled up until some margins pass 1: those examples pull nothing."""
    truth, model = a_case(seed=8)
    loud = eqx.tree_at(lambda m: m.weights.output, model, 4000 * model.weights.output)
    data = drawn(WORLD, truth, 8)
    expected = np.asarray(data.label) * np.asarray(outputs(loud, data))
    margin = read(Margins(8), WORLD, truth, model, loud)
    assert float(margin["least"]) == pytest.approx(expected.min(), rel=1e-3)
    assert float(margin["mean"]) == pytest.approx(expected.mean(), rel=1e-3)
    active = float(read(ValuePull(8), WORLD, truth, model, loud)["active"])
    assert active == pytest.approx((expected < 1).mean())
    assert 0 < active < 1


def test_the_parts_add_up_to_the_value_that_a_query_reads():
    world = Patterns(tokens=20, relevant=0.5, confusing=0.1)
    truth, start = a_case(world)
    rng = np.random.default_rng(5)
    shifted = lambda w: np.asarray(w) + 0.3 * rng.normal(size=w.shape).astype(np.float32)
    moved, turned = shifted(start.weights.value), shifted(start.weights.key)
    maps = tuple(map(jnp.asarray, (moved, turned)))
    now = eqx.tree_at(lambda m: (m.weights.value, m.weights.key), start, maps)
    parts = read(ValueParts(), world, truth, start, now)
    e = jax.tree.map(lambda leaf: np.asarray(leaf)[0], drawn(world, truth, 1))
    mu, X = np.asarray(truth.patterns), e.tokens
    s = np.exp(X @ turned.T @ np.asarray(now.weights.query) @ X[np.argmax(e.roles == 0)])
    s, pattern = s / s.sum(), (X @ mu.T).argmax(axis=-1)
    mass = np.bincount(pattern, s, 5)
    P = np.eye(5, 10)
    error = mass @ (mu @ np.asarray(start.weights.value).T - P)
    learned = moved @ (X.T @ s) - mass @ P - error
    assert float(parts["error"]) == pytest.approx(np.linalg.norm(error), rel=1e-4)
    assert float(parts["learned.own"]) == pytest.approx(learned[0], rel=1e-3)
    assert float(parts["learned.confusing"]) == pytest.approx(learned[1], rel=1e-3)
    assert float(parts["learned.idle"]) == pytest.approx(np.abs(learned[2:5]).mean(), rel=1e-3)
    assert float(parts["leak"]) == pytest.approx(s[pattern != 0].max(), rel=1e-4)
    change = mu @ (moved - np.asarray(start.weights.value)).T
    length = np.linalg.norm(change, axis=1)
    assert float(parts["moved.own"]) == pytest.approx(length[:2].mean(), rel=1e-4)
    assert float(parts["moved.idle"]) == pytest.approx(length[2:].mean(), rel=1e-4)
    rows = np.logical_and(*member_and_sign(start)) @ np.asarray(start.weights.output)
    cosine = (change[:2] * rows).sum(axis=1) / length[:2] / np.linalg.norm(rows, axis=1)
    assert float(parts["aligned"]) == pytest.approx(cosine.mean(), rel=1e-3)
    assert float(read(ValueParts(), world, truth, start, start)["aligned"]) == 0.0


def test_features_turn_by_a_known_angle():
    truth, start = a_case()
    turned = lambda model: read(FeatureTurns(), WORLD, truth, start, model)
    longer = eqx.tree_at(lambda m: m.weights.key, start, 3 * start.weights.key)
    assert float(turned(longer)["key"]) == pytest.approx(1.0, rel=1e-5)
    swapped = eqx.tree_at(lambda m: m.weights.query, start, -start.weights.query)
    assert float(turned(swapped)["query"]) == pytest.approx(-1.0, rel=1e-5)


SETS = PatternSets(Patterns(tokens=20, relevant=0.5, confusing=0.1, dimension=20))


def test_a_known_combination_is_found():
    """Keys of a set moved along 0.7 of the first feature and 0.3 of the second, all alike."""
    truth = SETS.draw(jr.key(0))
    start = started(Shallow(width=4), SETS, truth, 1)
    q, duals = np.asarray(truth.patterns), np.asarray(truth.duals)
    step = sum(
        np.outer(0.7 * q[2 * j] + 0.3 * q[2 * j + 1], duals[2 * j] + duals[2 * j + 1])
        for j in range(2)
    )
    alone = sum(np.outer(q[b], duals[b]) for b in range(4))
    moved = eqx.tree_at(
        lambda m: (m.weights.key, m.weights.query),
        start,
        (start.weights.key + step, start.weights.query + alone),
    )
    found = read(SetGrowth(), SETS, truth, start, moved)
    assert float(found["key.common"]) == pytest.approx(1.0, abs=1e-4)
    assert float(found["key.first"]) == pytest.approx(0.7, abs=1e-4)
    # Each along itself: the cosine of the members, and equal shares.
    assert float(found["query.common"]) == pytest.approx(0.8, abs=1e-4)
    assert float(found["query.first"]) == pytest.approx(0.5, abs=1e-4)


@pytest.mark.slow
def test_keys_of_a_set_grow_together_and_as_their_frequencies_say():
    """Appendix G.2 on a small network, by the rules of the figure `sets`."""

    @jax.jit
    @jax.vmap
    def grown(first, key):
        world = eqx.tree_at(lambda w: w.first, SETS, first, is_leaf=lambda x: x is None)
        truth = world.draw(key)
        start = Shallow(width=32).init(key, world, truth)
        look = SetGrowth().begin(key, world, truth, start)
        train = Train(steps=80, batch=16, rate=2.0, examples=64, every=80)
        return look(train(key, world, truth, start)[0])

    firsts = jnp.repeat(jnp.array([0.5, 0.85]), 6)
    found = grown(firsts, jnp.concatenate([jr.split(jr.key(3), 6)] * 2))
    assert np.asarray(found["key.common"]).min() > 0.95
    even, skewed = np.asarray(found["key.first"]).reshape(2, 6).mean(axis=1)
    assert even == pytest.approx(0.5, abs=0.1)
    assert (skewed - even) / 0.35 > 0.5


def test_the_mean_noise_of_a_token_is_the_constant_that_the_lemmas_use():
    mu = np.eye(10)[0]
    tokens = mu + 0.01 * np.random.default_rng(0).normal(size=(20_000, 10))
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    assert np.linalg.norm(tokens - mu, axis=1).mean() == pytest.approx(NOISE, rel=0.01)
