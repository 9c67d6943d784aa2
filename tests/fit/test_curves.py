"""Falls of curves against a loop over their points."""

import numpy as np

from limelight.fit.curves import crossing, falls


def slow_fall(x, y, plateau, floor):
    """One curve: first below the floor, last above the plateau before that."""
    low = next((i for i, value in enumerate(y) if value < floor), None)
    if low is None:
        return np.inf, np.inf
    high = [x[i] for i in range(low) if y[i] > plateau]
    return (high[-1] if high else 0.0), x[low]


def test_falls_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    x = np.arange(1, 13) * 10.0
    curves = rng.choice([0.0, 0.05, 0.3, 0.65, 0.7], size=(200, 12), p=[0.05, 0.05, 0.3, 0.3, 0.3])
    curves[::3, 8:] = np.nan  # ended early
    found = falls(x, curves, plateau=0.6, floor=0.1)
    slow = np.array([slow_fall(x, y, 0.6, 0.1) for y in curves])
    np.testing.assert_array_equal(np.stack([found.leaves, found.reaches], axis=1), slow)
    leaves, reaches = slow.T
    assert 0 < found.done.sum() < 200
    sharp = [b < np.inf and b - a < a / 4 for a, b in slow]
    np.testing.assert_array_equal(found.within(0.25), sharp)


def test_a_curve_that_touches_the_level_has_reached_it():
    assert crossing([0, 1, 2, 3], [[0.0, 2.0, 1.0, 3.0]], 2.0).tolist() == [1.0]
    assert crossing([0, 1, 2, 3], [[3.0, 2.0, 2.5, 0.0]], 2.0, falling=True).tolist() == [1.0]
