"""Operators against plain NumPy."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.models.denoiser import NETWORKS, make, neighbourhoods
from limelight.models.smoother import (
    Smoother,
    cross_weights,
    iterate,
    knn_weights,
    local_weights,
    softmax_weights,
)
from limelight.worlds import Clusters

X = np.random.default_rng(0).standard_normal((9, 5)).astype(np.float32)


def softmax(logits):
    w = np.exp(logits - logits.max(axis=1, keepdims=True))
    return w / w.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("normalise", [False, True])
def test_softmax(mask, normalise):
    Z = X / np.linalg.norm(X, axis=1, keepdims=True) if normalise else X
    logits = 2.5 * Z @ Z.T
    if mask:
        np.fill_diagonal(logits, -np.inf)
    found = softmax_weights(jnp.asarray(X), 2.5, mask_self=mask, normalise=normalise)
    np.testing.assert_allclose(found, softmax(logits), atol=1e-6)


def test_softmax_survives_huge_logits():
    found = np.asarray(softmax_weights(jnp.asarray(100 * X), 400.0))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)


def test_cross():
    found = cross_weights(jnp.asarray(X[:3]), jnp.asarray(X[3:]), 1.5)
    np.testing.assert_allclose(found, softmax(1.5 * X[:3] @ X[3:].T), atol=1e-6)


@pytest.mark.parametrize("metric", ["l2", "dot", "cos"])
def test_nearest_neighbours(metric):
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    near = {"l2": -((X[:, None] - X[None]) ** 2).sum(-1), "dot": X @ X.T, "cos": Z @ Z.T}[metric]
    near = near.copy()
    np.fill_diagonal(near, np.inf)
    want = np.zeros((9, 9))
    for i, row in enumerate(np.argsort(-near, axis=1)[:, :4]):
        want[i, row] = 0.25
    found = knn_weights(jnp.asarray(X), 4, metric=metric)
    np.testing.assert_allclose(found, want)


def test_local_average_counts_neighbours_inside():
    w = np.asarray(local_weights(4, 1))
    assert (w > 0).sum(axis=1).reshape(4, 4).tolist() == [
        [4, 6, 6, 4],
        [6, 9, 9, 6],
        [6, 9, 9, 6],
        [4, 6, 6, 4],
    ]
    np.testing.assert_allclose(w.sum(axis=1), 1, atol=1e-6)


def test_iteration_with_and_without_residual():
    half = lambda x: 0.5 * x
    path = iterate(half, jnp.ones((2, 2)), 3)
    np.testing.assert_allclose(path[:, 0, 0], [1, 0.5, 0.25, 0.125])
    slow = iterate(half, jnp.ones((2, 2)), 2, gain=0.5)
    np.testing.assert_allclose(slow[:, 0, 0], [1, 0.75, 0.5625])
    model = Smoother(strength=2.0, steps=2).init(jr.key(0), None, None)
    once = Smoother(strength=2.0).init(jr.key(0), None, None)
    twice = once(once(jnp.asarray(X)))
    np.testing.assert_allclose(model(jnp.asarray(X)), twice, atol=1e-5)


def test_bad_operators_are_refused():
    world = Clusters(clusters=2, size=5)
    with pytest.raises(InputError, match="strength"):
        Smoother(strength=-1.0).check(world)
    with pytest.raises(InputError, match="between 1 and 10"):
        Smoother(operator="knn-l2", neighbours=11).check(world)
    with pytest.raises(InputError, match="attends to nothing"):
        Smoother(operator="masked").check(Clusters(clusters=1, size=1))
    with pytest.raises(InputError, match="gain"):
        Smoother(gain=0.0).check(world)


def test_windows_against_a_loop():
    grid = jnp.arange(18.0).reshape(9, 2)
    found = np.asarray(neighbourhoods(grid, 3, 1))
    image = np.asarray(grid).reshape(3, 3, 2)
    for p in range(9):
        for w in range(9):
            i, j = p // 3 + w // 3 - 1, p % 3 + w % 3 - 1
            inside = 0 <= i < 3 and 0 <= j < 3
            np.testing.assert_array_equal(found[p, w], image[i, j] if inside else [0, 0])


def test_networks_have_the_published_sizes():
    count = lambda net: sum(leaf.size for leaf in jax.tree.leaves(net))
    sizes = {n: count(make(jr.key(0), n, 8, 32, 64)) for n in NETWORKS if n != "cnn8"}
    assert sizes["linear5"] == 26
    assert sizes["cnn2"] == 36_960
    assert sizes["cnn4"] == 110_816
    assert {sizes[n] for n in ("att", "att-mask", "cos", "cos-mask")} == {3_073}
