"""Charts of pictures and players: the right numbers, and what Vega-Lite accepts."""

import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from limelight import plot
from limelight._core.errors import InputError
from limelight.chart import Chart, Film, Strip, of_picture, player
from limelight.plot.marks import Contour
from tests.chart.test_explorer import explorer, table


def everything():
    t = np.linspace(1, 9, 5)
    marks = [
        plot.Map(np.arange(6.0).reshape(2, 3), "m", x=[1, 4, 9], y=[1, 10], missing="hatched"),
        plot.Series("measured", t, t**2, t**2 - 1, [np.inf] * 5),
        plot.Points("points", t, t, t - 0.5, t + 0.5, hollow=True),
        plot.Guide(r"$N \propto \alpha_*^{-2}$", t, 3 * t),
        plot.Bundle("runs", t, [t, t + 1, t * np.nan]),
        plot.Reference("bound", 5, "measured"),
        plot.Reference("here", 3, vertical=True),
        plot.Span("nothing", 8, np.inf),
        plot.Text("word", (2, 30)),
        plot.Text("corner", "upper left"),
    ]
    axes = {"y": plot.Axis("$y$", log=True), "x": plot.Axis("x", ticks={1: "one", 9: "nine"})}
    matrix = plot.Panel("matrix", [plot.Map(np.eye(3), numbers=True)])
    bars = plot.Panel("bars", [plot.Bars("b", [0, 1], [2, 3])], x=plot.Axis(categories=["p", "q"]))
    return plot.Picture([plot.Panel("all", marks, **axes), matrix, bars], columns=2)


def charts() -> dict[str, Chart]:
    rng = np.random.default_rng(0)
    film = Film("map", rng.normal(size=(4, 3, 3)), "abc", "xyz", orders=[("back", [2, 1, 0])])
    strip = Strip("runs", rng.uniform(size=(4, 6)), "accuracy", 0.0, 1.0)
    curve = plot.Series("loss", np.arange(10), rng.uniform(size=10))
    return {
        "lines": of_picture(plot.lines([("a", [0, 1], [2, 3])], x_label="x", y_label="y")),
        "everything": of_picture(everything()),
        "player": player([0, 10, 20, 30], [film], [strip], [curve]),
        "explorer": explorer().chart(table()),
    }


@pytest.mark.parametrize("kind", list(charts()))
def test_altair_accepts_it_and_vega_draws_it(kind):
    vl_convert = pytest.importorskip("vl_convert")
    chart = charts()[kind]
    chart.altair().to_dict()  # validated by the schema
    drawn = vl_convert.vegalite_to_svg(chart.spec())
    assert drawn.startswith("<svg")
    assert not any(word in drawn for word in ("NaN", "Infinity", "undefined"))
    framed = chart._repr_html_()
    inside = html.unescape(framed.split('srcdoc="')[1].split('"')[0])
    tags = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))
    reader.feed(inside)
    assert [tag for tag, _ in tags].count("script") == 3
    assert not [tag for tag, told in tags if {"src", "href"} & {*told}]
    assert "default-src 'none'" in inside
    found = re.search(r'id="spec">(.*?)</script>', inside)
    assert found
    assert json.loads(found[1]) == chart.spec(bound=True)


def test_a_chart_holds_the_numbers_of_its_picture():
    line = ("a_b", [2, 0, 1], [5.5, np.nan, 3.25])
    (view,) = of_picture(plot.lines([line], x_label="x", y_label="y")).rows
    rows = [layer["data"]["values"] for layer in view["layer"] if layer["mark"]["type"] == "point"]
    assert [tuple(row.values()) for row in rows[0]] == [(1, 3.25, "a_b"), (2, 5.5, "a_b")]


def drawn(picture):
    vl_convert = pytest.importorskip("vl_convert")
    return vl_convert.vegalite_to_svg(of_picture(picture).spec())


def test_every_one_of_many_points_is_seen():
    t = np.linspace(1, 9, 200)
    points = [plot.Points("strong", t, t), plot.Points("pale", t, 2 * t, opacity=0.4)]
    svg = drawn(plot.Picture([plot.Panel("", points)]))
    for name, opacity in (("strong", "1"), ("pale", "0.4")):
        marks = re.findall(rf'<path aria-label="[^"]*: {name};[^>]*>', svg)
        assert len(marks) == 200
        assert all(f' opacity="{opacity}"' in mark for mark in marks)


def test_bars_along_the_axis_across_are_drawn_at_their_ends():
    row = plot.Points("share", [3.0], [0.0], x_low=[2.0], x_high=[7.0])
    x = plot.Axis("x", limits=(0, 10))
    svg = drawn(plot.Picture([plot.Panel("", [row], plot.Axis(categories=["one"]), x)]))
    (rule,) = re.findall(r'<line aria-label="low: 2[^>]*>', svg)
    found = re.search(r'translate\(([\d.]+),.* x2="([\d.]+)"', rule)
    assert found
    start, length = map(float, found.groups())
    assert length / start == pytest.approx((7 - 2) / 2)
    assert float(re.findall(r'role="graphics-symbol".*?translate\(([\d.]+)', svg)[-1]) > start
    # Without ends of its own an axis reaches round the bars, not round the marks alone.
    view = of_picture(plot.Picture([plot.Panel("", [row])])).rows[0]
    ends = view["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert ends[0] < 2
    assert ends[1] > 7


def test_a_long_logarithmic_axis_is_written_in_powers_of_ten():
    t = np.array([1.0, 2.0])
    svg = drawn(plot.lines([("a", t, [1e-12, 1e12])], x_label="x", y_label="y", log_y=True))
    assert {">10⁻¹²<", ">10⁸<", ">1<"} <= {*re.findall(r">[^<>]+<", svg)}
    assert "1e-" not in "".join(re.findall(r">([^<>]+)</text>", svg))


def test_names_stand_apart():
    close = [(name, [0, 1], [0, 1 + i / 1e3]) for i, name in enumerate("abc")]
    (view,) = of_picture(plot.lines(close, x_label="x", y_label="y")).rows
    heights = [
        int(layer["encoding"]["y"]["value"]["expr"].split()[2])
        for layer in view["layer"]
        if layer["mark"]["type"] == "text"
    ]
    assert np.diff(sorted(heights)).min() >= 13


def test_frames_are_shades_of_their_scale_and_orders_are_permutations():
    frames = np.array([[[0.0, 1.0], [np.nan, 0.5]], [[1.0, 0.0], [0.25, 2.0]]])
    chart = player([0, 1], [Film("m", frames, low=0.0, high=1.0, orders=[("back", [1, 0])])])
    cells = {tuple(cell["p"][0]): cell for cell in chart.data["film0"]}
    assert cells[1, 0]["v"] == [99, 0]
    assert cells[0, 1]["v"] == [None, 25]
    assert cells[1, 1]["v"] == [50, 99]
    assert cells[1, 0]["p"][1] == [0, 1]
    assert chart.controls[0].options == ["0", "1"]


def test_what_cannot_be_shown_is_refused():
    contour = Contour("c", [0, 1], [0, 1], np.eye(2), 0.5)
    with pytest.raises(InputError, match="no chart of a picture with contours"):
        of_picture(plot.Picture([plot.Panel("", [contour])]))
    with pytest.raises(InputError, match="has 2 frames of 3"):
        player([0, 1, 2], [Film("m", np.zeros((2, 1, 1)))])
