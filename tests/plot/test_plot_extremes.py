"""Tables with numbers and words at the ends of what there is: drawn, and soon."""

import time

import numpy as np
import pytest

from limelight import plot
from limelight.plot import plain, save
from limelight.plot._draw.frame import MOST_CATEGORIES
from limelight.table import Table

X = np.arange(8.0)
FAR = np.array([5e-324, 1e-300, 1e-10, 1.0, 1e10, 1e100, 1e300, 1.7e308])
WORDS = np.array([f"w{i}" for i in range(3000)], object)
#: Seconds of a processor; a picture takes half of one, and each word along an axis took 5 ms.
LONGEST = 8.0


def over(across, y, up=None):
    axes = {"across": across} | ({} if up is None else {"up": up})
    return Table({**axes, "y": y}, tuple(axes))


def on_map(y):
    return over(np.repeat(X, 8), y, np.tile(X, 8))


CASES = {
    "both ends of y": over(X, np.where(X % 2, 1.7e308, -1.7e308)),
    "no number": over(X, np.full(8, np.nan)),
    "infinite": over(X, np.where(X > 3, np.inf, X)),
    "denormal": over(X, X * 5e-324),
    "all of x": over(FAR, X),
    "x hardly moves": over(1 + X * 2.3e-16, X),
    "many words": over(WORDS, np.arange(3000.0)),
    "a long word": over(np.array(["a" * 20_000, "b"], object), np.arange(2.0)),
    "a map of all": over(np.repeat(FAR, 8), np.arange(64.0), np.tile(FAR, 8)),
    "a map of both ends": on_map(np.where(np.arange(64) % 2, 1.7e308, -1.7e308)),
    "a map of the far end": on_map(np.full(64, 1.7e308)),
    "a map with infinities": on_map(np.where(np.arange(64) % 3, 1.0, np.inf)),
    "a map of the denormal": on_map(np.arange(64) * 5e-324),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_extremes_are_drawn_soon(name, tmp_path):
    began = time.process_time()
    save(plain(CASES[name]), tmp_path / "drawn.png")
    assert time.process_time() - began < LONGEST
    assert (tmp_path / "drawn.png").stat().st_size > 1000


def test_words_are_thinned_and_stay_at_their_places():
    from matplotlib import pyplot

    from limelight.plot._draw.frame import set_ticks
    from limelight.plot.picture import Axis, Panel

    _, axes = pyplot.subplots()
    set_ticks(axes, Panel("", [], x=Axis("", categories=list(WORDS))), (4.0, 3.0))
    shown = [label.get_text() for label in axes.get_xticklabels()]
    pyplot.close()
    assert MOST_CATEGORIES // 2 < len(shown) <= MOST_CATEGORIES
    assert shown == [WORDS[int(place)] for place in axes.get_xticks()]


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.filterwarnings("error")
def test_the_ends_of_a_map_have_the_colours_of_its_ends(scale):
    """A value beyond what colours are computed of has the last colour, and the bar has a tip."""
    from matplotlib import pyplot

    from limelight.plot import Map
    from limelight.plot._draw.maps import _tips, draw_map

    cells = Map([[1e-3, 1.0, 1e300], [np.nan, 1e149, 1.7e308]], "far", scale=scale)
    _, axes = pyplot.subplots()
    mesh = draw_map(axes, cells, log_x=False, log_y=False)
    shades = mesh.cmap(mesh.norm(mesh.get_array())).reshape(6, 4)
    pyplot.close()
    np.testing.assert_array_equal(shades[2], mesh.cmap(1.0))
    np.testing.assert_array_equal(shades[5], mesh.cmap(1.0))
    np.testing.assert_array_equal(shades[0], mesh.cmap(0.0))
    assert _tips([(axes, cells, mesh)]) == "max"


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_letters_that_the_font_lacks_are_drawn_without_a_word(kind, recwarn):
    drawn = plot.lines([("\u6ce8\u610f", [1, 2], [0.5, 0.1])], x_label="n", y_label="\u2f00")
    assert plot.render(drawn, kind)
    assert not [str(one.message) for one in recwarn if "Glyph" in str(one.message)]
