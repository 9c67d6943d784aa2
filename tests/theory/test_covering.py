"""Coverings at hand-computed points, the split against a minimiser, Dudley against quadrature."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize

from limelight._core.errors import InputError
from limelight.theory.covering import (
    LinearMap,
    allocate,
    dudley,
    linear_map,
    linear_map_21,
    linear_map_inf,
    parameter_count,
    zhang,
)

sizes = st.floats(0.05, 20)


def test_hand_computed_points():
    # 36 * (2*3/0.5)^2 * ln(2*ceil(50)*10 + 1)
    assert zhang(2, 3, 0.5, 10) == pytest.approx(36 * 144 * math.log(1001))
    a = LinearMap(4, 1.0, 4.0)
    # 36 * 8^2 * ln(2*ceil(4*2/0.5 + 2)*1000 + 1): the grid has 18 points
    assert linear_map_inf(a, 1, 0.5, 1000) == pytest.approx(36 * 64 * math.log(36001))
    # 144 * 8^2 * ln(2*ceil(8*4/0.5 + 2)*1000 + 1) + ln(70)
    want = 144 * 64 * math.log(132001) + math.log(70)
    assert linear_map_21(a, 1, 0.5, 1000) == pytest.approx(want)
    assert linear_map_inf(a, 1, 0.5, 1000) == pytest.approx(24171.96, abs=0.01)
    assert linear_map_21(a, 1, 0.5, 1000) == pytest.approx(108666.09, abs=0.01)
    flat = LinearMap(2, 1.0, frobenius=3.0, inputs=5)
    assert parameter_count(flat, 2.0, 0.5) == pytest.approx(10 * math.log(25))


def test_one_function_needs_no_cover():
    assert zhang(0, 1, 0.1, 10) == 0
    assert zhang(1, 0, 0.1, 10) == 0
    assert linear_map(LinearMap(3, 0.0, 0.0), 1, 0.1, 10) == 0
    assert zhang(1, 1, np.inf, 10) == 0


@given(sizes, sizes, sizes, st.integers(1, 10**6), st.sampled_from(["norm", "radius", "points"]))
def test_functionals_are_monotone(norm, radius, e, points, grows):
    base = {"norm": norm, "radius": radius, "points": points}
    more = base | {grows: base[grows] * 1.7}
    assert zhang(**base, resolution=e) <= zhang(**more, resolution=e)
    assert zhang(**base, resolution=e * 1.3) <= zhang(**base, resolution=e)


@given(
    st.integers(1, 40), sizes, st.floats(0.1, 1), sizes, sizes, st.integers(1, 10**6),
    st.sampled_from(["outputs", "largest", "total", "radius", "points"]),
)  # fmt: skip
def test_maps_are_monotone(outputs, largest, share, radius, e, points, grows):
    base = {"outputs": outputs, "largest": largest, "total": share * outputs * largest}
    rest = {"radius": radius, "points": points}
    more, other = dict(base), dict(rest)
    (more if grows in more else other)[grows] = (base | rest)[grows] * 2
    for cover in (linear_map_inf, linear_map_21, linear_map):
        low = cover(LinearMap(**base), rest["radius"], e, rest["points"])
        assert low <= cover(LinearMap(**more), other["radius"], e, other["points"]) * (1 + 1e-12)
        assert cover(LinearMap(**base), radius, 2 * e, points) <= low


@given(st.integers(0, 2**31), st.integers(1, 30))
def test_the_repaired_grid_covers_and_costs_what_is_claimed(seed, D):
    # The proof of the total-length form, numerically: shares of the resolution and their cost.
    rng = np.random.default_rng(seed)
    lengths = rng.exponential(size=D) * rng.choice([0, 1, 5], D)
    total = lengths.sum() or 1.0
    e, N, radius = 0.3, 100, 1.0
    k = np.floor(D * lengths / total * (1 - 1e-12))
    assert k.sum() <= D
    share = e * np.sqrt((k + 1) / (2 * D))
    assert (share**2).sum() <= e**2 * (1 + 1e-12)
    cost = zhang(total * (k + 1) / D, radius, share, N).sum() + math.log(math.comb(2 * D, D))
    assert cost <= linear_map_21(LinearMap(D, lengths.max(), total), radius, e, N) * (1 + 1e-12)


def test_the_printed_grid_does_not_cover():
    D, e = 6, 1.0
    k = np.floor(D * np.ones(D))  # six equal columns, rounded on the grid of the longest
    assert (e**2 * (k + 1) / (2 * D)).sum() == pytest.approx(3.5)


@given(st.integers(0, 2**31), st.integers(1, 5))
@settings(deadline=None, max_examples=40)
def test_the_split_is_the_minimum(seed, n):
    rng = np.random.default_rng(seed)
    a, b, C = (
        rng.exponential(size=n) + 0.01,
        rng.exponential(size=n) + 0.01,
        rng.exponential() + 0.1,
    )
    value, shares = allocate(a, b, C)
    assert b @ shares == pytest.approx(C)
    assert (a / shares**2).sum() == pytest.approx(value, rel=1e-9)

    def cost(z):  # shares in proportion to softmax(z), so that the budget is met
        part = np.exp(z - z.max())
        return float((a / (C * part / part.sum() / b) ** 2).sum())

    found = minimize(lambda z: math.log(cost(z)), np.zeros(n), method="BFGS")
    assert math.exp(found.fun) == pytest.approx(value, rel=1e-6)
    assert value <= math.exp(found.fun) * (1 + 1e-9)


def test_split_edge_cases():
    value, shares = allocate([0.0, 1.0, 1.0], [1.0, 0.0, 1.0], 2.0)
    assert value == pytest.approx(0.25)
    assert shares.tolist() == [0.0, math.inf, 2.0]
    with pytest.raises(InputError):
        allocate([1.0], [-1.0], 1.0)


@given(st.floats(1e-4, 1.0), st.integers(1, 10**8), st.floats(0.1, 10))
@settings(max_examples=50, deadline=None)
def test_dudley_is_above_the_integral_and_below_the_trivial_bound(capacity, m, A):
    cover = lambda e: capacity / np.asarray(e) ** 2
    value, t = dudley(cover, A, m)
    assert 0 < value <= A
    if t < A:
        integral, _ = quad(lambda e: math.sqrt(capacity) / e, t, A)
        assert value >= 4 * t + 12 / math.sqrt(m) * integral - 1e-12
    finer, _ = dudley(cover, A, m, steps=2000)
    assert finer <= value * (1 + 1e-9)


def test_dudley_of_nothing():
    assert dudley(lambda e: 0 * e, 0.0, 10) == (0.0, 0.0)
    with pytest.raises(InputError):
        dudley(lambda e: e, -1.0, 10)
