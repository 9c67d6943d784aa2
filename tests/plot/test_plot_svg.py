"""Pictures as SVG: what is drawn where, read back from the element."""

import base64
import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image as Pixels

from limelight._core.errors import InputError
from limelight.plot import (
    Axis,
    Bars,
    Guide,
    Image,
    Map,
    Panel,
    Picture,
    Points,
    Reference,
    Series,
    Text,
    panels,
)
from limelight.plot._svg import svg

SPACE = "{http://www.w3.org/2000/svg}"


def drawn(picture):
    return ET.fromstring(svg(picture))


def course(element, colour):
    """Corners of the one solid line of a colour."""
    (path,) = (p for p in element.iter(SPACE + "path") if p.get("stroke") == colour
               and p.get("fill") == "none" and "h" not in p.get("d"))  # fmt: skip
    return np.array(re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path.get("d")), float)


def test_a_line_goes_through_its_points():
    """Places are an affine function of the values, or of their logarithms; upwards is up."""
    x, y = np.arange(1.0, 6.0), np.array([1.0, 10.0, 1000.0, 100.0, 10.0])
    for log in (False, True):
        picture = panels([Panel("t", [("a", x, y)], Axis("y", log=log))], x_label="x", height=2.0)
        at = course(drawn(picture), "#0072b2")
        for places, values in ((at[:, 0], x), (at[:, 1], np.log(y) if log else y)):
            slope, level = np.polyfit(values, places, 1)
            np.testing.assert_allclose(places, level + slope * values, atol=0.06)
        assert np.corrcoef(at[:, 1], np.log(y) if log else y)[0, 1] < -0.999


def test_ticks_stand_at_their_values():
    x = np.arange(1, 13)
    element = drawn(panels([Panel("", [("a", x, x / 12.0)], Axis("y"))], x_label="block"))
    at = course(element, "#0072b2")
    slope, level = np.polyfit(x, at[:, 0], 1)
    words = [t for t in element.iter(SPACE + "text") if (t.text or "").isdigit()]
    below = [t for t in words if t.get("text-anchor") == "middle"]
    assert [int(t.text) for t in below] == [2, 4, 6, 8, 10, 12]
    for tick in below:
        assert float(tick.get("x")) == pytest.approx(level + slope * int(tick.text), abs=0.1)


def test_what_is_missing_is_a_gap():
    y = [1.0, 2.0, np.nan, 3.0, 4.0]
    element = drawn(panels([Panel("", [Series("a", range(5), y, np.array(y) - 1, None)])]))
    (path,) = (p for p in element.iter(SPACE + "path") if p.get("stroke") == "#0072b2"
               and "h" not in p.get("d"))  # fmt: skip
    assert path.get("d").count("M") == 2
    assert "nan" not in ET.tostring(element, encoding="unicode")


def test_a_map_has_the_colours_of_its_values():
    values = np.array([[0.0, 1.0], [0.5, np.nan]])
    element = drawn(Picture([Panel("m", [Map(values, "v", low=0.0, high=1.0)])]))
    first = next(element.iter(SPACE + "image")).get("href").split(",")[1]
    pixels = np.asarray(Pixels.open(io.BytesIO(base64.b64decode(first))))
    assert pixels.shape == (2, 2, 3)
    assert pixels[0, 0].tolist() == [0x19, 0x25, 0x31]  # dark is little
    assert pixels[0, 1].tolist() == [0xF0, 0xF8, 0xFB]
    assert pixels[1, 1].tolist() == [217, 217, 217]  # no data


def test_words_are_escaped_and_formulas_set():
    """A hostile label is words; an index stands lower."""
    bad = "<script>alert(1)</script>\"'&"
    marks = [Series(bad, [0, 1], [0, 1]), Reference(bad + "2", 0.5), Guide("$R^2$", [0], [0])]
    text = svg(panels([Panel(bad, [*marks, Points("$W_O$", [1], [1])], bad, bad)]))
    assert "<script" not in text
    element = ET.fromstring(text)
    words = ["".join(t.itertext()) for t in element.iter(SPACE + "text")]
    assert words.count(bad) == 4
    assert "R²" in words
    assert any(w.startswith("W") and "O" in w for w in words)


def test_a_sheet_of_images_fills_its_place():
    sheet = np.full((40, 80, 3), 200, np.uint8)
    element = drawn(Picture([Panel("", [Image(sheet), Text("name", (40, 10))])], width=7.0))
    assert element.get("viewBox") == "0 0 700 350"
    (word,) = element.iter(SPACE + "text")
    assert float(word.get("x")) == 350


def test_other_marks_are_refused_by_name():
    with pytest.raises(InputError, match="Bars"):
        svg(Picture([Panel("", [Bars("b", [1], [2])])]))
