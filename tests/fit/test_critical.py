"""Critical sizes against counting by hand, resampling rows, and a likelihood maximised by SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from limelight import fit
from limelight.claims import Undecided
from limelight.fit.critical import CriticalSizes, first_above, rise
from limelight.table import Table

SIZES = tuple(range(50, 201, 10))


def grid(rate, lengths, sizes=SIZES, trials=50, seed=0):
    """Trials that succeed with probability `rate(T, m)`."""
    cells = [(T, m) for T in lengths for m in sizes]
    T, m = (np.repeat([cell[i] for cell in cells], trials) for i in (0, 1))
    chance = np.array([rate(a, b) for a, b in zip(T, m, strict=True)])
    success = np.random.default_rng(seed).random(len(T)) < chance
    return Table({"T": T, "m": m, "success": success}, ("T", "m"))


def critical(table, **options):
    return fit.critical_sizes(table, along="m", by="T", **options)


def logistic(middle, width):
    return lambda T, m: expit((m - middle(T)) * np.log(81) / width)


def test_the_critical_size_is_the_first_above_one_half():
    table = grid(lambda T, m: 0.0, (100, 200), (50, 60, 70), 10)
    success = np.zeros(60, dtype=bool)
    success[[*range(15, 20), *range(20, 26), *range(30, 36)]] = True  # 0, 5, 6 and 6, 0, 0 of 10
    found = critical(Table({**table.columns, "success": success}, table.axes))
    assert found.values.tolist() == [70, 50]
    assert found.below[1] > 0.5
    assert found.censored.all()
    # Where no cell passes, the standard deviation counts one step beyond.
    none = critical(table)
    assert np.isinf(none.values).all()
    assert none.deviations(50).tolist() == [0.0, 0.0]


def test_the_bootstrap_is_that_of_trials():
    """Against resampling the rows themselves, cell by cell."""
    table = grid(logistic(lambda T: 70, 60), (100,), (50, 60, 70, 80, 90), 20)
    found = critical(table, resamples=4000)
    rng = np.random.default_rng(1)
    rows = table["success"].reshape(5, 20)
    stars = []
    for _ in range(2000):
        share = np.array([rng.choice(row, 20).mean() for row in rows])
        above = np.flatnonzero(share > 0.5)
        stars.append(found.sizes[above[0]] if len(above) else np.inf)
    for m in (50, 60, 70, 80, 90, np.inf):
        assert abs(np.mean(np.array(stars) == m) - np.mean(found.draws[:, 0] == m)) < 0.05


def test_the_width_of_a_rise_is_that_of_a_logistic_curve_in_the_size():
    found = critical(grid(logistic(lambda T: 110, 50), (100,)), resamples=200)
    m, s, n = found.sizes, found.successes[0], found.trials[0]

    def minus_log_likelihood(p):
        eta = p[0] + p[1] * (m - 110) / 50
        return -(s * np.log(expit(eta)) + (n - s) * np.log(expit(-eta))).sum()

    slope = minimize(minus_log_likelihood, [0.0, 1.0]).x[1] / 50
    widths, drawn = found.rises
    assert widths[0] == pytest.approx(np.log(81) / slope, rel=1e-3)
    assert drawn.shape == (200, 1)
    assert np.quantile(drawn, 0.05) < widths[0] < np.quantile(drawn, 0.95)


def test_a_ratio_allows_for_what_lies_beyond_the_grid():
    table = grid(lambda T, m: float(m >= 60) if T == 1 else 0.0, (1, 2), (50, 60, 120), 10)
    found = critical(table).ratio(2, 1)
    assert found.value == np.inf
    assert found.interval == (2.0, np.inf)  # the last size over 60, and no limit
    assert "beyond the grid in 100.0% of resamples" in found.note
    with pytest.raises(Undecided, match="T = 1 and 3 are needed"):
        critical(table).ratio(3, 1)
    with pytest.raises(Undecided, match="is beyond the grid"):
        critical(table).ratio(1, 2)


def test_a_statistic_is_left_open_where_sizes_leave_the_grid():
    mean = lambda m: m.mean(axis=1)
    inside = critical(grid(logistic(lambda T: 110 + T, 20), (1, 2, 3))).estimate(mean)
    assert inside.interval is not None
    assert inside.interval[0] <= inside.value <= inside.interval[1]
    first = critical(grid(logistic(lambda T: 110 if T > 1 else 40, 20), (1, 2, 3))).estimate(mean)
    assert np.isnan(first.interval).all()
    assert first.note == "off the grid too often at T = 1"
    with pytest.raises(Undecided, match="off the grid too often at T = 3"):
        critical(grid(logistic(lambda T: 110 if T < 3 else 400, 20), (1, 2, 3))).estimate(mean)


def test_deviations_count_what_is_beyond_as_one_step_more():
    """Against the same resamples by hand; half of them never pass."""
    sizes, trials = np.array([1, 3, 7]), np.full((1, 3), 10.0)
    found = CriticalSizes(np.array([1]), sizes, np.array([[0.0, 4.0, 5.0]]), trials)
    drawn = first_above(sizes, found.resampled(400), trials)
    beyond = np.isinf(drawn)
    assert 0.1 < beyond.mean() < 0.9
    by_hand = np.where(beyond, 11.0, drawn).std(axis=0)
    np.testing.assert_allclose(found.deviations(400), by_hand)


def test_one_size_has_no_step():
    found = CriticalSizes(np.array([1]), np.array([4]), np.array([[5.0]]), np.array([[10.0]]))
    assert found.deviations(50).tolist() == [0.0]


@pytest.mark.parametrize("rates", [(0.3, 0.4), (0.6, 0.7)])
def test_a_rise_through_two_points(rates):
    """Two rates fix the curve, above the grid or below it: its slope is that of their log odds."""
    odds = np.log([rate / (1 - rate) for rate in rates])
    exact = np.log(81) / ((odds[1] - odds[0]) / 10)
    found = rise(np.array([10, 20]), 1000 * np.array([rates]), np.array([1000.0, 1000.0]))
    np.testing.assert_allclose(found, [exact], rtol=1e-4)


def test_beyond_the_grid_is_one_step_more_in_a_standard_deviation():
    success = {50: 3, 60: 4, 80: 5}  # of 10: resamples are at every size and beyond
    table = grid(lambda T, m: 0.0, (100,), tuple(success), 10)
    table.columns["success"][:] = [i < k for k in success.values() for i in range(10)]
    found = critical(table)
    drawn = found.draws[:, 0]
    assert set(drawn) == {50.0, 60.0, 80.0, np.inf}
    expected = np.where(np.isinf(drawn), 100.0, drawn).std()
    assert found.deviations(found.resamples) == pytest.approx([expected])


def test_a_rise_that_begins_before_the_grid_is_that_of_the_most_likely_curve():
    sizes, trials = np.array([0, 90, 100]), np.full(3, 1e4)
    successes = np.round(trials * expit((sizes + 40) / 45))
    found = rise(sizes, successes[None], trials)
    assert found[0] == pytest.approx(45 * np.log(81), rel=0.01)
