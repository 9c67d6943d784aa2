import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from limelight.fit import fit_law, fit_threshold, wilson
from limelight.fit._likelihood import Curve

quick = settings(max_examples=25, deadline=None)


@st.composite
def curves(draw, trials=12):
    """Sizes a factor of at least 1.3 apart, trials, successes; no shape assumed."""
    gaps = draw(st.lists(st.floats(0.26, 1.5), min_size=1, max_size=6))
    n = draw(st.lists(st.integers(1, trials), min_size=len(gaps), max_size=len(gaps)))
    s = [draw(st.integers(0, count)) for count in n]
    return np.exp(np.cumsum(gaps)), np.array(s), np.array(n)


@quick
@given(curves())
def test_interval_holds_the_value_and_has_width(data):
    x, s, n = data
    found = fit_threshold(x, s, n)
    assert found.low <= found.value * (1 + 1e-9)
    assert found.value <= found.high * (1 + 1e-9)
    assert found.high > found.low * (1 + 1e-3)
    assert found.low >= x[0] / np.e**2 * (1 - 1e-9)
    assert found.high <= x[-1] * np.e**2 * (1 + 1e-9)
    assert 0.5 <= found.slope <= 20
    assert found.censored_low == (found.low <= x[0] / np.e**2 * (1 + 1e-9))


@quick
@given(curves(), st.floats(0.01, 100))
def test_scaling_the_sizes_scales_the_threshold(data, factor):
    x, s, n = data
    a, b = fit_threshold(x, s, n), fit_threshold(factor * x, s, n)
    assert b.value == pytest.approx(factor * a.value, rel=1e-3)
    assert b.low == pytest.approx(factor * a.low, rel=1e-3)
    assert b.high == pytest.approx(factor * a.high, rel=1e-3)
    assert b.resolved == a.resolved


@quick
@given(curves())
def test_mirror(data):
    """Failures on the inverse sizes are the same curve seen from the other end."""
    x, s, n = data
    a, b = fit_threshold(x, s, n), fit_threshold(1 / x, n - s, n)
    assert b.value == pytest.approx(1 / a.value, rel=1e-3)
    assert b.low == pytest.approx(1 / a.high, rel=1e-3)
    assert b.high == pytest.approx(1 / a.low, rel=1e-3)


@quick
@given(curves(), st.randoms(use_true_random=False))
def test_order_does_not_matter(data, random):
    x, s, n = data
    order = list(range(len(x)))
    random.shuffle(order)
    a, b = fit_threshold(x, s, n), fit_threshold(x[order], s[order], n[order])
    assert (a.value, a.interval, a.slope) == (b.value, b.interval, b.slope)


@quick
@given(curves())
def test_higher_confidence_is_wider(data):
    x, s, n = data
    narrow, wide = fit_threshold(x, s, n, level=0.8), fit_threshold(x, s, n, level=0.99)
    assert wide.low <= narrow.low * (1 + 1e-6)
    assert wide.high >= narrow.high * (1 - 1e-6)


@quick
@given(curves(), st.integers(0, 5))
def test_one_more_success_moves_the_threshold_down(data, where):
    x, s, n = data
    i = where % len(x)
    assume(s[i] < n[i])
    more = s.copy()
    more[i] += 1
    # At a fixed slope this is a theorem; the range of slopes is held narrow to test it.
    u = np.log(np.asarray(x, dtype=float))
    curve = Curve(u, 0.5, (2.0, 2.0 + 1e-9), (u[0] - 2.0, u[-1] + 2.0))
    t, _, _ = curve.maximise(np.array([s, more], dtype=float), np.array([n, n], dtype=float))
    assert t[1] <= t[0] + 1e-6


@quick
@given(curves())
def test_the_bracket_and_the_interval_meet(data):
    x, s, n = data
    found = fit_threshold(x, s, n)
    low, high = found.bracket()
    if low <= high:
        assert low <= found.high * (1 + 1e-9)
        assert found.low <= high * (1 + 1e-9)


@quick
@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.5, 0.99))
def test_wilson_holds_the_rate_and_mirrors(s, failures, level):
    n = s + failures
    assume(n > 0)
    low, high = wilson(s, n, level)
    assert 0 <= low <= s / n + 1e-12
    assert s / n <= high + 1e-12 <= 1 + 1e-9
    other_low, other_high = wilson(failures, n, level)
    assert float(low) == pytest.approx(1 - float(other_high), abs=1e-9)
    assert float(high) == pytest.approx(1 - float(other_low), abs=1e-9)


@quick
@given(
    st.lists(st.floats(0.1, 10), min_size=3, max_size=8),
    st.floats(0.1, 10),
    st.floats(0.1, 10),
)
def test_units_do_not_change_an_exponent(y, a, b):
    x = np.arange(1.0, len(y) + 1)
    first, second = (
        fit_law("power", x, y, draws=20),
        fit_law("power", a * x, b * np.array(y), draws=20),
    )
    assert second.slope == pytest.approx(first.slope, abs=1e-6)
    assert second.slope_interval == pytest.approx(first.slope_interval, abs=1e-6)
