"""What a notebook shows of bounds and certificates: both sides of every condition, all escaped."""

from html.parser import HTMLParser

import pytest

from limelight._core.notebook import grid
from limelight.certificate import certify, check
from limelight.models.construct import construct
from limelight.theory.base import Bound, Condition

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
    assert shown.texts[at - 2 : at + 4] == ["holds", HOSTILE, "0.25", "<=", "0.5", HOSTILE]
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
    assert bound._repr_html_() in certificate._repr_html_()
    assert set(certificate.weights.values()) <= set(shown.texts)


def test_a_check_shows_what_was_proved(tmp_path):
    path = tmp_path / "a&b.safetensors"
    construct("and", 8, 2, positions=[1, 5]).save(path)
    report = check(path)
    shown = Cells(report._repr_html_())
    assert shown.texts[0] == "pass: a&b.safetensors, all 2^8 inputs"
    assert shown.texts.count("holds") == 2
    assert f"{report.tolerance:.4g}" in shown.texts
    assert "certificate: ok" in shown.texts


def test_a_table_without_rows_is_nothing():
    assert grid(("a", "b"), []) == ""
