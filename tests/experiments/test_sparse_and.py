"""The fixed-sample protocol: lanes, early rejection and early ends against a slow plain loop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from limelight._core.errors import InputError
from limelight._core.keys import fingerprint, trial_key
from limelight._core.slots import Layout
from limelight._engine.cost import _inner
from limelight._engine.grid import assign
from limelight._engine.lanes import Lanes
from limelight.experiments.sparse_and import SparseAnd
from limelight.models import decoder
from limelight.models.decoder import _forward as forward
from limelight.models.decoder._masks import mix
from limelight.models.decoder._network import decayed
from limelight.models.decoder._update import Clipped, flatten, shape_of
from limelight.train import _decoder as decoders
from limelight.train._holdout import says_one
from limelight.train.losses import two_way_entropy
from limelight.worlds import SparseBoolean
from tests.models import stock_decoder as stock
from tests.models.test_decoder import cliff, exactly

RATE, DIVERGES = 6e-3, 1e30
#: Small enough to train in a moment, and half of its trials succeed.
SMALL = SparseAnd(
    world=SparseBoolean(length=8, sparsity=2, label_noise=0.0),
    iterations=60,
    every=10,
    update=Clipped(rate=RATE, decay=1e-2),
    holdout=400,
    first=100,
    width=16,
    heads=4,
    hidden=16,
    block=8,
    share=0.0,
)
SIZES = 6, 30
AXES = {
    ("examples", "share", "update.rate"): [
        *((m, share, RATE) for share in (0.0, 1.0) for m in SIZES),
        (30, 0.0, DIVERGES),
    ]
}
TRIALS = 6


@pytest.fixture(scope="module")
def begin():
    """Trials with room for 30 examples at their start, compiled once."""

    def start(key, examples, noise):
        settings = {"examples": examples, "world.label_noise": noise, "capacity": 30}
        return assign(SMALL, settings).begin(key)

    return jax.jit(jax.vmap(start, in_axes=(0, 0, None)))


@pytest.fixture(scope="module")
def repairs():
    """Segments that the lanes below ran, and those of which the look was done again."""
    return [0, 0]


@pytest.fixture(scope="module")
def lanes(repairs):
    """Through lanes, with early rejection; half of the cells end at their first success.

    There is room for twice the examples, so padding must move no draw and no flag. Tables are
    trusted up to a gap of 6 only, so that the way round them is taken too.
    """

    def compile_and_count(lanes, more=None):
        compile_(lanes, more)
        for i, name in enumerate(("advance", "repair")):
            setattr(lanes, name, counted(getattr(lanes, name), i))
        return lanes

    def counted(program, i):
        def call(*arguments):
            repairs[i] += 1
            return program(*arguments)

        return call

    compile_ = Lanes.compile
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(forward.SAFE, "float32", 3.0 + float(np.log(9)))
        patch.setattr(Lanes, "compile", compile_and_count)
        roomy = assign(SMALL, {"capacity": 61})
        return roomy.sweep(AXES, trials=TRIALS, shared=("share", "update.rate"), name="small")


@pytest.fixture(scope="module")
def slow(begin):
    """A plain loop: keys and values formed, masks spelled out, optax, every look whole.

    Nothing is shared with the fast way but the draws. Errors and losses are trials by looks.
    """
    undo, _ = shape_of(decoder.init(jr.key(0), 8, 16, 4, 16))
    keep = 0.9

    def course(start):
        bits = start.bits.reshape(-1, start.bits.shape[-1])[:30, :8]
        labels = start.labels.reshape(-1)[:30]
        mine = (jnp.arange(30) < start.examples) / start.examples
        mean = lambda out: jnp.sum(mine * two_way_entropy(out, labels))
        model = undo(start.weights)
        usual = optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.adamw(RATE, weight_decay=1e-2, mask=decayed(model)),
        )

        def loss(model, masks):
            one = lambda b, m: stock.rows(model, b, m, keep, keep)
            return mean(jax.vmap(one)(bits, masks))

        def step(carry, i):
            model, state = carry
            word = mix(jnp.uint32(2) * i + jnp.arange(2, dtype=jnp.uint32), start.drop)
            drawn = decoder.draw(word, jnp.arange(30), 9, 16, keep, keep)
            masks = stock.spelled_out(drawn, model)
            change, state = usual.update(jax.grad(loss)(model, masks), state, model)
            return (optax.apply_updates(model, change), state), None

        def segment(carry, look):
            steps = 10 * look + jnp.arange(10, dtype=jnp.uint32)
            carry, _ = jax.lax.scan(step, carry, steps)
            out = lambda rows: jax.vmap(lambda b: stock.rows(carry[0], b))(rows)
            return carry, (jnp.sum(says_one(out(start.holdout)) != start.answers), mean(out(bits)))

        return jax.lax.scan(segment, (model, usual.init(model)), jnp.arange(6, dtype=jnp.uint32))[1]

    sizes = np.repeat(SIZES, TRIALS)
    words = [jnp.array(fingerprint("small", {"examples": int(m)}), jnp.uint32) for m in sizes]
    numbers = np.tile(np.arange(TRIALS, dtype=np.uint32), 2)
    keys = [
        trial_key(jnp.uint32(0), word, jnp.uint32(t))
        for word, t in zip(words, numbers, strict=True)
    ]
    errors, losses = jax.jit(jax.vmap(course))(begin(jnp.stack(keys), sizes, 0.0))
    return {"examples": sizes, "errors": np.asarray(errors), "loss": np.asarray(losses)}


def test_the_fast_way_leaves_the_flags_of_the_slow_one(lanes, slow):
    errors = slow["errors"]
    # More than 99 % of 400 is fewer than 4 errors; 97.5 % is fewer than 10.
    won = errors < 4
    first = np.where(won.any(axis=1), 10.0 * (won.argmax(axis=1) + 1), np.inf)
    assert 0 < won.any(axis=1).mean() < 1
    for share in (0.0, 1.0):
        rows = lanes.where(**{"share": share, "update.rate": RATE})
        np.testing.assert_array_equal(rows["examples"], slow["examples"])
        np.testing.assert_array_equal(rows["success"], won.any(axis=1))
        np.testing.assert_array_equal(rows["first_success"], first)
        np.testing.assert_array_equal(rows["success_loose"], (errors < 10).any(axis=1))
    early, whole = (lanes.where(**{"share": s, "update.rate": RATE}) for s in (0.0, 1.0))
    np.testing.assert_array_equal(early["iterations_run"], np.minimum(first, 60))
    assert (whole["iterations_run"] == 60).all()
    assert whole["to_the_end"].all()


def test_the_course_is_that_of_the_slow_loop(lanes, slow):
    whole = lanes.where(**{"share": 1.0})
    # Gradients are added up in another order, and 60 steps enlarge that rounding.
    np.testing.assert_allclose(whole["training_loss"], slow["loss"][:, -1], rtol=2e-2)
    np.testing.assert_allclose(whole["lowest_training_loss"], slow["loss"].min(axis=1), rtol=2e-2)


def test_looks_that_tables_are_not_trusted_with_are_done_again(lanes, repairs):
    """Some of the looks above were; a trial that diverges ends there and harms no neighbour."""
    segments, repaired = repairs
    assert 0 < repaired < segments
    lost = lanes.where(**{"update.rate": DIVERGES})
    assert lost["diverged"].all()
    assert (lost["iterations_run"] == 10).all()
    assert not lost["success"].any()
    assert not lanes.where(**{"update.rate": RATE})["diverged"].any()


def test_where_tables_underflow_the_look_is_done_again_and_right():
    """Networks of known scores, at the limit as it is: in float32 their tables are right at a gap
    of 130, wrong at 172 and nothing at 190. Labels are what the networks say in float64.
    """
    one = SparseAnd(
        world=SparseBoolean(length=20, sparsity=2),
        examples=12,
        iterations=2,
        every=1,
        update=Clipped(rate=1e-30),  # weights stay as they are
        holdout=60,
        first=20,
        width=8,
        heads=1,
        hidden=4,
        block=6,
    )
    index = np.arange(6)
    layout = Layout(index // 2, index % 2, index.reshape(3, 2), np.ones((3, 2), bool),
                    np.array(6), np.ones(3, bool))  # fmt: skip
    turned = lambda model: eqx.tree_at(lambda m: m.head, model, model.head[:, ::-1])
    models = [turned(cliff(20, gap, below=2.0)) for gap in (130.0, 172.0, 190.0)]
    start = jax.jit(jax.vmap(one.begin))(jr.split(jr.key(0), 3))
    rows = jnp.concatenate([start.bits.reshape(3, 12, -1)[..., :20], start.holdout], axis=1)
    said = np.diff([exactly(*pair) for pair in zip(models, rows, strict=True)])[..., 0]
    assert (said > 0).any(axis=1).all()  # turned for that: of NaN the label is zero
    start = eqx.tree_at(
        lambda s: (s.weights, s.labels, s.answers),
        start,
        (
            jnp.stack([flatten(model) for model in models]),
            jnp.asarray(said[:, :12] > 0).reshape(start.labels.shape),
            jnp.asarray(said[:, 12:] > 0),
        ),
    )
    moved, broken = jax.jit(one.advance)(start, layout)
    assert bool(broken)
    assert not moved.look.any()
    assert np.isnan(moved.looks.loss).all()
    np.testing.assert_allclose(moved.weights, start.weights, rtol=0, atol=1e-29)

    @jax.jit
    def both_ways(states):
        models, every = one.training.models(states.weights), jnp.ones(3, bool)
        given = models, jax.vmap(decoder.tables)(models), states
        states = one.repair(states, every)
        return one.exam.look(decoder.table, given, every), states, jax.vmap(one.result)(states)

    fast, repaired, left = both_ways(moved)
    loss = np.log1p(np.exp(-np.abs(said[:, :12]))).mean(axis=1)
    off = np.abs(fast.loss / loss - 1)
    assert off[0] < 1e-4
    assert off[1] > 1e-2
    assert np.isnan(off[2])
    assert fast.errors[2] > 0

    now = jax.tree.map(lambda log: np.asarray(log[:, 0]), repaired.looks)
    assert (repaired.look == 1).all()
    assert now.whole.all()
    assert not (now.errors + now.missed).any()
    np.testing.assert_allclose(now.loss, loss, rtol=1e-4)
    assert left["success"].all()
    assert not left["diverged"].any()


def test_noise_is_in_training_labels_alone(begin):
    keys, sizes = jr.split(jr.key(1), 2 * TRIALS), np.full(2 * TRIALS, 30)
    clean, noisy = (begin(keys, sizes, noise) for noise in (0.0, 0.3))
    flips = np.asarray(clean.labels != noisy.labels)
    assert 0.2 < flips.mean() < 0.4
    np.testing.assert_array_equal(clean.answers, noisy.answers)
    np.testing.assert_array_equal(clean.bits, noisy.bits)


def dots(jaxpr):
    """FLOPs of all matrix products in a traced program."""
    total = 0.0
    for eqn in jaxpr.eqns:
        total += sum(map(dots, _inner(eqn)))
        if eqn.primitive.name == "dot_general":
            (left, _), _ = eqn.params["dimension_numbers"]
            depth = np.prod([eqn.invars[0].aval.shape[axis] for axis in left])
            total += 2.0 * eqn.outvars[0].aval.size * depth
    return total


def test_flops_are_those_of_the_products_in_the_program():
    """One block at a length without padding, and a look with the holdout of the first stage."""
    one = SparseAnd(
        world=SparseBoolean(length=63, sparsity=3), examples=20, iterations=10, first=80
    )
    model = jax.eval_shape(one._network, jr.key(0))
    bits, labels = jnp.zeros((20, one.places), bool), jnp.zeros(20, bool)
    drawn = lambda key: decoder.draw(key, jnp.arange(20), one.places, 64, 0.9, 0.9)
    words = jax.eval_shape(drawn, jnp.zeros(2, jnp.uint32))
    given = model, bits, labels, jnp.ones(20), words
    slope = jax.make_jaxpr(jax.grad(one.training.loss))(*given)
    look = lambda model, ready: decoder.table(model, ready, jnp.zeros((100, 63), bool))
    looked = jax.make_jaxpr(look)(model, jax.eval_shape(decoder.tables, model))
    found = 10 * dots(slope.jaxpr) + dots(looked.jaxpr)
    assert one.flops() == pytest.approx(found, rel=0.01)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"iterations": 15}, "choose every to divide iterations"),
        ({"examples": 2.5}, "whole number"),
        ({"first": 500}, "^first = 500"),
        ({"holdout": 0}, "^holdout = 0"),
        ({"capacity": -1}, "^capacity = -1"),
        ({"capacity": 0}, "^capacity = 0"),
        ({"typical": 0.0}, "^typical = 0"),
        ({"typical": -3.0}, "^typical = -3"),
        ({"loose": 0.995}, "loose"),
        ({"success": 1.0}, "success"),
        ({"block": 0}, "block"),
        ({"width": 0}, "width"),
        ({"heads": 0}, "heads"),
        ({"examples": 16_300}, "16128"),
        ({"update.rate": -1.0}, "rate"),
        ({"dropout": 1.0}, "^dropout = 1.0"),
        ({"dropout": 0.9999999}, "^dropout = 0.9999999"),
        ({"embedding_dropout": 1.5}, "^embedding_dropout = 1.5"),
        ({"heads": 5}, "heads"),
        ({"numbers": "float16"}, "numbers"),
        ({"share": 2.0}, "share"),
        ({"world.length": 5000}, "length"),
    ],
)
def test_nonsense_is_refused(setting, word):
    with pytest.raises(InputError, match=word):
        assign(SMALL, setting).check()


def test_trials_side_by_side_take_the_same_steps(monkeypatch):
    """The way of a GPU, without its kernels, beside blocks one by one; some blocks are idle."""
    sizes, most, blocks = (50, 23, 35, 8), 3, 9
    one = SparseAnd(
        world=SparseBoolean(length=20, sparsity=3), examples=50, iterations=20, capacity=50
    )
    starts = [assign(one, {"examples": m}).begin(jr.key(i)) for i, m in enumerate(sizes)]
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
    parts = np.array([-(-m // one.block) for m in sizes])
    ends = np.cumsum(parts)
    idle = np.zeros(blocks - ends[-1], int)
    owner = np.r_[np.repeat(np.arange(4), parts), idle]
    part = np.r_[np.concatenate([np.arange(n) for n in parts]), idle]
    used = np.arange(most)[None] < parts[:, None]
    members = np.where(used, (ends - parts)[:, None] + np.arange(most)[None], 0)
    given = owner, part, members, used, np.array(ends[-1]), np.ones(4, bool)
    layout = Layout(*map(jnp.asarray, given))
    found = []
    for gpu in (False, True):
        monkeypatch.setattr(decoders, "on_gpu", lambda gpu=gpu: gpu)
        monkeypatch.setattr(decoders, "fits", lambda *sizes: False)
        found.append(jax.jit(lambda *given: one.training(*given))(states, layout).weights)
    moved = np.abs(found[0] - states.weights).max(axis=1)
    assert (moved > 5e-3).all()
    assert (np.abs(found[0] - found[1]).max(axis=1) < 1e-3 * moved).all()
