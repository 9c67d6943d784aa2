"""A folder of pages: every claim on the first, a page per paper, a page per figure.

The pages share one style and one copy of every script, need no server, and may lie anywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from limelight._core.files import write_whole
from limelight._core.maths import in_text
from limelight._core.strip import strip
from limelight._page import parts
from limelight._page.parts import furthest_off
from limelight._page.report import KEY, STUDIED, Anchors, Section, section_html
from limelight._page.shell import page, shared_files, text, typeset
from limelight.claims import KINDS, Verdict, most_surprising


@dataclass(frozen=True)
class Chapter:
    """A paper of the site.

    Args:
        key: Its short name, and that of its folder.
        title: Its title.
        about: Authors, venue.
        sections: Its figures.
        files: The file of each figure, in the same order.
        errata: What is printed, what is wrong, and the command that shows it.
        studied: Pictures of its worlds and models.
    """

    key: str
    title: str
    about: str
    sections: Sequence[Section]
    files: Sequence[str]
    errata: Sequence[tuple[str, str, str]] = field(default_factory=tuple)
    studied: Sequence[parts.Illustration] = ()


def write_site(folder: str | Path, title: str, chapters: Sequence[Chapter]) -> list[Path]:
    """Write all pages into a folder; what lies there under other names stays.

    Returns:
        The pages, the first one first.
    """
    folder = Path(folder)
    found = {Path("index.html"): dashboard(title, chapters)}
    for chapter in chapters:
        found[Path(chapter.key) / "index.html"] = paper_page(title, chapter)
        for section, name in zip(chapter.sections, chapter.files, strict=True):
            found[Path(chapter.key) / name] = figure_page(title, chapter, section)
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    for name, content in shared_files().items():
        write_whole(folder / "assets" / name, content.encode())
    for path, content in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / path, content.encode())
    return [folder / path for path in found]


# --- the first page ---------------------------------------------------------------------------


def dashboard(title: str, chapters: Sequence[Chapter]) -> str:
    """Every claim in small, by paper; the most surprising ones, the errata, and all with strips."""
    names = Anchors()
    every = [(c, s, file, v) for c in chapters for s, file in _files(c) for v in s.verdicts]
    verdicts = [v for *_, v in every]
    at = {id(v): f"{c.key}/{file}#{parts.anchor(v)}" for c, _, file, v in every}
    places = {id(v): names.new(parts.anchor(v)) for v in verdicts}
    tiles = "".join(_tile(c, s, file, v, places[id(v)]) for c, s, file, v in every)
    papers = "".join(_paper(c, places) for c in chapters)
    sections = {
        "papers": ("Papers", f'<ul class="papers">\n{papers}</ul>'),
        "surprising": ("Most surprising", _surprises(verdicts, at)),
        "errata": ("Errata", _errata(chapters)),
        "claims": (
            "Every claim",
            f'<p class="soft">{KEY}</p>\n{_filters(chapters)}'
            f'<div class="claims filtered">\n{tiles}</div>\n',
        ),
    }
    sections = {name: one for name, one in sections.items() if one[1]}
    jumps = "".join(
        f'<li><a href="#{name}">{head}</a></li>' for name, (head, _) in sections.items()
    )
    body = (
        f"<header>\n<h1>{typeset(title)}</h1>\n"
        f'<p class="lead">{typeset(_lead(chapters, verdicts))}</p>\n{parts.counts(verdicts, {})}'
        f'<nav aria-label="On this page"><ul class="jumps">{jumps}</ul></nav>\n</header>\n'
        '<main id="content">\n'
        + "".join(
            f'<section aria-labelledby="{name}"><h2 id="{name}">{head}</h2>\n{inside}</section>\n'
            for name, (head, inside) in sections.items()
        )
        + "</main>\n"
    )
    return page(title, body, up="")


def _lead(chapters: Sequence[Chapter], verdicts: Sequence[Verdict]) -> str:
    figures = sum(bool(s.figures) for c in chapters for s in c.sections)
    trials = sum(s.cost.trials for c in chapters for s in c.sections if s.cost)
    return (
        f"What theory says of attention, tried: {len(verdicts)} claims on {figures} figures of"
        f" {len(chapters)} papers, each decided by a rule on trials that anyone can run again"
        f" ({trials:,} so far)."
    )


def _paper(chapter: Chapter, places: Mapping[int, str]) -> str:
    """A paper, and a small square for every claim of it, which leads to its tile."""
    verdicts = [v for section in chapter.sections for v in section.verdicts]
    squares = "".join(
        f'<a tabindex="-1" class="{v.verdict.replace(" ", "-")}" href="#{text(places[id(v)])}"'
        f' title="{text(f"{in_text(v.statement)} ({v.verdict})")}"></a>'
        for v in verdicts
    )
    return (
        f'<li><div><h3><a href="{text(chapter.key)}/index.html">{typeset(chapter.title)}</a></h3>'
        f'<p class="soft small">{typeset(chapter.about)}</p></div>\n<div>'
        f'<div class="mosaic" aria-hidden="true">{squares}</div>'
        f"{parts.counts(verdicts, {'paper': chapter.key})}</div></li>\n"
    )


def _tile(chapter: Chapter, section: Section, file: str, verdict: Verdict, name: str) -> str:
    said = " ".join((verdict.claim, verdict.statement, in_text(verdict.statement),
                     verdict.reference, section.title, chapter.key))  # fmt: skip
    facts = {
        "paper": chapter.key,
        "verdict": verdict.verdict,
        "kind": verdict.kind,
        "by": "ours" if verdict.ours else "theirs",
        "words": said.lower(),
    }
    link = f"{chapter.key}/{file}#{parts.anchor(verdict)}"
    rerun = f"<pre><code>{text(section.rerun[0])}</code></pre>" if section.rerun else ""
    more = (
        f'<p><a href="{text(link)}">{typeset(section.title)}</a> ({typeset(section.place)})</p>'
        f"<p>{typeset(section.statement)}</p>{rerun}"
    )
    made = parts.claim(verdict, name, 3, more, chapter.key)
    data = "".join(f' data-{name}="{text(value)}"' for name, value in facts.items())
    return made.replace('<article class="claim"', f'<article class="claim"{data}', 1)


def _filters(chapters: Sequence[Chapter]) -> str:
    every = [v for c in chapters for s in c.sections for v in s.verdicts]
    lists: Mapping[str, Sequence[tuple[str, str]]] = {
        "paper": [(c.key, c.key) for c in chapters],
        "verdict": [(word, word) for word in parts.BADGES if word in {v.verdict for v in every}],
        "kind": [(word, word) for word in KINDS if word in {v.kind for v in every}],
        "by": [("theirs", "the papers"), ("ours", "limelight")],
    }
    titles = {"paper": "Paper", "verdict": "Verdict", "kind": "Kind", "by": "Claimed by"}
    selects = "".join(
        f'<label>{titles[name]}<select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{text(v)}">{text(words)}</option>' for v, words in options)
        + "</select></label>\n"
        for name, options in lists.items()
    )
    return (
        '<form class="filters" role="search" aria-label="Filter the claims">\n'
        '<label>Search<input type="search" name="words" placeholder="words or a name" '
        f'autocomplete="off"></label>\n{selects}<output aria-live="polite"></output>'
        '<button type="reset" hidden>Show all</button></form>\n'
    )


def _surprises(verdicts: Sequence[Verdict], at: Mapping[int, str]) -> str:
    chosen = most_surprising(verdicts)
    items = "".join(
        f'<li><p class="eyebrow">{text(v.paper)} <code>{text(v.claim)}</code></p>'
        f'<a href="{text(at[id(v)])}">{typeset(v.statement)}</a>{strip(v)}</li>\n'
        for v in chosen
    )
    if not items:
        return ""
    return (
        '<p class="soft">Claims of the papers that fail most clearly, at most one of each'
        " table.</p>\n"
        f'<ul class="cards">\n{items}</ul>'
    )


def _errata(chapters: Sequence[Chapter]) -> str:
    rows = "".join(
        f"<tr><td>{text(c.key)}</td><td>{typeset(what)}</td><td>{typeset(found)}</td>"
        f"<td><code>{text(command)}</code></td></tr>\n"
        for c in chapters
        for what, found, command in c.errata
    )
    if not rows:
        return ""
    heads = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("paper", "what is measured", "as printed, and corrected", "see it")
    )
    return (
        '<details class="more"><summary>What the papers print and a number contradicts'
        "</summary>\n"
        '<div class="scroll"><table class="errata"><caption>Both statements, evaluated</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table></div></details>\n"
    )


# --- a paper, a figure ------------------------------------------------------------------------


def paper_page(title: str, chapter: Chapter) -> str:
    """A paper: its figures in small, each under what was found, and what it studies."""
    verdicts = [v for section in chapter.sections for v in section.verdicts]
    figures = "".join(_card(section, file) for section, file in _files(chapter))
    furthest = furthest_off(verdicts)
    body = (
        f'<header>\n<p class="eyebrow"><a href="../index.html">{typeset(title)}</a></p>\n'
        f'<h1>{typeset(chapter.title)}</h1>\n<p class="soft">{typeset(chapter.about)}</p>\n'
        f"{parts.counts(verdicts, {'paper': chapter.key}, '../index.html')}"
        + (f'<p class="lead">{typeset(furthest)}</p>\n' if furthest else "")
        + f'</header>\n<main id="content">\n<ul class="cards figures">\n{figures}</ul>\n'
        f"{_studied(chapter)}</main>\n"
    )
    return page(chapter.title, body, up="../")


def _card(section: Section, file: str) -> str:
    """A figure in small: what was found, where it stands, how its claims are decided."""
    told = "" if section.title == section.heading else section.title
    place = " · ".join(filter(None, (section.place, told)))
    return (
        f'<li id="{text(section.name)}"><a href="{text(file)}">'
        f"<h2>{typeset(section.heading)}</h2>{''.join(map(parts.thumbnail, section.figures[:1]))}"
        f'</a><p class="soft small">{typeset(place)}</p>{parts.counts(section.verdicts)}</li>\n'
    )


def _studied(chapter: Chapter) -> str:
    """The worlds and models of a paper."""
    found = parts.side_by_side(chapter.studied, Anchors())
    heading = f'<h2 id="what-is-studied">{STUDIED}</h2>'
    return (
        f'<section aria-labelledby="what-is-studied">{heading}\n{found}</section>\n'
        if found
        else ""
    )


def figure_page(title: str, chapter: Chapter, section: Section) -> str:
    """A figure: its chart, its claims, how to run it again."""
    body = (
        f'<header><p class="eyebrow"><a href="../index.html">{typeset(title)}</a> / '
        f'<a href="index.html">{typeset(chapter.title)}</a></p></header>\n'
        f'<main id="content">\n{section_html(section, section.name, Anchors(), 1)}</main>\n'
    )
    charts = any(getattr(one, "chart", None) for one in section.figures)
    return page(f"{chapter.key}: {in_text(section.title)}", body, charts=charts, up="../")


def _files(chapter: Chapter) -> list[tuple[Section, str]]:
    return list(zip(chapter.sections, chapter.files, strict=True))
