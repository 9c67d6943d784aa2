"""li2023's statements at points computed by hand, at void points, and against maximisation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import binom

from limelight._core.errors import InputError
from limelight.theory.li2023 import (
    cap_share,
    envelope_bound,
    erratum,
    learning,
    lucky_kept,
    lucky_neurons,
    mass_ceiling,
    relevant_needed,
)
from limelight.theory.li2023.errata import EVIDENCE


def test_sums_of_signs_obey_hoeffding():
    """Definition 3 and Lemma 1 for the signs of a readout, against exact binomial tails."""
    powers = np.arange(1, 200)
    norm = float((powers**-0.5).max())  # sup over p of p^(-1/2) (E|X|^p)^(1/p): E|X|^p is 1
    assert norm == 1
    n = 100
    for t in range(0, n + 1, 2):
        tail = 2 * binom.sf((n + t) // 2 - 1, n, 0.5)  # |sum of n signs| >= t
        assert tail <= math.e * math.exp(-0.5 * t**2 / (norm**2 * n))


@pytest.mark.parametrize("number", EVIDENCE)
def test_what_is_printed_fails_and_what_is_corrected_holds(number):
    found = erratum(number)
    printed, corrected = found.conditions
    assert not printed.holds
    assert corrected.holds


def test_numbers_of_the_errata_by_hand():
    printed, corrected = erratum(4).conditions
    assert printed.left == pytest.approx(20 * math.exp(0.8) / (20 * math.exp(0.8) + 30))
    assert printed.right == pytest.approx(20 / (20 + 30 * math.exp(-0.64)))
    assert corrected.left == pytest.approx(20 / (20 + 30 * math.exp(-0.64 + 0.2 * 0.8)))
    assert erratum(6).conditions[1].left == pytest.approx(1 / 5, abs=0.003)
    with pytest.raises(InputError, match="no number for erratum 7"):
        erratum(7)


def test_theorem_1_by_hand():
    bound = learning(
        relevant=0.5,
        confusing=0.04,
        rate=0.5,
        value_error=0.1,
        key_error=0.2,
        noise=0.03,
        patterns=5,
    )
    assert bound.value == pytest.approx((0.5 - 0.5**10 - 0.13) ** -2)
    assert bound.quantities["batch"] == pytest.approx((0.5 - math.exp(-0.23) * 0.13) ** -2)
    pace = 1 - 0.1 - 0.13 * 5 / math.pi
    assert bound.quantities["steps"] == pytest.approx(1 / (pace * 0.5 * 0.5))
    assert bound.quantities["width"] == pytest.approx(100 * 25 * math.log(64))
    eight = next(c for c in bound.conditions if "(8)" in c.name)
    assert eight.right == pytest.approx(0.04 / (0.5 * math.exp(-0.23) * 0.87))
    assert eight.holds


def test_proposition_1_by_hand():
    bound = learning(relevant=0.5, confusing=0.04, noise=0.03, frozen=True)
    assert bound.value == pytest.approx((0.5 * 0.37) ** -2)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"rate": 2.0}, "zeta"),
        ({"relevant": 0.1, "confusing": 0.0}, "(10) is void"),
        ({"relevant": 0.05, "confusing": 0.0, "value_error": 0.4}, "(9) is void"),
        ({"value_error": 0.7}, "(11) is void"),
        ({"relevant": 0.1, "confusing": 0.0, "frozen": True}, "(13) is void"),
    ],
)
def test_void_bounds_say_so(settings, word):
    bound = learning(**settings)
    assert any(word in note for note in bound.notes)
    if "(11)" not in word and "(9)" not in word:
        assert bound.void
        assert bound.value == math.inf
    assert not bound.applies


def test_each_hypothesis_can_fail_alone_and_is_named():
    for settings, name in (
        ({"key_error": 0.6}, "key error"),
        ({"noise": 0.15}, "noise below the errors"),
        ({"relevant": 0.3, "confusing": 0.2}, "relevant fraction"),
        ({"width": 10}, "width"),
        ({"examples": 2}, "examples"),
        ({"steps": 1}, "steps"),
    ):
        failing = [c.name for c in learning(**settings).conditions if not c.holds]
        assert any(name in found for found in failing), (settings, failing)


def test_condition_8_has_two_equal_forms():
    for idle in (0.3, 0.5, 0.8):
        line = relevant_needed(idle, 0.1, 0.2, 0.03)
        bound = learning(relevant=line, confusing=1 - idle - line, noise=0.03)
        eight = next(c for c in bound.conditions if "(8)" in c.name)
        assert eight.left == pytest.approx(eight.right)


def best_mass(relevant, confusing):
    """The ceiling by brute force: free logits for every (key pattern, query pattern) pair."""
    idle = 1 - relevant - confusing
    c = math.log(relevant / confusing)

    def negative(u):
        # u[0]: queries of pattern 1 (pattern 2 mirrors it); u[1]: idle queries.
        own = relevant * expit(c + u[0]) + confusing * expit(c - u[0])
        other = idle * 0.5 * (expit(c + u[1]) + expit(c - u[1]))
        return -(own + other)

    starts = [(a, b) for a in (-3, 0, 3) for b in (-3, 0, 3)]
    options = {"xatol": 1e-9, "fatol": 1e-12}
    found = [minimize(negative, s, method="Nelder-Mead", options=options).fun for s in starts]
    return -min(found)


@pytest.mark.parametrize(
    ("relevant", "confusing"), [(0.5, 0.05), (0.5, 0.04), (0.32, 0.18), (0.36, 0.14), (0.43, 0.07)]
)
def test_the_ceiling_is_the_maximum(relevant, confusing):
    assert mass_ceiling(relevant, confusing)["all"] == pytest.approx(
        best_mass(relevant, confusing), abs=1e-8
    )


def test_the_ceiling_at_known_points():
    assert mass_ceiling(0.5, 0.05)["idle"] == pytest.approx(0.909, abs=5e-4)
    assert mass_ceiling(0.5, 0.05)["all"] == pytest.approx(0.933, abs=5e-4)
    for relevant, value in ((0.32, 0.657), (0.36, 0.743), (0.43, 0.886)):
        assert mass_ceiling(relevant, 0.5 - relevant)["all"] == pytest.approx(value, abs=1e-3)
    free = mass_ceiling(0.5, 0.0)
    assert free["all"] == free["idle"] == 1.0
    assert math.isnan(free["confusing"])


@given(st.floats(0.05, 0.9), st.floats(0.001, 0.99))
def test_no_logits_beat_the_ceiling(relevant, share):
    confusing = min(relevant * share, 1 - relevant)
    if confusing <= 0 or confusing >= relevant:
        return
    ceiling = mass_ceiling(relevant, confusing)
    c = math.log(relevant / confusing)
    u = np.linspace(-30, 30, 601)
    idle = 1 - relevant - confusing
    reached = relevant * expit(c + u) + confusing * expit(c - u) + idle * ceiling["idle"]
    assert reached.max() <= ceiling["all"] + 1e-9
    assert (0.5 * (expit(c + u) + expit(c - u))).max() <= ceiling["idle"] + 1e-9


def test_zeta_can_be_given_and_patterns_must_be_fewer_than_dimensions():
    assert learning(relevant=0.5, rate=2.0, zeta=0.99).value == pytest.approx(
        (0.5 - 0.01 - 0.13) ** -2
    )
    bound = learning(patterns=10, dimension=10)
    assert "fewer patterns" in next(c.name for c in bound.conditions if not c.holds)


def test_definition_1_by_hand():
    bound = envelope_bound(logit=0.64, largest=0.1, smallest=-0.1, own=20, tokens=50)
    least, most = 20 * math.exp(0.64 - 0.16), 20 * math.exp(0.64 + 0.16)
    assert bound.value == pytest.approx(least / (least + 30))
    assert bound.quantities["at most, 1 - (S - s) phi_n"] == pytest.approx(most / (most + 30))
    assert bound.quantities["always at least"] == pytest.approx(20 / (20 + 30 * math.exp(-0.54)))
    assert bound.applies
    assert not envelope_bound(logit=0.64, largest=0.3).applies
    # With q = 1 the printed lower envelope exceeds the true mass of the scale start (0.558).
    assert envelope_bound(logit=1.0).value == pytest.approx(0.597, abs=1e-3)


def test_lemma_3_by_hand():
    bound = lucky_neurons(width=20_000, patterns=5, value_error=0.1, noise=0.0, epsilon=0.1)
    assert bound.value == pytest.approx(20_000 / 5 * (1 - 0.1 - 0.5 / math.pi))
    assert bound.applies
    assert not lucky_neurons(width=1000).applies
    assert lucky_neurons(value_error=0.7).value < 0  # void: more slack than there are angles
    assert lucky_kept().value == 1.0


@pytest.mark.parametrize(("dimension", "angle"), [(3, 0.5), (10, 1.0), (5, 2.2)])
def test_the_share_of_a_cap(dimension, angle):
    draws = np.random.default_rng(0).normal(size=(200_000, dimension))
    cosine = draws[:, 0] / np.linalg.norm(draws, axis=1)
    assert cap_share(dimension, angle) == pytest.approx(
        (cosine >= math.cos(angle)).mean(), abs=4e-3
    )
