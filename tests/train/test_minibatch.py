"""The trainer against a loop in NumPy, against plain optax, and with and without its shortcuts."""

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
from limelight.models import Shallow
from limelight.models.base import split
from limelight.train.losses import LOSSES, hinge
from limelight.train.minibatch import Train
from limelight.worlds import Patterns, example

WORLD = Patterns(tokens=20, relevant=0.4, confusing=0.1)
RECIPE = Shallow(width=8, output_scale=0.3)


@eqx.filter_jit
def start(world=WORLD, recipe=RECIPE):
    truth = world.draw(jr.key(0))
    return truth, recipe.init(jr.key(1), world, truth)


@eqx.filter_jit
def fit(train, world, truth, model, *look):
    """Train on the data of one key, as one program."""
    return train(jr.key(2), world, truth, model, *look)


@pytest.mark.usefixtures("double")
def test_sgd_is_algorithm_1():
    """Batches drawn with replacement, all four maps updated together, plain steps."""
    train = Train(steps=6, batch=5, rate=0.7, examples=9, every=3)
    truth, model = start()
    ours, record, _ = fit(train, WORLD, truth, model)
    assert int(record.steps) == 6

    k_data, k_batch, _ = named(jr.key(2), "data", "batch", "drop")
    draw = jax.jit(lambda index: example(WORLD, k_data, truth, index))
    pool = [draw(jnp.array(i)) for i in range(9)]
    trained, rest = split(model)
    gradient = jax.jit(jax.grad(lambda t, e: hinge(eqx.combine(t, rest)(e), e.label)))
    for step in range(6):
        u = np.asarray(jr.uniform(jr.fold_in(k_batch, step), (5,)))
        index = np.floor(u * 9).astype(int)
        assert index.max() < 9
        grads = [jax.tree.map(np.asarray, gradient(trained, pool[i])) for i in index]
        mean = jax.tree.map(lambda *g: sum(g) / 5, *grads)
        trained = jax.tree.map(lambda w, g: np.asarray(w) - 0.7 * g, trained, mean)
    for a, b in zip(jax.tree.leaves(trained), jax.tree.leaves(split(ours)[0]), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-10)


def test_adam_with_a_traced_rate_is_plain_adam():
    train = Train(
        steps=40, batch=None, rate=0.01, examples=6, optimizer="adam", loss="logistic", every=40
    )
    truth, model = start()
    run = lambda rate: dataclasses.replace(train, rate=rate)(jr.key(2), WORLD, truth, model)[0]
    ours = jax.jit(run)(jnp.array(0.01))

    k_data = named(jr.key(2), "data")[0]
    pool = jax.jit(jax.vmap(lambda i: example(WORLD, k_data, truth, i)))(jnp.arange(6))
    trained, rest = split(model)
    optimizer = optax.adam(0.01)

    def loss(t):
        out = jax.vmap(eqx.combine(t, rest))(pool)
        return jnp.mean(jax.vmap(LOSSES["logistic"])(out, pool.label))

    @jax.jit
    def step(t, state):
        change, state = optimizer.update(jax.grad(loss)(t), state, t)
        return eqx.apply_updates(t, change), state

    state = jax.jit(optimizer.init)(trained)
    for _ in range(40):
        trained, state = step(trained, state)
    for a, b in zip(jax.tree.leaves(trained), jax.tree.leaves(split(ours)[0]), strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("batch", [4, None])
def test_room_for_more_examples_changes_nothing(batch):
    truth, model = start()
    train = Train(steps=10, batch=batch, examples=5, every=10)
    small = fit(train, WORLD, truth, model)
    roomy = fit(dataclasses.replace(train, capacity=17), WORLD, truth, model)
    for a, b in zip(jax.tree.leaves(small), jax.tree.leaves(roomy), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)


def test_early_exit_changes_nothing_but_the_steps():
    world = Patterns(tokens=20, relevant=0.5, confusing=0.0)
    recipe = Shallow(width=20, groups=True)
    truth, model = start(world, recipe)
    look = lambda net: {"size": jnp.linalg.norm(net.weights.value)}
    train = Train(steps=300, batch=8, rate=1.0, examples=6, every=10)
    early = fit(train, world, truth, model, look)
    full = fit(dataclasses.replace(train, early_exit=False), world, truth, model, look)
    assert int(early[1].steps) < int(full[1].steps) == 300
    assert float(early[1].loss) == 0.0
    for a, b in zip(jax.tree.leaves(early[0]), jax.tree.leaves(full[0]), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(early[2]["size"], full[2]["size"])
    assert early[2]["size"].shape == (31,)
    assert early[2]["size"][0] != early[2]["size"][1]


def test_a_diverging_trial_is_flagged_and_harms_no_neighbour():
    truth, model = start()
    train = Train(steps=20, batch=4, examples=6, every=5)

    @jax.jit
    @jax.vmap
    def run(rate):
        net, record, _ = dataclasses.replace(train, rate=rate)(jr.key(2), WORLD, truth, model)
        return split(net)[0], record

    together = run(jnp.array([0.5, 1e30, 0.5]))
    assert np.asarray(together[1].diverged).tolist() == [False, True, False]
    calm = run(jnp.array([0.5, 0.5, 0.5]))
    for a, b in zip(jax.tree.leaves(together[0]), jax.tree.leaves(calm[0]), strict=True):
        np.testing.assert_array_equal(np.asarray(a)[[0, 2]], np.asarray(b)[[0, 2]])
        assert np.isfinite(np.asarray(a)).all()


def test_divergence_is_for_good_with_or_without_early_exit():
    truth, model = start()
    rates = jnp.array([0.5, 2.0, 20.0, 200.0, 2e3, 2e4, 1e30])
    outcomes = []
    for early in (True, False):
        train = Train(steps=40, batch=4, examples=6, every=5, early_exit=early)

        def run(rate, train=train):
            net, record, _ = dataclasses.replace(train, rate=rate)(jr.key(2), WORLD, truth, model)
            return split(net)[0], record.diverged

        outcomes.append(jax.jit(jax.vmap(run))(rates))
    for a, b in zip(*map(jax.tree.leaves, outcomes), strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.asarray(outcomes[0][1]).any()


def test_a_loss_that_overflows_is_a_divergence_even_when_the_weights_are_finite():
    truth, model = start()
    maps = lambda m: (m.weights.output, m.weights.value)
    huge = eqx.tree_at(maps, model, tuple(1e30 * w for w in maps(model)))  # their product is not
    train = Train(steps=5, batch=4, rate=1e-38, examples=6, every=5)
    trained, record, _ = fit(train, WORLD, truth, huge)
    assert bool(record.diverged)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(split(trained)[0]))


def test_the_kink_of_the_hinge_has_no_gradient():
    assert float(jax.grad(hinge)(jnp.array(1.0), jnp.array(1.0))) == 0.0
    assert float(jax.grad(hinge)(jnp.array(0.999), jnp.array(1.0))) == -1.0


@pytest.mark.parametrize(
    ("train", "word"),
    [
        (Train(steps=0), "steps"),
        (Train(batch=0), "batch"),
        (Train(rate=-1.0), "rate"),
        (Train(examples=0), "examples"),
        (Train(steps=10, every=3), "multiple"),
        (Train(examples=9, capacity=4), "capacity"),
        (Train(loss="square"), "cannot be"),
        (Train(optimizer="lion"), "cannot be"),
    ],
)
def test_nonsense_is_refused(train, word):
    with pytest.raises(InputError, match=word):
        train.check()
