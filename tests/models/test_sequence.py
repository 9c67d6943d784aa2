"""Constructions as models of the flow: the same function, a start of training, refusals."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._core.types import Example
from limelight.certificate._claim import read_claim
from limelight.certificate.construction import evaluate
from limelight.experiments import Study
from limelight.measures import Accuracy
from limelight.models import Constructed, Loaded, Sequence, load_construction
from limelight.models.base import split
from limelight.models.construct import construct
from limelight.train.minibatch import Train
from limelight.worlds import Patterns, SparseBoolean, dataset


def started(recipe, world, truth, seed=0):
    return jax.jit(lambda truth: recipe.init(jr.key(seed), world, truth))(truth)


def examples(T, n=40):
    bits = np.random.default_rng(0).integers(0, 2, (n, T))
    tokens = np.stack([1 - bits, bits], axis=-1).astype(np.float32)
    one = lambda t: Example(t, jnp.array(0.0), jnp.ones(T, dtype=bool), jnp.zeros(T, dtype=int))
    return bits, jax.vmap(one)(jnp.asarray(tokens))


@pytest.mark.parametrize("mapping", ["deterministic", "trainable", "bag"])
@pytest.mark.parametrize("heads", ["auto", "many"])
def test_a_file_is_the_same_function_as_a_model(tmp_path, mapping, heads):
    path = tmp_path / "f.safetensors"
    construct("xor", 12, 3, mapping=mapping, heads=heads).save(path)
    bits, batch = examples(12)
    found = jax.jit(jax.vmap(load_construction(path)))(batch)
    assert found == pytest.approx(2 * evaluate(read_claim(path), bits) - 1, abs=1e-3)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("mapping", ["deterministic", "trainable", "bag"])
def test_a_traced_construction_is_the_file(tmp_path, mapping, many):
    positions = (2, 5, 6)
    world = SparseBoolean(length=9, sparsity=3, rule="majority", positions=positions)
    recipe = Constructed(mapping=mapping, many=many)
    recipe.check(world)
    made = started(recipe, world, jnp.array([6, 2, 5]))
    path = tmp_path / "f.safetensors"
    construct(
        "majority", 9, 3, positions=positions, mapping=mapping, heads="many" if many else "one"
    ).save(path)
    kept = load_construction(path)
    for a, b in zip(jax.tree.leaves(made), jax.tree.leaves(kept), strict=True):
        assert np.allclose(a, b, atol=1e-5)


def test_a_rule_that_tells_its_bits_apart_takes_a_head_a_position():
    world = SparseBoolean(length=7, sparsity=3, rule="2e")
    truth = jnp.array([5, 0, 3])
    with pytest.raises(InputError, match="depends on which"):
        Constructed().check(world)
    recipe = Constructed(many=True)
    recipe.check(world)
    net = started(recipe, world, truth)
    data = dataset(world, jr.key(3), truth, 40)
    assert len(np.unique(data.label)) == 2
    assert jax.jit(jax.vmap(net))(data) == pytest.approx(np.asarray(data.label), abs=1e-3)


def test_only_what_the_lemma_trains_is_trained():
    world = SparseBoolean(length=6, sparsity=2, rule="and")
    truth = jnp.array([1, 3])
    for mapping, trained in (("trainable", True), ("deterministic", False), ("bag", False)):
        net = started(Constructed(mapping=mapping), world, truth)
        part, _ = split(net)
        assert (part.positions is not None) == trained
        assert part.symbols is None
        assert part.asking is None
        assert part.heads.query is not None


def test_the_flow_measures_and_trains_from_a_construction(tmp_path):
    path = tmp_path / "f.safetensors"
    positions = (0, 3)
    construct("and", 8, 2, positions=positions).save(path)
    world = SparseBoolean(length=8, sparsity=2, rule="and", positions=positions)
    train = Train(
        steps=4, batch=8, rate=1e-3, examples=16, loss="logistic", optimizer="adam", every=2
    )
    study = Study(world, Loaded(str(path)), train, (Accuracy(64),))
    table = study.sweep({"train.rate": [1e-3]}, trials=2)
    assert table["accuracy"].tolist() == [1.0, 1.0]
    assert (table["training_loss"] < 0.32).all()  # softplus(-1) = 0.313 at the construction


def test_random_starts_learn_and_have_the_norms_of_the_construction():
    world = SparseBoolean(length=6, sparsity=2, rule="and")
    truth = jnp.array([1, 3])
    built = started(Constructed(), world, truth)
    drawn = started(Constructed(start="random"), world, truth)
    for a, b in zip(jax.tree.leaves(built), jax.tree.leaves(drawn), strict=True):
        a, b = np.asarray(a).ravel(), np.asarray(b).ravel()
        assert np.linalg.norm(a) == pytest.approx(np.linalg.norm(b), rel=1e-4)
    net = started(Sequence(width=8, heads=2, hidden=4), world, truth, seed=1)
    _, batch = examples(6)
    weights = jax.jit(jax.vmap(net.attention_from_cls))(batch)
    assert weights.shape == (40, 2, 7)
    assert jnp.sum(weights, axis=-1) == pytest.approx(1.0, abs=1e-5)
    alone = lambda e: net(Example(e.tokens, e.label, e.kept & False, e.roles))
    masked = jax.jit(jax.vmap(alone))(batch)
    assert np.ptp(np.asarray(masked)) < 1e-6  # with every token removed only [CLS] speaks


def test_refusals(tmp_path):
    bits = SparseBoolean(length=8, sparsity=3)
    for recipe in (Sequence(), Constructed()):
        with pytest.raises(InputError, match="bits"):
            recipe.check(Patterns())
    for wrong in (
        Sequence(width=8, heads=3), Sequence(width=2, heads=1), Sequence(hidden=0),
        Constructed(mapping="none"), Constructed(start="none"),
        Constructed(mapping="bag", basis="chirp:3"),
    ):  # fmt: skip
        with pytest.raises(InputError):
            wrong.check(bits)
    path = tmp_path / "f.safetensors"
    construct("and", 8, 3, positions=[1, 2, 3]).save(path)
    with pytest.raises(InputError, match="positions"):
        Loaded(str(path)).check(bits)
    Loaded(str(path)).check(SparseBoolean(length=8, sparsity=3, positions=(1, 2, 3)))
    with pytest.raises(InputError, match="positions"):
        SparseBoolean(length=8, sparsity=3, positions=(1, 2, 9)).check()
