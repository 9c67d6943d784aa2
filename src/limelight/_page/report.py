"""One page for a study or for many: what was found, the figure, its claims; the rest folded away.

The page is a single HTML file that needs nothing else. Its policy forbids the network and every
script but ours. Whatever comes from outside is escaped, so a name such as `<script>` is shown and
not run.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from limelight._core.errors import InputError
from limelight._core.files import write_whole
from limelight._page import parts
from limelight._page.parts import Illustration, Numbers, Svg, furthest_off, outcome, tally
from limelight._page.shell import page, text, typeset
from limelight.claims import Verdict
from limelight.plot.marks import Number

__all__ = ["Illustration", "Numbers", "Section", "StudyCost", "Svg", "report", "write_report"]


#: Over pictures of worlds and models.
STUDIED = "What is studied"
#: Pictures of what several sections study at most.
MOST = 4
#: How to read the strip of a claim.
KEY = "Shaded: where a claim holds. Dot and bar: what was measured, with its interval."


@dataclass(frozen=True)
class StudyCost:
    """What a study took."""

    trials: int
    seconds: Number
    compilations: int | None = None
    compiling: Number | None = None

    def rows(self) -> dict[str, str]:
        """The numbers in words, the rate among them."""
        seconds = float(self.seconds)
        rows = {"trials": f"{self.trials:,}", "seconds": f"{seconds:,.3g}"}
        if seconds > 0:
            rows["trials per second"] = f"{self.trials / seconds:,.3g}"
        if self.compilations is not None:
            rows["compilations"] = f"{self.compilations:,}"
        if self.compiling is not None:
            rows["seconds waiting for them"] = f"{float(self.compiling):,.3g}"
        return rows


@dataclass(frozen=True)
class Section:
    """One study of the page; every part but the title may be left out.

    Args:
        name: Short, such as `li2023.fig1a`: its anchor.
        title: The heading.
        statement: What is claimed, in our words.
        verdicts: What was decided about it.
        figures: What to show.
        numbers: Tables to show.
        settings: How it was run where that differs from defaults, name to value; a value may be a
            mapping of its own.
        cost: What it took.
        versions: Software and device, name to version.
        rerun: The commands that make it again.
        notes: Anything else the reader must know, a paragraph each.
        remark: Why verdicts that seem to contradict each other do not.
        place: Where it stands in the paper.
        studied: Pictures of its world and of its model.
    """

    name: str
    title: str
    statement: str = ""
    verdicts: Sequence[Verdict] = ()
    figures: Sequence[Any] = ()
    numbers: Sequence[Numbers] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    cost: StudyCost | None = None
    versions: Mapping[str, Any] = field(default_factory=dict)
    rerun: Sequence[str] = ()
    notes: Sequence[str] = ()
    remark: str = ""
    place: str = ""
    studied: Sequence[Illustration] = ()

    @property
    def heading(self) -> str:
        """What its first figure found; its title where that says nothing."""
        return getattr(next(iter(self.figures), None), "title", "") or self.title


def report(title: str, sections: Sequence[Section], statement: str = "", about: str = "") -> str:
    """The page as a string of HTML.

    Args:
        title: The heading of the page.
        sections: One for each study.
        statement: What is claimed or asked, under the heading.
        about: What the page is, in small letters under its heading.

    Example:
        >>> page = report("Two <plus> two", [Section("sum", "A sum", rerun=["limelight verify"])])
        >>> "<h1>Two &lt;plus&gt; two</h1>" in page
        True
    """
    names = Anchors()
    every = [verdict for section in sections for verdict in section.verdicts]
    anchors = [names.new(section.name or "study") for section in sections]
    several = len(sections) > 1
    lead = statement or (furthest_off(every) or outcome(every) if several else "")
    lead = f'<p class="lead">{typeset(lead)}</p>\n' if lead else ""
    about = f'<p class="soft">{typeset(about)}</p>\n' if about else ""
    badges = parts.counts(every) if several else ""
    header = f"<header>\n<h1>{typeset(title)}</h1>\n{about}{badges}{lead}</header>\n"
    body = "".join(
        section_html(replace(section, studied=()) if several else section, name, names, said=title)
        for section, name in zip(sections, anchors, strict=True)
    )
    nav = _contents(sections, anchors) if several else ""
    studied = parts.side_by_side(_shared(sections), names) if several else ""
    main = f'<main id="content">\n{body}{parts.folded(STUDIED, studied)}</main>\n'
    wrapped = f'<div class="with-nav">\n{nav}{main}</div>\n' if nav else main
    charts = any(getattr(one, "chart", None) for s in sections for one in s.figures)
    return page(title, header + wrapped + _versions(sections), charts=charts)


def write_report(
    path: str | Path, title: str, sections: Sequence[Section], statement: str = "", about: str = ""
) -> None:
    """Write the page of `report`, whole or not at all.

    Raises:
        InputError: When the place cannot be written or the name does not end in `.html`.
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is an HTML page: {path}", "use .html")
    write_whole(path, report(title, sections, statement, about).encode())


class Anchors:
    """Anchors of one page: letters that a link can hold, none of them twice."""

    def __init__(self):
        self._taken: set[str] = set()

    def new(self, name: str) -> str:
        """The name, or the name with a number where it is taken."""
        name = re.sub(r"[^\w.-]+", "-", name).strip("-") or "part"
        found, number = name, 1
        while found in self._taken:
            number += 1
            found = f"{name}-{number}"
        self._taken.add(found)
        return found


def section_html(
    section: Section, name: str, names: Anchors, level: int = 2, said: str = ""
) -> str:
    """A study as a section: what was found, the figure, the claims, the rest folded away.

    Args:
        section: The study.
        name: Its anchor.
        names: The anchors of the page.
        level: Of its heading.
        said: The heading of the page, which is not said again.
    """
    found, furthest = tally(section.verdicts), furthest_off(section.verdicts)
    pictures = [
        parts.figure(one, names.new(f"{name}.figure"), headed=number == 0)
        for number, one in enumerate(section.figures)
    ]
    claims = "".join(
        parts.claim(v, names.new(parts.anchor(v)), level + 2) for v in section.verdicts
    )
    rest = "".join(pictures[1:])
    told = "" if section.title in (section.heading, said) else section.title
    eyebrow = " · ".join(filter(None, (section.place, told)))
    return (
        f'<section id="{text(name)}">\n'
        + (f'<p class="eyebrow">{typeset(eyebrow)}</p>\n' if eyebrow else "")
        + f"<h{level}>{typeset(section.heading)}</h{level}>\n"
        + (f'<p class="lead">{_sentences(section.statement, found)}</p>\n' if found else "")
        + (f"<p>{typeset(section.statement)}</p>\n" if section.statement and not found else "")
        + "".join(pictures[:1])
        + parts.folded(STUDIED, parts.side_by_side(section.studied, names))
        + (f"<h{level + 1}>Claims</h{level + 1}>\n" if claims else "")
        + (f"<p>{typeset(furthest)}</p>\n" if furthest else "")
        + (f'<p class="remark">{typeset(section.remark)}</p>\n' if section.remark else "")
        + (f'<p class="soft small">{KEY}</p>\n' if claims else "")
        + (f'<div class="claims">\n{claims}</div>\n' if claims else "")
        + (f"<h{level + 1}>More figures</h{level + 1}>\n{rest}" if rest else "")
        + _folded(section)
        + "</section>\n"
    )


def _sentences(*said: str) -> str:
    return " ".join(typeset(one) for one in said if one)


def _shared(sections: Sequence[Section]) -> list[Illustration]:
    """What most sections study, each picture once."""
    every = {one.alt: one for section in sections for one in section.studied}
    counted = Counter(one.alt for section in sections for one in section.studied)
    return [every[alt] for alt, _ in counted.most_common(MOST)]


def _folded(section: Section) -> str:
    cost = section.cost.rows() if section.cost else {}
    rerun = "\n".join(text(line) for line in section.rerun)
    notes = "".join(f"<p>{typeset(note)}</p>\n" for note in section.notes)
    return (
        parts.folded("Numbers", "".join(parts.numbers(table) for table in section.numbers))
        + parts.folded("Notes and departures from the paper", notes)
        + parts.folded(
            "Settings that differ from the defaults",
            parts.pairs(parts.flat(section.settings), "How it was run"),
        )
        + parts.folded("Cost", parts.pairs(cost.items(), "What the study took"))
        + parts.folded("Run it again", f"<pre><code>{rerun}</code></pre>\n" if rerun else "")
    )


def _contents(sections: Sequence[Section], anchors: Sequence[str]) -> str:
    """The table of contents: every study, with the signs of its verdicts."""
    items = []
    for section, name in zip(sections, anchors, strict=True):
        kinds = [v.verdict for v in section.verdicts]
        told = " ".join(
            f'<span class="{kind.replace(" ", "-")}">{sign}{kinds.count(kind)}</span>'
            for kind, sign in parts.BADGES.items()
            if kind in kinds
        )
        items.append(
            f'<li><a href="#{text(name)}">{typeset(section.title)}</a> '
            f'<span class="small">{told}</span></li>\n'
        )
    return (
        f'<nav class="contents" aria-label="Contents"><strong>Contents</strong><ol>\n'
        f"{''.join(items)}</ol></nav>\n"
    )


def _versions(sections: Sequence[Section]) -> str:
    """Software and devices, once; where studies differ, which had which."""
    found: dict[tuple, list[str]] = {}
    for section in sections:
        if section.versions:
            key = tuple((k, str(v)) for k, v in parts.flat(section.versions))
            found.setdefault(key, []).append(section.name)
    content = "".join(
        parts.pairs(key, "All studies" if len(found) == 1 else ", ".join(names))
        for key, names in found.items()
    )
    return (
        f"<footer>\n{parts.folded('Versions and devices', content)}</footer>\n" if content else ""
    )
