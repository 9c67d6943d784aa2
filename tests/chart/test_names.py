"""Names inside live charts: beside what they name, on nothing else, and no legend."""

import json

import numpy as np
import pytest

from limelight.chart import Film, of_picture, player
from limelight.chart.curves import _decades
from limelight.plot import Axis, Panel, Picture, Reference, Series
from tests.chart.test_explorer import LEVELS, explorer, table

X = np.linspace(1, 100, 40)


def texts(view):
    """Every name that a view writes, with its mark and its place."""
    return {
        layer["data"]["values"][0]["name"]: (layer["mark"], layer["data"]["values"][0])
        for layer in view["layer"]
        if isinstance(layer["mark"], dict) and layer["mark"]["type"] == "text"
    }


def two_panels():
    lines = [Series("rising", X, X / 100), Series("falling", X, 1 - X / 100)]
    marks = [*lines, Reference("chance", 0.05)]
    return Picture([Panel("left", marks, Axis("y", limits=(0, 1))), Panel("right", lines)])


def test_panels_share_one_set_of_names_and_no_line_goes_through_one():
    spec = of_picture(two_panels()).spec()
    left, right = spec["vconcat"][0]["concat"]
    assert {*texts(left)} == {"rising", "falling", "chance"}
    assert texts(right) == {}
    for name, (mark, row) in texts(left).items():
        assert not name.startswith("●")
        half = 6.2 * len(name) / 2
        middle = 220 * (row["x"] - 1) / (100 - 1)
        begin = {"left": 0, "center": -half, "right": -2 * half}[mark["align"]]
        across = 1 + 99 * (middle + begin + np.linspace(0, 2 * half, 20)) / 220
        for height in (across / 100, 1 - across / 100, np.full(20, 0.05)):
            assert (np.abs(height - row["y"]) * 200 > 6).all()  # half the height of a letter


def test_a_name_without_room_stands_over_its_panel():
    many = [Series(f"a long name of line {i}", X, np.sin(X / 3 + i)) for i in range(12)]
    view = of_picture(Picture([Panel("a", many), Panel("b", many)])).spec()["vconcat"][0]["concat"]
    told = [name.removeprefix("● ") for one in view for name in texts(one)]
    assert sorted(told) == sorted(line.label for line in many)  # each once, wherever it stands


def test_a_player_names_its_curves_and_has_no_legend():
    film = Film("attention", np.zeros((3, 2, 2)), low=0.0, high=1.0)
    lines = [Series("all", [0, 1, 2], [0.1, 0.5, 0.9]), Series("few", [0, 1, 2], [0.9, 0.5, 0.1])]
    spec = player([0, 1, 2], [film], curves=lines, label="mass").spec()
    curves = spec["vconcat"][0]
    assert {name.removeprefix("● ") for name in texts(curves)} == {"all", "few"}
    assert '"legend": {' not in json.dumps(curves)


@pytest.mark.parametrize("wide", [320, 900, 1600])
def test_a_name_in_a_player_stays_at_its_line_however_wide_the_window(wide):
    """Close under or over it, or with a line that leads to it."""
    x = np.linspace(0, 340, 69)
    early = Series("rows exact, contiguous", x, np.where(x < 10, x / 10, 1.0) - 0.5 * (x > 170))
    late = Series("rows exact, scattered", x, np.where(x < 10, x / 10, 1.0) - 0.45 * (x > 200))
    others = [Series(f"error {i}", x, 0.8 * np.exp(-x / 60) + 0.01 * i) for i in range(2)]
    lines = [early, late, *others]
    film = Film("attention", np.zeros((2, 2, 2)), low=0.0, high=1.0)
    chart = player([0, 340], [film], curves=lines, limits=(0.0, 1.15))
    curves = chart.spec()["vconcat"][0]
    leaders = [
        np.array([(row["x"], row["y"]) for row in layer["data"]["values"]])
        for layer in curves["layer"]
        if isinstance(layer["mark"], dict) and layer["mark"].get("strokeWidth") == 0.8
    ]
    scale = np.array([wide / 340, 230 / 1.15])  # pixels
    named = [(line, *texts(curves)[line.label]) for line in lines if line.label in texts(curves)]
    assert len(named) >= 3
    for line, mark, row in named:
        at = np.linspace(0, 340, 20_001)
        drawn = np.column_stack([at, np.interp(at, x, np.asarray(line.y))]) * scale
        begin = {"left": 0, "center": -0.5, "right": -1}[mark["align"]]
        words = 6.2 * len(line.label) * (begin + np.linspace(0, 1, 30))
        place = np.array([row["x"], row["y"]]) * scale
        away = min(np.hypot(*(drawn - place - (step, 0)).T).min() for step in words)
        led = [
            one
            for one in leaders
            if min(np.hypot(*(drawn - end * scale).T).min() for end in one) < 2
            and min(np.hypot(*(place - end * scale)) for end in one) < 12
        ]
        assert away < 18 or led, f"{line.label}: {away:.0f} pixels from its line"


def test_every_line_of_an_explorer_has_one_name_at_every_criterion():
    lines = lambda t, level: [
        Series("law", [0.1, 0.3, 0.6, 1.0], [20.0, 12.0, 8.0, 4.0]),
        Series("bound", [0.1, 0.3, 0.6, 1.0], [30.0, 30.0, 30.0, 30.0]),
    ]
    chart = explorer(theory=lines).chart(table())
    for number in range(len(LEVELS)):
        named = [row["label"] for row in chart.data["theory"] if row["name"][number]]
        assert sorted(named) == ["bound", "law"]


@pytest.mark.parametrize("log", [True, False])
def test_a_name_of_an_explorer_stands_on_its_side_of_the_other_lines(log):
    x, law, bound = [0.0625, 0.25, 1.0], [24.0, 12.0, 6.0], [27.0, 14.0, 7.0]
    lines = lambda t, level: [Series("law", x, law), Series("bound", x, bound)]
    chart = explorer(theory=lines, log=log, wide=False).chart(table())
    low, high = chart.constants["up_domain"][int(log)]
    for number in range(len(LEVELS)):
        for row in chart.data["theory"]:
            steps = row["name"][number]
            if steps:
                assert steps > 0 if row["label"] == "bound" else steps < 0
                place = row["ys"][number][int(log)] + 0.045 * steps * (high - low)
                assert low < place < high


@pytest.mark.parametrize("ends", [(3.0, 60.0), (1.2, 1.7), (1e-4, 1e3), (0.9, 11.0), (1.0, 1e30)])
def test_a_logarithmic_axis_has_round_numbers(ends):
    values = _decades(*ends)
    assert 3 <= len(values) <= 12
    assert all(ends[0] <= value <= ends[1] for value in values)
    assert all(len(f"{value:g}".strip("0").replace(".", "")) <= 5 for value in values)
