import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import isotonic_regression

from limelight._core.errors import InputError
from limelight.plot import Series
from limelight.plot._draw.lines import draw_band, draw_open_ends
from limelight.plot._draw.places import rising, spread, thin
from limelight.plot.style import new_figure

places = hnp.arrays(float, st.integers(1, 12), elements=st.floats(0, 1))


@given(places, st.floats(0.01, 0.3))
def test_spread_keeps_order_and_distance(wanted, gap):
    moved = spread(wanted, gap)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(moved[order]) >= gap - 1e-9).all()
    assert np.isclose(moved.mean(), wanted.mean())


@given(places)
def test_spread_leaves_what_is_apart(wanted):
    wanted = np.unique(wanted.round(1))
    assert np.allclose(spread(wanted, 0.05), wanted)


@given(places, st.floats(0.01, 0.5))
def test_thinned_labels_do_not_touch_and_name_the_end(wanted, gap):
    wanted = np.sort(wanted)
    kept = wanted[thin(wanted, gap)]
    assert kept[-1] == wanted[-1]
    assert (np.diff(kept) >= gap).all()


def test_a_series_is_sorted_and_of_one_length():
    x, middle, low, high = Series("a", [2, 1], [20, 10], [19, 9]).arrays()
    assert x.tolist() == [1, 2]
    assert middle.tolist() == high.tolist() == [10, 20]
    assert low.tolist() == [9, 19]
    with pytest.raises(InputError, match="2, 3"):
        Series("a", [1, 2], [1, 2, 3]).arrays()


def test_open_ends_become_arrows_on_the_frame():
    axes = new_figure().axes[0]
    axes.set_ylim(0, 10)
    inf, nan = np.inf, np.nan
    low = [1, 4, -inf, -1, 5, nan]
    series = Series("a", np.arange(6), [2, 5, 3, 4, nan, nan], low, [3, inf, 4, 5, nan, nan])
    up, down = draw_open_ends(axes, series, "red")
    assert (up.get_xdata(), up.get_ydata()) == (pytest.approx([1, 4]), pytest.approx([10, 10]))
    assert (down.get_xdata(), down.get_ydata()) == (pytest.approx([2, 3]), pytest.approx([0, 0]))
    assert axes.get_ylim() == (0, 10)


def test_a_band_is_clipped_to_the_frame_and_skips_the_unknown():
    axes = new_figure().axes[0]
    axes.set_ylim(0, 10)
    nan = np.nan
    draw_band(
        axes,
        Series("a", [0, 1, 2, 3], [2, 3, nan, 4], [1, 2, nan, -5], [3, np.inf, nan, 99]),
        "red",
        0.2,
    )
    corners = np.concatenate([p.vertices for p in axes.collections[0].get_paths()])
    assert corners[:, 1].min() == 0
    assert corners[:, 1].max() == 10
    assert 2 not in corners[:, 0]
    (bar,) = axes.collections[1].get_segments()  # the last point has no neighbour to shade to
    assert bar.tolist() == [[3, 0], [3, 10]]


@given(hnp.arrays(float, st.integers(1, 12), elements=st.integers(-5, 5).map(float)))
def test_the_nearest_rising_sequence_is_scipys(values):
    np.testing.assert_allclose(rising(values), isotonic_regression(values).x, atol=1e-12)
