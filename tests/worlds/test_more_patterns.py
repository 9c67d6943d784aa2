"""Four classes and pattern sets: counts, votes, geometry."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.models import Shallow
from limelight.worlds import FourClasses, Patterns, PatternSets, dataset


def test_four_classes_have_their_counts_and_plurality():
    world = FourClasses(tokens=20, relevant=0.4, confusing=0.25)
    world.check()
    truth = world.draw(jr.key(0))
    data = dataset(world, jr.key(1), truth, 8)
    pattern = np.asarray(data.tokens @ truth.patterns.T).argmax(axis=-1)
    bits = {0: (1, 1), 1: (1, -1), 2: (-1, 1), 3: (-1, -1)}
    # 8 of the class, 5 over the other three (2, 2, 1), 7 over patterns 5 and 6 (4, 3).
    others = {0: (1, 2, 3), 1: (0, 2, 3), 2: (0, 1, 3), 3: (0, 1, 2)}
    for i, row in enumerate(pattern):
        kind = i % 4
        counts = np.bincount(row, minlength=6)
        assert tuple(np.asarray(data.label[i])) == bits[kind]
        assert counts[kind] == 8
        assert [counts[j] for j in others[kind]] == [2, 2, 1]
        assert counts[4:].tolist() == [4, 3]
        roles = np.asarray(data.roles[i])
        assert ((roles == 0) == (row == kind)).all()
        assert ((roles == 2) == (row >= 4)).all()


@pytest.mark.parametrize(
    ("world", "word"),
    [
        (FourClasses(patterns=4), "does not fit"),
        (FourClasses(patterns=11), "does not fit"),
        (FourClasses(relevant=0.2, confusing=0.6), "tied or lost"),
        (FourClasses(relevant=0.8, confusing=0.4), "do not fit"),
        (PatternSets(Patterns(dimension=10)), "do not fit"),
        (PatternSets(radius=0.0), "radius"),
        (PatternSets(Patterns(dimension=20, noise=0.0, noisy_share=0.1)), "noise level"),
    ],
)
def test_nonsense_is_refused(world, word):
    with pytest.raises(InputError, match=word):
        world.check()


@pytest.mark.usefixtures("double")
def test_sets_have_the_stated_geometry_and_duals():
    world = PatternSets(Patterns(tokens=30, patterns=4, dimension=20), members=3, radius=0.5)
    world.check()
    truth = world.draw(jr.key(0))
    mu, duals = np.asarray(truth.patterns), np.asarray(truth.duals)
    np.testing.assert_allclose(np.linalg.norm(mu, axis=1), 1.0)
    np.testing.assert_allclose(duals, np.linalg.pinv(mu.T), atol=1e-12)
    distance = np.linalg.norm(mu[:, None] - mu[None], axis=-1)
    own = np.arange(12)[:, None] // 3 == np.arange(12)[None] // 3
    assert distance[~own].min() == pytest.approx(2**0.5)
    assert distance[own].max() == pytest.approx(0.5 * 2**0.5 / 1.25**0.5)
    # The start meets Assumption 1 for every member, with features that are not orthonormal.
    model = Shallow(width=4, value_error=0.1, key_error=0.2).init(jr.key(1), world, truth)
    features = np.asarray(model.weights.value) @ mu.T
    np.testing.assert_allclose(np.linalg.norm(features - mu.T, axis=0), 0.1)
    keys = np.asarray(model.weights.key) @ mu.T
    np.testing.assert_allclose(np.linalg.norm(keys - mu.T, axis=0), 0.2)


def test_members_are_picked_by_their_share():
    world = PatternSets(Patterns(tokens=50, dimension=20), first=0.8)
    truth = world.draw(jr.key(0))
    data = dataset(world, jr.key(1), truth, 40)
    row = np.asarray(jnp.argmax(data.tokens @ truth.patterns.T, axis=-1))
    assert (row % 2 == 0).mean() == pytest.approx(0.8, abs=0.03)
    relevant = (row // 2 == np.where(np.asarray(data.label) > 0, 0, 1)[:, None]).sum(axis=1)
    assert (relevant == 20).all()
