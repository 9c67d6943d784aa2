"""The laws that every world, model, measure and statement meets by standing on its shelf."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.kinds import kind_of
from limelight._core.types import Example
from limelight.models.base import split
from limelight.papers import KEYS, load
from limelight.theory.base import Bound
from limelight.worlds import dataset, example
from tests.laws.members import (
    EXPERIMENTS,
    MODELS,
    READ,
    WORLDS,
    experiment_members,
    measure_members,
    recipe_members,
    world_members,
)

STATEMENTS = [(key, s.label) for key in KEYS for s in load(key).statements]


def same(a, b):
    data = lambda leaf: (
        jr.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
    )
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(data(x), data(y))


@pytest.mark.parametrize("name", WORLDS)
class TestWorlds:
    def test_the_same_key_gives_the_same_example(self, name):
        world = WORLDS[name]
        world.check()
        truth = world.draw(jr.key(1))
        same(truth, world.draw(jr.key(1)))
        one = lambda: example(world, jr.key(2), truth, jnp.array(3))
        same(one(), one())

    def test_compiled_and_batched_examples_are_the_plain_ones(self, name):
        world = WORLDS[name]
        truth = world.draw(jr.key(1))
        data = dataset(world, jr.key(2), truth, 4)
        traces = []

        @jax.jit
        def one(index):
            traces.append(1)
            return example(world, jr.key(2), truth, index)

        for index in range(4):
            alone = one(jnp.array(index))
            for whole, part in zip(jax.tree.leaves(data), jax.tree.leaves(alone), strict=True):
                np.testing.assert_allclose(whole[index], part, rtol=1e-6, atol=1e-7)
        assert len(traces) == 1

    def test_examples_are_finite_and_labelled(self, name):
        world = WORLDS[name]
        data = jax.jit(lambda: dataset(world, jr.key(2), world.draw(jr.key(1)), 16))()
        for leaf in jax.tree.leaves(data):
            assert np.isfinite(np.asarray(leaf)).all()
        if isinstance(data, Example):
            assert set(np.unique(data.label)) <= {-1.0, 1.0}
            assert data.roles.shape == data.kept.shape == data.tokens.shape[:2]


@pytest.mark.parametrize("name", MODELS)
class TestModels:
    def make(self, name, seed=1):
        world, recipe = MODELS[name]
        recipe.check(world)
        truth = world.draw(jr.key(0))
        return world, truth, recipe.init(jr.key(seed), world, truth)

    def test_the_same_key_gives_the_same_model(self, name):
        same(split(self.make(name)[2])[0], split(self.make(name)[2])[0])

    def test_one_example_compiled_and_batched_agree(self, name):
        world, truth, model = self.make(name)
        data = dataset(world, jr.key(2), truth, 5)
        call = lambda e: model(model.prepare(e))
        batch = jax.jit(jax.vmap(call))(data)
        for i in (0, 4):
            alone = call(jax.tree.map(lambda leaf, i=i: leaf[i], data))
            np.testing.assert_allclose(batch[i], alone, rtol=1e-5, atol=1e-6)
        assert np.isfinite(np.asarray(batch)).all()

    def test_it_survives_a_save_and_a_load(self, name, tmp_path):
        _, _, model = self.make(name)
        eqx.tree_serialise_leaves(tmp_path / "model", model)
        again = eqx.tree_deserialise_leaves(tmp_path / "model", self.make(name, seed=9)[2])
        same(model, again)


#: Each measure once, also where it has a second name with its usual settings.
MEASURES = list({(repr(measure_members()[name]), repr(READ[name])): name for name in READ}.values())


@pytest.mark.parametrize("name", MEASURES)
def test_measures_are_numbers_of_their_key(name):
    """Compiled and for several keys at once as plainly for one."""
    measure, (world, recipe) = measure_members()[name], READ[name]
    truth = world.draw(jr.key(0))
    made = recipe.init(jr.key(1), world, truth)
    read = lambda key: measure(key, world, truth, made)
    many = jax.tree.leaves(jax.jit(jax.vmap(read))(jr.split(jr.key(5), 3)))
    plain = jax.tree.leaves(read(jr.split(jr.key(5), 3)[1]))
    for several, one in zip(many, plain, strict=True):
        assert one.ndim <= 1  # a number, or a trace
        np.testing.assert_allclose(several[1], one, rtol=1e-5, atol=1e-6)


def test_every_member_of_a_shelf_is_under_the_laws():
    """A new world, recipe, measure or experiment without an example is a failure."""
    seen = {type(world).__name__ for world in WORLDS.values()}
    assert set(world_members()) <= seen, "add an example to tests/laws/members.py"
    seen = {type(recipe).__name__ for _, recipe in MODELS.values()}
    assert set(recipe_members()) <= seen, "add an example to tests/laws/members.py"
    assert set(measure_members()) <= set(READ), "say in READ which model a measure reads"
    assert set(experiment_members()) == set(EXPERIMENTS), "add an example to members.py"


def test_every_member_has_a_kind_of_its_own():
    parts = [
        *world_members().values(),
        *recipe_members().values(),
        *experiment_members().values(),
        *{type(m) if not hasattr(m, "__name__") else m for m in measure_members().values()},
    ]
    kinds = [kind_of(part) for part in parts]
    assert None not in kinds
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(("key", "label"), STATEMENTS)
def test_statements_show_both_sides_and_speak_json(key, label):
    statement = load(key).find(label)
    bound = statement.evaluate({})
    assert str(bound)
    if isinstance(bound, Bound):
        for condition in bound.conditions:
            assert condition.name in str(bound)
        json.dumps(bound.as_json(), allow_nan=False)


@pytest.mark.parametrize("key", KEYS)
def test_a_paper_is_whole(key):
    paper = load(key)
    assert paper.symbols
    assert paper.figures
    for figure in paper.figures:
        assert set(figure.scales) == {"smoke", "small", "paper"}
        assert figure.claims
        assert figure.statement
        # A question is ours: no paper is made to ask it.
        assert figure.lead.startswith("Asked") == figure.statement.endswith("?")
        for scale in figure.scales:
            figure.setup(scale).experiment.check()
