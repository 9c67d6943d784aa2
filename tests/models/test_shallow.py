"""The shallow ViT against the paper's explicit formulas, and its grouped form against itself."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight._core.errors import InputError
from limelight._core.types import Example
from limelight.models import GroupedViT, Shallow, ShallowViT
from limelight.models.base import split
from limelight.train.losses import hinge
from limelight.worlds import Patterns, SparseBoolean, dataset


def forward_by_hand(w, a, X, kept):
    """Equation (1) with loops: one query at a time, removed tokens nowhere."""
    S = np.flatnonzero(kept)
    total = 0.0
    for l in S:
        logits = np.array([X[j] @ w.key.T @ w.query @ X[l] for j in S])
        s = np.exp(logits - logits.max())
        s /= s.sum()
        C = sum(s_j * X[j] for s_j, j in zip(s, S, strict=True))
        total += a[l] @ np.maximum(w.output @ w.value @ C, 0)
    return total / len(S)


def gradients_by_hand(w, a, X, kept):
    """The explicit gradients of F, as in the proofs."""
    S = np.flatnonzero(kept)
    dO, dV = np.zeros_like(w.output), np.zeros_like(w.value)
    dG = np.zeros((X.shape[1], X.shape[1]))
    for l in S:
        logits = np.array([X[j] @ w.key.T @ w.query @ X[l] for j in S])
        s = np.exp(logits - logits.max())
        s /= s.sum()
        C = sum(s_j * X[j] for s_j, j in zip(s, S, strict=True))
        V = w.value @ C
        g = a[l] * (w.output @ V >= 0)
        u = w.value.T @ w.output.T @ g
        dO += np.outer(g, V)
        dV += np.outer(w.output.T @ g, C)
        dG += np.outer(
            sum(s_j * (u @ X[j]) * (X[j] - C) for s_j, j in zip(s, S, strict=True)), X[l]
        )
    dO, dV, dG = dO / len(S), dV / len(S), dG / len(S)
    return dO, dV, w.query @ dG.T, w.key @ dG


def a_case(seed=0, groups=False, **world):
    world = Patterns(tokens=12, relevant=0.5, confusing=0.17, **world)
    recipe = Shallow(width=7, output_scale=0.5, groups=groups)
    truth = world.draw(jr.key(seed))
    model = recipe.init(jr.key(seed + 1), world, truth)
    return world, truth, model, dataset(world, jr.key(seed + 2), truth, 4)


@pytest.mark.usefixtures("double")
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), removed=st.sets(st.integers(0, 11), max_size=8))
def test_forward_and_gradients_match_the_formulas(seed, removed):
    with jax.enable_x64(True):
        _, _, model, data = a_case(seed, noise=0.3)
        e = jax.tree.map(lambda leaf: leaf[0], data)
        kept = np.array([i not in removed for i in range(12)])
        e = Example(e.tokens, e.label, jnp.asarray(kept), e.roles)
        w = jax.tree.map(np.asarray, model.weights)
        a, X = np.asarray(model.readout), np.asarray(e.tokens)
        np.testing.assert_allclose(model(e), forward_by_hand(w, a, X, kept), rtol=1e-10)
        trained, rest = split(model)
        grad = jax.grad(lambda t: eqx.combine(t, rest)(e))(trained).weights
        names = ("output", "value", "key", "query")
        for name, ours in zip(names, gradients_by_hand(w, a, X, kept), strict=True):
            np.testing.assert_allclose(getattr(grad, name), ours, rtol=1e-8, atol=1e-12)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("confusing", [0.0, 0.1, 0.3])
def test_grouped_equals_token_by_token_forward_and_gradients(confusing):
    world = Patterns(tokens=30, relevant=0.4, confusing=confusing)
    truth = world.draw(jr.key(0))
    data = dataset(world, jr.key(2), truth, 6)
    tokens, groups = (
        Shallow(width=9, output_scale=0.3, groups=g).init(jr.key(1), world, truth)
        for g in (False, True)
    )
    assert isinstance(tokens, ShallowViT)
    assert isinstance(groups, GroupedViT)

    def loss(trained, rest):
        model = eqx.combine(trained, rest)
        output = jax.vmap(lambda e: model(model.prepare(e)))(data)
        return jnp.mean(jax.vmap(hinge)(output, data.label)), output

    results = [jax.value_and_grad(loss, has_aux=True)(*split(m)) for m in (tokens, groups)]
    (_, out_t), grad_t = results[0]
    (_, out_g), grad_g = results[1]
    np.testing.assert_allclose(out_g, out_t, rtol=1e-12)
    for ours, theirs in zip(
        jax.tree.leaves(grad_g.weights), jax.tree.leaves(grad_t.weights), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-14)


def test_masking_is_not_zeroing():
    """A zeroed token still takes attention; a removed one must not."""
    _, _, model, data = a_case(noise=0.0)
    e = jax.tree.map(lambda leaf: leaf[0], data)
    pair = e.tokens[:2]
    two = lambda tokens, kept: model.__class__(model.weights, model.readout[:2], model.frozen)(
        Example(tokens, e.label, jnp.array(kept), e.roles[:2])
    )
    masked = two(pair, [True, False])
    alone = ShallowViT(model.weights, model.readout[:1], model.frozen)(
        Example(pair[:1], e.label, jnp.array([True]), e.roles[:1])
    )
    zeroed = two(pair.at[1].set(0.0), [True, True])
    np.testing.assert_allclose(masked, alone, rtol=1e-6)
    assert abs(zeroed - alone) > 0.1 * abs(alone)


def test_attention_rows_sum_to_one_and_skip_removed_tokens():
    _, _, model, data = a_case(noise=0.1)
    e = jax.tree.map(lambda leaf: leaf[0], data)
    kept = jnp.arange(12) % 3 > 0
    weights = model.attention(Example(e.tokens, e.label, kept, e.roles))
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-6)
    assert (np.asarray(weights)[:, ~np.asarray(kept)] == 0).all()


@pytest.mark.usefixtures("double")
def test_starts_have_the_errors_they_promise():
    world = Patterns(tokens=20, noise=0.01)
    truth = world.draw(jr.key(0))
    mu = np.asarray(truth.patterns)
    M = len(mu)
    for start, norm_limit in (("perturb", 1.4), ("scale", 1.0)):
        w = (
            Shallow(width=5, start=start, value_error=0.1, key_error=0.2)
            .init(jr.key(1), world, truth)
            .weights
        )
        for matrix, error in ((w.value, 0.1), (w.key, 0.2), (w.query, 0.2)):
            P = np.eye(matrix.shape[0], M)
            off = np.linalg.norm(np.asarray(matrix) @ mu.T - P, axis=0)
            np.testing.assert_allclose(off, error, rtol=1e-9)
            assert np.linalg.norm(matrix, 2) <= norm_limit + 1e-9
    literal = Shallow(width=5, start="literal").init(jr.key(1), world, truth).weights
    assert np.asarray(literal.key)[0, 0] == pytest.approx(400)
    assert np.asarray(literal.value)[0, 0] == pytest.approx(100)


@pytest.mark.usefixtures("double")
def test_tokens_are_within_the_errors_of_assumption_2():
    """Maps of norm at most 1 move a token by at most the error of its pattern and its noise."""
    world = Patterns(tokens=50, noise=0.05)
    truth = world.draw(jr.key(0))
    data = dataset(world, jr.key(1), truth, 20)
    tokens, mu = np.asarray(data.tokens).reshape(-1, 10), np.asarray(truth.patterns)
    apart = np.linalg.norm(tokens[:, None] - mu, axis=-1)
    pattern, tau = apart.argmin(axis=1), apart.min(axis=1).max()
    w = Shallow(width=5, start="scale").init(jr.key(2), world, truth).weights
    for matrix, error in ((w.value, 0.1), (w.key, 0.2), (w.query, 0.2)):
        feature = np.eye(len(matrix), len(mu)).T[pattern]
        off = np.linalg.norm(tokens @ np.asarray(matrix).T - feature, axis=1)
        assert error < off.max() <= error + tau


def test_the_literal_start_saturates_the_softmax():
    world = Patterns(tokens=20, relevant=0.5, confusing=0.1, noise=0.01)
    truth = world.draw(jr.key(0))
    model = Shallow(width=5, start="literal").init(jr.key(1), world, truth)
    e = jax.tree.map(lambda leaf: leaf[0], dataset(world, jr.key(2), truth, 1))
    assert np.asarray(model.attention(e)).max(axis=-1).min() > 0.999


def test_readouts():
    world = Patterns(tokens=16)
    truth = world.draw(jr.key(0))
    read = lambda kind: np.asarray(
        Shallow(width=25, readout=kind).init(jr.key(1), world, truth).readout
    )
    np.testing.assert_allclose(np.abs(read("position")), 0.2)
    assert len(np.unique(read("position"), axis=0)) > 10
    assert len(np.unique(read("shared"), axis=0)) == 1
    np.testing.assert_allclose(read("shared_scaled"), read("shared") / 4)


def test_frozen_attention_gets_no_gradient_and_the_readout_is_never_trained():
    world = Patterns(tokens=16)
    truth = world.draw(jr.key(0))
    model = Shallow(width=5, frozen=True).init(jr.key(1), world, truth)
    trained, rest = split(model)
    assert trained.readout is None
    e = jax.tree.map(lambda leaf: leaf[0], dataset(world, jr.key(2), truth, 1))
    grad = jax.grad(lambda t: eqx.combine(t, rest)(e))(trained).weights
    assert not np.asarray(grad.key).any()
    assert not np.asarray(grad.query).any()
    assert np.asarray(grad.value).any()


@pytest.mark.parametrize(
    ("recipe", "world", "word"),
    [
        (Shallow(groups=True), Patterns(noise=0.01), "without noise"),
        (Shallow(start="scale", value_error=1.5), Patterns(), "below 1"),
        (Shallow(start="literal"), Patterns(), "noise"),
        (Shallow(start="nowhere"), Patterns(), "cannot be"),
        (Shallow(readout="both"), Patterns(), "cannot be"),
        (Shallow(value_dimension=3), Patterns(), "do not fit"),
        (Shallow(width=0), Patterns(), "width"),
        (Shallow(), SparseBoolean(), "Patterns"),
    ],
)
def test_nonsense_is_refused(recipe, world, word):
    with pytest.raises(InputError, match=word):
        recipe.check(world)
