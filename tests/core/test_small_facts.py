"""Counting, ranks, keys and roles, against plain Python."""

import math
from fractions import Fraction
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from limelight._core import keys, numerics
from limelight._core.errors import InputError
from limelight._core.manifests import digest
from limelight._core.norms import spec
from limelight._core.numerics import (
    count,
    masked_softmax,
    ranks,
    softmax_mean,
    tree_finite,
    unit,
    widened,
)
from limelight._core.shown import in_words, shown_of
from limelight._core.types import Example, Role, roles_of


def test_the_order_of_entries_does_not_move_a_digest():
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1}) != digest({"a": 1, "b": [3]})


def test_a_matrix_without_entries_has_length_zero():
    for matrix in (np.zeros((0, 3)), np.zeros((3, 0))):
        assert float(spec(matrix)) == 0.0


def test_an_example_is_shown_by_its_tokens_or_its_first_table():
    tokens, other = np.arange(6.0).reshape(3, 2), np.ones((2, 2))
    told = shown_of(SimpleNamespace(prompt=other, tokens=tokens, label=1.0), ())
    assert told.values.tolist() == tokens.tolist()
    assert told.label == "label +1"
    told = shown_of(SimpleNamespace(number=3.0, prompt=other, query=tokens), ())
    assert (told.values.tolist(), told.label) == (other.tolist(), "")
    assert shown_of(SimpleNamespace(), ()).values.shape == (1, 1)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (1, "+1"),
        ([1, -1], "+1, \N{MINUS SIGN}1"),
        (3, "3"),
        ([0, 0, 1], "class 2"),
        ([1, 1, 0], "1, 1, 0"),
        ([0.5, 0.5], "0.5, 0.5"),
    ],
)
def test_labels_in_words(label, said):
    assert in_words(label) == said


def test_counts_round_halves_to_even_exactly():
    """Against exact fractions, for every thousandth of sizes that tell the two apart."""
    for total in (1, 7, 50, 100, 1000):
        thousandths = range(0, 1001, 7)
        exact = [round(Fraction(t, 1000) * total) for t in thousandths]
        assert count(jnp.array(thousandths) / 1000, total).tolist() == exact
        assert [int(count(x / 1000, total)) for x in thousandths] == exact  # without JAX
    assert [int(count(x, 100)) for x in (0.065, 0.075)] == [6, 8]


def test_a_removed_key_has_no_weight():
    found = masked_softmax(jnp.array([[0.0, 1.0, 2.0]]), jnp.array([True, False, True]))
    weights = np.exp([0.0, 2.0]) / np.exp([0.0, 2.0]).sum()
    np.testing.assert_allclose(found, [[weights[0], 0, weights[1]]], rtol=1e-6)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_a_mean_by_attention_and_its_gradient(monkeypatch, gpu, scale):
    """Against loops in float64, in both orders; removed keys may have the largest logits."""
    monkeypatch.setattr(numerics, "on_gpu", lambda: gpu)
    rng = np.random.default_rng(0)
    logits, values = scale * rng.normal(size=(6, 7)), rng.normal(size=(7, 3))
    kept, read = np.array([1, 1, 0, 1, 0, 1, 1], bool), rng.normal(size=(6, 3))
    logits[:, 2] = 5 * scale
    mean, slope = np.zeros((6, 3)), np.zeros((6, 7))
    for row in range(6):
        largest = max(logits[row, kept])
        weights = [math.exp(logits[row, j] - largest) if kept[j] else 0.0 for j in range(len(kept))]
        share = np.array(weights) / sum(weights)
        mean[row] = sum(share[j] * values[j] for j in range(len(kept)))
        slope[row] = [share[j] * read[row] @ (values[j] - mean[row]) for j in range(len(kept))]
    single = [jnp.asarray(x, jnp.float32) for x in (logits, values)]
    found = softmax_mean(*single, jnp.asarray(kept))
    np.testing.assert_allclose(found, mean, atol=3e-7 * scale + 1e-6)
    loss = lambda logits: jnp.sum(read * softmax_mean(logits, single[1], jnp.asarray(kept)))
    np.testing.assert_allclose(jax.grad(loss)(single[0]), slope, atol=3e-7 * scale + 1e-6)


def test_on_a_gpu_the_weights_come_first():
    """There the program is, operation by operation, that of the published tables."""
    given = jnp.zeros((4, 5)), jnp.zeros((5, 2)), jnp.ones(5, bool)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(numerics, "on_gpu", lambda: True)
        there = str(jax.make_jaxpr(lambda *of: softmax_mean(*of))(*given))
    usual = jax.make_jaxpr(lambda logits, values, kept: masked_softmax(logits, kept) @ values)
    assert there == str(usual(*given))
    assert there != str(jax.make_jaxpr(lambda *of: softmax_mean(*of))(*given))


def test_units_and_ranks():
    x = jnp.array([[3.0, 4.0], [0.0, -2.0]])
    np.testing.assert_allclose(unit(x), [[0.6, 0.8], [0, -1]])
    np.testing.assert_allclose(unit(x, axis=0), [[1, 0.8944272], [0, -0.4472136]], rtol=1e-6)
    assert ranks(jnp.array([0.3, 0.1, 0.3, 0.2])).tolist() == [2, 0, 3, 1]


def test_widened():
    assert widened(jnp.zeros(1, jnp.bfloat16)).dtype == jnp.float32
    assert widened(jnp.zeros(1, jnp.float32)).dtype == jnp.float32


@pytest.mark.parametrize(
    ("tree", "finite"),
    [((), True), ({"a": jnp.ones(2)}, True), ([jnp.ones(2), jnp.array([1.0, jnp.inf])], False)],
)
def test_finite_trees(tree, finite):
    assert bool(tree_finite(tree)) is finite


def test_keys_depend_on_every_word():
    """One word changed is another key; the order of an axis' entries is not a word."""

    def key(seed, cell, trial):
        words = (jnp.uint32(seed), jnp.array(cell, jnp.uint32), jnp.uint32(trial))
        return tuple(jax.random.key_data(keys.trial_key(*words)).tolist())

    every = [key(0, (1, 2), 3), key(1, (1, 2), 3), key(0, (0, 2), 3), key(0, (1, 0), 3)]
    every.append(key(0, (1, 2), 4))
    assert len(set(every)) == 5
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert keys.fingerprint("s", one) == keys.fingerprint("s", other)
    assert keys.fingerprint("s", one) != keys.fingerprint("t", one)
    first, second = keys.fingerprint("s", one)
    assert first != second
    assert max(first, second) < 2**32


def test_roles_are_given_or_asked_for():
    example = Example(jnp.ones((3, 2)), jnp.array(1.0))
    assert example.kept.tolist() == [True] * 3
    with pytest.raises(InputError, match="does not say which tokens matter"):
        roles_of(example)
    roles = jnp.array([Role.RELEVANT, Role.IDLE, Role.CONFUSING])
    given = Example(jnp.ones((3, 2)), jnp.array(1.0), roles=roles)
    assert roles_of(given).tolist() == [0, 2, 1]
