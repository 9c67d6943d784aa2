import time

import numpy as np
import pytest

from limelight.core.errors import InputError
from limelight.fit import (
    bootstrap,
    percentile_interval,
    resample_counts,
    resample_means,
    resample_tables,
    trial_weights,
)
from limelight.fit.resample import group_rows
from limelight.table import Table


def grid(cells=3, trials=5) -> Table:
    cell, trial = np.divmod(np.arange(cells * trials), trials)
    value = np.random.default_rng(0).normal(size=cells * trials)
    return Table({"a": cell * 10, "trial": trial, "y": value}, ("a",))


def test_counts_are_the_bootstrap_of_outcomes():
    outcomes = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    drawn = resample_counts(outcomes.sum(), 8, draws=20000, seed=1)
    slow = np.random.default_rng(2).choice(outcomes, (20000, 8)).sum(1)
    theirs, ours = np.bincount(slow, minlength=9), np.bincount(drawn, minlength=9)
    np.testing.assert_allclose(ours / 20000, theirs / 20000, atol=0.015)


def test_counts_keep_shape_and_empty_cells():
    drawn = resample_counts([[0, 3], [5, 0]], [[4, 4], [5, 0]], draws=7)
    assert drawn.shape == (7, 2, 2)
    assert (drawn[:, 0, 0] == 0).all()
    assert (drawn[:, 1, 0] == 5).all()
    assert (drawn[:, 1, 1] == 0).all()


def test_weights_are_a_multinomial():
    weights = trial_weights(6, draws=4000)
    assert (weights.sum(1) == 6).all()
    np.testing.assert_allclose(weights.mean(0), 1, atol=0.06)
    np.testing.assert_allclose(weights.var(0), 5 / 6, atol=0.08)


def test_means_have_the_standard_error():
    values = np.random.default_rng(3).normal(size=(25, 4))
    for common in (True, False):
        means = resample_means(values, draws=4000, common=common)
        np.testing.assert_allclose(means.mean(0), values.mean(0), atol=0.02)
        np.testing.assert_allclose(means.std(0), values.std(0) / 5, rtol=0.08)


def test_common_trials_keep_pairs_and_independent_ones_do_not():
    base = np.random.default_rng(4).normal(size=30)
    values = np.stack([base, base + 1], axis=1)
    paired = np.diff(resample_means(values, common=True), axis=1)
    alone = np.diff(resample_means(values, common=False), axis=1)
    assert np.ptp(paired) < 1e-12
    assert alone.std() > 0.1


def test_same_seed_same_draws():
    table = grid()
    for make in (
        lambda seed: resample_counts([3, 4], [9, 9], 5, seed),
        lambda seed: resample_means(np.arange(9.0), 5, seed),
        lambda seed: bootstrap(table, lambda t: t["y"].mean(), 5, seed),
        lambda seed: bootstrap(table, lambda t: t["y"].mean(), 5, seed, common=True),
    ):
        np.testing.assert_array_equal(make(7), make(7))
        assert (make(7) != make(8)).any()


def test_independent_tables_resample_within_cells():
    table = grid()
    for drawn in resample_tables(table, draws=20):
        assert np.bincount(drawn["a"] // 10).tolist() == [5, 5, 5]
        for cell, part in drawn.cells("a"):
            assert np.isin(part["y"], table.where(a=cell["a"])["y"]).all()


def test_common_tables_take_whole_trials():
    table = grid()
    for drawn in resample_tables(table, draws=20, common=True):
        taken = [np.sort(part["trial"]).tolist() for _, part in drawn.cells("a")]
        assert taken[0] == taken[1] == taken[2]


def test_tables_agree_with_means():
    table = grid(trials=40)
    slow = bootstrap(table, lambda t: [p["y"].mean() for _, p in t.cells()], draws=400)
    values = table["y"].reshape(3, 40).T
    fast = resample_means(values, draws=4000, common=False)
    np.testing.assert_allclose(slow.std(0), fast.std(0), rtol=0.15)


def test_counts_of_a_large_table_are_fast():
    start = time.perf_counter()
    resample_counts(np.full((6, 10), 13), 20)
    assert time.perf_counter() - start < 1


def test_percentiles():
    draws = np.stack([np.arange(1001.0), np.full(1001, np.nan)], axis=1)
    draws[500:, 0] = np.nan
    low, high = percentile_interval(draws, 0.9)
    assert low[0] == pytest.approx(0.05 * 499)
    assert high[0] == pytest.approx(0.95 * 499)
    assert np.isnan([low[1], high[1]]).all()


def test_groups_of_words_and_numbers():
    table = Table({"a": np.array(["b", "a", "b"]), "n": np.array([1, 1, 2])})
    group, where = group_rows(table, ["a", "n"])
    assert group.tolist() == [1, 0, 2]
    assert where["a"].tolist() == ["a", "b", "b"]
    group, where = group_rows(table, [])
    assert group.tolist() == [0, 0, 0]
    assert where == {}


@pytest.mark.parametrize(
    "call",
    [
        lambda: resample_counts([2], [1]),
        lambda: resample_counts([1], [2], draws=0),
        lambda: trial_weights(0),
        lambda: resample_means(np.zeros((0, 2))),
        lambda: resample_means(np.zeros((2, 2, 2))),
        lambda: percentile_interval([], 0.9),
        lambda: percentile_interval([1.0], 0.0),
        lambda: bootstrap(Table({"a": np.zeros(0)}, ("a",)), len),
        lambda: bootstrap(Table({"a": np.zeros(2)}, ("a",)), len, common=True),
    ],
)
def test_refusals(call):
    with pytest.raises(InputError):
        call()
