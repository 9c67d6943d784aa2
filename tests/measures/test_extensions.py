"""Measures of appendix G and of two domains, against plain NumPy."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from limelight._core.types import Role
from limelight.measures import DomainAccuracy, GroupGrowth, LuckyGates
from limelight.measures.filters import class_means, nearest
from limelight.models import Extended, FourWay, Shallow
from limelight.worlds import FourClasses, Patterns, Regions, dataset


def test_growth_of_four_groups_by_hand():
    world = FourClasses(tokens=16, patterns=6)
    truth = world.draw(jr.key(0))
    start = FourWay(Shallow(width=40)).init(jr.key(1), world, truth)
    change = jr.normal(jr.key(2), start.weights.output.shape)
    end = eqx.tree_at(lambda m: m.weights.output, start, start.weights.output + change)
    found = GroupGrowth().begin(jr.key(3), world, truth, start)(end)

    mean = np.sign(np.asarray(start.readout)).sum(axis=1)  # bits by neurons
    groups = {(1, 1): 0, (1, -1): 1, (-1, 1): 2, (-1, -1): 3}
    own, neighbour, opposite, largest = [], [], [], []
    for signs, kind in groups.items():
        members = [i for i in range(40) if tuple(np.sign(mean[:, i])) == signs]
        grown = np.asarray(change)[members, :6].mean(axis=0)
        own.append(grown[kind])
        opposite.append(grown[3 - kind])
        neighbour += [grown[k] for k in range(4) if k not in (kind, 3 - kind)]
        largest.append(grown.argmax() == kind)
    assert 0 < (mean == 0).any(axis=0).sum() < 40  # some neurons belong to no group
    for name, values in (
        ("own", own),
        ("neighbour", neighbour),
        ("opposite", opposite),
        ("largest", largest),
    ):
        np.testing.assert_allclose(found[name], np.mean(values), rtol=1e-4, atol=1e-6)


def test_gates_of_lucky_neurons_by_hand():
    world = Patterns(tokens=10, relevant=0.4, confusing=0.2)
    truth = world.draw(jr.key(0))
    recipe = Extended(Shallow(width=24, output_scale=1.0), heads=2)
    start, other = (recipe.init(jr.key(seed), world, truth) for seed in (1, 2))
    end = eqx.tree_at(lambda m: m.weights, start, other.weights)
    found = LuckyGates(4).begin(jr.key(3), world, truth, start)(end)

    rows = np.asarray(start.weights.output).sum(axis=0)[:, :5]
    bias = np.sign(np.asarray(start.readout)).sum(axis=0)
    test = dataset(world, jr.key(3), truth, 4)
    opened, kept = [], []
    for n in range(4):
        example = jax.tree.map(lambda leaf, n=n: leaf[n], test)
        before, after = (np.asarray(m.hidden(example)) >= 0 for m in (start, end))
        wanted = 0 if float(example.label) > 0 else 1
        for i in range(24):
            right = bias[i] > 0 if wanted == 0 else bias[i] < 0
            if rows[i].argmax() != wanted or not right:
                continue
            for l in np.flatnonzero(np.asarray(example.roles) == Role.RELEVANT):
                opened.append(after[l, i])
                kept.append(after[l, i] == before[l, i])
    assert 0 < np.mean(opened) < 1
    np.testing.assert_allclose(found["open"], np.mean(opened), rtol=1e-5)
    np.testing.assert_allclose(found["kept"], np.mean(kept), rtol=1e-5)


def test_what_a_classifier_keeps_from_source_to_target():
    world = Regions(side=4, clusters=3, loud=4.0, share=0.5)
    measure = DomainAccuracy(images=3, dimension=5)
    truth = world.draw(jr.key(0))
    found = {k: float(v) for k, v in measure(jr.key(1), world, truth, None).items()}
    assert set(found) == {
        f"{name}.{part}"
        for name in ("raw", "conv3", "att6", "cos10_masked")
        for part in ("source", "target")
    }
    assert found["raw.source"] > 0.9 > found["raw.target"]  # noise 4 in five dimensions is loud
    quiet = dataclasses.replace(world, share=0.0)
    same = measure(jr.key(1), quiet, truth, None)
    for name in ("raw", "att6"):  # a target without perturbed patches is another source
        assert float(same[f"{name}.target"]) > 0.9


def test_nearest_means_by_hand():
    x = np.random.default_rng(0).normal(size=(2, 6, 3)).astype(np.float32)
    labels = np.array([[0, 1, 2, 0, 1, 2], [2, 2, 1, 1, 0, 0]])
    means = class_means(jnp.asarray(x), jnp.asarray(labels), 3)
    slow = np.stack([x[labels == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(means, slow, rtol=1e-5)
    far = np.linalg.norm(x[:, :, None] - slow, axis=-1)
    np.testing.assert_array_equal(nearest(jnp.asarray(x), means), far.argmin(axis=-1))
