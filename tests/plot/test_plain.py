"""A plain picture of any table: lines, maps, words; nothing is mixed without a word."""

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.plot import measures, plain
from limelight.plot.marks import Map, Points
from limelight.table import Table


def table(trials=5, **axes):
    """A value that is the sum of the places on all axes, and whether it is large."""
    grids = np.meshgrid(*(np.arange(len(v)) for v in axes.values()), indexing="ij")
    places = [np.repeat(g.ravel(), trials) for g in grids]
    columns = {n: np.asarray(v)[p] for (n, v), p in zip(axes.items(), places, strict=True)}
    value = np.sum(places, axis=0).astype(float)
    rest = {"value": value, "large": value > 2, "trace": np.zeros((len(value), 3))}
    counts = {"cell": np.arange(len(value)) // trials, "trial": np.arange(len(value))}
    return Table(counts | columns | rest, tuple(axes))


def test_measures_are_single_numbers_that_are_not_axes():
    assert measures(table(n=[1, 2])) == ["value", "large"]


def test_one_axis_is_a_line_through_the_means():
    picture = plain(table(n=[1, 2, 40]))
    [line] = picture.panels[0].content
    assert np.asarray(line.y).tolist() == [0.0, 1.0, 2.0]
    assert picture.panels[0].x.log
    assert plain(table(n=[1, 2, 40]), "large").panels[0].y.label == "share of trials with large"


def test_few_lines_are_told_apart_and_many_become_a_map():
    few = plain(table(n=[1, 2, 3, 4], kind=["a", "b"])).panels[0].content
    assert [line.label for line in few] == ["kind = a", "kind = b"]
    many = plain(table(n=np.arange(1, 9), m=np.arange(1, 8.0)))
    [cells] = many.panels[0].content
    assert isinstance(cells, Map)
    np.testing.assert_array_equal(cells.values, np.add.outer(np.arange(7), np.arange(8)))


def test_further_axes_are_held_and_the_caption_says_so():
    picture = plain(table(n=np.arange(1, 9), m=np.arange(1, 8.0), kind=["a", "b", "c"]))
    assert picture.facts == ("kind = b",)
    [cells] = picture.panels[0].content
    assert np.asarray(cells.values)[0, 0] == 1.0  # place 1 on the axis that is held


def test_an_axis_of_words_has_one_mark_per_word():
    picture = plain(table(kind=["b", "a"]))
    [marks] = picture.panels[0].content
    assert isinstance(marks, Points)
    assert list(picture.panels[0].x.categories) == ["b", "a"]
    assert np.asarray(marks.y).tolist() == [0.0, 1.0]


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(InputError, match="no measure 'valu'"):
        plain(table(n=[1, 2]), "valu")
    with pytest.raises(InputError, match="no measure 'trace'"):
        plain(table(n=[1, 2]), "trace")
    with pytest.raises(InputError, match="one cell"):
        plain(table(n=[1]))
    plain(table(n=[1, 2], kind=["a", "b"])).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
