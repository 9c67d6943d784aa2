"""The reference line against enumeration, and against samples that are really drawn."""

import itertools

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.theory.edelman2022.consistent import consistent, examples_needed, survivors


def inputs(length):
    return np.array(list(itertools.product([0, 1], repeat=length)), dtype=bool)


@pytest.mark.parametrize(("length", "sparsity"), [(6, 3), (7, 2), (8, 4)])
def test_survivors_by_brute_force(length, sparsity):
    """Every other AND, its agreement counted on every input."""
    x = inputs(length)
    true = x[:, :sparsity].all(axis=1)
    others = [c for c in itertools.combinations(range(length), sparsity)][1:]
    agree = np.array([(x[:, list(c)].all(axis=1) == true).mean() for c in others])
    for m in (0, 1, 5, 20):
        assert survivors(length, m, sparsity) == pytest.approx((agree**m).sum(), rel=1e-12)


def test_samples_have_as_many_survivors():
    rng = np.random.default_rng(0)
    triples = list(itertools.combinations(range(8), 3))[1:]
    found = []
    for _ in range(400):
        x = rng.integers(0, 2, (20, 8)).astype(bool)
        true = x[:, :3].all(axis=1)
        found.append(sum((x[:, list(c)].all(axis=1) == true).all() for c in triples))
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - survivors(8, 20)) < 4 * error


def test_the_line_is_the_first_size_that_is_enough():
    for length, sparsity in ((100, 3), (800, 3), (50, 2), (400, 4)):
        m = examples_needed(length, sparsity)
        assert survivors(length, m, sparsity) < 0.5 <= survivors(length, m - 1, sparsity)
    lengths = (100, 150, 200, 250, 300, 350, 400, 500, 600, 700, 800)
    assert [examples_needed(T) for T in lengths] == [56, 60, 63, 66, 68, 69, 71, 73, 75, 77, 79]


def test_the_calculator():
    assert consistent(length=100, examples=56).applies
    assert not consistent(length=100, examples=55).applies
    with pytest.raises(InputError):
        survivors(2, 10, 3)
