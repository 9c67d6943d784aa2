"""A picture in a terminal says what its numbers say."""

import numpy as np
import pytest

from limelight import plot
from limelight.plot.terminal import SHADES, in_terminal


def rows_of(text: str) -> dict[str, str]:
    """The drawing by the label of its row."""
    lines = (line.split("│") for line in text.splitlines() if "│" in line)
    return {label.strip(): drawn for label, drawn in lines}


def test_a_map_can_be_read_back():
    rng = np.random.default_rng(0)
    rate = rng.integers(0, 5, (3, 4)) / 4
    rate[1, 2] = np.nan
    picture = plot.phase_diagram([1, 2, 3, 4], [2, 8, 32], rate, x_label="$a_*$", y_label="$N$")
    rows = rows_of(in_terminal(picture, 80))
    assert list(rows) == ["32", "8", "2"]
    for i, label in enumerate(("2", "8", "32")):
        shades = rows[label].ljust(24)[::6]
        for shade, value in zip(shades, rate[i], strict=True):
            assert shade == ("×" if np.isnan(value) else SHADES[round(4 * value)])


def test_the_edge_lies_in_the_row_nearest_to_it():
    edge = plot.Series("half succeed", [1, 2, 3], [2.2, 30.0, 500.0])
    picture = plot.phase_diagram(
        [1, 2, 3], [2, 8, 32], np.full((3, 3), 0.5), x_label="x", y_label="y", edge=edge
    )
    text = in_terminal(picture)
    rows = rows_of(text)
    assert rows["2"].index("●") // 6 == 0
    assert rows["32"].index("●") // 6 == 1
    assert text.count("●") == 3  # the third lies outside the map; one more in the legend


def dots(text: str) -> np.ndarray:
    """The Braille dots of a drawing as yes and no, top row first."""
    drawn = [line.split("│")[1].ljust(60) for line in text.splitlines() if "│" in line]
    places = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (3, 0), (3, 1)]
    found = np.zeros((4 * len(drawn), 2 * 60), bool)
    for i, line in enumerate(drawn):
        for j, sign in enumerate(line):
            for bit, (row, column) in enumerate(places):
                if 0x2800 <= ord(sign) < 0x2900 and (ord(sign) - 0x2800) >> bit & 1:
                    found[4 * i + row, 2 * j + column] = True
    return found


@pytest.mark.parametrize("log", [False, True])
def test_a_line_lies_where_its_law_does(log):
    x = np.geomspace(1, 100, 50) if log else np.linspace(0, 1, 50)
    y = x**2
    axes = {"x": plot.Axis("x", log=log), "y": plot.Axis("y", log=log)}
    law = plot.Guide("law", x, y)
    found = dots(in_terminal(plot.Picture([plot.Panel("", [law], **axes)]), 100))
    rows, columns = np.nonzero(found)
    across, up = columns / (found.shape[1] - 1), 1 - rows / (found.shape[0] - 1)
    wanted = across if log else across**2
    assert len(rows) > 60
    assert np.abs(up - wanted).max() < 0.04


def test_every_line_has_its_own_mark_and_points_are_not_joined():
    marks = [plot.Points("a", [0, 1], [0, 1]), plot.Points("b", [0, 1], [1, 0])]
    text = in_terminal(plot.Picture([plot.Panel("", marks, "up", "across")]))
    assert text.count("●") == text.count("○") == 3
    assert not dots(text).any()
    assert "up: up; across: across" in text


def test_it_is_never_wider_than_it_may_be_and_holds_no_control_character():
    rate = np.linspace(0, 1, 200 * 40).reshape(40, 200)
    wide = plot.phase_diagram(np.arange(200.0), np.arange(1.0, 41), rate, x_label="x", y_label="y")
    text = in_terminal(wide, 60)
    assert max(map(len, text.splitlines())) <= 60
    assert text.replace("\n", "").isprintable()


def test_what_cannot_be_shown_is_left_out():
    image = plot.Picture([plot.Panel("", [plot.Image(np.zeros((2, 2, 3)))])])
    nothing = plot.Picture([plot.Panel("", [plot.Series("none", [np.nan], [np.nan])])])
    assert in_terminal(image) == in_terminal(nothing) == ""
