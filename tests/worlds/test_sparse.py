"""Sparsified worlds: how many stay, which go, and that nothing but the mask changes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._core.types import Role
from limelight.experiments import Study
from limelight.measures import KeptTokens
from limelight.models import Shallow
from limelight.worlds import POLICIES, Patterns, Sparse, SparseBoolean, dataset, law

INNER = Patterns(tokens=20, relevant=0.4, confusing=0.1, noise=0.01, noisy_share=0.3)
TRUTH = INNER.draw(jr.key(0))
many = eqx.filter_jit(lambda world: dataset(world, jr.key(1), TRUTH, 12))
WHOLE = many(INNER)
SCORER = Shallow(width=5).init(jr.key(3), INNER, TRUTH)


def sampled(policy, kept, scorer=SCORER):
    return many(Sparse(INNER, policy, jnp.asarray(kept), scorer))


@pytest.mark.parametrize("policy", POLICIES)
def test_only_the_mask_changes_and_its_size_is_exact(policy):
    for kept in (20, 13, 1):
        data = sampled(policy, kept)
        assert (np.asarray(data.kept).sum(axis=1) == kept).all()
        for name in ("tokens", "label", "roles", "distance"):
            np.testing.assert_array_equal(getattr(data, name), getattr(WHOLE, name))


@pytest.mark.parametrize("policy", POLICIES)
def test_fewer_kept_tokens_are_among_the_more(policy):
    few, many = (np.asarray(sampled(policy, k).kept) for k in (6, 14))
    assert (few <= many).all()


def test_irrelevant_tokens_go_in_order():
    roles = np.asarray(WHOLE.roles)
    for kept, left in ((12, {0: 8, 1: 2, 2: 2}), (9, {0: 8, 1: 1, 2: 0}), (5, {0: 5, 1: 0, 2: 0})):
        mask = np.asarray(sampled("drop_irrelevant", kept).kept)
        for role, count in left.items():
            assert ((mask & (roles == role)).sum(axis=1) == count).all()


def test_noisy_tokens_go_first():
    mask = np.asarray(sampled("drop_noisy", 14).kept)
    distance = np.asarray(WHOLE.distance)
    assert (
        np.where(mask, distance, 0).max(axis=1) <= np.where(mask, 9, distance).min(axis=1)
    ).all()


def test_the_least_attended_tokens_go_first():
    weights = np.asarray(jax.vmap(SCORER.attention)(WHOLE))
    score = weights.mean(axis=1)  # over queries: what each key receives
    mask = np.asarray(sampled("attention", 11).kept)
    for row, kept in zip(score, mask, strict=True):
        assert set(np.flatnonzero(kept)) == set(np.argsort(-row)[:11])


def test_a_policy_is_a_word_or_its_number():
    for number, word in enumerate(POLICIES):
        by_word, by_number = (sampled(p, 9).kept for p in (word, number))
        np.testing.assert_array_equal(by_word, by_number)


def test_a_number_of_kept_tokens_is_traced():
    traces = []

    @jax.jit
    def masks(kept):
        traces.append(1)
        return sampled("random", kept).kept

    assert [int(masks(jnp.array(k))[0].sum()) for k in (3, 7)] == [3, 7]
    assert len(traces) == 1


def test_removed_tokens_stay_removed():
    twice = Sparse(Sparse(INNER, "drop_noisy", 12), "random", 8)
    once = np.asarray(sampled("drop_noisy", 12).kept)
    mask = np.asarray(many(twice).kept)
    assert (mask <= once).all()
    assert (mask.sum(axis=1) == 8).all()
    assert law(twice) is INNER


def test_how_often_the_vote_changes_is_reported():
    read = lambda policy, kept: KeptTokens(200)(jr.key(5), Sparse(INNER, policy, kept), TRUTH, None)
    whole = read("random", 20)
    assert float(whole["relevant"]) == pytest.approx(0.4)
    assert float(whole["vote_changed"]) == 0.0
    assert float(read("drop_irrelevant", 5)["relevant"]) == 1.0
    # One token kept of 8 relevant, 2 confusing, 10 idle: the vote survives in 8 of 20.
    assert float(read("random", 1)["vote_changed"]) == pytest.approx(0.6, abs=0.12)


def test_other_worlds_can_be_sparsified():
    world = Sparse(SparseBoolean(length=12, sparsity=3), "drop_irrelevant", 5)
    world.check()
    data = dataset(world, jr.key(0), world.draw(jr.key(1)), 6)
    mask, roles = np.asarray(data.kept), np.asarray(data.roles)
    assert (mask.sum(axis=1) == 5).all()
    assert (mask | (roles != Role.RELEVANT)).all()


@pytest.mark.parametrize(
    ("world", "word"),
    [
        (Sparse(INNER, "best", 5), "cannot be"),
        (Sparse(INNER, 7, 5), "a number of"),
        (Sparse(INNER, "random", 0), "at least one"),
        (Sparse(INNER, "random", 21), "at most all"),
        (Sparse(Patterns(relevant=0.1, confusing=0.2), "random", 5), "majority"),
    ],
)
def test_nonsense_is_refused(world, word):
    with pytest.raises(InputError, match=word):
        world.check()


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(InputError, match="needs a model"):
        sampled("attention", 5, scorer=None)
    boolean = Sparse(SparseBoolean(length=12, sparsity=3), "drop_noisy", 5)
    with pytest.raises(InputError, match="how noisy"):
        dataset(boolean, jr.key(0), boolean.draw(jr.key(1)), 2)
    quiet = Sparse(Patterns(tokens=20), "random", 5)
    with pytest.raises(InputError, match="ignores removed tokens"):
        Study(quiet, Shallow(width=4, groups=True)).check()
