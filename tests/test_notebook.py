"""What a notebook shows: both sides of every condition, strips, tables, plans; all escaped."""

import math
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight._core.notebook import grid
from limelight._core.strip import LEFT, RIGHT, WIDE, _Ruler, strip
from limelight.certificate import BoundCheck, certify, check
from limelight.claims import Verdict, Verdicts
from limelight.experiments import Study
from limelight.measures import accuracy
from limelight.models import Sequence
from limelight.models.construct import construct
from limelight.papers import load
from limelight.table import Table
from limelight.theory.base import Bound, Condition
from limelight.train import Train
from limelight.worlds import SparseBoolean

HOSTILE = '<script>alert("1")</script>&'


class Cells(HTMLParser):
    """Tags that are open, and the text of every cell and paragraph."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], set(), []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.open.append(tag)
        self.tags.add(tag)
        if tag in ("td", "th", "p"):
            self.texts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts[-1] += data


@pytest.fixture
def bound():
    conditions = (
        Condition(HOSTILE, 0.25, "<=", 0.5, HOSTILE),
        Condition("too far", float("nan"), "<", 1.0),
    )
    return Bound(
        HOSTILE, float("inf"), "printed", conditions, {HOSTILE: 3.0}, {HOSTILE: 1.0}, (HOSTILE,),
        HOSTILE,
    )  # fmt: skip


def test_a_bound_shows_both_sides(bound):
    shown = Cells(bound._repr_html_())
    assert shown.tags <= {"table", "tr", "th", "td", "p", "strong"}
    at = shown.texts.index("0.25")
    assert shown.texts[at - 2 : at + 4] == ["holds", HOSTILE, "0.25", "≤", "0.5", HOSTILE]
    at = shown.texts.index("too far")
    assert shown.texts[at - 1 : at + 4] == ["FAILS", "too far", "nan", "<", "1"]
    assert "void here, and does not apply: too far" in shown.texts[0]
    for text in str(bound).split("\n")[-2:]:
        assert text.strip() in shown.texts


def test_a_certificate_shows_its_verdict_and_its_bound(bound, tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(b"1")
    certificate = certify(bound, path)
    shown = Cells(certificate._repr_html_())
    assert shown.texts[0] == certificate.verdict
    headline, below = bound._repr_html_().split("</p>", 1)
    assert below in certificate._repr_html_()
    assert headline not in certificate._repr_html_()
    assert set(certificate.weights.values()) <= set(shown.texts)


@pytest.mark.parametrize(("wrong", "first"), [([], "pass"), (["<value>"], "fail")])
def test_a_check_of_a_bound_shows_whether_it_fits(wrong, first):
    shown = Cells(BoundCheck("a.json", "a&b.safetensors", wrong)._repr_html_())
    assert [text.strip() for text in shown.texts if text.strip()] == [
        f"{first}: a.json, of a&b.safetensors",
        *(f"wrong: {what}" for what in wrong),
    ]


@pytest.mark.parametrize(
    ("left", "relation", "right", "told"),
    [
        (1.00006, ">", 1.0, "holds  it: 1.00006 > 1"),
        (1.0 - 2**-53, ">=", 1.0, "FAILS  it: 0.99999999999999989 >= 1"),
        (1 / 3, "<", 2 / 3, "holds  it: 0.3333 < 0.6667"),
        (1 / 3, "<=", 1 / 3, "holds  it: 0.3333 <= 0.3333"),
        (2.0, "<=", 2.000000001, "holds  it: 2 <= 2"),
        (float("nan"), "<", 1.0, "FAILS  it: nan < 1"),
    ],
)
def test_the_sides_that_are_printed_agree_with_the_word(left, relation, right, told):
    assert str(Condition("it", left, relation, right)) == told


def test_a_check_shows_what_was_proved(tmp_path):
    path = tmp_path / "a&b.safetensors"
    construct("and", 8, 2, positions=[1, 5]).save(path)
    report = check(path)
    shown = Cells(report._repr_html_())
    assert "<strong>pass: a&amp;b.safetensors, all 2<sup>8</sup> inputs<" in report._repr_html_()
    assert shown.texts.count("holds") == 2
    assert "<td>10<sup>−6</sup></td>" in report._repr_html_()  # what was allowed
    assert report.tolerance == 1e-6
    assert "certificate: ok" in shown.texts


def test_a_table_without_rows_is_nothing():
    assert grid(("a", "b"), []) == ""


# --- tables, verdicts, studies and plans --------------------------------------------------------


def verdict(**other):
    about = {
        "claim": "a.law",
        "statement": HOSTILE,
        "verdict": "holds",
        "value": 2.0,
        "interval": (1.8, 2.2),
        "n": 9,
        "rule": HOSTILE,
        "source": HOSTILE,
        "region": (1.5, 2.5),
    }
    return Verdict(**(about | other))


def numbers(drawn, tag):
    """The attributes of every tag of one kind in an SVG."""
    root = ElementTree.fromstring(drawn)
    return [one.attrib for one in root.iter() if one.tag == tag]


@given(
    value=st.floats(-1e6, 1e6),
    half=st.floats(0, 1e6),
    region=st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)),
    open_end=st.sampled_from(["low", "high", "none"]),
)
@settings(deadline=None, max_examples=50)
def test_a_strip_keeps_the_order_of_its_numbers(value, half, region, open_end):
    low, high = region[0], region[0] + region[1]
    ends = (-math.inf if open_end == "low" else low, math.inf if open_end == "high" else high)
    interval = (value - half, value + half)
    drawn = strip(verdict(value=value, interval=interval, region=ends))
    [dot] = numbers(drawn, "circle")
    bar = numbers(drawn, "line")[-1]
    [box] = numbers(drawn, "rect")
    left, right = float(box["x"]), float(box["x"]) + float(box["width"])
    assert float(bar["x1"]) <= float(dot["cx"]) <= float(bar["x2"])
    assert 0 <= left <= right + 0.1 <= WIDE + 0.1
    # What is drawn outside the shaded part lies outside the region.
    if float(dot["cx"]) > right + 0.2:
        assert value > ends[1]
    if float(dot["cx"]) < left - 0.2:
        assert value < ends[0]


def test_verdicts_show_their_strips_and_nothing_unescaped():
    for shown in (verdict()._repr_html_(), Verdicts([verdict(), verdict()])._repr_html_()):
        assert "<script>" not in shown
        assert "&lt;script&gt;" in shown
        assert "<svg" in shown
    assert "<svg" not in verdict(value=math.nan, interval=None)._repr_html_()
    assert str(Verdicts([verdict()])) == str(verdict())
    assert isinstance(load("li2023").figure("fig1a").unknown("why"), Verdicts)


def test_a_table_names_its_axes_in_words():
    columns = {"world.length": np.array([8, 16]), HOSTILE: np.array([0.5, 1.0])}
    shown = Cells(Table(columns, ("world.length",))._repr_html_())
    assert "number of tokens T" in shown.texts
    assert any("world.length" in text for text in shown.texts)  # and the path to ask for it
    assert HOSTILE in shown.texts


def test_a_study_and_its_plan_say_what_they_are():
    study = Study(
        world=SparseBoolean(length=8, sparsity=2),
        model=Sequence(width=4),
        train=Train(steps=20, batch=4),
        measures=[accuracy],
    )
    shown = Cells(study._repr_html_())
    at = shown.texts.index("SparseBoolean")
    assert "length = 8" in shown.texts[at + 1]
    assert "accuracy" in shown.texts
    plan = study.plan({"world.length": [8, 16], "train.examples": [4, 8, 16]}, trials=5)
    words = Cells(plan._repr_html_()).texts
    assert words[words.index("trials") + 1] == "30: 5 per cell, 6 cells"
    assert words[words.index("programs to compile") + 1] == "2"
    assert words[words.index("training examples N") + 1] == "3 values"


def test_a_notebook_shows_it_all_in_a_real_kernel(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [
        "import limelight as ll\nimport jax.numpy as jnp\n"
        "def heads(key, world, truth, model):\n    return jnp.float32(world.sparsity)\n"
        "study = ll.Study(ll.worlds.SparseBoolean(length=8, sparsity=2), "
        "ll.models.Sequence(width=4), None, [heads])\nstudy",
        "table = study.sweep({'world.label_noise': [0.0, 0.1]}, trials=2)\ntable",
        "figure = ll.papers.li2023.figure('fig1a')\nfigure",
        "ll.theory.li2023.learning(relevant=0.4, confusing=0.1, rate=0.5)",
        "figure.unknown('no table')",
        "study.plan({'world.label_noise': [0.0, 0.1]}, trials=2)",
        "ll.construct('and', 8, 2, positions=[1, 5]).save('and.safetensors')\n"
        "ll.check('and.safetensors')",
        "ll.plot.plain(table, 'heads')",
        "ll.chart.player([0, 1], [ll.chart.Film('a map', [[[0, 1]], [[1, 0]]])])",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    *words, picture, chart = [cell.outputs[-1]["data"] for cell in book.cells]
    assert all("text/html" in shown for shown in words)
    assert "image/png" in picture
    assert "vega" in chart["text/html"]
    assert "α<sub>∗</sub>" in words[2]["text/html"]  # maths is typeset, in claims and rules
    shown = [one for one in book.cells[1].outputs if one.output_type == "display_data"]
    bars = [one["data"]["text/html"] for one in shown]
    assert len(bars) == 1  # written anew in its place
    assert "4 trials in" in bars[0]
    assert "share of flipped labels" in book.cells[1].outputs[-1]["data"]["text/html"]


def test_places_on_a_strip_are_in_order_and_infinity_is_at_its_end():
    for interval, logarithmic in (((1.0, 50.0), False), ((1.0, 51.0), True), ((-1.0, 99.0), False)):
        verdict = Verdict("a", "b", "holds", interval[1], interval, 5, "r", "s")
        scale = _Ruler(verdict)
        assert scale.log == logarithmic
        places = [scale(value) for value in (*interval, math.inf)]
        assert places == sorted(places)
        assert LEFT < places[0] < places[1] < RIGHT == places[2]
        assert scale(-math.inf) == scale(math.nan) == LEFT
