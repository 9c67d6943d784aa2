"""Layers of attention: residual coordinates, paths and perceptrons against slow NumPy."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight.measures.similarity import mean_cosine, unit
from limelight.models.attention_stack import AttentionStack, StackedAttention, StackLayer
from limelight.theory.geshkovski2023.residuals import log_norm
from limelight.worlds.sphere import Rows

WAVES = np.array(
    [[0.5 * (0.5 * (j + 1) * np.cos(i + 1) + np.sin(3 * i * j)) for j in range(4)]
     for i in range(6)]
)  # fmt: skip


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def identities(layers, skip=0.0):
    eye = jnp.broadcast_to(jnp.eye(4), (layers, 1, 4, 4))
    none = StackLayer(eye, eye, jnp.zeros((layers, 4, 1)), jnp.zeros((layers, 1, 4)))
    return StackedAttention(none, jnp.asarray(skip), False)


def softmax(logits):
    P = np.exp(logits - logits.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def test_similarities_of_the_waves():
    x = jnp.asarray(WAVES)
    s = float(mean_cosine(x))
    assert s == pytest.approx(-0.00780077, abs=1e-8)
    assert s + (1 - s) / 6 == pytest.approx(0.16016602, abs=1e-8)
    assert float(jnp.mean(jnp.abs(unit(x) @ unit(x).T))) == pytest.approx(0.84879936, abs=1e-8)


def test_residuals_of_the_waves_down_to_1e_33():
    sizes = jnp.exp(identities(5).residual_path(jnp.asarray(WAVES), lambda at: log_norm(at.rest)))
    known = [3.4036113, 1.8675525, 0.28411475, 9.6957933e-4, 3.8621684e-11, 2.4410672e-33]
    np.testing.assert_allclose(sizes, known, rtol=1e-6)


def test_layers_by_hand_in_both_coordinates():
    world, recipe = Rows(5, 3), AttentionStack(layers=2, heads=2, skip=1.0)
    net = recipe.init(jr.key(0), world, None)
    x = np.asarray(world.sample(jr.key(1), None, jnp.array(0)).tokens)
    slow = x
    for QK, V in zip(np.asarray(net.layers.query_key), np.asarray(net.layers.value), strict=True):
        slow = slow + sum(
            softmax(slow @ qk @ slow.T / 3**0.5) @ slow @ v for qk, v in zip(QK, V, strict=True)
        )
    np.testing.assert_allclose(net(jnp.asarray(x)), slow, rtol=1e-12)
    whole = net.residual_path(jnp.asarray(x), lambda here: here.common[None, :] + here.rest)
    np.testing.assert_allclose(whole[-1], slow, rtol=1e-10)
    output, total = net.sum_of_paths(jnp.asarray(x), 2)
    np.testing.assert_allclose(output, slow, rtol=1e-12)
    np.testing.assert_allclose(total, slow, rtol=1e-12)


def test_a_perceptron_and_shared_weights():
    world, recipe = Rows(5, 3), AttentionStack(layers=2, mlp=True, shared=True)
    net = recipe.init(jr.key(0), world, None)
    np.testing.assert_array_equal(net.layers.value[0], net.layers.value[1])
    x = np.asarray(world.sample(jr.key(1), None, jnp.array(0)).tokens)
    one = jax.tree.map(lambda part: np.asarray(part[0]), net.layers)
    for _ in range(2):
        x = softmax(x @ one.query_key[0] @ x.T / 3**0.5) @ x @ one.value[0]
        x = np.maximum(x @ one.into, 0) @ one.out
    np.testing.assert_allclose(
        net(world.sample(jr.key(1), None, jnp.array(0)).tokens), x, rtol=1e-10, atol=1e-14
    )
