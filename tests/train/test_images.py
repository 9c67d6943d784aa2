"""The course against optax's own optimizers and a schedule written out."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from limelight._core.errors import InputError
from limelight.models import Vision
from limelight.models.base import split
from limelight.train.images import ImageTraining, decays
from limelight.train.losses import cross_entropy
from limelight.worlds import Images, Patterns


def test_the_rate_rises_in_a_line_and_falls_as_a_cosine():
    course = ImageTraining(steps=110, warmup=10, rate=0.2, floor=0.1)
    assert [float(course.pace(s)) for s in (0, 4, 9)] == pytest.approx([0.02, 0.1, 0.2])
    for step in (10, 35, 60, 110):
        cosine = 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (step - 10) / 100))
        assert float(course.pace(step)) == pytest.approx(0.2 * cosine, rel=1e-5)
    plain = ImageTraining(steps=50, rate=0.3)
    want = optax.cosine_decay_schedule(0.3, 50)
    for step in (0, 7, 49):
        assert float(plain.pace(step)) == pytest.approx(float(want(step)), rel=1e-5)


def test_cross_entropy_by_hand():
    output, label = jnp.array([1.0, 2.0, -1.0]), jnp.array([-1.0, 1.0, -1.0])
    weights = np.exp(output) / np.exp(output).sum()
    assert float(cross_entropy(output, label)) == pytest.approx(-math.log(weights[1]), rel=1e-5)
    mixed = 0.1 / 3 * np.log(weights).sum() + 0.9 * math.log(weights[1])
    assert float(cross_entropy(output, label, 0.1)) == pytest.approx(-mixed, rel=1e-5)


@pytest.mark.parametrize(
    ("course", "reference"),
    [
        (
            ImageTraining(steps=9, decay=0.1),
            lambda rate: optax.adamw(rate, weight_decay=0.1, mask=decays),
        ),
        (
            ImageTraining(steps=9, decay=0.1, optimizer="sgd", clip=0.5),
            lambda rate: optax.chain(
                optax.clip_by_global_norm(0.5),
                optax.add_decayed_weights(0.1, mask=decays),
                optax.sgd(rate, momentum=0.9, nesterov=True),
            ),
        ),
    ],
)
def test_updates_are_those_of_optax(course, reference):
    recipe = Vision(width=4, heads=2, hidden=4, pool="class")
    trained, _ = split(recipe.init(jr.key(0), Patterns(tokens=4), None))
    gradient = jax.tree.map(lambda leaf: jnp.cos(leaf + 1.0), trained)
    one, two = course.optimiser(), reference(course.pace)

    @jax.jit
    def both(trained, gradient):
        states = one.init(trained), two.init(trained)
        found = []
        for _ in range(3):
            a, s = one.update(gradient, states[0], trained)
            b, t = two.update(gradient, states[1], trained)
            states, found = (s, t), [*found, (a, b)]
        return found

    for a, b in both(trained, gradient):
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_two_vectors_train_as_many_arrays_do(optimizer, monkeypatch):
    world = Images(patch=2)
    course = ImageTraining(4, 8, 1e-2, optimizer=optimizer, clip=0.1, decay=0.5, numbers="bfloat16")
    start = Vision(width=8, depth=2, heads=2, hidden=8).init(jr.key(0), world, None)
    train = lambda: jax.jit(lambda key: course(key, world, world.draw(key), start))(jr.key(1))
    vectors = train()
    monkeypatch.setattr(ImageTraining, "_packed", lambda _, trained: (trained, lambda w: w, None))
    arrays = train()
    np.testing.assert_allclose(vectors.losses, arrays.losses, rtol=1e-3)
    for x, y, z in zip(*map(jax.tree.leaves, (vectors.model, arrays.model, start)), strict=True):
        assert jnp.linalg.norm(x - y) < 0.05 * jnp.linalg.norm(y - z) + 1e-6


def test_matrices_decay_and_nothing_else():
    model = Vision(width=4, heads=2, pool="class").init(jr.key(0), Patterns(tokens=4), None)
    trained, _ = split(model)
    mask = decays(trained)
    assert mask.embed.weight
    assert mask.blocks[0].attention.query.weight
    still = (mask.positions, mask.class_token, mask.norm.gain, mask.embed.bias)
    assert not any(still)


def test_a_course_uses_the_examples_it_is_given():
    world = Images()
    assert [int(ImageTraining(examples=n).size(world)) for n in (0, 1, 700)] == [1400, 1, 700]


@pytest.mark.parametrize(
    "change",
    [{"steps": 0}, {"rate": 0.0}, {"examples": 5000}, {"warmup": 2000}, {"optimizer": "adam"},
     {"smoothing": 1.0}],
)  # fmt: skip
def test_bad_settings_are_refused(change):
    with pytest.raises(InputError):
        dataclasses.replace(ImageTraining(), **change).check(Images())
