"""The laws that every world, model, measure and statement meets by being listed."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight.experiments.study import measure_name
from limelight.measures import (
    Accuracy,
    AttentionMass,
    FeatureNorms,
    FeatureTurns,
    FreshLoss,
    Invariants,
    KeptTokens,
    LuckyNeurons,
    Margins,
    OutputProjections,
    OwnAttention,
    RoleMass,
    ValueParts,
    ValuePull,
)
from limelight.models import (
    Constructed,
    Convolutional,
    Extended,
    FourWay,
    Positional,
    Sequence,
    Shallow,
    Vision,
)
from limelight.models.base import split
from limelight.papers import KEYS, load
from limelight.theory.base import Bound
from limelight.worlds import (
    Composites,
    FourClasses,
    GaussianPatches,
    Images,
    Patterns,
    PatternSets,
    Sparse,
    SparseBoolean,
    Spatial,
    dataset,
    example,
)

WORLDS = {
    "patterns": Patterns(tokens=16),
    "patterns, noisy": Patterns(tokens=16, noise=0.05),
    "patterns, loud": Patterns(tokens=16, noise=0.01, noisy_share=0.3),
    "patterns, fixed coin": Patterns(tokens=16, positions="fixed", labels="coin"),
    "patterns, no confusion": Patterns(tokens=16, confusing=0.0),
    "pattern sets": PatternSets(Patterns(tokens=16, dimension=20)),
    "four classes": FourClasses(tokens=16, noise=0.05),
    "sparse": Sparse(Patterns(tokens=16), "drop_irrelevant", 9),
    "images": Images(patch=2),
    "images, shuffled": Images(patch=4, cell=4, noise=0.5, noisy_share=0.3, augment="crop"),
    "images, held out": Images(part="test"),
    "composites": Composites(relevant=0.8),
    "composites, spurious": Composites(only=(3, 8), spurious=0.9, augment="flip"),
    "boolean and": SparseBoolean(length=12, sparsity=3),
    "boolean placed": SparseBoolean(length=12, sparsity=2, positions=(3, 7)),
    "spatial grid": Spatial(tokens=16, dimension=5, density=0.5, partition="grid"),
    "spatial random": Spatial(tokens=12, size=3, dimension=5, variance=0.1),
    "gaussian tied": GaussianPatches(),
    "gaussian untied": GaussianPatches(kernel="untied", partition="strided"),
    "boolean majority": SparseBoolean(length=9, sparsity=5, rule="majority", label_noise=0.1),
}
MODELS = {
    "tokens": (Patterns(tokens=16, noise=0.05), Shallow(width=6)),
    "groups": (Patterns(tokens=16), Shallow(width=6, groups=True)),
    "heads and skip": (Patterns(tokens=16), Extended(Shallow(width=6), heads=2, skip=True)),
    "two outputs": (FourClasses(tokens=16), FourWay(Shallow(width=6), separate=True)),
    "scaled start": (Patterns(tokens=16), Shallow(width=6, start="scale", readout="shared")),
    "sequence": (SparseBoolean(length=6, sparsity=2), Sequence(width=8, heads=2, hidden=4)),
    "vision": (Patterns(tokens=16), Vision(width=8, depth=2, heads=2, pool="class")),
    "positional": (Patterns(tokens=16), Vision(width=8, attention="positional", outputs=3)),
    "model (T)": (Spatial(tokens=16, dimension=5), Positional()),
    "model (T), idealized": (Spatial(tokens=16, dimension=5), Positional(start="idealized")),
    "model (T), Gram": (GaussianPatches(), Positional(gram=True, logit_scale=0.25)),
    "convolutional": (Images(patch=2), Convolutional(widths=(4, 6), strides=(1, 2), norm="group")),
    "residual": (Composites(), Convolutional(widths=(4, 8), strides=(1, 2), blocks=1)),
    "constructed": (SparseBoolean(length=6, sparsity=2), Constructed(mapping="bag")),
}
MEASURES = [
    Accuracy(6),
    FreshLoss(6),
    AttentionMass(4),
    RoleMass(4),
    KeptTokens(4),
    FeatureNorms(),
    FeatureTurns(),
    Margins(6),
    OwnAttention(),
    ValueParts(),
    ValuePull(4),
    Invariants(),
    LuckyNeurons(),
    OutputProjections(),
]
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
        data = dataset(world, jr.key(2), world.draw(jr.key(1)), 16)
        assert np.isfinite(np.asarray(data.tokens)).all()
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
        alone = [call(jax.tree.map(lambda leaf, i=i: leaf[i], data)) for i in range(5)]
        np.testing.assert_allclose(batch, jnp.stack(alone), rtol=1e-5, atol=1e-6)
        assert np.isfinite(np.asarray(batch)).all()

    def test_it_survives_a_save_and_a_load(self, name, tmp_path):
        _, _, model = self.make(name)
        eqx.tree_serialise_leaves(tmp_path / "model", model)
        again = eqx.tree_deserialise_leaves(tmp_path / "model", self.make(name, seed=9)[2])
        same(model, again)


@pytest.mark.parametrize("measure", MEASURES, ids=measure_name)
def test_measures_are_scalars_of_their_key(measure):
    world, recipe = MODELS["groups"]
    truth = world.draw(jr.key(0))
    model = recipe.init(jr.key(1), world, truth)
    read = lambda key: measure(key, world, truth, model)
    values = jax.tree.leaves(jax.jit(read)(jr.key(5)))
    assert all(value.shape == () for value in values)
    np.testing.assert_allclose(values, jax.tree.leaves(read(jr.key(5))), rtol=1e-5)
    many = jax.vmap(read)(jr.split(jr.key(6), 3))
    assert all(leaf.shape == (3,) for leaf in jax.tree.leaves(many))


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
        assert set(figure.setups) == {"smoke", "small", "paper"}
        assert figure.claims
        assert figure.statement
        # A question is ours: no paper is made to ask it.
        assert figure.lead.startswith("Asked") == figure.statement.endswith("?")
        for setup in figure.setups.values():
            setup.experiment.check()
