"""Numbers that stand in statements, by hand."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.models.positional import Activation
from limelight.theory.edelman2022 import errata
from limelight.theory.edelman2022.positions import positions
from limelight.theory.edelman2022.rademacher import complexity
from limelight.theory.edelman2022.statements import _positive
from limelight.theory.jelassi2022.finite import finite_sample
from limelight.theory.jelassi2022.start import start_level
from limelight.theory.li2023.attention import mass_bound
from limelight.theory.li2023.errata import _attention_rate
from limelight.theory.xu2022.optimum import window
from limelight.theory.xu2022.printed import softmax_point
from limelight.theory.xu2022.setting import Setting


def test_the_attention_rate_at_its_two_points():
    _, printed, corrected = _attention_rate()
    assert (printed.left, corrected.left) == (1 - 2**10, 1 - 0.5**10)


def test_a_leak_by_hand():
    """Keys as bad as the lemma allows, T = 100, s = 3, gamma = 2/3, Delta = .1."""
    T, s, gamma, Delta = 100, 3, 2 / 3, 0.1
    R = math.log(8 * T / gamma) / (1 - s * Delta)
    own, other = math.exp(R * (1 - (s - 1) * Delta)), math.exp(R * s * Delta)
    outside = ((T - s) * other + 1) / (s * own + (T - s) * other + 1)
    _, printed, corrected, level = errata._leak()
    assert printed == pytest.approx(outside * 8 / gamma, rel=1e-9)
    assert printed > level >= corrected


def test_memorising_networks_by_hand():
    _, printed, corrected, level = errata._first_layer()
    assert printed == pytest.approx(1.2 * corrected)  # bounds of 10 and 12
    assert printed > level >= corrected
    _, steep, flat, most = errata._steep()
    assert steep > most >= flat
    assert most == 2.0


def test_the_power_of_the_token_length():
    _, printed, corrected, level = errata._tokens()
    assert (printed, corrected) == (pytest.approx(3, rel=1e-4), pytest.approx(1, rel=1e-4))
    assert corrected < level < printed


def test_the_printed_dimension_by_hand():
    lam, dimension = softmax_point(100, 50, 1.0)
    exact = (80 * lam) ** 2 * math.log(2 * 100 / 0.05)
    assert exact < dimension <= exact * (1 + 2e-6) + 1


def test_complexity_of_nothing_is_nothing():
    for words in ({"dimension": 0}, {"examples": 0}, {"draws": 1}, {"seed": -1}):
        with pytest.raises(InputError, match=f"{next(iter(words))} = "):
            complexity(**{"dimension": 3, "examples": 4, "draws": 4, "seed": 0, **words})
    assert complexity(dimension=1, examples=1, draws=2).value == 1.0
    assert complexity(norm=0.0, dimension=3, examples=4, draws=4).value == 0.0
    with pytest.raises(InputError, match="norm = -1"):
        complexity(norm=-1.0)


def test_a_window_of_one_pair_by_hand():
    """Two tokens in a cluster: n = 1, and log(1/8) < 0 leaves no window."""
    setting = Setting(np.eye(2), np.array([2, 2]), 0.5)
    found = window(setting)
    assert found.quantities["lambda to"] == pytest.approx(math.log(1 / 8) / 0.25)
    assert found.value == math.inf


def test_the_level_of_a_finite_sample_is_that_of_a_cubic_activation(double):
    """A quarter of the least loss at the start; the activation is x^3 with a small linear part."""
    level = float(start_level(16, 4, 0.5, Activation(3, jnp.asarray(0.01))))
    assert finite_sample().value == pytest.approx(level / 4)


def test_the_window_of_unequal_clusters_by_hand():
    setting = Setting(np.eye(2), np.array([101, 300]), 0.5)
    found = window(setting)
    excess = 300 * (math.sqrt(2) + 0.5) / (0.3 * 0.5 * 100)
    assert found.quantities["lambda from"] == pytest.approx(math.log(excess))  # D = 1
    assert found.quantities["lambda to"] == pytest.approx(math.log(100 / 8) / 0.25)
    assert found.value == 0.48


def test_twice_the_tokens_by_hand():
    found = positions()
    twice = positions(tokens=200).value
    assert found.quantities["twice the tokens over these"] == pytest.approx(twice / found.value)


def test_what_proposition_2_does_not_say_is_said():
    assert "fails for idle queries" in mass_bound(0.5, 0.04).notes[0]
    assert mass_bound(0.5, 0.0).notes == ()
    assert "fails for idle queries" in mass_bound(0.5, 1e-3).notes[0]


@pytest.mark.parametrize(("resolution", "holds"), [(0.5, True), (0.0, False)])
def test_a_resolution_is_positive(resolution, holds):
    first, second = _positive(resolution=resolution, points=1)
    assert (first.holds, second.holds) == (holds, True)


@pytest.mark.parametrize("name", ["dimension", "examples"])
def test_one_is_enough_and_none_is_not(name):
    assert complexity(**{"dimension": 2, "examples": 2, "draws": 2, name: 1}).value > 0
    with pytest.raises(InputError, match=f"{name} = 0"):
        complexity(**{name: 0})
