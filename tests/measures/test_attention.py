"""Attention mass against counting by hand."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from limelight._core.types import Role
from limelight.measures import Accuracy, AttentionMass, FreshLoss
from limelight.measures.attention import role_mass
from limelight.models import Shallow
from limelight.worlds import Patterns, dataset


def test_role_mass_by_hand():
    weights = jnp.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6]])
    roles = jnp.array([Role.RELEVANT, Role.RELEVANT, Role.IDLE])
    mass = np.asarray(role_mass(weights, roles, jnp.ones(3, dtype=bool)))
    np.testing.assert_allclose(mass[Role.RELEVANT], [0.5, 0.0, 0.5], rtol=1e-6)
    np.testing.assert_allclose(mass[Role.IDLE], [0.4, 0.0, 0.6], rtol=1e-6)
    assert np.isnan(mass[Role.CONFUSING]).all()


def test_mass_agrees_with_loops_over_tokens():
    world = Patterns(tokens=14, relevant=0.5, confusing=0.15, noise=0.1)
    truth = world.draw(jr.key(0))
    model = Shallow(width=4).init(jr.key(1), world, truth)
    measured = AttentionMass(6)(jr.key(2), world, truth, model)
    data = jax.tree.map(np.asarray, dataset(world, jr.key(2), truth, 6))
    G = np.asarray(model.weights.key).T @ np.asarray(model.weights.query)
    pools: dict[str, list[float]] = {name: [] for name in ("all", *Role.NAMES)}
    for X, roles in zip(data.tokens, data.roles, strict=True):
        logits = X @ G.T @ X.T
        s = np.exp(logits - logits.max(axis=1, keepdims=True))
        s /= s.sum(axis=1, keepdims=True)
        received = s[:, roles == Role.RELEVANT].sum(axis=1)
        pools["all"].append(received.mean())
        for role, name in enumerate(Role.NAMES):
            pools[name].append(received[roles == role].mean())
    for name, values in pools.items():
        np.testing.assert_allclose(measured[name], np.mean(values), rtol=1e-5)


def test_a_role_that_does_not_occur_is_missing_not_zero():
    world = Patterns(tokens=14, relevant=0.5, confusing=0.0)
    truth = world.draw(jr.key(0))
    model = Shallow(width=4, groups=True).init(jr.key(1), world, truth)
    mass = AttentionMass(2)(jr.key(2), world, truth, model)
    assert np.isnan(mass["confusing"])
    assert 0 < mass["all"] < 1


def test_loss_and_accuracy_by_hand():
    world = Patterns(tokens=14, noise=0.1)
    truth = world.draw(jr.key(0))
    model = Shallow(width=4, output_scale=0.5).init(jr.key(1), world, truth)
    data = dataset(world, jr.key(2), truth, 9)
    rows = [jax.tree.map(lambda leaf, i=i: leaf[i], data) for i in range(9)]
    margin = np.array([float(e.label * model(e)) for e in rows])
    loss, accuracy = (m(jr.key(2), world, truth, model) for m in (FreshLoss(9), Accuracy(9)))
    np.testing.assert_allclose(loss, np.maximum(1 - margin, 0).mean(), rtol=1e-5)
    np.testing.assert_allclose(accuracy, (margin > 0).mean(), rtol=1e-6)
