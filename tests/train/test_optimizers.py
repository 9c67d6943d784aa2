"""Optimizers and losses by name and of one's own: their steps, their identity, what is refused."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from limelight._core.errors import InputError
from limelight._core.keys import named
from limelight._core.types import Example
from limelight._identity.description import describe, digest
from limelight.models import Model
from limelight.train import ImageTraining, Train
from limelight.train.losses import check_loss, hinge
from limelight.train.optimizers import check_optimizer, make_optimizer
from limelight.worlds import Images, World


class Line(World):
    """Two numbers and the sign of their sum."""

    def sample(self, key, truth, index):
        tokens = jr.normal(key, (2, 1))
        return Example(tokens, jnp.sign(jnp.sum(tokens)))


class Plane(Model):
    """A weight for each number."""

    weights: jax.Array

    def __call__(self, example, key=None):
        return self.weights @ example.tokens[:, 0]


def squares(output, example):
    """A loss that reads more of an example than its label."""
    return (output - jnp.sum(example.tokens)) ** 2


START = Plane(jnp.array([0.5, -0.2]))


def weights_after(train, start=START):
    return jax.jit(lambda: train(jr.key(1), Line(), None, start)[0].weights)()


@pytest.mark.parametrize(
    ("name", "options", "reference"),
    [
        ("sgd", {}, optax.sgd(0.1)),
        ("adam", {}, optax.adam(0.1)),
        ("adamw", {"decay": 0.3}, optax.adamw(0.1, weight_decay=0.3)),
        ("sgd", {"momentum": 0.9}, optax.sgd(0.1, momentum=0.9, nesterov=True)),
        ("sgd", {"clip": 0.1}, optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(0.1))),
    ],
)
def test_names_are_optimizers_of_optax(name, options, reference):
    ours, w = make_optimizer(name, 0.1, **options), jnp.array([1.0, -2.0])
    states = [ours.init(w), reference.init(w)]
    for gradient in (jnp.array([0.5, 0.1]), jnp.array([-0.2, 0.3])):
        moves = []
        for k, optimizer in enumerate((ours, reference)):
            move, states[k] = optimizer.update(gradient, states[k], w)
            moves.append(move)
        np.testing.assert_array_equal(*moves)


def test_an_own_loss_and_an_own_optimizer_step_by_step():
    train = Train(
        steps=4, batch=None, examples=3, every=2, loss=squares,
        optimizer=lambda rate: optax.sgd(rate, momentum=0.5), rate=0.05,
    )  # fmt: skip
    train.check()
    k_data = named(jr.key(1), "data")[0]
    pool = np.stack([np.asarray(jr.normal(jr.fold_in(k_data, i), (2,))) for i in range(3)])
    w, speed = np.array([0.5, -0.2]), np.zeros(2)
    for _ in range(4):
        speed = 0.5 * speed + 2 * pool.T @ (pool @ w - pool.sum(axis=1)) / 3
        w = w - 0.05 * speed
    np.testing.assert_allclose(weights_after(train), w, rtol=1e-4)
    finished = dataclasses.replace(train, optimizer=optax.sgd(0.05, momentum=0.5), rate=1.0)
    finished.check()
    np.testing.assert_allclose(weights_after(finished), w, rtol=1e-4)


def test_only_known_flat_losses_without_memory_stop_at_zero():
    right = Plane(jnp.array([50.0, 50.0]))  # every margin of these few examples is above 1
    never = lambda output, example: hinge(output, example.label)
    steps = lambda **change: int(
        Train(steps=8, examples=4, every=2, **change)(jr.key(1), Line(), None, right)[1].steps
    )
    assert steps() == 2
    assert steps(loss=never) == 8
    assert steps(optimizer=optax.sgd) == 8
    assert steps(optimizer="adam") == 8


def test_a_study_knows_its_optimizer_and_its_loss():
    optimizers = [
        "sgd",
        optax.sgd,
        optax.sgd(0.1),
        optax.sgd(0.2),
        optax.sgd(0.1, momentum=0.0),
        optax.sgd(0.1, momentum=0.9),
        optax.sgd(optax.cosine_decay_schedule(0.1, 10)),
        optax.sgd(optax.cosine_decay_schedule(0.1, 20)),
        optax.sign_sgd(0.1),
        optax.MultiSteps(optax.sgd(0.1), 2).gradient_transformation(),
        optax.MultiSteps(optax.sgd(0.1), 3).gradient_transformation(),
        lambda rate: optax.sgd(rate, momentum=0.8),
        lambda rate: optax.sgd(rate, momentum=0.9),
    ]
    names = [digest(describe(Train(optimizer=optimizer))) for optimizer in optimizers]
    assert len(set(names)) == len(names)
    again = digest(describe(Train(optimizer=optax.sgd(0.1, momentum=0.9))))
    assert again == names[5]


def test_an_edited_loss_is_another_study():
    def made(text):
        space = {"__name__": "a_notebook", "jnp": jnp}
        exec(f"def loss(output, example):\n    return {text}", space)
        return digest(describe(Train(loss=space["loss"])))

    once, twice = (made("(output - example.label) ** 2") for _ in range(2))
    assert once == twice
    assert made("(output - example.label) ** 4") != once
    assert made("jnp.abs(output - example.label)") != once


@pytest.mark.parametrize(
    ("train", "word"),
    [
        (Train(loss=hinge), "name it: 'hinge'"),
        (Train(optimizer=optax.sgd(0.1), rate=0.1), "function of the rate"),
        (Train(decay=0.1), "train.decay = 0.1"),
    ],
)
def test_what_makes_no_sense_is_refused(train, word):
    with pytest.raises(InputError, match=word):
        train.check()


def test_what_is_neither_a_name_nor_a_function_is_refused():
    with pytest.raises(InputError, match="train.loss = 0.5"):
        check_loss("train.loss", 0.5)
    with pytest.raises(InputError, match="train.optimizer = 0.5"):
        check_optimizer("train.optimizer", 0.5)


def test_images_take_any_optimizer_too():
    world = Images()
    ImageTraining(optimizer=optax.sgd(0.1), rate=1.0).check(world)
    ImageTraining(optimizer=optax.lion).check(world)
    for bad in (
        ImageTraining(optimizer=optax.sgd(0.1)),
        ImageTraining(optimizer=optax.lion, clip=1.0),
    ):
        with pytest.raises(InputError):
            bad.check(world)


def test_an_optimizer_is_no_leaf_of_a_program():
    leaves = jax.tree.leaves(eqx.filter(Train(optimizer=optax.sgd(0.1)), eqx.is_array_like))
    assert all(isinstance(leaf, int | float) for leaf in leaves)
