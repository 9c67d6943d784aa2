"""Worlds and models of one's own: the least that the contracts ask for."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight import Study, Train
from limelight._core.errors import InputError
from limelight._core.types import Example
from limelight.experiments import Passage
from limelight.measures import KeptTokens, accuracy
from limelight.measures.attention import AttentionMass, RoleMass
from limelight.models import Model, Shallow
from limelight.models.base import check_maker
from limelight.worlds import Sparse, World


class Sums(World):
    """The sign of a sum."""

    def sample(self, key, truth, index):
        tokens = jr.normal(key, (3, 8))
        return Example(tokens, jnp.sign(jnp.sum(tokens)))


class Mean(Model):
    """A linear rule."""

    weights: jax.Array

    def __call__(self, example):
        kept = jnp.where(example.kept[:, None], example.tokens, 0.0)
        return jnp.mean(kept, axis=0) @ self.weights

    def attention(self, example):
        return jnp.full((3, 3), 1 / 3)


def start(key, world, truth):
    return Mean(0.1 * jr.normal(key, (8,)))


STUDY = Study(Sums(), start, Train(steps=40, every=20), measures=[accuracy])


def test_tokens_and_a_label_are_an_example():
    e = jax.jit(lambda key: Sums().sample(key, None, 0))(jr.key(0))
    assert e.kept.tolist() == [True] * 3
    assert e.roles is None
    few = jax.tree.map(lambda leaf: leaf, e)
    np.testing.assert_array_equal(few.kept, e.kept)
    none = Example(e.tokens, e.label, jnp.array([True, False, False]))
    assert none.kept.tolist() == [True, False, False]


def test_a_function_makes_the_model_and_nothing_needs_a_check():
    table = STUDY.sweep({"train.examples": [4, 256]}, trials=6)
    few, many = (table.where(train__examples=n)["accuracy"].mean() for n in (4, 256))
    assert few < many
    assert many > 0.9


def test_other_experiments_take_a_function_too():
    study = Passage(Sums(), start, Train(steps=40, every=20), level=2.0, traces=[accuracy])
    assert study.sweep({"train.rate": [0.5]}, trials=2)["passage.accuracy"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("measure", [AttentionMass(), RoleMass(), KeptTokens()])
def test_measures_of_roles_refuse_a_world_without_them(measure):
    study = Study(Sums(), start, STUDY.train, measures=[measure])
    with pytest.raises(InputError, match="Example.roles = None"):
        study.sweep({"train.rate": [0.5]}, trials=2)


def test_policies_of_roles_refuse_a_world_without_them():
    world = Sparse(Sums(), kept=2, policy="drop_irrelevant")
    with pytest.raises(InputError, match="Example.roles = None"):
        Study(world, start, STUDY.train).sweep({"train.rate": [0.5]}, trials=2)


def test_what_makes_no_model_is_refused():
    with pytest.raises(InputError, match="model = 3"):
        check_maker(3, Sums())


def test_recipes_are_still_asked():
    with pytest.raises(InputError, match="Patterns, not Sums"):
        Study(Sums(), Shallow()).check()
