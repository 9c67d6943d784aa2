"""The fixed-sample protocol: lanes, early rejection and early ends against a slow plain loop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from limelight.core.errors import InputError
from limelight.core.keys import fingerprint, trial_key
from limelight.models import decoder
from limelight.models.decoder.masks import mix
from limelight.models.decoder.network import decayed
from limelight.models.decoder.update import Clipped, flatten, shape_of
from limelight.papers.edelman2022.learning import Learning, cross_entropy, says_one
from limelight.study.grid import assign
from limelight.worlds import SparseBoolean

#: Small enough to train in a moment, and half of its trials succeed.
SMALL = Learning(
    world=SparseBoolean(length=8, sparsity=2, label_noise=0.0),
    iterations=60,
    every=10,
    update=Clipped(rate=6e-3, decay=1e-2),
    holdout=400,
    first=100,
    width=16,
    heads=4,
    hidden=16,
    block=8,
    share=0.0,
)
AXES = {"examples": [6, 30], "share": [0.0, 1.0]}
TRIALS = 6


@pytest.fixture(scope="module")
def lanes():
    """Through lanes, with early rejection; half of the cells end at their first success."""
    return SMALL.sweep(AXES, trials=TRIALS, shared=("share",), name="small")


@pytest.fixture(scope="module")
def plain():
    """Every trial by itself: to the end, every look at the whole holdout, curves kept.

    With room for twice the examples, so that padding them must move no draw and no flag.
    """
    whole = assign(SMALL, {"first": 400, "curves": True, "share": 1.0, "capacity": 61})

    def one(examples, word, trial):
        key = trial_key(jnp.uint32(0), word, trial)
        return assign(whole, {"examples": examples}).trial(key)

    words = [fingerprint("small", {"examples": m}) for m in AXES["examples"]]
    rows = [(m, w, t) for m, w in zip(AXES["examples"], words, strict=True) for t in range(TRIALS)]
    m, w, t = (np.array(part) for part in zip(*rows, strict=True))
    found = jax.jit(jax.vmap(one))(m, w.astype(np.uint32), t.astype(np.uint32))
    return {"examples": m, **{name: np.asarray(column) for name, column in found.items()}}


@pytest.fixture(scope="module")
def begin():
    """Trials of 30 examples at their start, from keys and a label noise, compiled once."""
    whole = assign(SMALL, {"examples": 30, "capacity": 30})
    start = lambda key, noise: assign(whole, {"world.label_noise": noise}).begin(key)
    return jax.jit(jax.vmap(start, in_axes=(0, None)))


def test_lanes_and_early_rejection_leave_the_flags_as_they_are(lanes, plain):
    assert 0 < plain["success"].mean() < 1
    for share in (0.0, 1.0):
        rows = lanes.where(share=share)
        np.testing.assert_array_equal(rows["examples"], plain["examples"])
        for name in ("success", "success_loose", "first_success"):
            np.testing.assert_array_equal(rows[name], plain[name])
    ends = lanes.where(share=1.0)
    assert ends["to_the_end"].all()
    assert (ends["iterations_run"] == 60).all()
    for name in ("fitted", "memorised"):
        np.testing.assert_array_equal(ends[name], plain[name])
    # Gradients are added up in another order, and 60 steps enlarge that rounding.
    np.testing.assert_allclose(ends["training_loss"], plain["training_loss"], rtol=2e-2)
    early = lanes.where(share=0.0)
    stopped = np.where(plain["success"], plain["first_success"], 60)
    np.testing.assert_array_equal(early["iterations_run"], stopped)


def test_the_course_is_that_of_a_slow_loop(plain, begin):
    """Keys and values formed, masks spelled out, optax; nothing shared but the draws."""
    row = TRIALS + 2  # 30 examples
    key = trial_key(
        jnp.uint32(0), jnp.array(fingerprint("small", {"examples": 30}), jnp.uint32), jnp.uint32(2)
    )
    start = jax.tree.map(lambda leaf: leaf[0], begin(jnp.stack([key, key]), 0.0))
    undo, _ = shape_of(decoder.init(jr.key(0), 8, 16, 4, 16))
    bits = start.bits.reshape(-1, start.bits.shape[-1])[:30, :8]
    labels = start.labels.reshape(-1)[:30]
    keep = 0.9

    def loss(model, masks):
        one = lambda b, *m: decoder.cls_row(model, b, decoder.Dropout(*m, keep, keep))
        return jnp.mean(cross_entropy(jax.vmap(one)(bits, *masks), labels))

    model = undo(start.weights)
    usual = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(6e-3, weight_decay=1e-2, mask=decayed(model)),
    )

    @jax.jit
    def step(model, state, i):
        word = mix(jnp.uint32(2) * i + jnp.arange(2, dtype=jnp.uint32), start.drop)
        drawn = decoder.draw(word, jnp.arange(30), 9, 16, keep, keep)
        masks = decoder.as_dropout(drawn, model, keep, keep)[:4]
        change, state = usual.update(jax.grad(loss)(model, masks), state, model)
        return optax.apply_updates(model, change), state

    @jax.jit
    def look(model):
        out = lambda rows: jax.vmap(lambda b: decoder.cls_row(model, b))(rows)
        right = says_one(out(start.holdout)) == start.answers
        return jnp.mean(right.astype(float)), jnp.mean(cross_entropy(out(bits), labels))

    state = usual.init(model)
    for i in range(20):
        model, state = step(model, state, jnp.uint32(i))
        if (i + 1) % 10 == 0:
            accuracy, fit = look(model)
            at = i // 10
            assert float(accuracy) == pytest.approx(plain["trace.accuracy"][row, at], abs=0.0051)
            assert float(fit) == pytest.approx(plain["trace.loss"][row, at], rel=1e-3)


def test_a_look_that_tables_cannot_be_trusted_with_is_repaired(begin):
    """Keys so long that scores differ by thousands: tables are void, the look is not."""
    study = assign(SMALL, {"examples": 30, "capacity": 30, "first": 400})
    states = begin(jr.split(jr.key(0), 2), 0.0)
    undo, _ = shape_of(decoder.init(jr.key(0), 8, 16, 4, 16))
    long = lambda m: eqx.tree_at(
        lambda m: (m.key.weight, m.query.weight), m, (3e3 * m.key.weight, 3e3 * m.query.weight)
    )
    weights = jax.jit(jax.vmap(lambda w: flatten(long(undo(w)))))(states.weights)
    states = eqx.tree_at(lambda s: s.weights, states, weights)

    @jax.jit
    def both(states):
        ready = jax.vmap(lambda w: decoder.tables(undo(w)))(states.weights)
        return study.repair(states), ready.gap, jax.vmap(lambda t: t.is_safe())(ready)

    seen, gap, safe = both(states)
    assert (gap > 200).all()
    assert not safe.any()
    rows = lambda w, s: jax.vmap(lambda b: decoder.cls_row(undo(w), b))(s.holdout)
    out = jax.jit(jax.vmap(rows))(states.weights, states)
    wrong = np.sum(np.asarray(out[..., 1] > out[..., 0]) != np.asarray(states.answers), axis=1)
    np.testing.assert_array_equal(seen.looks.errors[:, 0], wrong)
    assert seen.look.tolist() == [1, 1]
    # And the fast way leaves such a look alone.
    untouched = study._record(states, jax.tree.map(lambda x: x[:, 0], seen.looks), jnp.array(False))
    assert untouched.look.tolist() == [0, 0]


def test_noise_is_in_training_labels_alone(begin):
    clean, noisy = (begin(jr.split(jr.key(1), 2), noise) for noise in (0.0, 0.3))
    flips = np.asarray(clean.labels != noisy.labels)
    assert 0.1 < flips.mean() < 0.5
    np.testing.assert_array_equal(clean.answers, noisy.answers)
    np.testing.assert_array_equal(clean.bits, noisy.bits)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"iterations": 15}, "looks must divide"),
        ({"examples": 2.5}, "whole number"),
        ({"first": 500}, "first"),
        ({"dropout": 1.0}, "dropout"),
        ({"embedding_dropout": 1.5}, "dropout"),
        ({"heads": 5}, "heads"),
        ({"numbers": "float16"}, "numbers"),
        ({"share": 2.0}, "share"),
        ({"world.length": 5000}, "length"),
    ],
)
def test_nonsense_is_refused(setting, word):
    with pytest.raises(InputError, match=word):
        assign(SMALL, setting).check()
