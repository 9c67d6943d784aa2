import time

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.fit import (
    percentile_interval,
    resample_counts,
    resample_means,
    trial_weights,
)


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
    means = resample_means(values, draws=4000)
    np.testing.assert_allclose(means.mean(0), values.mean(0), atol=0.02)
    np.testing.assert_allclose(means.std(0), values.std(0) / 5, rtol=0.08)


def test_a_draw_takes_whole_trials():
    base = np.random.default_rng(4).normal(size=30)
    means = resample_means(np.stack([base, base + 1], axis=1))
    assert np.ptp(np.diff(means, axis=1)) < 1e-12
    assert means[:, 0].std() > 0.1


def test_same_seed_same_draws():
    for make in (
        lambda seed: resample_counts([3, 4], [9, 9], 5, seed),
        lambda seed: resample_means(np.arange(9.0), 5, seed),
    ):
        np.testing.assert_array_equal(make(7), make(7))
        assert (make(7) != make(8)).any()


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
    ],
)
def test_refusals(call):
    with pytest.raises(InputError):
        call()
