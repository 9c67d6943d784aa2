"""Patches in hidden sets: partitions, marks, the labelling function, and the shortcut's law."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact

from limelight._core.errors import InputError
from limelight._core.keys import named
from limelight._core.types import Role
from limelight.experiments.recovery import TestSet
from limelight.models import Positional
from limelight.worlds import GaussianPatches, Spatial, dataset
from limelight.worlds._partitions import grid, members, partition, scattered, strided
from limelight.worlds.laws import label_failure, silence, thresholded_law
from limelight.worlds.projected import convolution
from limelight.worlds.spatial import labelling

PARTITION = jax.jit(partition, static_argnums=(1, 2, 3))
KNOWN = {
    (36, 4, 0.35): 0.00743,
    (36, 4, 0.40): 0.01259,
    (64, 4, 0.22): 0.00219,
    (16, 4, 0.5): 0.01158,
}


def test_square_blocks_are_the_blocks_of_a_picture():
    blocks = members(grid(4, 2), 4)
    assert blocks.tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]


@settings(deadline=None, max_examples=15)
@given(shape=st.sampled_from([(12, 3), (10, 5)]), seed=st.integers(0, 2**31 - 1))
def test_every_set_has_its_size(shape, seed):
    tokens, size = shape
    for kind in ("random", "strided"):
        found = PARTITION(jr.key(seed), kind, tokens, size)
        assert np.bincount(found).tolist() == [size] * (tokens // size)
        inside = np.sort(np.asarray(members(found, size)).ravel())
        np.testing.assert_array_equal(inside, np.arange(tokens))


def test_random_partitions_are_uniform():
    """Four patches in two pairs: three partitions, equally often."""
    many = jax.jit(jax.vmap(lambda key: scattered(key, 4, 2)))
    draw = np.asarray(many(jr.split(jr.key(0), 3000)))
    partner = np.argmax((draw[:, 1:] == draw[:, :1]), axis=1)
    for which in range(3):
        assert binomtest(int((partner == which).sum()), 3000, 1 / 3).pvalue > 1e-3


def brute_force(marks, sets, size):
    total = 0
    for one in range(max(sets) + 1):
        m = sum(mark for mark, s in zip(marks, sets, strict=True) if s == one)
        total += m if 10 * abs(m) > 9 * size else 0
    return total


def test_the_labelling_function_on_every_input():
    sets = strided(6, 3)
    every = np.array(list(itertools.product((-1, 0, 1), repeat=6)))
    found = jax.vmap(lambda marks: labelling(marks, sets, 2))(jnp.array(every))
    assert found.tolist() == [brute_force(m, sets.tolist(), 3) for m in every]


def test_the_threshold_is_strict():
    """Nine of ten is not more than nine tenths of ten."""
    sets = strided(20, 10)
    nine = jnp.zeros(20, int).at[jnp.arange(0, 18, 2)].set(1)
    assert int(labelling(nine, sets, 2)) == 0
    assert int(labelling(nine.at[18].set(1), sets, 2)) == 10


@pytest.mark.parametrize("setting", KNOWN)
def test_label_failure_against_simulation(setting):
    tokens, size, density = setting
    failure = label_failure(*setting)
    assert failure == pytest.approx(KNOWN[setting], abs=6e-6)
    world = Spatial(tokens, size, density=density)
    sets = strided(tokens, size)

    def one(key):
        label, _, marks = world.marked(key, sets)
        value = labelling(marks, sets, world.sets) * label
        return value <= 0, value == 0

    wrong, none = jax.jit(jax.vmap(one))(jr.split(jr.key(7), 20_000))
    assert binomtest(int(wrong.sum()), 20_000, failure).pvalue > 1e-3
    assert binomtest(int(none.sum()), 20_000, silence(*setting)).pvalue > 1e-3


@settings(deadline=None, max_examples=30)
@given(
    size=st.integers(1, 12),
    sets=st.integers(2, 8),
    density=st.floats(0, 1),
)
def test_thresholded_laws_are_laws(size, sets, density):
    law = thresholded_law(size * sets, size, density)
    assert law.sum() == pytest.approx(1)
    assert (law >= -1e-15).all()
    np.testing.assert_allclose(law, law[::-1], atol=1e-15)


def test_examples_carry_their_marks():
    world = Spatial(tokens=16, dimension=6, density=0.4, partition="grid")
    truth = world.draw(jr.key(1))
    draw = jax.jit(lambda: dataset(world, jr.key(2), truth, 4000))
    data = jax.tree.map(np.asarray, draw())
    hidden = lambda i: world.marked(*named(jr.fold_in(jr.key(2), i), "marks"), truth.sets)
    label, signal, marks = map(np.asarray, jax.jit(jax.vmap(hidden))(jnp.arange(4000)))
    sets, feature = np.asarray(truth.sets), np.asarray(truth.feature)
    np.testing.assert_array_equal(label, data.label)
    np.testing.assert_allclose(data.tokens @ feature, marks, atol=1e-5)
    inside = sets[None, :] == signal[:, None]
    agree = np.broadcast_to(data.label[:, None], inside.shape)
    assert (marks[inside] == agree[inside]).all()
    outside = marks[~inside]
    busy = int((outside != 0).sum())
    assert binomtest(busy, outside.size, 0.4).pvalue > 1e-3
    assert binomtest(int((outside == 1).sum()), busy, 0.5).pvalue > 1e-3
    assert binomtest(int((data.label == 1).sum()), 4000, 0.5).pvalue > 1e-3
    for one in range(world.sets):
        assert binomtest(int((signal == one).sum()), 4000, 1 / world.sets).pvalue > 1e-3
    relevant = data.roles == Role.RELEVANT
    np.testing.assert_array_equal(relevant, marks == agree)
    # The noise has variance 1/d in each of the d - 1 directions across the feature.
    noise = data.tokens - marks[..., None] * feature
    assert (noise**2).sum(-1).mean() == pytest.approx(5 / 6, rel=0.01)


def test_the_shortcut_has_the_law_of_the_real_thing():
    world = Spatial(tokens=9, size=3, dimension=7, density=0.5, variance=0.3)
    truth = world.draw(jr.key(1))
    start = Positional(logit_scale=1.0, value_scale=0.3).init(jr.key(2), world, truth)
    net = eqx.tree_at(lambda n: n.value, start, start.value + 0.5 * truth.feature)
    data = jax.jit(lambda: dataset(world, jr.key(3), truth, 4000))()
    missed = jax.jit(jax.vmap(net))(data.tokens) * data.label <= 0
    quick = jax.jit(lambda: TestSet(world, jr.key(4), truth, 4000)(net))()
    full, fast = int(missed.sum()), round(4000 * float(quick))
    assert 200 < full < 1800
    assert fisher_exact([[full, 4000 - full], [fast, 4000 - fast]]).pvalue > 1e-3


def test_transfer_keeps_the_sets_and_turns_the_feature():
    world = Spatial(tokens=16, dimension=50)
    truth = world.draw(jr.key(0))
    other = world.transfer(jr.key(1), truth)
    np.testing.assert_array_equal(truth.sets, other.sets)
    assert float(jnp.linalg.norm(other.feature)) == pytest.approx(1, rel=1e-5)
    assert abs(float(truth.feature @ other.feature)) < 0.6


def test_gaussian_labels_follow_the_filter():
    for kernel in ("tied", "untied"):
        world = GaussianPatches(kernel=kernel)
        truth = world.draw(jr.key(0))
        assert float(jnp.linalg.norm(truth.kernel)) == pytest.approx(1, rel=1e-5)
        data = jax.tree.map(np.asarray, dataset(world, jr.key(1), truth, 5))
        sums = jax.jit(jax.vmap(lambda x, t=truth: convolution(x, t)))(data.tokens)
        for i in range(5):
            rows, filters = np.asarray(data.tokens[i]), np.asarray(truth.kernel)
            total = 0.0
            for one in range(world.sets):
                places = np.flatnonzero(np.asarray(truth.sets) == one)
                total += sum(rows[p] @ filters[k] for k, p in enumerate(places)) ** 3
            assert float(sums[i]) == pytest.approx(total, rel=1e-3)
            assert float(data.label[i]) == np.sign(total)
    tied = GaussianPatches().draw(jr.key(0)).kernel
    np.testing.assert_allclose(tied, np.broadcast_to(tied[0], tied.shape))


@pytest.mark.parametrize(
    ("world", "match"),
    [
        (Spatial(tokens=10, size=4), "do not make"),
        (Spatial(tokens=4, size=4), "do not make"),
        (Spatial(tokens=12, size=4, partition="grid"), "no square blocks"),
        (Spatial(density=1.5), "density"),
        (Spatial(variance=-1.0), "variance"),
        (Spatial(dimension=0), "dimension"),
        (GaussianPatches(kernel="odd"), "kernel"),
        (GaussianPatches(tokens=16, size=3), "do not make"),
    ],
)
def test_worlds_that_make_no_sense_are_refused(world, match):
    with pytest.raises(InputError, match=match):
        world.check()


def test_label_failure_refuses_what_the_world_refuses():
    with pytest.raises(InputError, match="do not make"):
        label_failure(10, 4, 0.1)
    with pytest.raises(InputError, match="density"):
        label_failure(16, 4, 2.0)
