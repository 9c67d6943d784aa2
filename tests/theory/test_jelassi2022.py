"""Reduced against full descent, counts against images, linear rules against brute force."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from limelight._core.errors import InputError
from limelight.measures.association import association
from limelight.models.positional import Activation
from limelight.theory.jelassi2022 import (
    Layer,
    LayerState,
    Rates,
    best_alpha,
    condensed,
    density_needed,
    drawn,
    enumerated,
    idealized,
    linear_error,
    spaced,
)
from limelight.theory.jelassi2022.blurred import blurred_error
from limelight.theory.jelassi2022.descent import curvature, error, gradient, loss
from limelight.theory.jelassi2022.full import (
    every_image,
    manifold_residuals,
    network_loss,
    network_outputs,
    noisy,
)
from limelight.theory.jelassi2022.linear import linear_disagreement
from limelight.theory.jelassi2022.population import DrawnCounts, count_law
from limelight.theory.jelassi2022.shift import misses_itself, same_logits, shifted_logits
from limelight.theory.jelassi2022.start import start_level
from limelight.theory.jelassi2022.statements import set_shift
from limelight.worlds._partitions import members, strided
from limelight.worlds.laws import silence
from limelight.worlds.spatial import labelling, unit_vector

pytestmark = pytest.mark.usefixtures("double")

SHAPES = ((6, 2), (6, 3))


_weights = jax.jit(lambda layer, state: layer.weights(state))


def logits_of(layer, state, sets):
    """The whole matrix that three numbers and the diagonal stand for."""
    same = sets[:, None] == sets[None, :]
    logits = jnp.where(same, state.gamma, state.rho)
    return jnp.where(jnp.eye(len(sets), dtype=bool), layer.diagonal, logits)


# --- the manifold -----------------------------------------------------------------------------


@settings(deadline=None, max_examples=15)
@given(
    gamma=st.floats(-4, 4),
    rho=st.floats(-4, 4),
    diagonal=st.floats(0, 6),
    temperature=st.floats(0.5, 8),
)
def test_attention_adds_up_to_one(gamma, rho, diagonal, temperature):
    layer = Layer(12, 3, jnp.array(diagonal), jnp.array(temperature))
    state = LayerState(jnp.array(1.0), jnp.array(gamma), jnp.array(rho))
    own, same, other = _weights(layer, state)
    assert float(own + 2 * same + 9 * other) == pytest.approx(1, abs=1e-13)
    assert float(own / same) == pytest.approx(np.exp((diagonal - gamma) / temperature), rel=1e-9)
    assert 0 < float(layer.gain(state)) < 12


@pytest.mark.parametrize(("tokens", "size"), SHAPES)
def test_three_numbers_say_what_the_whole_network_says(tokens, size):
    """Loss and error over counts against the network on every single image, noise included."""
    sets = np.asarray(strided(tokens, size))
    marks, weights = every_image(sets, 0.3)
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    layer = Layer(tokens, size, 1.3, 1.7, Activation(3, 0.2))
    population = enumerated(tokens, size, 0.3)
    feature = unit_vector(jr.key(0), 3)
    images = noisy(jr.key(1), marks, weights, feature, 0.6)

    @jax.jit
    def both(state):
        logits = logits_of(layer, state, sets)
        outputs = network_outputs(layer, logits, state.alpha * jnp.asarray(marks, float))
        noise = network_loss(layer, images, logits, state.alpha * feature)
        reduced = loss(population, layer, state), error(population, layer, state)
        return outputs, noise, *reduced

    for numbers in [(0.3, 0.0, 0.0), (0.2, 1.1, -0.4), (0.5, -0.7, 0.9)]:
        outputs, noise, value, wrong = both(LayerState(*map(jnp.asarray, numbers)))
        whole = float(jnp.sum(weights * jax.nn.softplus(-outputs)))
        assert float(value) == pytest.approx(whole, abs=1e-13)
        assert float(noise) == pytest.approx(whole, abs=1e-13)
        # Outputs of 0 are errors; summed patch by patch they are 0 up to rounding.
        share = float(weights[np.asarray(outputs) <= 1e-12].sum())
        assert float(wrong) == pytest.approx(share, abs=1e-12)


def test_full_descent_stays_on_the_manifold():
    sets = np.array([2, 0, 1, 3, 3, 1, 0, 2])
    layer = Layer(8, 2, jnp.array(1.0))
    rates = Rates(0.02, 0.5)
    run = lambda key: manifold_residuals(key, layer, 0.4, rates, 60, sets)
    assert max(float(x) for x in jax.jit(run)(jr.key(3))) < 1e-12


def test_a_known_run():
    """Eight patches, one rate, 20,000 steps, against an independent implementation's digits."""
    run = idealized(8, 2, 0.4, rate=0.02, ratio=1.0, steps=20_000)
    assert run.end["alpha"] == pytest.approx(0.221785995, abs=5e-10)
    assert run.end["gamma"] == pytest.approx(1.497150457, abs=5e-10)
    assert run.end["rho"] == pytest.approx(-0.498163390, abs=5e-10)
    assert float(run.watch.gap) > 0
    assert run.stiffness < 2
    assert not bool(run.watch.above)


def test_what_is_not_finite_ends_the_run_and_is_no_success():
    run = idealized(8, 2, 0.4, rate=1e3, ratio=1.0, steps=20_000)
    assert int(run.watch.step) < 100
    assert np.isnan(run.end["loss"])
    assert run.end["error"] == 1.0
    assert int(run.watch.halved) == -1


def test_temperature_is_a_change_of_rate_and_diagonal():
    """(tau, eta_A, beta) on A is (1, eta_A / tau^2, beta / tau) on A / tau."""
    population, tau = enumerated(6, 2, 0.4), 6.0
    state = LayerState(jnp.array(0.2), jnp.array(0.6), jnp.array(-0.3))
    slopes = jax.jit(gradient)
    warm, _ = slopes(population, Layer(6, 2, 1.5, tau), state)
    cold, _ = slopes(
        population,
        Layer(6, 2, 1.5 / tau),
        LayerState(state.alpha, state.gamma / tau, state.rho / tau),
    )
    np.testing.assert_allclose(warm.alpha, cold.alpha, rtol=1e-12)
    np.testing.assert_allclose(warm.gamma * tau, cold.gamma, rtol=1e-12)
    np.testing.assert_allclose(warm.rho * tau, cold.rho, rtol=1e-12)


def test_without_a_diagonal_attention_has_no_slope():
    slope, _ = jax.jit(gradient)(enumerated(8, 2, 0.4), Layer(8, 2, 0.0), Layer(8, 2).start())
    assert abs(float(slope.alpha)) > 1e-3
    assert abs(float(slope.gamma)) < 1e-15
    assert abs(float(slope.rho)) < 1e-15


def test_curvature_is_a_second_derivative():
    population, layer = enumerated(8, 2, 0.4), Layer(8, 2)
    one = jax.jit(lambda alpha: loss(population, layer, LayerState(alpha, 0.5, -0.2)))
    at = lambda alpha: float(one(alpha))
    h = 1e-4
    numeric = (at(0.2 + h) - 2 * at(0.2) + at(0.2 - h)) / h**2
    state = LayerState(jnp.array(0.2), jnp.array(0.5), jnp.array(-0.2))
    assert float(jax.jit(curvature)(population, layer, state)) == pytest.approx(numeric, rel=1e-5)


def test_looks_are_rising_and_end_at_the_end():
    for steps in (1, 7, 1000):
        looks = spaced(steps, 30)
        assert looks[0] == 0
        assert looks[-1] == steps
        assert list(looks) == sorted(looks)


# --- the population ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "atoms", "lost"),
    [((8, 2, 0.4, 0.0), 56, 0), ((12, 3, 0.3, 0.0), 220, 0), ((16, 4, 0.3, 1e-13), 663, 1e-14)],
)
def test_known_numbers_of_atoms(setting, atoms, lost):
    integers, weights = count_law(*setting)
    assert len(weights) == len(np.unique(integers, axis=0)) == atoms
    assert abs(1 - weights.sum()) <= lost + 1e-14


def test_pruning_reports_what_it_loses(monkeypatch):
    coarse = enumerated(12, 3, 0.3, 1e-3)
    assert 0 < coarse.lost < 0.05
    assert float(coarse.weights.sum()) == pytest.approx(1)
    layer, state = Layer(12, 3), LayerState(jnp.array(0.2), jnp.array(1.0), jnp.array(0.0))
    whole, part = (float(error(p, layer, state)) for p in (enumerated(12, 3, 0.3), coarse))
    assert abs(whole - part) <= 2 * coarse.lost
    monkeypatch.setattr("limelight.theory.jelassi2022.population.MOST_PAIRS", 10_000)
    with pytest.raises(InputError, match="too many"):
        count_law(81, 9, 0.6)
    for prune in (-1e-9, 1.0, np.nan):
        with pytest.raises(InputError, match="prune"):
            count_law(8, 2, 0.4, prune)
    with pytest.raises(InputError, match="every atom"):
        count_law(8, 2, 0.4, 0.9)
    with pytest.raises(InputError, match="too many to enumerate"):
        count_law(4096, 16, 1e-4, 1e-3)  # five integers that one 64-bit number cannot hold


def test_drawn_counts_agree_with_the_enumeration():
    layer = Layer(12, 3, activation=Activation(3, 0.05))
    state = LayerState(jnp.array(0.25), jnp.array(0.8), jnp.array(-0.3))
    counts = drawn(jr.key(1), 12, 3, 0.35, 20_000)
    outputs = counts.outputs(layer, state)
    found = condensed(counts, 3).outputs(layer, state)
    np.testing.assert_allclose(found, outputs, rtol=1e-10, atol=1e-10)
    exact = enumerated(12, 3, 0.35)
    sample = np.asarray(jax.nn.softplus(-outputs))
    spread = sample.std() / len(sample) ** 0.5
    assert abs(sample.mean() - float(loss(exact, layer, state))) < 4 * spread
    p = float(error(exact, layer, state))
    assert abs(float(error(counts, layer, state)) - p) < 4 * (p * (1 - p) / 20_000) ** 0.5


def test_any_odd_power_from_counts():
    """The fifth power, image by image."""
    tokens, size = 6, 2
    sets = np.asarray(strided(tokens, size))
    layer = Layer(tokens, size, 1.2, activation=Activation(5, 0.1))
    state = LayerState(jnp.array(0.3), jnp.array(0.7), jnp.array(-0.2))
    marks, _ = every_image(sets, 0.3)
    first = marks[: 3**4]  # the signal is set 0
    random = [first[:, sets == one] for one in (1, 2)]
    positive = jnp.stack([jnp.asarray((r > 0).sum(axis=1)) for r in random], axis=1)
    negative = jnp.stack([jnp.asarray((r < 0).sum(axis=1)) for r in random], axis=1)
    counts = DrawnCounts(weights=jnp.full(81, 1 / 81), positive=positive, negative=negative)
    whole = network_outputs(layer, logits_of(layer, state, sets), 0.3 * jnp.asarray(first, float))
    np.testing.assert_allclose(counts.outputs(layer, state), whole, rtol=1e-11, atol=1e-12)
    with pytest.raises(InputError, match="power 3"):
        enumerated(tokens, size, 0.3).outputs(layer, state)


def test_the_best_strength_is_where_the_slope_vanishes():
    population, layer = enumerated(16, 4, 0.5), Layer(16, 4)
    best = jax.jit(best_alpha)(population, layer)
    slope, _ = gradient(population, layer, LayerState(best.alpha, jnp.zeros(()), jnp.zeros(())))
    assert abs(float(slope.alpha)) < 1e-6
    assert float(best.loss) == pytest.approx(0.1416, abs=5e-5)
    other = jax.jit(lambda: start_level(16, 4, 0.5, Activation(3, 0.01)))()
    assert float(best.loss) == pytest.approx(float(other), abs=1e-5)


# --- linear rules -----------------------------------------------------------------------------


def test_exact_errors_of_the_natural_rule():
    known = {
        (16, 4, 0.5): (0.0758, 0.0539),
        (36, 4, 0.25): (0.1063, 0.0806),
        (36, 4, 0.35): (0.1470, 0.1178),
        (64, 4, 0.2): (0.1546, 0.1252),
        (100, 4, 0.2): (0.2112, 0.1812),
        (144, 9, 0.6): (0.1726, 0.1591),
    }
    for world, (ties, half) in known.items():
        assert linear_error(*world) == pytest.approx(ties, abs=5.1e-5)
        assert linear_error(*world, ties=0.5) == pytest.approx(half, abs=5.1e-5)
    large = linear_error(1600, 4, 0.05, ties=0.5)
    assert large == pytest.approx(norm.cdf(-4 / np.sqrt(0.05 * 1596)), abs=2e-3)


def test_densities_from_which_on_one_eighth_holds():
    known = {(16, 4): 0.958, (36, 4): 0.372, (64, 4): 0.200, (48, 3): 0.149, (144, 9): 0.452}
    for world, q in known.items():
        assert density_needed(*world) == pytest.approx(q, abs=6e-4)
    assert density_needed(64, 4, ties=1.0) == pytest.approx(0.157, abs=6e-4)
    assert np.isnan(density_needed(36, 9))


@settings(deadline=None, max_examples=25)
@given(size=st.integers(1, 5), sets=st.integers(2, 8), q=st.floats(0.0, 1.0))
def test_ties_lie_between_right_and_wrong(size, sets, q):
    wrong, coin, right = (linear_error(size * sets, size, q, ties=t) for t in (1.0, 0.5, 0.0))
    assert 0 <= right <= coin <= wrong <= 0.75 + 1e-12
    assert coin == pytest.approx((wrong + right) / 2, abs=1e-12)


def decode(scalars, tokens):
    """The marks behind sums of 3^j marks: balanced ternary digits."""
    digits = []
    for _ in range(tokens):
        digits.append((scalars + 1) % 3 - 1)
        scalars = (scalars - digits[-1]) // 3
    return np.stack(digits, axis=-1)


def test_the_base_three_code_computes_the_labelling_function():
    """Every image of six patches, then random ones of 36: the scalar names every mark."""
    every = np.array(list(itertools.product((-1, 0, 1), repeat=6)))
    encode = lambda marks: marks @ 3 ** np.arange(marks.shape[-1], dtype=np.int64)
    codes = encode(every)
    assert len(np.unique(codes)) == 3**6
    np.testing.assert_array_equal(decode(codes, 6), every)
    rng = np.random.default_rng(0)
    marks = rng.choice([-1, 0, 1], p=[0.175, 0.65, 0.175], size=(4000, 36))
    sets = strided(36, 4)
    marks[:, np.asarray(sets) == 0] = 1
    found = decode(encode(marks), 36)
    np.testing.assert_array_equal(found, marks)
    f = jax.vmap(lambda m: labelling(m, sets, 9))(jnp.asarray(found))
    p = silence(36, 4, 0.35)
    assert abs(float((f == 0).mean()) - p) < 4 * (p / 4000) ** 0.5


def test_blurred_errors_against_brute_force():
    sets = np.asarray(strided(6, 2))
    groups = members(jnp.asarray(sets), 2)
    marks, chance = every_image(sets, 0.4)
    for seed, weights in ((0, jnp.ones(6)), (1, 1 + 0.4 * jr.uniform(jr.key(1), (6,)))):
        score = marks @ np.asarray(weights)
        blur = 0.1
        exact = float((chance * norm.cdf(-score / blur)).sum())
        found = float(jax.jit(blurred_error)(weights, groups, 0.4, blur))
        assert found == pytest.approx(exact, abs=2e-6), seed
    # With whole sums a little blur decides ties by a coin and changes nothing else.
    even = float(jax.jit(blurred_error)(jnp.ones(36), members(strided(36, 4), 4), 0.4))
    assert even == pytest.approx(linear_error(36, 4, 0.4, ties=0.5), abs=2e-6)


# --- without association ----------------------------------------------------------------------


def test_the_set_shift_is_the_same_function_without_association():
    sets = strided(8, 2)
    marks, _ = every_image(np.asarray(sets), 0.4)
    layer = Layer(8, 2, activation=Activation(3, 0.3))
    answer = lambda logits: network_outputs(layer, logits, 0.4 * jnp.asarray(marks, float))
    same, shifted = same_logits(sets, 5.0), shifted_logits(sets, 4, 5.0)
    np.testing.assert_allclose(answer(same), answer(shifted), rtol=1e-12, atol=1e-12)
    assert float(association(same, sets)["exact"]) == 1.0
    score = association(shifted, sets)
    assert float(score["overlap"]) == float(score["overlap_offdiag"]) == 0.0


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**31 - 1))
def test_the_longest_encoding_never_misses_itself(seed):
    points = jr.normal(jr.key(seed), (9, 4))
    longest = int(jnp.argmax(jnp.linalg.norm(points, axis=1)))
    assert longest in jax.lax.top_k(points @ points.T, 2)[1][longest].tolist()
    assert not bool(misses_itself(points, 2))


def test_what_a_linear_rule_misses_of_f_star_is_what_draws_say():
    """The joint law of the sum and of what the threshold lets pass, against 400,000 draws."""
    tokens, size, density, draws = 12, 3, 0.6, 400_000
    rng = np.random.default_rng(1)
    chances = [density / 2, 1 - density, density / 2]
    marks = rng.choice([-1, 0, 1], p=chances, size=(draws, tokens))
    marks[:, :size] = 1
    sums = marks.reshape(draws, -1, size).sum(axis=2)
    label = np.where(10 * np.abs(sums) > 9 * size, sums, 0).sum(axis=1)
    score = marks.sum(axis=1)
    for ties in (0.5, 1.0):
        wrong = np.where(score == 0, ties, np.sign(label) * np.sign(score) < 0)
        wrong = np.where(label == 0, 1.0, wrong)
        exact = linear_disagreement(tokens, size, density, ties=ties)
        assert exact == pytest.approx(wrong.mean(), abs=5 * wrong.std() / np.sqrt(draws))
    assert density_needed(36, 4, target="fstar") < density_needed(36, 4)
    edge = density_needed(36, 4, target="fstar")
    assert linear_disagreement(36, 4, edge, ties=0.5) == pytest.approx(1 / 8)


def test_without_association_the_error_is_held_against_a_fifth_of_the_linear_rule():
    found = set_shift(tokens=16, size=4, density=0.35)
    small, _, _ = found.conditions
    assert small.left == found.value
    assert small.right == pytest.approx(linear_error(16, 4, 0.35) / 5)


@pytest.mark.parametrize("size", [4, 9])
def test_the_joint_law_of_the_counts_by_adding_set_by_set(size):
    """Large sets: squares and cubes of sums reach far, and must not run into each other."""
    sets, density = 3, 0.4
    one: dict[tuple[int, ...], float] = {}
    for marks in itertools.product((-1, 0, 1), repeat=size):
        n, m = sum(map(abs, marks)), sum(marks)
        chance = (density / 2) ** n * (1 - density) ** (size - n)
        one[m, n, n * m, m**2, m**3] = one.get((m, n, n * m, m**2, m**3), 0.0) + chance
    law = {(size, size, size**2, size**2, size**3): 1.0}  # the own set, all of it right
    for _ in range(sets - 1):
        added: dict[tuple[int, ...], float] = {}
        for (a, p), (b, q) in itertools.product(law.items(), one.items()):
            both = tuple(x + y for x, y in zip(a, b, strict=True))
            added[both] = added.get(both, 0.0) + p * q
        law = added
    integers, weights = count_law(size * sets, size, density)
    found = {tuple(map(int, atom)): w for atom, w in zip(integers, weights, strict=True)}
    assert found == pytest.approx(law, rel=1e-12)
