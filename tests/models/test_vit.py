"""The ViT against loops written by hand, and the symmetries that positions leave it."""

import dataclasses
import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._core.types import Example
from limelight.models import Vision, ViT
from limelight.models.base import split
from limelight.train.losses import logistic
from limelight.train.minibatch import Train
from limelight.worlds import Patterns, SparseBoolean, dataset

WORLD = Patterns(tokens=9, dimension=6, patterns=4, noise=0.3)
RECIPES = {
    "mean": Vision(width=8, depth=2, heads=2, hidden=12),
    "class": Vision(width=8, depth=2, heads=2, hidden=12, pool="class", outputs=3),
    "sum": Vision(width=8, heads=4, pool="sum", qkv_bias=False),
    "positional": Vision(width=8, depth=2, heads=2, attention="positional"),
}

#: Compiled whole: one by one, the operations of a first call take seconds.
read = eqx.filter_jit(lambda model, e, scores=None: model.read(e, scores))


@functools.cache
def make(name: str, seed: int = 1) -> ViT:
    RECIPES[name].check(WORLD)
    return eqx.filter_jit(shaken)(RECIPES[name], jr.key(seed))


def shaken(recipe: Vision, key) -> ViT:
    """Away from the start, so that no gain, bias or shift is idle."""
    trained, rest = split(recipe.init(key, WORLD, None))
    leaves, shape = jax.tree.flatten(trained)
    keys = jr.split(jr.fold_in(key, 1), len(leaves))
    moved = [leaf + 0.3 * jr.normal(k, leaf.shape) for leaf, k in zip(leaves, keys, strict=True)]
    return eqx.combine(jax.tree.unflatten(shape, moved), rest)


@functools.cache
def examples(count: int = 3) -> Example:
    return jax.jit(lambda k: dataset(WORLD, k, WORLD.draw(jr.key(4)), count))(jr.key(5))


def one(index: int = 0, kept=None) -> Example:
    found = jax.tree.map(lambda leaf: leaf[index], examples())
    return found if kept is None else dataclasses.replace(found, kept=jnp.asarray(kept))


def by_hand(model: ViT, tokens, kept) -> np.ndarray:
    """One token, one head, one key at a time; removed tokens are not there at all."""
    f = lambda leaf: np.asarray(leaf, dtype=np.float64)
    apply = lambda a, x: x @ f(a.weight) + (0 if a.bias is None else f(a.bias))

    def normed(n, x):
        return (x - x.mean()) / math.sqrt(x.var() + n.epsilon) * f(n.gain) + f(n.shift)

    rows = [apply(model.embed, x) for x, there in zip(f(tokens), kept, strict=True) if there]
    P, there = f(model.positions), list(kept)
    if model.class_token is not None:
        rows, there = [f(model.class_token), *rows], [True, *there]
    P = [p for p, here in zip(P, there, strict=True) if here]
    if model.place_norm is None:
        rows = [row + p for row, p in zip(rows, P, strict=True)]
    else:
        P = [normed(model.place_norm, p) for p in P]
    for block in model.blocks:
        att, fresh = block.attention, []
        size = len(rows[0]) // att.heads
        read = [normed(block.norm_attention, row) for row in rows]
        source = read if model.place_norm is None else P
        for i, row in enumerate(rows):
            parts = []
            for h in range(att.heads):
                cut = slice(h * size, (h + 1) * size)
                q = apply(att.query, source[i])[cut]
                scores = np.array([q @ apply(att.key, s)[cut] for s in source]) / math.sqrt(size)
                weights = np.exp(scores - scores.max())
                weights /= weights.sum()
                values = [apply(att.value, x)[cut] for x in read]
                parts.append(sum(w * v for w, v in zip(weights, values, strict=True)))
            row = row + apply(att.output, np.concatenate(parts))
            hidden = apply(block.into, normed(block.norm_mlp, row))
            gelu = np.array([0.5 * h * (1 + math.erf(h / math.sqrt(2))) for h in hidden])
            fresh.append(row + apply(block.out, gelu))
        rows = fresh
    rows = [normed(model.norm, row) for row in rows]
    pooled = {"class": rows[0], "mean": np.mean(rows, axis=0), "sum": np.sum(rows, axis=0)}
    return apply(model.head, pooled[model.pool])


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("kept", [[True] * 9, [True, False] * 4 + [True]], ids=["all", "some"])
def test_the_output_is_that_of_loops(name, kept):
    model, e = make(name), one(kept=kept)
    want = by_hand(model, e.tokens, kept)
    np.testing.assert_allclose(np.ravel(read(model, e).output), want, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", RECIPES)
def test_attention_is_a_value_and_leaves_removed_tokens_out(name):
    model, kept = make(name), np.array([True] * 6 + [False] * 3)
    found = read(model, one(kept=kept))
    first = len(model.positions) - 9
    for S in found.attention:
        np.testing.assert_allclose(S.sum(-1), 1, atol=1e-5)
        assert (np.asarray(S)[..., first:][..., ~kept] == 0).all()
    assert model.attention(one(kept=kept)).shape == (9, 9)
    assert len(found.tokens) == len(model.blocks) + 1


def test_positional_attention_is_the_same_for_every_input():
    model = make("positional")
    a, b = (read(model, one(i)).attention for i in (0, 1))
    for S, T in zip(a, b, strict=True):
        np.testing.assert_array_equal(S, T)
    vanilla = make("mean")
    assert np.abs(np.asarray(vanilla.attention(one(0)) - vanilla.attention(one(1)))).max() > 1e-3


def test_positional_attention_is_computed_once_a_batch():
    """No intermediate of the batched program is examples x heads x tokens x tokens."""
    batch = 7
    data = examples(batch)
    shapes = {}
    for name in ("positional", "mean"):
        model = make(name)
        program = jax.make_jaxpr(jax.vmap(model))(data)
        found = {v.aval.shape for eqn in program.jaxpr.eqns for v in eqn.outvars}
        shapes[name] = (batch, 2, 9, 9) in found
    assert shapes == {"positional": False, "mean": True}


@pytest.mark.parametrize("name", ["mean", "sum", "positional"])
def test_permuted_patches_with_permuted_positions_say_the_same(name):
    model, e = make(name), one(kept=[True] * 7 + [False] * 2)
    order = jnp.array([3, 1, 8, 0, 2, 7, 5, 6, 4])
    moved = eqx.tree_at(lambda m: m.positions, model, model.positions[order])
    shuffled = dataclasses.replace(e, tokens=e.tokens[order], kept=e.kept[order])
    np.testing.assert_allclose(
        read(moved, shuffled).output, read(model, e).output, rtol=1e-4, atol=1e-5
    )
    if name != "sum":  # one block and small positions: the effect may be slight
        assert abs(float(read(model, shuffled).output - read(model, e).output)) > 1e-4


@pytest.mark.parametrize("name", ["class", "mean", "positional"])
def test_gathering_the_kept_patches_is_masking_the_others(name):
    model, e = make(name), one()
    scores = jnp.array([3.0, 9, 1, 8, 2, 7, 0, 6, 5])
    pruned = read(dataclasses.replace(model, keep=((0, 4),)), e, scores)
    first = len(model.positions) - 9
    chosen = sorted(np.argsort(-np.asarray(scores))[:4].tolist())
    want = [*range(first), *(first + i for i in chosen)]
    assert pruned.index[1].tolist() == want
    assert pruned.tokens[1].shape == (4 + first, 8)
    # Masking from the second block on, by the blocks themselves.
    kept = np.zeros(9 + first, dtype=bool)
    kept[want] = True
    places = None if model.place_norm is None else model.place_norm(model.positions)
    x, _ = model.blocks[0](read(model, e).tokens[0], jnp.ones(9 + first, bool), places)
    x, _ = model.blocks[1](x, jnp.asarray(kept), places)
    np.testing.assert_allclose(
        model._out(x, jnp.asarray(kept)), pruned.output, rtol=1e-4, atol=1e-5
    )


def test_attention_chooses_what_the_pool_looks_at():
    model, e = make("class"), one(kept=[False] + [True] * 8)
    found = read(dataclasses.replace(model, keep=((0, 3),)), e)
    received = np.asarray(found.attention[0].mean(0)[0, 1:])
    want = sorted((np.argsort(-received, kind="stable")[:3] + 1).tolist())
    assert found.index[1].tolist() == [0, *want]
    assert 1 not in want  # a removed patch receives nothing
    whole = dataclasses.replace(model, keep=((0, 9),))
    np.testing.assert_allclose(read(whole, e).output, read(model, e).output, rtol=1e-5, atol=1e-6)


def test_dropped_branches_change_training_only_and_nothing_on_average():
    model = dataclasses.replace(make("mean"), drop_path=0.4)
    block = model.blocks[1]
    weights = np.asarray(jax.vmap(lambda k: model._weights(k, 1))(jr.split(jr.key(0), 200)))
    assert np.unique(weights) == pytest.approx([0.0, 1 / 0.6])
    assert weights.mean() == pytest.approx(1.0, abs=0.15)
    assert model._weights(None, 1) is None  # no key: no training
    assert model._weights(jr.key(0), 0) is None  # the first block stays
    x, kept = jnp.ones((9, 8)), jnp.ones(9, bool)
    np.testing.assert_array_equal(block(x, kept, None, jnp.zeros(2))[0], x)


@pytest.mark.slow
def test_it_trains_on_the_engine():
    world = Patterns(tokens=9, dimension=6, patterns=4)
    truth = world.draw(jr.key(0))
    start = Vision(width=8, heads=2, hidden=8).init(jr.key(1), world, truth)
    train = Train(steps=60, batch=16, rate=0.01, examples=32, loss="logistic", optimizer="adam")
    model, record, _ = train(jr.key(2), world, truth, start)
    data = dataset(world, jr.key(3), truth, 16)
    loss = lambda m: float(jnp.mean(jax.vmap(lambda e: logistic(m(e), e.label))(data)))
    assert not record.diverged
    assert loss(model) < 0.3 < loss(start)


@pytest.mark.parametrize(
    ("recipe", "world", "says"),
    [
        (Vision(width=10, heads=4), WORLD, "do not share"),
        (Vision(attention="positional", pool="class"), WORLD, "no position"),
        (Vision(attention="sideways"), WORLD, "cannot be"),
        (Vision(depth=0), WORLD, "at least 1"),
        (Vision(outputs=0), WORLD, "at least 1"),
        (Vision(), SparseBoolean(length=5), "world of tokens"),
    ],
)
def test_bad_settings_are_refused_in_one_line(recipe, world, says):
    with pytest.raises(InputError, match=says) as error:
        recipe.check(world)
    assert "\n" not in str(error.value)
