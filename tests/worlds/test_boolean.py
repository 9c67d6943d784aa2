"""Sparse Boolean worlds against brute force over all inputs."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight._core.errors import InputError
from limelight.worlds import SparseBoolean, dataset
from limelight.worlds._rules import to_hex, truth_table
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


@given(st.integers(1, 4).flatmap(lambda s: st.tuples(st.just(s), st.integers(0, 2**2**s - 1))))
def test_any_truth_table(given):
    """The first hidden position is the least significant bit of a pattern."""
    sparsity, number = given
    table = truth_table(f"{number:x}", sparsity)
    for bits in itertools.product([0, 1], repeat=sparsity):
        pattern = sum(bit << j for j, bit in enumerate(bits))
        assert bool(table[pattern]) == bool(number >> pattern & 1)
    assert int(to_hex(table), 16) == number


def test_a_world_reads_its_table_in_the_order_of_its_positions():
    for rule, same in (("80", "and"), ("fe", "or"), ("96", "xor"), ("e8", "threshold:2")):
        for bits in itertools.product([False, True], repeat=3):
            assert evaluate(rule, jnp.array(bits)) == evaluate(same, jnp.array(bits))
    world = SparseBoolean(length=5, sparsity=2, rule="4", positions=(3, 1))  # bit 1 and not bit 3
    data = dataset(world, jr.key(0), world.draw(jr.key(1)), 64)
    bits = np.asarray(data.tokens)[..., 1].astype(bool)
    np.testing.assert_array_equal(np.asarray(data.label) > 0, bits[:, 1] & ~bits[:, 3])


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
        (SparseBoolean(rule="nand"), "unknown rule"),
        (SparseBoolean(rule="1ff"), "more than the 8 values"),
        (SparseBoolean(rule="threshold:9"), "threshold"),
        (SparseBoolean(label_noise=0.7), "label_noise"),
    ],
)
def test_nonsense_is_refused(world, word):
    with pytest.raises(InputError, match=word):
        world.check()
