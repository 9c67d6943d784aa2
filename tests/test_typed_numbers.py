"""No measured number on a page is typed by hand: `docs/fill.py` writes it.

What may be typed on a paper's page: numbers below 13, labels of the papers' items, years, the
settings of a published run (they stand in its manifest), levels and sizes that a claim's own words
name, and what `docs/papers/given.json` lists with a reason. On any other page: small numbers, what
the page's own code sets, the level of every interval, and what `docs/given.json` lists.
"""

import json
import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "papers").glob("*/*.md"))
GIVEN = json.loads((ROOT / "docs" / "papers" / "given.json").read_text(encoding="utf-8"))
#: Pages that are no paper's. Errata print what papers print, the stopwatch is written whole, and
#: design notes are dated: they say which of their numbers were measured once, on that day.
OTHERS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    ROOT / "docs" / "index.md",
    ROOT / "docs" / "glossary.md",
    ROOT / "docs" / "papers" / "index.md",
    *(
        page
        for folder in ("start", "guides", "concepts", "tutorials", "results", "proofs")
        for page in sorted((ROOT / "docs" / folder).glob("*.md"))
        if page.name != "stopwatch.md"
    ),
]
GIVEN_ELSEWHERE = json.loads((ROOT / "docs" / "given.json").read_text(encoding="utf-8"))
CODE = re.compile(r"^```.*?^```|^(?:    |\t)[^\n]*$|``?[^`\n]+``?", re.M | re.S)
#: The level of every interval, in percent.
LEVEL = 95.0
#: Numbers that are small enough to be words.
WORDS = 13
NUMBER = r"(?<![\w.])\d[\d,]*(?:\.\d+)?|(?<![\w.,])\.\d+"
#: What is not prose: marks with what is between them, code, addresses, displayed formulas.
NOT_PROSE = (
    r"<!-- = .*?<!-- / -->",
    r"^```.*?^```",
    r"^(?:    |\t)[^\n]*$",
    r"``?[^`\n]+``?",
    r"\]\([^)]*\)",
    r"\$\$.*?\$\$",
    r"</?[a-z][^<>]*>",
)
#: Exponents, indices, fractions and powers of ten in formulas.
IN_FORMULAS = (r"[\^_]\{[^{}]*\}", r"[\^_]\\?\w", r"\\t?frac\{[^{}]*\}\{[^{}]*\}")
LABELS = (
    r"(?:Theorem|Lemma|Figure|Section|Definition|Corollary|Proposition|Appendix|Assumption|Remark|"
    r"Event|Table|Claim|claim|version|Corollarie|arXiv|v)s?~?\s?\(?[A-Z]?\.?\d[\d.]*(?:\([a-z]\))?"
    r"(?:(?:, | and | to )[A-Z]?\.?\d[\d.]*(?:\([a-z]\))?)*"
)
OTHER_LABELS = (
    r"\b(?:CIFAR|SHA|EVA)-\d+",
    r"\b[A-Z]\.\d+\b",
    r"\b(?:19|20)\d\d\b",
    r"\(\d+\)",
    r"\bE\d+\b",
    r"\b\d+\(\d+\)",
)


#: Counts of what is published are not words either.
COUNTED = (
    r"(?i)\b\w*(?:teen|twenty|thirty|forty|fifty)[-\w]* (?:cards|claims|tables|figures|trials)"
)


def prose(text: str) -> str:
    """A page without what is not prose, and without labels."""
    for pattern in (*NOT_PROSE, *IN_FORMULAS, LABELS, *OTHER_LABELS):
        text = re.sub(pattern, " ", text, flags=re.M | re.S)
    return text


def numbers(text: str) -> set[float]:
    """Every number of a text."""
    return {float(found.replace(",", "").rstrip(".")) for found in re.findall(NUMBER, text)}


@cache
def settings(key: str) -> frozenset[float]:
    """Numbers that a paper's published runs were set to, and that its claims name as levels."""
    folder = ROOT / "results" / key
    runs = [json.loads(path.read_text()) for path in sorted(folder.glob("*/manifest.json"))]
    found = numbers(json.dumps([run["configuration"] for run in runs]))
    kept = json.loads((files("limelight.papers") / "cards.json").read_text(encoding="utf-8"))
    for name, card in kept["cards"].items():
        if name.startswith(f"{key}/"):
            said = [f"{c['statement']} {c['rule']} {c['reference']}" for c in card["claims"]]
            said += [card["sizes"], card["departures"], card["statement"]]
            found |= numbers(" ".join(said))
    return frozenset(found)


def typed(page: Path) -> list[str]:
    """Numbers of a page that nothing accounts for, with the words around them."""
    text, key = prose(page.read_text(encoding="utf-8")), page.parent.name
    known = settings(key) | {float(n) for n in GIVEN.get(f"{key}/{page.name}", {})}
    known |= {round(100 * n, 9) for n in settings(key)}  # in percent
    return unknown(text, known)


def typed_elsewhere(page: Path) -> list[str]:
    """The same for a page that is no paper's."""
    text = page.read_text(encoding="utf-8")
    given = GIVEN_ELSEWHERE.get(str(page.relative_to(ROOT)), {})
    coded = numbers(" ".join(CODE.findall(text)))
    return unknown(prose(text), coded | {float(n) for n in given} | {LEVEL})


def unknown(text: str, known: Collection[float]) -> list[str]:
    """Numbers that are neither known nor small, with the words around them, and counts in words."""
    found = []
    for match in re.finditer(NUMBER, text):
        number = float(match[0].replace(",", "").rstrip("."))
        if number not in known and not (number < WORDS and number == int(number)):
            around = text[max(0, match.start() - 40) : match.end() + 30]
            found.append(f"{match[0]}: ...{' '.join(around.split())}...")
    return found + re.findall(COUNTED, text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_no_measured_number_is_typed(page):
    assert typed(page) == []


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_measured_number_is_typed_on_other_pages(page):
    assert typed_elsewhere(page) == []


def test_a_number_that_is_typed_is_found_and_one_that_is_given_is_not():
    page = "Of <!-- = tables li2023 -->28 tables<!-- / --> in Theorem 4.2 and $x^{17}$, `n = 99`:"
    page += " 0.42 at 30, 5 of 7"
    assert [word.split(":")[0] for word in unknown(prose(page), {30.0})] == ["0.42"]
    assert unknown(prose("Twenty cards say so, .5 of them at 1,000."), {0.5, 1000.0}) == [
        "Twenty cards"
    ]


@pytest.mark.parametrize(
    "page",
    sorted((ROOT / "docs").rglob("*.md")),
    ids=lambda page: f"{page.parent.name}/{page.stem}",
)
def test_no_line_of_a_paragraph_begins_with_a_mark(page):
    """Markdown would take such a line for HTML, and leave the maths in it as it is."""
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if re.match(r"<!-- = .*<!-- / -->", line)] == []


def test_what_is_given_stands_on_its_page():
    papers = {f"docs/papers/{name}": reasons for name, reasons in GIVEN.items()}
    for name, reasons in (papers | GIVEN_ELSEWHERE).items():
        page = ROOT / name
        missing = {float(n) for n in reasons} - numbers(prose(page.read_text(encoding="utf-8")))
        assert not missing, f"{name} has no {missing}"
        assert all(len(reason.split()) > 2 for reason in reasons.values())
