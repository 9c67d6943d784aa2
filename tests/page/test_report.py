import base64
import gzip
import hashlib
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image

from limelight import plot
from limelight._core.errors import InputError
from limelight._page.parts import DRAWN, flat, outcome, still
from limelight._page.report import Illustration, Section, StudyCost, report, write_report
from limelight.chart import of_picture
from limelight.claims import Verdict
from limelight.plot import lines as curves
from limelight.plot import render

HOSTILE = "</code></pre><script src=\"//evil/x.js\">alert('1')</script><img src=x onerror=alert(1)>"
EMPTY = {"meta", "img", "br"}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

LINES = curves([("a", [0, 1], [0, 1])], x_label="x", y_label="y")


class Reader(HTMLParser):
    """Parses a page, checks that its tags nest, and keeps what is in it."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.values: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.values += [(tag, name, value or "") for name, value in attrs]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def verdict(word="1a.line", decision="holds", **more):
    facts = {"value": 0.92, "interval": (0.87, 0.98), "n": 1200}
    return Verdict(word, word, decision, **(facts | more), rule=word, source=word, note=word)


def section(word="a study", **more):
    parts = {
        "verdicts": [verdict(word)],
        "figures": [Illustration(PIXEL, word, word)],
        "settings": {word: word, "world": {word: [word, 2]}},
        "cost": StudyCost(1200, 40.0, 1),
        "versions": {word: word},
        "rerun": [word, word],
        "notes": [word],
    }
    return Section(word, word, word, **(parts | more))


def page(word="a word"):
    return report(word, [section(word), section(word)], statement=word)


def one(**parts):
    """A page of one study that has only these parts."""
    return report("T", [Section("", "S", **parts)])


def test_the_page_parses_and_needs_nothing_else():
    text = page()
    found = Reader(text)
    assert text.startswith("<!DOCTYPE html>")
    for tag, name, value in found.values:
        if name in ("src", "srcset", "data", "action", "poster", "background"):
            assert value.startswith("data:image/webp;base64,"), (tag, name)
        if name == "href":
            assert value.startswith("#")
        assert not name.startswith("on")
        assert name != "style"
    assert "://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert not {"link", "iframe", "object", "embed", "base", "form"} & {
        tag for tag, _ in found.tags
    }


def digest(content):
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


@pytest.mark.parametrize("chart", [None, of_picture(LINES)])
def test_the_policy_forbids_the_network_and_every_script_but_ours(chart):
    text = one(figures=[Illustration(PIXEL, "C", chart=chart)])
    (policy,) = [v for tag, name, v in Reader(text).values if "default-src" in v]
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    kept = re.findall(r'<script type="application/gzip" id="vega">(.*?)</script>', text)
    assert len(kept) == (0 if chart is None else 1)
    scripts = [gzip.decompress(base64.b64decode(one)).decode() for one in kept] + scripts
    allowed = " ".join(digest(script) for script in scripts)
    assert f"script-src {allowed};" in policy
    assert f"style-src {digest(style)};" in policy
    assert policy.startswith("default-src 'none'; img-src data: 'self'; ")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_links_lead_to_sections_that_exist():
    values = Reader(page()).values
    links = {value[1:] for _, name, value in values if name == "href"}
    names = [value for _, name, value in values if name == "id"]
    assert links <= set(names)
    assert len(names) == len(set(names))


def test_headings_do_not_skip_a_level():
    levels = [int(tag[1]) for tag, _ in Reader(page()).tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))


def test_a_hostile_text_is_shown_and_not_run():
    harmless, attacked = Reader(page("a word")), Reader(page(HOSTILE))
    assert attacked.tags == harmless.tags
    assert attacked.text.count(HOSTILE) == harmless.text.count("a word")


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1).filter(str.strip))
@example('"><svg onload=alert(1)>')
@example("-->]]>")
@example("&lt;&#60;\x00\ud800\r\n")
@example("</style><style>")
def test_any_text_leaves_the_structure_alone(word):
    text = page(word)
    found = Reader(text)
    raised = ("sub", "sup")  # maths
    assert [t for t in found.tags if t[0] not in raised] == Reader(page("a word")).tags
    assert "�" in text or word.replace("\r\n", "\n").replace("\r", "\n") in found.text
    text.encode()  # lone surrogates are gone
    assert not re.search("[\x00-\x08\x0e-\x1f]", text)


def test_the_outcome_comes_first_then_the_figure_then_claims_and_the_rest_is_folded():
    text = report("T", [section()])
    order = [text.index(part) for part in ('class="lead"', "<figure", 'class="claim"', "Settings")]
    assert order == sorted(order)
    folded = re.findall(r'<details class="more"><summary>(.*?)</summary>', text)
    assert folded == [
        "Notes and departures from the paper",
        *("Settings that differ from the defaults", "Cost", "Run it again"),
        "Versions and devices",
    ]
    assert " open" not in text[: text.index("<script")]


def test_every_claim_and_study_can_be_linked_to():
    other = section("b", verdicts=[verdict("2.line", "fails", paper="li2023"), verdict("2.law")])
    text = report("T", [section("a"), other])
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["a", "b"]
    names = [value for _, name, value in Reader(text).values if name == "id"]
    assert {"a", "b", "li2023.2.line", "2.law"} <= {*names}
    assert '<nav class="contents" aria-label="Contents">' in text
    assert {'href="#a"', 'href="#b"'} <= {*re.findall(r'href="#\w"', text)}


def test_one_version_of_the_software_is_told_once():
    text = report(
        "T", [section("a", versions={"jax": "1.2"}), section("b", versions={"jax": "1.2"})]
    )
    assert text.count("1.2</td>") == 1
    both = report(
        "T", [section("a", versions={"jax": "1.2"}), section("b", versions={"jax": "3.4"})]
    )
    assert both.count("1.2</td>") == both.count("3.4</td>") == 1


@pytest.mark.parametrize(
    ("decided", "words"),
    [
        (["holds"], "The claim holds."),
        (["holds", "holds"], "Both claims hold."),
        (["fails"] * 3, "All 3 claims fail. Furthest off"),
        (["holds", "fails", "inconclusive"], "Of 3 claims, 1 holds, 1 fails and 1 is open. Furth"),
        (["not run"], "Not run yet."),
        (["not run", "not applicable"], "Nothing is decided here."),
        (["holds", "holds", "not run"], "Both claims hold. 1 more is not run yet."),
    ],
)
def test_the_outcome_in_a_sentence(decided, words):
    verdicts = [verdict(str(i), k, region=(2.0, 3.0)) for i, k in enumerate(decided)]
    found = outcome(verdicts)
    assert found.startswith(words)
    assert ("measured 0.92, it would hold from 2 to 3." in found) is ("fails" in decided)


def test_the_furthest_off_is_the_papers_own_and_no_control():
    region, at = (0.0, 0.1), {"interval": (0.9, 0.94)}
    given = [
        verdict("ours", "fails", region=(0.0, 0.01), **at),
        verdict("near", "fails", region=(0.0, 0.85), reference="li2023", **at),
        verdict("far", "fails", region=region, reference="li2023", **at),
        verdict("control", "fails", region=(0.0, 0.01), reference="li2023", kind="control", **at),
    ]
    assert "“far”" in outcome(given)


def test_badges_differ_by_sign_and_word():
    kinds = ["holds", "holds", "fails", "inconclusive"]
    words = Reader(one(verdicts=[verdict(str(i), k) for i, k in enumerate(kinds)])).text
    for badge in ("✓ holds", "✗ fails", "? inconclusive"):
        assert badge in words


def test_a_verdict_shows_all_it_rests_on():
    given = Verdict("c.name", "the claim", "fails", 5.2, (4.7, 5.5), 1200, "the rule", "src", "why")
    text = Reader(one(verdicts=[given])).text
    for part in ("c.name", "the claim", "5.2", "[4.7, 5.5]", "1,200", "the rule", "src", "why"):
        assert part in text


def test_numbers_that_are_not():
    odd = [
        verdict(value=float("nan"), interval=None),
        verdict(value=float("inf"), interval=(float("nan"), float("inf"))),
    ]
    text = one(verdicts=odd)
    assert "no number" in Reader(text).text
    assert "<svg" not in text[: text.index("<script")]


def test_figures_are_inside_with_words_for_those_who_do_not_see_them():
    figure = curves([("a", [0, 1], [0, 1])], x_label="x", y_label="y", width=3.4)
    seen = Illustration(render(figure, dots_per_inch=DRAWN), "C", "An alt text")
    pictures = [figure, Illustration(figure, "A caption"), seen]
    found = Reader(one(figures=pictures))
    alts = [value for tag, name, value in found.values if (tag, name) == ("img", "alt")]
    assert alts == ["figure", "A caption", "An alt text"]
    sources = [value for tag, name, value in found.values if (tag, name) == ("img", "src")]
    images = [Image.open(io.BytesIO(base64.b64decode(s.split(",")[1]))) for s in sources]
    first, *others = (np.asarray(image.convert("RGB"), float) for image in images)
    for other in others:  # one picture; its colours are chosen anew where it is drawn twice
        assert np.abs(other - first).mean() < 3
    shown = images[0]
    widths = {value for tag, name, value in found.values if (tag, name) == ("img", "width")}
    assert widths == {str(round(3.4 * 96))}
    assert shown.width == round(1.75 * round(3.4 * 96))


@pytest.mark.parametrize("content", [b"", b"<svg/>", b"GIF89a", b"\x89PNG\r\n\x1a\n"])
def test_a_picture_must_be_one(content):
    with pytest.raises(InputError, match="neither a figure nor a PNG"):
        one(figures=[Illustration(content)])


def test_cost_and_nested_settings():
    text = Reader(one(settings={"train": {"steps": 400}}, cost=StudyCost(1200, 40, 2))).text
    for part in ("train.steps", "400", "1,200", "trials per second", "30", "compilations"):
        assert part in text
    assert "trials per second" not in Reader(one(cost=StudyCost(0, 0))).text


def test_settings_that_are_lists_of_parts_are_told_one_by_one():
    measures = [{"is": "measure.loss", "examples": 200}, {"is": "measure.accuracy"}]
    assert flat({"rates": [1, 2], "measures": measures}) == [
        ("rates", [1, 2]),
        ("measures.0.is", "measure.loss"),
        ("measures.0.examples", 200),
        ("measures.1.is", "measure.accuracy"),
    ]


def test_a_small_picture_goes_without_its_title():
    """Against the panels of the same picture that never had one."""
    words = {"x_label": "x", "y_label": "y", "width": 3.4}
    line = [("a", [0, 1], [0, 1])]
    titled = plot.lines(line, title="A title over two lines, as findings often are", **words)
    content = render(titled, dots_per_inch=DRAWN)
    shown, _, height = still(content, 1.0, (titled.title, titled.subtitle))
    bare, _, wanted = still(render(plot.lines(line, **words), dots_per_inch=DRAWN), 1.0)
    assert abs(height - wanted) <= 1
    dark = [
        np.asarray(Image.open(io.BytesIO(one)).convert("L"), float) < 128 for one in (shown, bare)
    ]
    assert dark[0].sum() == pytest.approx(dark[1].sum(), rel=0.03)
    assert not dark[0][:2].any()


def test_an_empty_report_is_a_page():
    assert [tag for tag, _ in Reader(report("T", [])).tags].count("h2") == 0
    Reader(report("T", [Section("a", "A")]))


def test_the_file_is_written_whole_and_the_same_again(tmp_path):
    figure = Figure()
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, "T", [section(figures=[figure])])
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_bad_place_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match=r"use \.html"):
        write_report(tmp_path / "a.pdf", "T", [])
    with pytest.raises(InputError, match="cannot write"):
        write_report(tmp_path / "missing" / "a.html", "T", [])
    assert list(tmp_path.iterdir()) == []


def test_a_still_keeps_the_white_of_its_ground():
    """Few colours would tint it, which shows on a white page and on a dark one."""
    rng = np.random.default_rng(0)
    pixels = np.full((120, 160, 3), 255, np.uint8)
    pixels[20:100, 20:140] = rng.integers(0, 256, (80, 120, 3))
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", dpi=(96, 96))
    data, width, height = still(buffer.getvalue(), density=1.0)
    shown = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    assert (width, height) == (160, 120)
    assert (shown[:15] == 255).all()
    assert np.abs(shown[20:100, 20:140].astype(int) - pixels[20:100, 20:140]).max() > 0
