"""Heads, skip connection, layer norm, two outputs: formulas, and the same training loop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.measures import Accuracy, FreshLoss
from limelight.models import Extended, FourWay, Shallow, ShallowViT
from limelight.train.losses import hinge, per_bit
from limelight.train.minibatch import Train
from limelight.worlds import FourClasses, Patterns, PatternSets, dataset

WORLD = Patterns(tokens=12, relevant=0.5, confusing=0.17, noise=0.05)
TRUTH = WORLD.draw(jr.key(0))


def by_hand(model, X, kept):
    """The multi-head formula with loops; removed tokens nowhere."""
    S = np.flatnonzero(kept)
    w = jax.tree.map(np.asarray, model.weights)
    total = 0.0
    for l in S:
        inside = np.zeros(w.output.shape[1])
        for O, V, K, Q in zip(w.output, w.value, w.key, w.query, strict=True):
            logits = np.array([X[j] @ K.T @ Q @ X[l] for j in S])
            s = np.exp(logits - logits.max())
            C = (s / s.sum()) @ X[S]
            inside += O @ (V @ C + (X[l] if model.skip else 0))
        total += np.asarray(model.readout)[l] @ np.maximum(inside, 0)
    return total / len(S)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("heads", "skip"), [(3, False), (2, True)])
def test_the_formula(heads, skip):
    truth = WORLD.draw(jr.key(0))
    model = Extended(Shallow(width=7, output_scale=0.5), heads, skip).init(jr.key(1), WORLD, truth)
    e = jax.tree.map(lambda leaf: leaf[0], dataset(WORLD, jr.key(2), truth, 1))
    kept = jnp.arange(12) % 5 > 0
    e = eqx.tree_at(lambda e: e.kept, e, kept)
    expected = by_hand(model, np.asarray(e.tokens), np.asarray(kept))
    np.testing.assert_allclose(model(model.prepare(e)), expected, rtol=1e-10)


def test_one_head_is_the_plain_model_and_layer_norm_changes_nothing_here():
    plain = Shallow(width=7)
    model = Extended(plain, layer_norm=True).init(jr.key(1), WORLD, TRUTH)
    one = jax.tree.map(lambda leaf: leaf[0], model.weights)
    same = ShallowViT(one, model.readout, model.frozen)
    data = dataset(WORLD, jr.key(2), TRUTH, 4)
    a = jax.vmap(lambda e: model(model.prepare(e)))(data)
    np.testing.assert_allclose(a, jax.vmap(same)(data), rtol=1e-4, atol=1e-7)


def test_heads_keep_the_output_scale_and_skips_start_near_the_features():
    wide = lambda heads: np.asarray(
        Extended(Shallow(width=4000), heads).init(jr.key(1), WORLD, TRUTH).weights.output
    )
    assert (wide(4) ** 2).sum(axis=0).mean() == pytest.approx((wide(1) ** 2).mean(), rel=0.05)
    model = Extended(Shallow(width=5, value_error=0.1), skip=True).init(jr.key(1), WORLD, TRUTH)
    moved = (np.asarray(model.weights.value[0]) + np.eye(10)) @ np.asarray(TRUTH.patterns).T
    np.testing.assert_allclose(np.linalg.norm(moved - np.eye(10, 5), axis=0), 0.1, rtol=1e-4)


def test_losses_of_two_bits():
    F, y = jnp.array([3.0, -0.5]), jnp.array([1.0, 1.0])
    assert float(hinge(F, y)) == 0.0  # the sum is large enough, though the second bit is wrong
    assert float(per_bit(F, y)) == 1.5
    assert float(per_bit(jnp.array(0.25), jnp.array(1.0))) == float(hinge(jnp.array(0.25), y[0]))


def trained(world, recipe, loss="hinge", steps=120):
    recipe.check(world)
    truth = world.draw(jr.key(0))
    loop = Train(steps=steps, batch=8, rate=2.0, examples=24, every=20, loss=loss)

    @jax.jit
    def run():
        model = recipe.init(jr.key(1), world, truth)
        final, record, _ = loop(jr.key(2), world, truth, model)
        scores = [m(jr.key(3), world, truth, final) for m in (FreshLoss(40), Accuracy(40))]
        before = FreshLoss(40)(jr.key(3), world, truth, model)
        arrays = (eqx.filter(model, eqx.is_array), eqx.filter(final, eqx.is_array))
        return *arrays, record, before, *scores

    return run()


@pytest.mark.parametrize(
    ("world", "recipe"),
    [
        (WORLD, Extended(Shallow(width=24), heads=2, skip=True, layer_norm=True)),
        (PatternSets(Patterns(tokens=12, relevant=0.5, dimension=20)), Shallow(width=24)),
    ],
    ids=["heads, skip, norm", "pattern sets"],
)
def test_extensions_train_with_the_same_loop(world, recipe):
    _, _, record, before, after, accuracy = trained(world, recipe)
    assert not bool(record.diverged)
    assert float(after) < 0.3 < float(before)
    assert float(accuracy) > 0.95


def test_four_classes_train_and_neurons_follow_their_own_class():
    world = FourClasses(tokens=20, relevant=0.5, confusing=0.15)
    recipe = FourWay(Shallow(width=64, readout="shared_scaled"))
    start, final, record, _, _, accuracy = trained(world, recipe, "per_bit")
    assert float(record.loss) < 0.1
    assert float(accuracy) > 0.95
    signs = np.sign(np.asarray(start.readout[:, 0]))  # bits by neurons
    group = np.where(signs[0] > 0, 0, 2) + np.where(signs[1] > 0, 0, 1)
    growth = np.asarray(final.weights.output - start.weights.output)[:, :4]
    mean = np.stack([growth[group == k].mean(axis=0) for k in range(4)])
    for k in range(4):
        assert mean[k].argmax() == k
        assert mean[k, k] > 3 * abs(mean[k, [j for j in range(4) if j not in (k, 3 - k)]]).max()
        assert mean[k, 3 - k] <= 0  # pushed away from the opposite class


@pytest.mark.parametrize(
    ("recipe", "world", "word"),
    [
        (Extended(Shallow(groups=True)), Patterns(), "grouped"),
        (Extended(heads=0), Patterns(), "heads"),
        (Extended(Shallow(value_dimension=12), skip=True), Patterns(), "skip"),
        (FourWay(), Patterns(), "two label bits"),
        (Shallow(groups=True), FourClasses(), "grouped"),
    ],
)
def test_nonsense_is_refused(recipe, world, word):
    with pytest.raises(InputError, match=word):
        recipe.check(world)
