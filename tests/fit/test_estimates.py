"""Estimates against the same numbers by other means: SciPy, brute force, closed forms."""

import numpy as np
import pytest
from scipy import stats

from limelight._core.errors import InputError
from limelight.claims import Estimate
from limelight.fit import estimates
from limelight.fit.curves import crossing, law, slopes

VALUES = np.random.default_rng(3).normal(2.0, 1.0, size=12)


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.interval is not None
    return estimate.interval


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_a_mean_has_students_interval(level):
    found = estimates.mean(VALUES, level=level)
    expected = stats.t.interval(level, 11, VALUES.mean(), stats.sem(VALUES))
    assert found.value == pytest.approx(VALUES.mean())
    np.testing.assert_allclose(ends(found), expected)


@pytest.mark.parametrize("method", ["wilson", "exact"])
def test_a_share_from_outcomes_and_from_counts(method):
    outcomes = np.array([True] * 7 + [False] * 5)
    found = estimates.share(outcomes, method=method)
    assert found == estimates.share(7, 12, method=method)
    test = stats.binomtest(7, 12).proportion_ci(0.95, method=method)
    np.testing.assert_allclose(ends(found), (test.low, test.high), rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 12, 333])
def test_medians_of_resamples_are_those_of_their_values(n, monkeypatch):
    """To the last bit, for any kind of number, however few are resampled at a time."""
    monkeypatch.setattr(estimates, "RESAMPLED", 1000)
    values = np.random.default_rng(n).normal(size=n)
    picks = np.random.default_rng(5).integers(n, size=(50, n))
    for array in (values, values.astype(np.float32), np.round(values).astype(int), values > 0,
                  np.where(values < -1, np.nan, values)):  # fmt: skip
        found = estimates._medians(array, 50, 5)
        np.testing.assert_array_equal(found, np.median(array[picks], axis=1))


def test_a_median_is_bootstrapped():
    found = estimates.median(VALUES, draws=2000)
    other = stats.bootstrap((VALUES,), np.median, n_resamples=2000, method="percentile", rng=1)
    interval = other.confidence_interval
    assert found.value == np.median(VALUES)
    np.testing.assert_allclose(ends(found), (interval.low, interval.high), atol=0.25)


def test_pairs_are_compared_trial_by_trial():
    first = VALUES + np.random.default_rng(4).normal(0.5, 0.1, size=12)
    found = estimates.paired(first, VALUES)
    low, high = stats.ttest_rel(first, VALUES).confidence_interval(0.95)
    np.testing.assert_allclose(ends(found), (low, high))
    assert "not pairs" in estimates.paired(first, VALUES[:5]).note


def test_a_statistic_of_means_draws_whole_trials():
    pairs = np.stack([2 * VALUES, VALUES], axis=1)
    found = estimates.of_means(pairs, lambda m: m[..., 0] / m[..., 1])
    assert found.value == pytest.approx(2.0)
    np.testing.assert_allclose(ends(found), (2.0, 2.0))
    nothing = estimates.of_means(0 * pairs, lambda m: m[..., 0] / m[..., 1])
    assert np.isnan(nothing.value)
    assert nothing.interval is None


def test_few_trials_leave_the_interval_open():
    for few in (estimates.mean(VALUES[:4]), estimates.median(VALUES[:4]), estimates.share(4, 4)):
        assert np.isnan(ends(few)).all()
        assert few.note == "fewer than 5 trials"
    assert np.isfinite(ends(estimates.mean(VALUES[:4], least=2))).all()


def test_nothing_and_nan_are_said():
    for empty in (estimates.mean([]), estimates.median([]), estimates.share(0, 0)):
        assert np.isnan(empty.value)
        assert empty.note == "not in this table"
    unknown = estimates.mean([1.0, np.nan], note="one trial left the grid")
    assert (unknown.interval, unknown.n, unknown.note) == (None, 2, "one trial left the grid")


def test_the_worst_cell_speaks_for_all():
    cells = [("a", Estimate(2.0, (1.0, 3.5), 9)), ("b", Estimate(1.5, (1.2, 1.8), 8))]
    assert estimates.lowest(cells).value == 2.0
    assert estimates.highest(cells).value == 2.0
    assert estimates.lowest(cells[1:], note="and more").note == "at b; and more"
    broken = [*cells, ("c", Estimate(9.0, (np.nan, np.nan), 2, "fewer than 5 trials"))]
    worst = estimates.lowest(broken)
    assert worst.value == 9.0
    assert worst.note == "a: 2, b: 1.5, c: 9; fewer than 5 trials"
    assert estimates.hull(cells, 1.0).interval == (1.0, 3.5)
    assert estimates.lowest([]).note == estimates.largest({}).note == "not in this table"


def test_cells_together_are_right_as_often_as_one():
    """Twenty shares of one half: at 95 % each the worst is often wrong, together it is not."""
    drawn = np.random.default_rng(5).integers(2, size=(400, 20, 60))
    alone, shared = [], []
    for cells in drawn:
        named = [(str(i), cell) for i, cell in enumerate(cells)]
        alone.append(estimates.lowest((name, estimates.share(cell)) for name, cell in named))
        shared.append(estimates.lowest(estimates.together(named, estimates.share)))
    wrong = lambda found: np.mean([ends(one)[1] < 0.5 for one in found])
    assert wrong(alone) > 0.2
    assert wrong(shared) < 0.05
    assert {(one.level, one.family) for one in shared} == {(0.95, 20)}
    assert estimates.together([], estimates.share) == []


def test_a_gap_of_shares_is_newcombes():
    found = estimates.share_gap([1] * 9 + [0], [1] * 3 + [0] * 7, least=10)
    np.testing.assert_allclose(ends(found), (0.1705, 0.8090), atol=5e-5)
    assert (found.value, found.n) == (pytest.approx(0.6), 10)
    assert estimates.share_gap([], [True]).note == "not in this table"
    assert np.isnan(ends(estimates.share_gap([True] * 4, [False] * 9))).all()


def test_two_estimates_allow_for_both_intervals():
    a, b = Estimate(3.0, (2.0, 4.0), 9), Estimate(1.0, (0.5, 2.0), 7)
    grid = [(x, y) for x in np.linspace(2, 4, 9) for y in np.linspace(0.5, 2, 9)]
    apart, over = estimates.difference(a, b), estimates.ratio(a, b)
    assert ends(apart) == (min(x - y for x, y in grid), max(x - y for x, y in grid))
    assert ends(over) == (min(x / y for x, y in grid), max(x / y for x, y in grid))
    assert (apart.value, over.value, apart.n) == (2.0, 3.0, 7)


# --- curves -------------------------------------------------------------------------------------


def slow_crossing(x, y, level):
    """The first place on a fine line through the points at which the level is reached."""
    if y[0] >= level:
        return np.nan
    fine = np.linspace(x[0], x[-1], 200_001)
    reached = np.interp(fine, x, y) >= level
    return fine[reached.argmax()] if reached.any() else np.nan


def test_crossings_agree_with_a_fine_line():
    generator = np.random.default_rng(0)
    x = np.sort(generator.uniform(0, 10, size=7))
    y = generator.normal(size=(40, 7)).cumsum(axis=1)
    expected = [slow_crossing(x, curve, 0.7) for curve in y]
    np.testing.assert_allclose(crossing(x, y, 0.7), expected, atol=1e-4)
    np.testing.assert_allclose(crossing(x, -y, -0.7, falling=True), expected, atol=1e-4)


def test_crossings_for_good_and_at_the_edges():
    x, y = [1.0, 2.0, 4.0, 8.0], [0.0, 2.0, 0.0, 4.0]
    assert crossing(x, y, 1.0)[0] == 1.5
    assert crossing(x, y, 1.0, for_good=True)[0] == 5.0
    assert crossing(x, y, 1.0, for_good=True, log=True)[0] == pytest.approx(4 * 2**0.25)
    always, never = [3.0] * 4, [0.0] * 4
    for options in ({}, {"for_good": True}):
        assert np.isnan(crossing(x, [always, never], 1.0, **options)).all()
        edges = crossing(x, [always, never], 1.0, edges=True, **options)
        np.testing.assert_allclose(edges, [1.0, 8.0])


def test_slopes_agree_with_polyfit():
    y = np.random.default_rng(1).normal(size=(5, 3))
    x = np.array([0.0, 1.0, 3.0, 4.0, 7.0])
    np.testing.assert_allclose(slopes(x, y), np.polyfit(x, y, 1)[0])


def test_a_law_says_what_it_rests_on():
    x, generator = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.random.default_rng(2)
    samples = 3 * x**1.5 * np.exp(0.1 * generator.normal(size=(400, 5)))
    found = law(x, 3 * x**1.5, samples, 50)
    assert found.value == pytest.approx(1.5)
    exponents = np.polyfit(np.log(x), np.log(samples.T), 1)[0]
    np.testing.assert_allclose(ends(found), np.quantile(exponents, [0.025, 0.975]))
    samples[:30, 2] = np.nan
    assert law(x, 3 * x**1.5, samples, 50).note.endswith("30 of 400 bootstrap draws unresolved")
    samples[:200, 2] = np.nan
    assert np.isnan(ends(law(x, 3 * x**1.5, samples, 50))).all()
    few = law(x, np.where(x < 8, x, np.nan), samples, 50)
    assert (few.n, few.note) == (50, "3 usable points, 5 needed")
    assert np.isnan(law(np.ones(5), x, samples, 50).value)


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, -0.1])
@pytest.mark.parametrize("estimate", [estimates.mean, estimates.median])
def test_a_level_is_a_share(estimate, level):
    with pytest.raises(InputError, match="level"):
        estimate([1.0, 2.0, 3.0], level=level)
