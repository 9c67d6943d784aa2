"""Trends, Holm's adjustment and medians against independent ways to compute them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from limelight import fit
from limelight._core.errors import InputError

PROBABILITIES = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=6)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 8)), min_size=2, max_size=6))
def test_the_trend_is_a_correlation(cells):
    """The square of Cochran and Armitage's z is N times the squared correlation with the size."""
    s = np.array([min(a, n) for a, n in cells])
    n = np.array([n for _, n in cells])
    x = np.arange(len(n)) ** 1.5
    each = np.concatenate([np.repeat([1.0, 0.0], [a, b - a]) for a, b in zip(s, n, strict=True)])
    z = fit.rising(x, s, n)
    if np.ptp(each) == 0:
        assert np.isnan(z)
        return
    r = np.corrcoef(np.repeat(x, n), each)[0, 1]
    assert z == pytest.approx(np.sqrt(n.sum()) * r, abs=1e-9)


def test_the_trend_has_its_level():
    rng = np.random.default_rng(0)
    s = rng.binomial(20, 0.4, size=(4000, 5))
    z = np.array([fit.rising(np.arange(5), row, np.full(5, 20)) for row in s])
    assert abs((z > norm.isf(0.05)).mean() - 0.05) < 0.012


@given(PROBABILITIES, st.sampled_from([0.01, 0.05, 0.2]))
def test_holm_is_the_step_down_procedure(p, error):
    order = np.argsort(p)
    rejected = np.zeros(len(p), dtype=bool)
    for k, i in enumerate(order):
        if p[i] > error / (len(p) - k):
            break
        rejected[i] = True
    np.testing.assert_array_equal(fit.holm(p) <= error * (1 + 1e-12), rejected)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=12))
def test_tests_together_decide_as_their_adjusted_p_values(scores):
    up, down = norm.sf(scores), norm.cdf(scores)
    z, (low, high) = fit.together(up, down)
    assert (low > 0) == (fit.holm(up).max() < 0.05)
    assert (high < 0) == (fit.holm(down).min() < 0.05)
    assert z == pytest.approx(min(scores), abs=1e-9)  # far out too, where p-values end at 1
    assert low <= z


def test_ties_are_neither_and_what_nothing_contradicts_has_no_upper_end():
    assert fit.together([1.0], [1.0]) == (0.0, (-np.inf, np.inf))
    assert fit.together([0.0, 0.0], [1.0, 1.0])[1][1] == np.inf


def test_one_test_is_the_usual_interval():
    z, (low, high) = fit.together([norm.sf(1.2)], [norm.cdf(1.2)])
    assert (z, low, high) == pytest.approx((1.2, 1.2 - 1.6449, 1.2 + 1.6449), abs=1e-4)


def test_later_takes_runs_that_never_ended():
    up, down = fit.later([10, 20, 30, 40, np.inf], [50, 60, 70, np.inf, np.inf])
    assert up < 0.1 < down
    assert fit.later([np.inf] * 3, [np.inf] * 3) == (1.0, 1.0)
    a, b = np.arange(6.0), np.arange(6.0) + 0.5
    wins = np.mean(b[:, None] > a[None])  # ties are none
    assert wins > 0.5
    assert fit.later(a, b)[0] < fit.later(b, a)[0]
    with pytest.raises(InputError):
        fit.later([], [1.0])


@pytest.mark.parametrize("n", [6, 10, 15, 50])
def test_the_median_is_covered(n):
    """The exact chance that j or more of n lie on either side, from the ends that are given."""
    values = np.arange(1.0, n + 1)
    _, low, high = fit.median_interval(values)
    j = int(low)
    assert high == n + 1 - j
    assert 1 - 2 * binom.cdf(j - 1, n, 0.5) >= 0.95
    assert 1 - 2 * binom.cdf(j, n, 0.5) < 0.95


def test_few_values_bound_no_median():
    assert fit.median_interval([3.0, 1.0, 2.0]) == (2.0, -np.inf, np.inf)
    assert fit.median_interval([1.0] * 4 + [np.inf] * 6)[0] == np.inf
