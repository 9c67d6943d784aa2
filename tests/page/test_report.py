import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from limelight._core.errors import InputError
from limelight._page.report import Illustration, Section, StudyCost, report, write_report
from limelight.claims import Verdict
from limelight.plot import lines as curves
from limelight.plot import render

HOSTILE = "</code></pre><script src=\"//evil/x.js\">alert('1')</script><img src=x onerror=alert(1)>"
EMPTY = {"meta", "img", "br"}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


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
            assert value.startswith("data:image/png;base64,"), (tag, name)
        if name == "href":
            assert re.fullmatch(r"#s\d", value)
        assert not name.startswith("on")
        assert name != "style"
    assert "://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {
        tag for tag, _ in found.tags
    }


def test_the_policy_forbids_scripts_and_the_network_and_knows_its_own_style():
    text = page()
    (policy,) = [v for tag, name, v in Reader(text).values if "default-src" in v]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style
    seal = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; img-src data:; style-src 'sha256-{seal}'")
    assert "script-src" not in policy
    assert "unsafe" not in policy


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
    assert "script" not in {tag for tag, _ in attacked.tags}
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
    assert found.tags == Reader(page("a word")).tags
    assert "�" in text or word.replace("\r\n", "\n").replace("\r", "\n") in found.text
    text.encode()  # lone surrogates are gone
    assert not re.search("[\x00-\x08\x0e-\x1f]", text)


def test_verdicts_come_first_then_figures_settings_cost_versions_rerun():
    heads = re.findall(r"<h3>(.*?)</h3>", report("T", [section()]))
    assert heads == [
        *("Verdicts", "Figures", "Settings", "Cost"),
        *("Versions and device", "How to run it again", "Notes"),
    ]


def test_a_page_of_many_opens_with_all_verdicts():
    other = section("b", verdicts=[verdict("2.line", "fails"), verdict("2.law", "inconclusive")])
    text = report("T", [section("a"), other])
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["All verdicts", "a", "b"]
    assert text.index("2.law") < text.index('id="s1"')
    assert text.count('href="#s2"') == 2


def test_badges_differ_by_sign_and_word():
    kinds = ["holds", "holds", "fails", "inconclusive"]
    words = Reader(one(verdicts=[verdict(str(i), k) for i, k in enumerate(kinds)])).text
    for badge in ("✓ 2 hold", "✗ 1 fails", "? 1 inconclusive", "✓ holds", "✗ fails"):
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
    text = Reader(one(verdicts=odd)).text
    assert "not a number" in text
    assert "none" in text
    assert "[not a number, inf]" in text


def test_figures_are_inside_with_words_for_those_who_do_not_see_them():
    figure = curves([("a", [0, 1], [0, 1])], x_label="x", y_label="y", width=3.4)
    seen = Illustration(render(figure), "C", "An alt text")
    pictures = [figure, Illustration(figure, "A caption"), seen]
    found = Reader(one(figures=pictures))
    alts = [value for tag, name, value in found.values if (tag, name) == ("img", "alt")]
    assert alts == ["", "A caption", "An alt text"]
    sources = [value for tag, name, value in found.values if (tag, name) == ("img", "src")]
    assert len(set(sources)) == 1
    assert base64.b64decode(sources[0].split(",")[1]) == render(figure)
    widths = {value for tag, name, value in found.values if (tag, name) == ("img", "width")}
    assert widths == {str(int(3.4 * 300) // 2)}


@pytest.mark.parametrize("content", [b"", b"<svg/>", b"GIF89a", b"\x89PNG\r\n\x1a\n"])
def test_a_picture_must_be_one(content):
    with pytest.raises(InputError, match="neither a figure nor a PNG"):
        one(figures=[Illustration(content)])


def test_cost_and_nested_settings():
    text = Reader(one(settings={"train": {"steps": 400}}, cost=StudyCost(1200, 40, 2))).text
    for part in ("train.steps", "400", "1,200", "trials per second", "30", "compilations"):
        assert part in text
    assert "trials per second" not in Reader(one(cost=StudyCost(0, 0))).text


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
