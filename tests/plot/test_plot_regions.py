"""Regions of a map: names deep inside, borders between, compared with a search over all cells."""

import numpy as np
import pytest

from limelight.plot import Contour, Panel, Picture, Text, regions
from limelight.plot._palette import readable
from limelight.plot.style import COLOURS


def steps_out(inside: np.ndarray, row: int, column: int) -> int:
    """Steps along rows and columns from a cell to the nearest one outside, or over the frame."""
    padded = np.pad(inside, 1)
    out = np.argwhere(~padded)
    return int(np.abs(out - (row + 1, column + 1)).sum(axis=1).min())


@pytest.mark.parametrize("seed", range(5))
def test_a_name_is_as_deep_in_its_region_as_the_middle_allows(seed):
    rng = np.random.default_rng(seed)
    x, y = np.geomspace(0.1, 2, 15), np.geomspace(0.5, 64, 12)
    slope, height = rng.uniform(-1, 1), rng.uniform(3, 9)
    kind = (np.arange(12)[:, None] > height + slope * (np.arange(15) - 7)).astype(int)
    names = [mark for mark in regions(x, y, kind, ("below", "above")) if isinstance(mark, Text)]
    assert {mark.words for mark in names} <= {"below", "above"}
    central = np.abs(np.arange(15) / 15 - 0.5) < 0.3
    for mark in names:
        inside = kind == ("below", "above").index(mark.words)
        column, row = list(x).index(mark.at[0]), list(y).index(mark.at[1])
        assert inside[row, column]
        best = max(steps_out(inside, i, j) for i, j in np.argwhere(inside & central))
        assert steps_out(inside, row, column) == best


def test_only_regions_that_are_there_have_names_and_borders():
    kind = np.zeros((20, 20), int)
    kind[:, 10:] = 2
    kind[0, 0] = 3  # too small for a name
    found = regions(np.arange(20), np.arange(20), kind, ("a", "b", "c", "d"))
    assert [mark.words for mark in found if isinstance(mark, Text)] == ["a", "c"]
    assert sum(isinstance(mark, Contour) for mark in found) == 3
    assert not any(isinstance(m, Contour) for m in regions([1], [1], [[0]], ("a", "b")))


def test_a_contour_is_named_in_its_colour():
    values = np.arange(9.0).reshape(3, 3)
    contour = Contour("level", [1, 2, 3], [1, 2, 3], values, 4.0, colour=1)
    figure = Picture([Panel("", [contour])]).matplotlib()
    assert figure.axes[0].get_legend() is None
    [name] = figure.axes[0].texts
    assert name.get_text() == "level"
    assert name.get_color() == readable(COLOURS[1])


def test_a_name_too_wide_for_its_region_is_set_on_two_lines():
    kind = np.zeros((40, 40), int)
    kind[:, 30:] = 1  # a quarter of the width: 11 letters take half
    words = lambda kind: [
        mark.words
        for mark in regions(np.arange(40), np.arange(40), kind, ("much more room", "self-lock"))
        if isinstance(mark, Text)
    ]
    assert words(kind) == ["much more room", "self-\nlock"]
    assert words(1 - kind) == ["much\nmore room", "self-lock"]
