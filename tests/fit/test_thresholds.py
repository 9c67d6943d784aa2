import numpy as np
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, log_expit, logit
from scipy.stats import chi2

from limelight._core.errors import InputError
from limelight.fit import fit_threshold, resolved, threshold_values

X = np.array([4.0, 8, 16, 32, 64, 128])


def slow(x, s, n, q=0.5, most=20.0):
    """Negative log-likelihood as a function of (log threshold, slope), the plain way."""
    u = np.log(x)

    def loss(theta):
        eta = theta[1] * (u - theta[0]) + logit(q)
        return -(s * log_expit(eta) + (n - s) * log_expit(-eta)).sum()

    return loss, [(u[0] - 2, u[-1] + 2), (0.5, most)]


@pytest.mark.parametrize("seed", range(12))
def test_value_maximises_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(1, 300, rng.integers(3, 12)))
    n = rng.integers(1, 40, len(x))
    slope, q = rng.choice([0.3, 1, 3, 10, 50]), rng.choice([0.3, 0.5, 0.9])
    s = rng.binomial(n, expit(slope * (np.log(x) - rng.uniform(1, 5))))
    found = fit_threshold(x, s, n, rate=float(q))
    loss, bounds = slow(x, s, n, q)
    starts = [(t, k) for t in np.linspace(*bounds[0], 4) for k in (1.0, 10.0)]
    best = min((minimize(loss, start, bounds=bounds) for start in starts), key=lambda r: r.fun)
    assert loss((np.log(found.value), found.slope)) <= best.fun + 1e-6
    if found.resolved and best.fun > 0.5:  # a maximum with curvature: also the same place
        assert np.log(found.value) == pytest.approx(best.x[0], abs=0.01)


def test_interval_ends_by_root_finding():
    s, n = np.array([1, 3, 6, 13, 17, 20]), np.full(6, 20)
    found = fit_threshold(X, s, n)
    loss, bounds = slow(X, s, n, most=200.0)

    def excess(t):
        fit = minimize_scalar(lambda k: loss((t, k)), bounds=bounds[1], method="bounded")
        p = expit(fit.x * (np.log(X) - t))
        correction = 0.5 / np.sqrt((n * p * (1 - p)).sum())
        drop = max(2 * (fit.fun - loss((np.log(found.value), found.slope))), 0)
        return np.sqrt(drop) - np.sqrt(chi2.ppf(0.95, 1)) - correction

    centre = np.log(found.value)
    assert np.log(found.low) == pytest.approx(brentq(excess, centre - 2, centre), abs=1e-4)
    assert np.log(found.high) == pytest.approx(brentq(excess, centre, centre + 2), abs=1e-4)


def test_specified_table_gives_the_specified_values():
    x = np.array([2, 3, 4, 6, 8, 12, 16, 24, 32, 48])
    rates = {
        34.0: [0, 0, 0, 0, 0, 0, 0, 0.30, 0.65, 0.60],
        20.3: [0, 0, 0, 0, 0.05, 0.15, 0.45, 0.75, 0.65, 0.90],
        3.0: [0.30, 0.35, 0.75, 0.90, 0.90, 1, 1, 1, 1, 1],
    }
    for value, rate in rates.items():
        found = fit_threshold(x, np.round(20 * np.array(rate)), np.full(10, 20))
        assert found.value == pytest.approx(value, abs=0.05)
        assert found.resolved
        assert found.n == 200


def test_perfect_separation():
    found = fit_threshold(X, [0, 0, 0, 10, 10, 10], np.full(6, 10))
    assert found.value == pytest.approx(np.sqrt(16 * 32), rel=1e-4)
    assert found.interval == pytest.approx((16, 32), rel=1e-5)
    assert found.slope == 20.0
    assert found.resolved
    assert not found.censored_low
    assert not found.censored_high
    assert found.bracket() == (16.0, 32.0)


def test_separation_with_few_trials_reaches_beyond_the_gap():
    found = fit_threshold(X, [0, 0, 0, 2, 2, 2], np.full(6, 2))
    assert found.low < 15
    assert found.high > 34
    assert found.bracket() == (0.0, np.inf)


def test_one_mixed_size():
    found = fit_threshold(X, [0, 0, 5, 10, 10, 10], np.full(6, 10))
    assert found.value == pytest.approx(16, rel=1e-3)
    assert 8 < found.low < 15
    assert 17 < found.high < 32


@pytest.mark.parametrize("successes", [0, 10])
def test_nothing_crosses(successes):
    found = fit_threshold(X, np.full(6, successes), np.full(6, 10))
    assert not found.resolved
    if successes:
        assert found.value == pytest.approx(4 / np.e**2)
        assert found.interval[0] == pytest.approx(4 / np.e**2)
        assert found.interval[1] == pytest.approx(4, rel=1e-3)
        assert (found.censored_low, found.censored_high) == (True, False)
    else:
        assert found.value == pytest.approx(128 * np.e**2)
        assert found.interval[0] == pytest.approx(128, rel=1e-3)
        assert (found.censored_low, found.censored_high) == (False, True)


def test_one_size():
    half = fit_threshold([8], [10], [20])
    assert half.value == pytest.approx(8, rel=1e-6)
    assert half.low < 8 < half.high
    assert not half.resolved
    full = fit_threshold([8], [20], [20])
    assert full.censored_low
    assert full.high == pytest.approx(8, rel=1e-3)


def test_no_trials():
    found = fit_threshold(X, np.zeros(6), np.zeros(6))
    assert np.isnan(found.value)
    assert found.interval == (0.0, np.inf)
    assert (found.resolved, found.censored_low, found.censored_high, found.n) == (0, 1, 1, 0)
    assert found.bracket() == (0.0, np.inf)
    assert np.isnan(threshold_values(X, np.zeros((2, 6)), np.zeros(6))).all()


def test_sizes_without_trials_are_dropped():
    with_gap = fit_threshold([1e-6, *X, 1e9], [0, 0, 2, 5, 9, 9, 10, 0], [0, *[10] * 6, 0])
    without = fit_threshold(X, [0, 2, 5, 9, 9, 10], [10] * 6)
    assert with_gap.value == without.value
    assert with_gap.interval == without.interval
    np.testing.assert_array_equal(with_gap.x, X)


def test_ties_are_merged():
    tied = fit_threshold([4, 8, 8, 16], [0, 1, 4, 10], [10, 5, 5, 10])
    whole = fit_threshold([4, 8, 16], [0, 5, 10], [10, 10, 10])
    assert tied.value == pytest.approx(whole.value)
    assert tied.interval == pytest.approx(whole.interval)
    np.testing.assert_array_equal(tied.rates, [0, 0.5, 1])


def test_data_against_the_model_are_flat_not_fatal():
    found = fit_threshold(X, [10, 8, 6, 4, 2, 0], np.full(6, 10))
    assert found.slope == 0.5
    assert not found.resolved
    assert (found.censored_low, found.censored_high) == (False, False)
    # A dip is allowed; a crossing is still a crossing.
    dip = fit_threshold(X, [0, 7, 3, 6, 9, 10], np.full(6, 10))
    assert dip.resolved
    assert dip.low < dip.value < dip.high


def test_falling_curves():
    s = np.array([20, 18, 11, 6, 2, 0])
    falls = fit_threshold(X, s, np.full(6, 20), increasing=False, rate=0.8)
    rises = fit_threshold(X, 20 - s, np.full(6, 20), rate=0.2)
    assert falls.value == pytest.approx(rises.value)
    assert falls.interval == pytest.approx(rises.interval)
    assert falls.slope == pytest.approx(-rises.slope)
    assert falls.resolved
    np.testing.assert_allclose(falls.rates, s / 20)
    low, high = falls.bracket()
    assert low <= falls.value <= high


@pytest.mark.parametrize("rate", [0.2, 0.75, 0.9])
def test_other_rates_are_read_off_the_same_curve(rate):
    s, n = np.array([1, 3, 6, 13, 17, 20]), np.full(6, 20)
    half, other = fit_threshold(X, s, n), fit_threshold(X, s, n, rate=rate)
    found = expit(half.slope * np.log(other.value / half.value))
    assert found == pytest.approx(rate, abs=1e-4)
    assert other.slope == pytest.approx(half.slope, rel=1e-3)


def test_resolved_is_the_specified_rule():
    cases = [[0, 10, 10], [10, 0, 10], [10, 10, 0], [4, 4, 5], [5, 5, 5], [0, 0, 0], [10, 10, 10]]
    expected = [True, True, False, True, False, False, False]
    assert resolved([1, 2, 3], cases, [10, 10, 10]).tolist() == expected
    assert resolved([3, 2, 1], np.array(cases)[:, ::-1], [10] * 3).tolist() == expected


def test_batch_equals_one_by_one():
    rng = np.random.default_rng(5)
    n = np.array([3, 10, 7, 0, 20, 5])
    s = rng.binomial(n, [0.1, 0.2, 0.6, 0.5, 0.8, 0.9], size=(30, 6))
    values = threshold_values(X, s, n)
    single = [fit_threshold(X, row, n).value for row in s]
    np.testing.assert_allclose(values, single, rtol=1e-6)
    np.testing.assert_allclose(threshold_values(X, s, np.tile(n, (30, 1))), values, rtol=1e-9)


def test_no_draws():
    assert threshold_values(X, np.zeros((0, 6)), np.full(6, 10)).shape == (0,)


def test_text():
    assert str(fit_threshold(X, [0, 0, 0, 10, 10, 10], [10] * 6)) == "22.6 [16, 32], n = 60"
    text = str(fit_threshold(X, [10] * 6, [10] * 6))
    assert text == "0.541 [<0.541, 4], unresolved, n = 60"


@pytest.mark.parametrize(
    ("x", "s", "n", "options"),
    [
        ([], [], [], {}),
        ([0, 1], [0, 1], [1, 1], {}),
        ([-1, 1], [0, 1], [1, 1], {}),
        ([np.nan, 1], [0, 1], [1, 1], {}),
        (["a", "b"], [0, 1], [1, 1], {}),
        ([1, 2], [0, 2], [1, 1], {}),
        ([1, 2], [0, np.nan], [1, 1], {}),
        ([1, 2], [0, 0.5], [1, 1], {}),
        ([1, 2], [0, 1, 1], [1, 1, 1], {}),
        ([1, 2], [0, 1], [1, 1, 1], {}),
        ([1, 2], [0, 1], [1, 1], {"level": 1.0}),
        ([1, 2], [0, 1], [1, 1], {"rate": 0.0}),
    ],
)
def test_refusals(x, s, n, options):
    with pytest.raises(InputError):
        fit_threshold(x, s, n, **options)
