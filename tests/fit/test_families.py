"""Families of points: intervals, hulls and the point that contradicts."""

import numpy as np
import pytest
from scipy.stats import norm, t

from limelight.claims import AtMost, Inside
from limelight.fit import _families as families
from limelight.fit._families import Point


def test_quantiles_share_out_the_error():
    assert families.quantile(10, 50) == pytest.approx(t.isf(0.0025, 49))
    assert families.quantile(1, 10**7) == pytest.approx(norm.isf(0.025))
    assert families.quantile(10, 5) == pytest.approx(t.isf(0.0025, 4))
    assert families.quantile(1, 1) == np.inf


def test_root_and_difference_by_simulation():
    """The 95 % intervals cover about that often."""
    generator = np.random.default_rng(0)
    hits = paired = 0
    for _ in range(600):
        squares = 4.0 * generator.chisquare(50, 40) / 50
        other = squares * generator.chisquare(80, 40) / 80
        point = families.root_point("", squares, 1)
        hits += point.low <= 2.0 <= point.high
        found = families.difference_point("", other, squares, 1.0, 1)
        paired += found.low <= 0.0 <= found.high
    assert 0.92 < hits / 600 < 0.975
    assert 0.92 < paired / 600 < 0.975


def test_inside_reports_the_hull_or_the_contradiction():
    good = [Point("a", 1.0, 0.995, 1.005, 8), Point("b", 1.01, 1.0, 1.02, 8)]
    found = families.inside(good, 0.97, 1.03)
    assert found.interval == (0.995, 1.02)
    assert "worst at b" in found.note
    assert Inside(0.97, 1.03)(*found.interval) == "holds"
    bad = [*good, Point("c", 1.2, 1.1, 1.3, 8)]
    found = families.inside(bad, 0.97, 1.03)
    assert Inside(0.97, 1.03)(*found.interval) == "fails"
    assert "worst at c" in found.note
    assert np.isnan(families.inside([], 0, 1).value)


def test_below_reports_the_contradiction_first():
    points = [Point("a", -0.5, -2.0, 1.0, 8), Point("b", 0.3, 0.2, 0.4, 8)]
    found = families.below(points)
    assert found.interval == (0.2, 0.4)
    assert AtMost(0.0)(*found.interval) == "fails"
    found = families.below(points[:1])
    assert AtMost(0.0)(*found.interval) == "inconclusive"


def test_rates():
    assert families.rate(0, 72).interval[1] < 0.05  # 1 - 0.025 ** (1 / 72)
    assert families.rate(0, 71).interval[1] > 0.05


def test_inside_names_the_point_farthest_from_the_middle():
    points = [Point("a", 1.1, 1.0, 1.2, 5), Point("b", 2.8, 2.7, 2.9, 5)]
    assert families.inside(points, 1.0, 3.0).value == 1.1
