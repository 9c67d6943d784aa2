import numpy as np
import pytest
from scipy.stats import linregress

from limelight._core.errors import InputError
from limelight.fit import LAWS, fit_law, resample_means
from limelight.fit.laws import line_fits

X = np.geomspace(1, 64, 10)
CURVES = {
    "linear": lambda x: 3 + 2 * x,
    "logarithmic": lambda x: 3 + 2 * np.log(x),
    "power": lambda x: np.exp(3) * x**2,
}


@pytest.mark.parametrize("law", LAWS)
def test_exact_recovery(law):
    y = CURVES[law](X)
    found = fit_law(law, X, y, draws=100)
    assert found.intercept == pytest.approx(3)
    assert found.slope == pytest.approx(2)
    assert found.r_squared == pytest.approx(1)
    assert found.slope_interval == pytest.approx((2, 2))
    np.testing.assert_allclose(found.predict(X), y)


def test_against_scipy():
    rng = np.random.default_rng(0)
    y = np.exp(1 + 1.5 * np.log(X) + 0.3 * rng.normal(size=10))
    for found, g, f in (
        (fit_law("linear", X, y), X, y),
        (fit_law("logarithmic", X, y), np.log(X), y),
        (fit_law("power", X, y), np.log(X), np.log(y)),
    ):
        theirs = linregress(g, f)
        assert found.slope == pytest.approx(theirs.slope)
        assert found.intercept == pytest.approx(theirs.intercept)
        assert found.r_squared == pytest.approx(theirs.rvalue**2)


@pytest.mark.parametrize("points", [6, 20])
def test_residual_bootstrap_covers(points):
    """The truth is in nominal 95 % intervals of slope and intercept, even from six points."""
    rng = np.random.default_rng(points)
    x = np.geomspace(1, 64, points)
    held = []
    for seed in range(300):
        y = np.exp(0.5 + 1.5 * np.log(x) + 0.4 * rng.normal(size=points))
        found = fit_law("power", x, y, draws=400, seed=seed)
        low, high = np.array([found.intercept_interval, found.slope_interval]).T
        held.append((low <= [0.5, 1.5]) & (high >= [0.5, 1.5]))
    assert (np.mean(held, axis=0) >= 0.92).all()


def test_trial_bootstrap_covers():
    """Points that are means of 20 trials: the spread comes from the trials."""
    rng = np.random.default_rng(1)
    x = np.arange(1.0, 9.0)
    held = []
    for seed in range(300):
        trials = 1 + 2 * x + rng.exponential(3, size=(20, 8)) - 3
        columns = [
            resample_means(column, 400, seed * 8 + i)[:, None] for i, column in enumerate(trials.T)
        ]
        samples = np.hstack(columns)  # every point has trials of its own
        low, high = fit_law("linear", x, trials.mean(0), samples=samples).slope_interval
        held.append(low <= 2 <= high)
    assert np.mean(held) >= 0.91


def test_levels_nest():
    y = 1 + 2 * X + np.sin(9 * X)
    wide, narrow = fit_law("linear", X, y, level=0.95), fit_law("linear", X, y, level=0.9)
    assert wide.slope_interval[0] < narrow.slope_interval[0] < wide.slope
    assert wide.slope_interval[1] > narrow.slope_interval[1] > wide.slope
    assert wide.r_squared_interval[0] < wide.r_squared_interval[1] <= 1


def test_same_seed_same_law():
    y = 1 + X + np.cos(X)
    assert fit_law("linear", X, y) == fit_law("linear", X, y)
    assert fit_law("linear", X, y) != fit_law("linear", X, y, seed=1)


def test_missing_points_and_draws():
    y = 3 + 2 * X
    y[3] = np.nan
    samples = np.tile(3 + 2 * X, (50, 1))
    samples[:10, 5] = np.nan
    samples[10:15, :8] = np.nan  # two points are left: such a draw counts for nothing
    samples[15:20] = np.inf
    found = fit_law("linear", X, y, samples=samples)
    assert found.n == 9
    assert found.slope == pytest.approx(2)
    assert found.slope_interval == pytest.approx((2, 2))


def test_two_points_have_no_interval():
    found = fit_law("linear", [1, 2], [1, 3])
    assert found.slope == pytest.approx(2)
    assert np.isnan(found.slope_interval).all()


def test_constant_values_explain_nothing():
    found = fit_law("linear", X, np.full(10, 4.0))
    assert found.slope == pytest.approx(0, abs=1e-12)
    assert np.isnan(found.r_squared)


def test_ties_in_x():
    x = np.repeat([1.0, 2.0, 4.0], 4)
    y = 2 * x + np.tile([-1, 1, -2, 2], 3)
    assert fit_law("linear", x, y).slope == pytest.approx(2)


def test_text():
    assert str(fit_law("power", [1, 2, 4], [3, 12, 48])) == "power: slope 2 [2, 2], R2 1.000, n = 3"


@pytest.mark.parametrize(
    "call",
    [
        lambda: fit_law("linear", [1], [1]),
        lambda: fit_law("linear", [1, 1, 1], [1, 2, 3]),
        lambda: fit_law("linear", [1, 2, 3], [1, np.nan, np.nan]),
        lambda: fit_law("linear", [1, 2, 3], [1, 2]),
        lambda: fit_law("logarithmic", [0, 1, 2], [1, 2, 3]),
        lambda: fit_law("power", [1, 2, 3], [1, -2, 3]),
        lambda: fit_law("linear", [1, 2, 3], [1, 2, 3], samples=[[1, 2]]),
        lambda: fit_law("linear", [1, 2, 3], [1, 2, 3], level=0.0),
        lambda: fit_law("linear", [1, 2, 3], ["a", "b", "c"]),
        lambda: fit_law("linear", [1, 2, 3], [1, 2, 4], draws=0),
    ],
)
def test_refusals(call):
    with pytest.raises(InputError):
        call()


def test_lines_with_missing_points_are_those_of_the_points_that_are_there():
    """Row by row against polyfit on the finite points alone, intercept and slope."""
    rng = np.random.default_rng(3)
    g = rng.normal(5, 2, 9)
    f = 3 + 0.5 * g + rng.normal(0, 0.3, (20, 9))
    f[rng.random(f.shape) < 0.3] = np.nan
    coefficients, share = line_fits(g, f)
    for row, (intercept, slope), explained in zip(f, coefficients, share, strict=True):
        there = np.isfinite(row)
        expected = np.polyfit(g[there], row[there], 1)
        np.testing.assert_allclose([slope, intercept], expected, rtol=1e-9)
        left = row[there] - np.polyval(expected, g[there])
        np.testing.assert_allclose(explained, 1 - left.var() / row[there].var(), rtol=1e-9)
