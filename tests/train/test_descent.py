"""Gradient descent on model (T): formulas against autodiff, symmetries, modes, fine-tuning."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.experiments.recovery import Recovery, TestSet, training_set
from limelight.experiments.transfer import Transfer
from limelight.models.positional import Activation, Positional, PositionalNet
from limelight.theory.jelassi2022.start import start_level, start_loss
from limelight.train import descent
from limelight.train.descent import Descent, DescentRun, Sample, mean_loss, train, tune
from limelight.worlds import Spatial

WORLD = Spatial(tokens=8, size=2, dimension=5, density=0.4)


def a_case(seed=0, temperature=1.3, power=3, examples=40):
    """A net and a sample of arbitrary numbers: formulas hold for any."""
    rng = np.random.default_rng(seed)
    normal = lambda scale, *shape: jnp.asarray(scale * rng.standard_normal(shape))
    fixed = jnp.array(1.0), jnp.array(temperature), Activation(power, jnp.array(0.1))
    net = PositionalNet(normal(0.5, 8, 8), normal(0.2, 5), *fixed)
    labels = jnp.asarray(np.sign(rng.standard_normal(examples)))
    weights = jnp.asarray(np.full(examples, 1 / examples))
    return net, Sample(normal(0.5, examples, 8, 5), labels, weights)


descended = eqx.filter_jit(train)
draw = eqx.filter_jit(lambda world, key: world.draw(key))


def one_step(descent, net, sample):
    step = lambda net, sample: descent.step(net, sample.tokens @ net.value, sample, WORLD.size)
    return eqx.filter_jit(step)(net, sample)


@eqx.filter_jit
def loss_of(weights, value, net, sample):
    """The mean loss as the model itself gives it, one image at a time."""
    net = eqx.tree_at(lambda n: (n.weights, n.value), net, (weights, value))
    outputs = jax.vmap(net)(sample.tokens)
    return jnp.sum(sample.weights * jax.nn.softplus(-sample.labels * outputs))


gradients = eqx.filter_jit(jax.grad(loss_of, argnums=(0, 1)))


@pytest.mark.parametrize("power", [3, 5])
def test_the_formulas_are_the_gradients(double, power):
    net, sample = a_case(power=power)
    step = one_step(Descent(mode="shared", rate=1.0), net, sample)
    both = gradients(net.weights, net.value, net, sample)
    np.testing.assert_allclose(step.logits, -both[0], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(step.value, -both[1], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(step.projections, sample.tokens @ step.value, rtol=1e-12)
    z = sample.tokens @ net.value
    want = loss_of(net.weights, net.value, net, sample)
    np.testing.assert_allclose(jax.jit(mean_loss)(net, z, sample), want, rtol=1e-13)


@pytest.mark.parametrize("gpu", [False, True])
def test_the_sum_over_all_patches_in_either_order(monkeypatch, gpu):
    """Against float64; patches have a mean, so that what is summed up grows with their number."""
    monkeypatch.setattr(descent, "on_gpu", lambda: gpu)
    rng = np.random.default_rng(1)
    weights = rng.random((4000, 16), np.float32) / 4000
    tokens = rng.standard_normal((4000, 16, 5), np.float32) + np.float32(0.5)
    exact = np.tensordot(weights.astype(float), tokens.astype(float), axes=2)
    found = jax.jit(lambda *of: descent._gathered(*of))(weights, tokens)
    np.testing.assert_allclose(found, exact, rtol=1e-4 if gpu else 3e-6)


def test_rows_of_the_whole_gradient_sum_to_zero(double):
    net, sample = a_case()

    def loss(logits):
        S = jax.nn.softmax(logits / net.temperature, axis=-1)
        outputs = len(S) * (sample.tokens @ net.value) @ S.T
        F = jnp.sum(net.activation(outputs), axis=1)
        return jnp.sum(sample.weights * jax.nn.softplus(-sample.labels * F))

    whole = np.asarray(jax.jit(jax.grad(loss))(net.logits))
    assert np.abs(whole.sum(axis=1)).max() < 1e-14 < np.abs(whole).max()
    free = one_step(Descent(mode="shared", rate=1.0), net, sample).logits
    np.testing.assert_allclose(np.asarray(free).sum(axis=1), np.diagonal(whole), rtol=1e-10)
    assert not np.diagonal(free).any()


def test_curvature_rates_are_gauss_newton_along_the_gradient(double):
    net, sample = a_case()
    descent = Descent(pace=0.5, reach=1e9)
    step = one_step(descent, net, sample)
    g_A, g_v = gradients(net.weights, net.value, net, sample)
    outputs = lambda w, v: jax.vmap(eqx.tree_at(lambda n: (n.weights, n.value), net, (w, v)))(
        sample.tokens
    )
    along = jax.jit(lambda dA, dv: jax.jvp(outputs, (net.weights, net.value), (dA, dv)))
    g_A, g_v = np.asarray(g_A), np.asarray(g_v)
    F, dF_A = map(np.asarray, along(g_A, np.zeros_like(g_v)))
    dF_v = np.asarray(along(np.zeros_like(g_A), g_v)[1])
    s = np.asarray(sample.weights) / (1 + np.exp(-F)) / (1 + np.exp(F))
    newton = lambda g, dF: 0.5 * np.sum(g**2) / np.sum(s * dF**2)
    np.testing.assert_allclose(step.logit_rate, newton(g_A, dF_A), rtol=1e-10)
    capped = 0.2 * np.linalg.norm(net.value) / np.linalg.norm(g_v)
    want = min(newton(g_v, dF_v), capped)
    np.testing.assert_allclose(step.value_rate, want, rtol=1e-10)
    near = eqx.tree_at(lambda d: d.reach, descent, 1e-3)
    moved = one_step(near, net, sample).logits
    np.testing.assert_allclose(np.abs(moved).max(), 1e-3, rtol=1e-10)


def test_temperature_is_absorbed_into_the_logits(double):
    net, sample = a_case(temperature=3.0)
    at = lambda n: (n.weights, n.diagonal, n.temperature)
    cold = eqx.tree_at(at, net, (net.weights / 3.0, net.diagonal / 3.0, jnp.array(1.0)))
    warm = descended(Descent(mode="two_rate", rate=0.01, ratio=90.0, steps=200), net, sample, 2)
    same = descended(Descent(mode="two_rate", rate=0.01, ratio=10.0, steps=200), cold, sample, 2)
    np.testing.assert_allclose(warm.net.weights / 3.0, same.net.weights, atol=1e-12)
    np.testing.assert_allclose(warm.net.value, same.net.value, atol=1e-12)
    assert np.abs(np.asarray(warm.net.weights - net.weights)).max() > 0.1


def population(sets, density, feature):
    """Every image of a law with noise in one direction, paired with its negative."""
    count, across = int(sets.max()) + 1, np.linalg.svd(np.asarray(feature)[None])[2][-1]
    rng, tokens, labels, weights = np.random.default_rng(0), [], [], []
    for label, signal in itertools.product((-1, 1), range(count)):
        random = [j for j, s in enumerate(sets) if s != signal]
        for marks in itertools.product((-1, 0, 1), repeat=len(random)):
            delta = np.full(len(sets), float(label))
            delta[random] = marks
            chance = np.prod([density / 2 if m else 1 - density for m in marks])
            noise = 0.3 * rng.standard_normal((len(sets), 1)) * across
            for sign in (-1, 1):
                tokens.append(delta[:, None] * np.asarray(feature) + sign * noise)
                labels.append(float(label))
                weights.append(chance / (4 * count))
    return Sample(jnp.array(tokens), jnp.array(labels), jnp.array(weights))


@pytest.mark.parametrize("mode", ["curvature", "two_rate"])
def test_the_three_number_manifold_is_kept(double, mode):
    sets = np.array([0, 1, 2, 1, 0, 2])
    world = Spatial(tokens=6, size=2, dimension=3, density=0.4)
    truth = draw(world, jr.key(3))
    truth = eqx.tree_at(lambda t: t.sets, truth, jnp.array(sets))
    recipe = Positional(start="idealized")
    net = eqx.filter_jit(recipe.init)(jr.key(0), world, truth)
    sample = population(sets, 0.4, truth.feature)
    np.testing.assert_allclose(sample.weights.sum(), 1.0, rtol=1e-12)
    # 25 steps: later the large steps of `curvature` make rounding grow across the manifold.
    descent = Descent(mode=mode, rate=0.01, ratio=100.0, steps=25)
    end = descended(descent, net, sample, 2).net
    A, same = np.asarray(end.logits), sets[:, None] == sets[None, :]
    off = same & ~np.eye(6, dtype=bool)
    assert np.ptp(A[off]) < 1e-12
    assert np.ptp(A[~same]) < 1e-12
    assert A[off].mean() > A[~same].mean() + 1e-3
    value, feature = np.asarray(end.value), np.asarray(truth.feature)
    across = value - (value @ feature) * feature
    assert np.abs(across).max() < 1e-14


@pytest.mark.parametrize("mode", ["curvature", "two_rate"])
def test_tuning_is_training_with_attention_still(double, mode):
    net, sample = a_case()
    descent = Descent(mode=mode, rate=1e-3, steps=20)
    course = eqx.filter_jit(tune)(descent, net, sample, WORLD.size)

    @eqx.filter_jit
    def still(net):
        step = descent.step(net, sample.tokens @ net.value, sample, WORLD.size)
        return eqx.tree_at(lambda n: n.value, net, net.value + step.value)

    by_hand = net
    for _ in range(20):
        by_hand = still(by_hand)
    np.testing.assert_allclose(course.net.value, by_hand.value, rtol=1e-10)
    np.testing.assert_array_equal(course.net.weights, net.weights)
    assert course.traces["loss"][-1] < course.traces["loss"][0]


def test_what_is_not_finite_ends_the_trial():
    net, sample = a_case()
    descent = Descent(mode="two_rate", rate=1e5, steps=100)
    course = descended(descent, net, sample, WORLD.size)
    assert bool(course.diverged)
    assert int(course.block) < 20
    assert np.isfinite(course.net.weights).all()
    assert np.isfinite(course.net.value).all()


def test_training_ends_well_beyond_the_level():
    net, sample = a_case()
    loss = np.asarray(descended(Descent(steps=100), net, sample, WORLD.size).traces["loss"])
    assert (np.diff(loss) < 0).all()
    level = float(loss[3] + 1e-6)
    course = descended(Descent(steps=100, beyond=2.0), net, sample, WORLD.size, level=level)
    assert (int(course.stop), int(course.block)) == (3, 6)
    assert np.isfinite(course.traces["loss"][:7]).all()
    assert np.isnan(course.traces["loss"][7:]).all()


def test_the_test_set_is_the_law_of_the_images():
    truth, (net, _) = draw(WORLD, jr.key(4)), a_case(seed=4)

    @jax.jit
    def both(key):
        fresh = training_set(WORLD, key, truth, 8000, 8000)
        drawn = jnp.mean(fresh.labels * jax.vmap(net)(fresh.tokens) <= 0)
        return drawn, TestSet(WORLD, key, truth, 8000)(net)

    drawn, short = (float(error) for error in both(jr.key(8)))
    assert 0.02 < drawn < 0.98
    assert abs(drawn - short) < 4 * np.sqrt(2 * drawn * (1 - drawn) / 8000)


def test_errors_against_the_label_and_against_the_labelling_function():
    truth, (net, _) = draw(WORLD, jr.key(4)), a_case(seed=4)

    @eqx.filter_jit
    def read(key, net):
        one, other = (TestSet(WORLD, key, truth, 500, target) for target in ("label", "fstar"))
        return one.labels, one.marks, one.noise, (one(net), other(net))

    labels, marks, noise, errors = jax.tree.map(np.asarray, read(jr.key(9), net))
    mine = [np.asarray(truth.sets) == one for one in range(WORLD.sets)]
    sums = np.stack([marks[:, here].sum(axis=1) for here in mine], axis=1)
    f = np.where(np.abs(sums) == WORLD.size, sums, 0).sum(axis=1)
    assert (f == 0).any()
    assert (f * labels < 0).any()
    feature, value, S = (np.asarray(x, float) for x in (truth.feature, net.value, net.attention))
    z = value @ feature * marks + np.linalg.norm(value - value @ feature * feature) * noise
    O = 8 * z @ S.T
    F = np.sum(O**3 + 0.1 * O, axis=1)
    for truths, error in zip((labels, f), errors, strict=True):
        assert float(error) == pytest.approx((truths * F <= 0).mean(), abs=1e-6)
    # What is not a number is never right.
    broken = eqx.tree_at(lambda n: n.value, net, jnp.full(5, jnp.nan))
    assert [float(error) for error in read(jr.key(9), broken)[-1]] == [1.0, 1.0]


def test_scratch_is_tuned_on_validation_and_told_on_the_test():
    """Three reaches, four looks; the second diverged at its third look."""
    valid = np.array([[0.5, 0.3, 0.2, 0.25], [0.5, 0.1, 1.0, np.nan], [0.5, 0.4, 0.3, 0.15]])
    traces = {
        "valid": valid,
        "test": valid + 0.01,
        "exact": 1 - valid,
        "logit_rate": np.full((3, 4), 6.0),
        "value_rate": np.full((3, 4), 2.0),
    }
    one = lambda i, end, broken: DescentRun(
        a_case()[0],
        jnp.array(end),
        jnp.array(-1),
        jnp.array(broken),
        {name: jnp.asarray(log[i]) for name, log in traces.items()},
    )
    courses = one(0, 3, False), one(1, 2, True), one(2, 3, False)
    course = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *courses)
    study = Transfer(descent=Descent(every=10), reaches=(0.02, 0.05, 0.1))
    leaves = eqx.filter_jit(lambda course: study._scratch_leaves(course))(course)
    found = {name: float(value) for name, value in leaves.items()}
    assert found["scratch.reach"] == pytest.approx(0.05)
    assert (found["scratch.step"], found["scratch.diverged"]) == (10, True)
    assert found["scratch.best"] == pytest.approx(0.11)
    assert found["scratch.exact"] == pytest.approx(0.9)
    assert found["scratch.end"] == pytest.approx(1.01)  # the middle reach, which diverged
    assert found["scratch.ratio"] == 3.0


def test_a_padded_training_set_is_the_short_one():
    truth = draw(WORLD, jr.key(0))
    make = lambda room: jax.jit(lambda: training_set(WORLD, jr.key(1), truth, 30, room))()
    short, padded = make(30), make(50)
    np.testing.assert_array_equal(padded.tokens[:30], short.tokens)
    np.testing.assert_array_equal(padded.labels[:30], short.labels)
    assert not padded.weights[30:].any()
    steps = [one_step(Descent(), a_case()[0], sample) for sample in (short, padded)]
    np.testing.assert_allclose(steps[0].logits, steps[1].logits, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(steps[0].value, steps[1].value, rtol=1e-4, atol=1e-7)


def test_the_level_of_the_start_against_simulation(double):
    act, world = Activation(3, 0.01), Spatial(tokens=16, size=4, density=0.5)
    truth = draw(world, jr.key(0))
    marked = jax.jit(jax.vmap(lambda k: world.marked(k, truth.sets)))
    labels, _, marks = marked(jr.split(jr.key(1), 40_000))
    net = eqx.filter_jit(Positional(logit_scale=0.0).init)(jr.key(2), world, truth)
    simulated = jax.jit(
        lambda alpha: jax.nn.softplus(-labels * jax.vmap(net.read)(alpha * marks.astype(float)))
    )
    at = jax.jit(jax.vmap(lambda a: start_loss(a, 16, 4, 0.5, act)))
    for alpha in (0.05, 0.12):
        losses = np.asarray(simulated(jnp.array(alpha)))
        exact = float(at(jnp.array([alpha]))[0])
        assert abs(float(losses.mean()) - exact) < 4 * float(losses.std()) / 200
    best = float(jax.jit(lambda q: start_level(16, 4, q, act))(0.5))
    grid = np.asarray(at(jnp.asarray(np.linspace(0.05, 0.3, 60))))
    assert best <= grid.min()
    assert best == pytest.approx(float(grid.min()), rel=1e-3)


def test_bad_settings_are_refused():
    for bad, word in (
        (Recovery(descent=Descent(steps=7)), "every"),
        (Recovery(descent=Descent(rate=0.0)), "rate"),
        (Recovery(model=Positional(power=4)), "power"),
        (Recovery(model=Positional(temperature=0.0)), "temperature"),
        (Recovery(model=Positional(start="idealized", diagonal=0.0)), "saddle"),
        (Recovery(model=Positional(gram=True)), "gram"),
        (Recovery(examples=0), "examples"),
        (Recovery(examples=10, capacity=5), "capacity"),
        (Recovery(frames=(500,)), "frames"),
    ):
        with pytest.raises(InputError, match=word):
            bad.check()
