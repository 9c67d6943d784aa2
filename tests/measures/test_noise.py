"""Noise measures on small draws, against NumPy."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight.measures import (
    noise_left,
    noise_parts,
    noise_path,
    noise_products,
    purity,
    worst_errors,
)
from limelight.models import Smoother
from limelight.worlds import Clusters, example

WORLD = Clusters(clusters=3, size=4, sigma=0.5, dimension=20)


@pytest.fixture(scope="module")
def drawn():
    truth = WORLD.draw(jr.key(0))
    draw = example(WORLD, jr.key(1), truth, jnp.array(0))
    return truth, np.asarray(draw.tokens), np.asarray(draw.targets), np.asarray(draw.labels)


def model(**settings):
    return Smoother(**settings).init(jr.key(0), WORLD, None)


def test_left_and_parts(drawn):
    truth, X, targets, labels = drawn
    net = model(strength=3.0)
    w = np.asarray(net.weights(jnp.asarray(X)))
    error = np.linalg.norm(w @ X - targets, axis=1)
    left = noise_left(jr.key(1), WORLD, truth, net)
    before = np.linalg.norm(X - targets, axis=1)
    assert float(left["square"]) == pytest.approx((error**2).mean() / 0.25, rel=1e-4)
    assert float(left["worst"]) == pytest.approx(error.max() / 0.5, rel=1e-4)
    assert float(left["worst_ratio"]) == pytest.approx((error / before).max(), rel=1e-4)
    parts = noise_parts(jr.key(1), WORLD, truth, net)
    assert float(parts["square"]) == pytest.approx(float(left["square"]), rel=1e-4)
    own = (np.diag(w)[:, None] * (X - targets)) ** 2
    assert float(parts["itself"]) == pytest.approx(own.sum(axis=1).mean() / 0.25, rel=1e-4)
    same = labels[:, None] == labels[None]
    inside = (w * same) @ np.ones(12)
    assert float(purity(jr.key(1), WORLD, truth, net)) == pytest.approx(inside.mean(), rel=1e-5)


def test_products_with_loops(drawn):
    truth, X, targets, labels = drawn
    h = (X - targets) / 0.5
    centres = np.stack([targets[labels == k][0] for k in range(3)])
    found = noise_products(jr.key(1), WORLD, truth, model())
    pairs = max(abs(h[i] @ h[j]) for i in range(12) for j in range(12) if i != j)
    assert float(found["pairs"]) == pytest.approx(pairs, rel=1e-4)
    assert float(found["itself"]) == pytest.approx(max(v @ v for v in h), rel=1e-4)
    with_centres = max(abs(v @ u) for v in h for u in centres)
    assert float(found["centres"]) == pytest.approx(with_centres, rel=1e-4)


def test_path_starts_at_the_noise(drawn):
    truth, X, targets, _ = drawn
    path = noise_path(jr.key(1), WORLD, truth, model(steps=2))["square"]
    assert path.shape == (3,)
    start = ((X - targets) ** 2).sum(axis=1).mean() / 0.25
    assert float(path[0]) == pytest.approx(start, rel=1e-5)


def test_worst_errors_of_softmax_and_neighbours(drawn):
    truth, X, targets, labels = drawn
    found = worst_errors(jr.key(1), WORLD, truth, model(strength=3.0))
    w = np.asarray(model(strength=3.0).weights(jnp.asarray(X)))
    error = np.linalg.norm(w @ X - targets, axis=1) / 0.5
    want = [error[labels == k].max() for k in range(3)]
    np.testing.assert_allclose(found["cluster"][:3], want, rtol=1e-4)
    assert np.isnan(found["cluster"][3:]).all()
    near = worst_errors(jr.key(1), WORLD, truth, model(operator="knn-l2", neighbours=2))
    order = np.argsort(((X[:, None] - X[None]) ** 2).sum(-1), axis=1)
    sums = np.cumsum(X[order] - targets[:, None], axis=1)
    length = np.linalg.norm(sums, axis=2)
    K = np.arange(1, 5)
    growth = (length[:, :4] / np.sqrt(K)).max() / 0.5
    assert float(near["growth"]) == pytest.approx(growth, rel=1e-4)
    ratio = (length[:, 1:4] / K[1:] / np.linalg.norm(X - targets, axis=1)[:, None]).max()
    assert float(near["ratio"]) == pytest.approx(ratio, rel=1e-4)
    beyond = length[:, 4].max() / np.sqrt(5) / 0.5
    assert float(near["beyond"]) == pytest.approx(beyond, rel=1e-4)


def test_neighbourhoods_become_pure_in_high_dimension():
    """Erratum E3: purity needs neither r > 2 sigma nor r > 4 sigma once d is large."""
    shares = []
    for d in (100, 20_000):
        world = Clusters(clusters=4, size=15, cosine=0.875, sigma=1.0, dimension=d)
        net = Smoother(operator="knn-l2", neighbours=15).init(jr.key(0), world, None)
        shares.append(float(purity(jr.key(2), world, world.draw(jr.key(0)), net)))
    assert shares[0] < 0.8
    assert shares[1] > 0.99
