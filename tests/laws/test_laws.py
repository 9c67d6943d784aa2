"""The laws that every world, model, measure and statement meets by standing on its shelf."""

import functools
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.kinds import kind_of
from limelight._core.types import Example
from limelight.models.base import Recipe
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


def bits(leaf):
    return jr.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def same(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(bits(x), bits(y))


def drawn(name):
    """A truth, sixteen examples at once, and the first four one by one: all as one program."""
    world = WORLDS[name]
    world.check()

    def program(k_truth, k_data):
        truth = world.draw(k_truth)
        alone = lambda index: example(world, k_data, truth, index)
        return truth, dataset(world, k_data, truth, 16), jax.lax.map(alone, jnp.arange(4))

    return jax.jit(program)(jr.key(1), jr.key(2))


@functools.cache
def drawn_once(name):
    return drawn(name)


@pytest.mark.parametrize("name", WORLDS)
class TestWorlds:
    def test_the_same_key_gives_the_same_example(self, name):
        same(drawn_once(name), drawn(name))  # traced anew, so nothing is remembered

    def test_compiled_and_batched_examples_are_the_plain_ones(self, name):
        _, data, alone = drawn_once(name)
        for whole, parts in zip(jax.tree.leaves(data), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(whole[:4], parts, rtol=1e-6, atol=1e-7)

    def test_examples_are_finite_and_labelled(self, name):
        _, data, _ = drawn_once(name)
        for leaf in jax.tree.leaves(data):
            assert np.isfinite(np.asarray(leaf)).all()
        if isinstance(data, Example):
            assert set(np.unique(data.label)) <= {-1.0, 1.0}
            assert data.roles.shape == data.kept.shape == data.tokens.shape[:2]


def made(world, recipe):
    """What makes a truth and a model of two keys, as one program."""
    if isinstance(recipe, Recipe):
        recipe.check(world)

    @eqx.filter_jit
    def program(k_truth, k_model):
        truth = world.draw(k_truth)
        return truth, recipe.init(k_model, world, truth)

    return program


@functools.cache
def made_once(name):
    return made(*MODELS[name])


@pytest.mark.parametrize("name", MODELS)
class TestModels:
    def test_the_same_key_gives_the_same_model(self, name):
        keys = jr.key(0), jr.key(1)
        same(made_once(name)(*keys), made(*MODELS[name])(*keys))

    def test_one_example_compiled_and_batched_agree(self, name):
        world, _ = MODELS[name]
        truth, model = made_once(name)(jr.key(0), jr.key(1))

        @eqx.filter_jit
        def program(model, truth, key):
            data = dataset(world, key, truth, 5)
            call = lambda e: model(model.prepare(e))
            return jax.vmap(call)(data), jax.lax.map(call, data)

        batch, alone = program(model, truth, jr.key(2))
        np.testing.assert_allclose(batch, alone, rtol=1e-5, atol=1e-6)
        assert np.isfinite(np.asarray(batch)).all()

    def test_it_survives_a_save_and_a_load(self, name, tmp_path):
        _, model = made_once(name)(jr.key(0), jr.key(1))
        _, other = made_once(name)(jr.key(0), jr.key(9))
        eqx.tree_serialise_leaves(tmp_path / "model", model)
        same(model, eqx.tree_deserialise_leaves(tmp_path / "model", other))


#: Each measure once, also where it has a second name with its usual settings.
MEASURES = list({(repr(measure_members()[name]), repr(READ[name])): name for name in READ}.values())


@functools.cache
def read_off(where):
    """The model that a measure reads, with its truth."""
    return made(*where)(jr.key(0), jr.key(1))


@pytest.mark.parametrize("name", MEASURES)
def test_measures_are_numbers_of_their_key(name):
    """For several keys at once as for one by itself."""
    measure, where = measure_members()[name], READ[name]
    world, _ = where
    truth, model = read_off(where)

    @eqx.filter_jit
    def program(keys, truth, model):
        read = lambda key: measure(key, world, truth, model)
        return jax.vmap(read)(keys), read(keys[1])

    many, plain = map(jax.tree.leaves, program(jr.split(jr.key(5), 3), truth, model))
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
