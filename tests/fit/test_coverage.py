"""Nominal 95 % intervals against simulation: the truth is where the true rate crosses one half."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from limelight.fit import fit_threshold
from limelight.fit._likelihood import Curve

DRAWS = 1200
SLOPES = (0.5, 2.0, 8.0, 32.0, np.inf)  # from shallow to a step


def design(sizes: int) -> np.ndarray:
    return np.linspace(np.log(4), np.log(512), sizes)


def logistic(u, slope: float, truth: float):
    """Success rates; a step passes one half where a size is the truth itself."""
    if np.isinf(slope):
        return np.where(np.isclose(u, truth), 0.5, u > truth)
    return expit(slope * (u - truth))


def coverage(u, rates, trials: int, truth: float, rng, q: float = 0.5) -> float:
    s = rng.binomial(trials, rates, size=(DRAWS, len(u))).astype(float)
    curve = Curve(u, q, (0.5, 20.0), (float(u[0] - 2), float(u[-1] + 2)))
    n = np.full(s.shape, float(trials))
    return float(curve.accepts(s, n, np.full(DRAWS, truth), 0.95).mean())


@pytest.mark.parametrize("trials", [10, 20, 50])
@pytest.mark.parametrize("sizes", [6, 10, 16])
def test_coverage_from_shallow_to_step(trials, sizes):
    """Truth on a size, just above one, between two: no setting falls below 93 %."""
    rng = np.random.default_rng(trials * 100 + sizes)
    u = design(sizes)
    found = {}
    for offset in (0.0, 0.05, 0.3, 0.5):
        truth = float(u[sizes // 2] + offset * (u[1] - u[0]))
        for slope in SLOPES:
            rates = logistic(u, slope, truth)
            found[offset, slope] = coverage(u, rates, trials, truth, rng)
    assert min(found.values()) >= 0.93, found
    shallow = [value for (_, slope), value in found.items() if slope <= 2]
    assert np.mean(shallow) <= 0.975  # and no interval is bought by width where none is needed


@pytest.mark.parametrize("slope", [1.0, 4.0, np.inf])
def test_coverage_near_the_end_of_the_grid(slope):
    rng = np.random.default_rng(8)
    u = design(8)
    for truth in (float(u[0]), float(u[-1] - 0.1), float(u[-1] + 0.5)):
        assert coverage(u, logistic(u, slope, truth), 20, truth, rng) >= 0.93


@pytest.mark.parametrize(("trials", "least"), [(10, 0.90), (50, 0.93)])
def test_coverage_at_another_rate(trials, least):
    """The rate 0.9 leaves few failures to go by: with ten trials a size, a little less."""
    rng = np.random.default_rng(3)
    u = design(10)
    truth = float(u[5] + 0.1)
    for slope in (1.0, 3.0, 8.0):
        rates = expit(slope * (u - truth) + np.log(9))
        assert coverage(u, rates, trials, truth, rng, q=0.9) >= least


def test_unequal_trials_and_spacing():
    rng = np.random.default_rng(4)
    u = np.log([3.0, 4, 6, 7, 20, 25, 100])
    n = np.array([5.0, 20, 10, 40, 8, 12, 30])
    curve = Curve(u, 0.5, (0.5, 20.0), (float(u[0] - 2), float(u[-1] + 2)))
    for slope in (1.0, 4.0, 30.0):
        for truth in np.log([6.0, 12.0, 22.0]):
            s = rng.binomial(n.astype(int), expit(slope * (u - truth)), size=(DRAWS, 7))
            stands = curve.accepts(
                s.astype(float), np.tile(n, (DRAWS, 1)), np.full(DRAWS, truth), 0.95
            )
            assert stands.mean() >= 0.93


def test_another_level():
    rng = np.random.default_rng(6)
    u, truth = design(10), float(design(10)[4])
    curve = Curve(u, 0.5, (0.5, 20.0), (float(u[0] - 2), float(u[-1] + 2)))
    for slope in (1.0, 8.0, np.inf):
        s = rng.binomial(20, logistic(u, slope, truth), size=(DRAWS, 10)).astype(float)
        stands = curve.accepts(s, np.full(s.shape, 20.0), np.full(DRAWS, truth), 0.8)
        assert 0.78 <= stands.mean() <= 0.92


@pytest.mark.parametrize("slope", [1.0, 6.0, np.inf])
def test_the_interval_is_what_is_accepted(slope):
    rng = np.random.default_rng(7)
    u = design(8)
    truth = float(u[4] + 0.1)
    curve = Curve(u, 0.5, (0.5, 20.0), (float(u[0] - 2), float(u[-1] + 2)))
    for s in rng.binomial(12, logistic(u, slope, truth), size=(15, 8)):
        found = fit_threshold(np.exp(u), s, np.full(8, 12))
        stands = curve.accepts(
            s[None].astype(float), np.full((1, 8), 12.0), np.array([truth]), 0.95
        )
        assert (found.low <= np.exp(truth) <= found.high) == stands[0]


def test_another_shape():
    """A normal curve is near enough to logistic, a skewed one is not; the bracket still holds."""
    rng = np.random.default_rng(9)
    u = design(16)
    truth = float(u[8])
    assert coverage(u, norm.cdf(1.5 * (u - truth)), 50, truth, rng) >= 0.93
    skewed = 1 - np.exp(-np.log(2) * np.exp(2 * (u - truth)))
    assert coverage(u, skewed, 50, truth, rng) < 0.8
    held = []
    for s in rng.binomial(50, skewed, size=(40, 16)):
        low, high = fit_threshold(np.exp(u), s, np.full(16, 50)).bracket()
        held.append(low <= np.exp(truth) * (1 + 1e-9) and np.exp(truth) * (1 - 1e-9) <= high)
    assert np.mean(held) >= 0.95


def test_more_trials_narrow_the_interval():
    rng = np.random.default_rng(10)
    u = design(8)
    rates = logistic(u, 2.0, float(u[4] - 0.2))
    widths = []
    for trials in (5, 20, 80):
        fits = [
            fit_threshold(np.exp(u), s, np.full(8, trials))
            for s in rng.binomial(trials, rates, size=(20, 8))
        ]
        widths.append(np.mean([np.log(found.high / found.low) for found in fits]))
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.3)  # with the square root of the trials
    assert widths[1] / widths[2] == pytest.approx(2, rel=0.3)
