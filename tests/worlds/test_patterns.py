"""The pattern world against a slow NumPy reading of the paper's data model."""

from decimal import ROUND_HALF_EVEN, Decimal

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight._core.errors import InputError
from limelight._core.numerics import count
from limelight._core.types import Role
from limelight.worlds import Patterns, dataset


def draw(world, size=8, seed=0):
    truth = world.draw(jr.key(seed))
    return truth, jax.tree.map(np.asarray, dataset(world, jr.key(seed + 1), truth, size))


def nearest(tokens, patterns):
    return np.argmin(np.linalg.norm(tokens[..., None, :] - patterns, axis=-1), axis=-1)


@pytest.mark.parametrize("tokens", [20, 50, 100, 200])
def test_rounding_agrees_with_decimal_arithmetic(tokens):
    thousandths = np.arange(1001)
    ours = np.asarray(count(jnp.asarray(thousandths / 1000, jnp.float32), tokens))
    exact = [
        int((Decimal(int(k)) / 1000 * tokens).quantize(Decimal(1), ROUND_HALF_EVEN))
        for k in thousandths
    ]
    np.testing.assert_array_equal(ours, exact)


@settings(max_examples=25, deadline=None)
@given(relevant=st.integers(2, 20), confusing=st.integers(0, 19), patterns=st.integers(3, 7))
def test_counts_are_exact_and_the_vote_gives_the_label(relevant, confusing, patterns):
    if confusing >= relevant:
        confusing = relevant - 1
    world = Patterns(tokens=40, relevant=relevant / 40, confusing=confusing / 40, patterns=patterns)
    truth, data = draw(world)
    kinds = nearest(data.tokens, np.asarray(truth.patterns))
    for kind, label, roles in zip(kinds, data.label, data.roles, strict=True):
        counts = np.bincount(kind, minlength=patterns)
        assert np.sign(counts[0] - counts[1]) == label
        assert counts[:2].max() == relevant
        assert counts[:2].min() == confusing
        idle = counts[2:]
        assert idle.max() - idle.min() <= 1
        assert (np.diff(idle) <= 0).all()  # the first patterns take the remainder
        assert (roles == Role.RELEVANT).sum() == relevant
        assert (roles == Role.CONFUSING).sum() == confusing
        np.testing.assert_array_equal(counts, world.counts(jnp.asarray(label, dtype=jnp.float32)))


def test_every_prefix_is_balanced_and_coins_are_not():
    _, data = draw(Patterns(tokens=20), size=9)
    np.testing.assert_array_equal(data.label, [1, -1, 1, -1, 1, -1, 1, -1, 1])
    _, coins = draw(Patterns(tokens=20, labels="coin"), size=400)
    assert 0.4 < (coins.label > 0).mean() < 0.6
    assert (coins.label[:-1] == coins.label[1:]).any()


def test_fixed_positions_carry_the_same_role_everywhere():
    _, data = draw(Patterns(tokens=30, positions="fixed"))
    assert (data.roles == data.roles[0]).all()
    _, permuted = draw(Patterns(tokens=30))
    assert not (permuted.roles == permuted.roles[0]).all()


def test_permutations_are_uniform():
    _, data = draw(Patterns(tokens=10, relevant=0.3, confusing=0.1, patterns=3), size=4000)
    share = (data.roles == Role.RELEVANT).mean(axis=0)  # each place: 3/10, sd 0.0072
    assert np.abs(share - 0.3).max() < 4 * 0.0072


def test_noise_has_the_stated_size():
    c, d = 0.01, 10
    world = Patterns(tokens=50, noise=c, normalise=False)
    truth, data = draw(world, size=200)
    from scipy.special import gammaln

    expected = c * np.sqrt(2) * np.exp(gammaln((d + 1) / 2) - gammaln(d / 2))
    nearest = lambda tokens: np.linalg.norm(
        np.asarray(tokens)[..., None, :] - np.asarray(truth.patterns), axis=-1
    ).min(axis=-1)
    assert nearest(data.tokens).mean() == pytest.approx(expected, rel=0.01)
    np.testing.assert_allclose(data.distance, nearest(data.tokens), rtol=1e-4, atol=1e-6)
    _, unit = draw(Patterns(tokens=50, noise=c), size=200)
    np.testing.assert_allclose(np.linalg.norm(unit.tokens, axis=-1), 1.0, rtol=1e-5)
    assert nearest(unit.tokens).mean() == pytest.approx(0.0292, rel=0.02)


def test_products_of_tokens_tell_patterns_apart():
    """Assumption 3: scaled so that products within a pattern are at least 1, others are below 1."""
    truth, data = draw(Patterns(tokens=50, noise=0.05), size=20)
    tokens = data.tokens.reshape(-1, 10)
    pattern = nearest(tokens, np.asarray(truth.patterns))
    same = pattern[:, None] == pattern[None, :]
    products = tokens @ tokens.T
    assert (products / products[same].min())[~same].max() < 1


def test_a_share_of_tokens_is_loud():
    world = Patterns(
        tokens=50, noise=0.01, noisy_share=0.3, loud_noise=0.5, normalise=False, patterns=5
    )
    truth, data = draw(world, size=100)
    distance = np.linalg.norm(data.tokens[..., None, :] - np.asarray(truth.patterns), axis=-1)
    loud = distance.min(axis=-1) > 0.2
    assert 0.27 < loud.mean() < 0.33
    assert ((data.roles == Role.RELEVANT).sum(axis=1) == 20).all()


@pytest.mark.parametrize(
    ("world", "word"),
    [
        (Patterns(relevant=0.2, confusing=0.2), "tied"),
        (Patterns(relevant=0.2, confusing=0.3), "tied or lost"),
        (Patterns(relevant=0.8, confusing=0.3), "do not fit"),
        (Patterns(confusing=-0.1), "negative"),
        (Patterns(patterns=11), "dimension"),
        (Patterns(patterns=2), "dimension"),
        (Patterns(noise=-1.0), "noise = -1"),
        (Patterns(noisy_share=0.3), "needs noise"),
    ],
)
def test_nonsense_is_refused_with_a_reason(world, word):
    with pytest.raises(InputError, match=word):
        world.check()


def test_realised_fractions_are_reported():
    assert Patterns(tokens=50, relevant=0.5, confusing=0.05).fractions() == (0.5, 0.04)
