"""Sparse Boolean worlds against brute force over all inputs."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight.core.errors import InputError
from limelight.worlds import SparseBoolean, dataset
from limelight.worlds.boolean import evaluate

PYTHON = {
    "and": all,
    "or": any,
    "xor": lambda b: sum(b) % 2 == 1,
    "majority": lambda b: 2 * sum(b) > len(b),
}


@pytest.mark.parametrize("rule", list(PYTHON))
@pytest.mark.parametrize("sparsity", [1, 3, 5])
def test_every_input(rule, sparsity):
    for bits in itertools.product([False, True], repeat=sparsity):
        assert bool(evaluate(rule, jnp.array(bits))) == PYTHON[rule](bits)


def test_labels_follow_the_hidden_bits_and_flips_have_their_rate():
    world = SparseBoolean(length=12, sparsity=3, rule="xor")
    truth = world.draw(jr.key(0))
    assert len(set(np.asarray(truth).tolist())) == 3
    data = jax.tree.map(np.asarray, dataset(world, jr.key(1), truth, 300))
    bits = data.tokens[..., 1]
    parity = bits[:, np.asarray(truth)].sum(axis=1) % 2
    np.testing.assert_array_equal(data.label, 2 * parity - 1)
    assert abs(bits.mean() - 0.5) < 0.03
    noisy = SparseBoolean(length=12, sparsity=3, rule="xor", label_noise=0.1)
    flipped = dataset(noisy, jr.key(1), truth, 2000)
    parity = np.asarray(flipped.tokens[..., 1])[:, np.asarray(truth)].sum(axis=1) % 2
    assert 0.07 < np.mean(np.asarray(flipped.label) != 2 * parity - 1) < 0.13


@pytest.mark.parametrize(
    ("world", "word"),
    [
        (SparseBoolean(rule="majority", sparsity=4), "tied"),
        (SparseBoolean(length=3, sparsity=4), "does not fit"),
        (SparseBoolean(rule="nand"), "cannot be"),
        (SparseBoolean(label_noise=0.7), "label_noise"),
    ],
)
def test_nonsense_is_refused(world, word):
    with pytest.raises(InputError, match=word):
        world.check()
