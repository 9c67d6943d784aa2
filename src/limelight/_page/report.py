"""One page for a study or for many: verdicts first, then figures, settings, cost, rerun.

The page is a single HTML file that needs nothing else: style and pictures are inside, there is no
script, and its content policy forbids scripts and the network. Whatever comes from outside is
escaped, so a name such as `<script>` is shown and not run.
"""

import base64
import hashlib
import html
import math
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limelight._core.errors import InputError
from limelight._core.files import write_whole
from limelight.claims import Verdict
from limelight.plot.marks import Number

PNG = b"\x89PNG\r\n\x1a\n"
BADGES = {"holds": "✓", "fails": "✗", "inconclusive": "?", "not applicable": "–", "not run": "…"}
_SEVERAL = {"holds": "hold", "fails": "fail"}
_FIXED = {
    "before": "before its first table",
    "pilot": "after a pilot run",
    "after": "after its first table",
}
#: Control characters, halves of characters, and those that turn the direction of text round.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]"
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #555; --line: #d5d5d5;
  --paper: #fff; --card: #f7f7f8; --holds: #00664a; --fails: #a33c00; --open: #5b5b5b;
  --link: #005a8e; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececec; --soft: #b3b3b3; --line: #45484d;
  --paper: #16181b; --card: #202327; --holds: #5fd3ac; --fails: #ff9a5c; --open: #c4c4c4;
  --link: #7cc4f5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.35rem; margin: 2.5rem 0 .75rem; border-bottom: 1px solid var(--line);
  padding-bottom: .25rem; }
h3 { font-size: 1.08rem; margin: 1.5rem 0 .5rem; }
h4 { font-size: 1rem; margin: 0; }
a { color: var(--link); }
.lead { font-size: 1.1rem; margin: 0 0 .75rem; }
.name, .note, figcaption, dt { color: var(--soft); }
.name { margin: -.5rem 0 .5rem; }
.counts { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center;
  list-style: none; margin: 0; padding: 0; }
.badge { display: inline-block; border: 2px solid; border-radius: .3rem; padding: 0 .45rem;
  font-size: .9rem; font-weight: 600; white-space: nowrap; }
.holds .badge, .badge.holds { color: var(--holds); }
.fails .badge, .badge.fails { color: var(--fails); border-style: double; border-width: 4px;
  padding: 0 .35rem; line-height: 1.3; }
.inconclusive .badge, .badge.inconclusive { color: var(--open); border-style: dashed; }
.verdict { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .75rem 1rem; margin: .75rem 0; break-inside: avoid; }
.verdict > :is(h3, h4) { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center;
  margin: 0; }
.verdict p { margin: .5rem 0; }
dl { display: flex; flex-wrap: wrap; gap: .4rem 2rem; margin: .5rem 0 0; }
dl > .wide { flex-basis: 100%; }
dt { font-size: .82rem; }
dd { margin: 0; }
td, dd { font-variant-numeric: tabular-nums; }
figure { margin: 1.25rem 0; break-inside: avoid; }
figure img { display: block; max-width: 100%; height: auto; background: #fff; padding: .75rem;
  border: 1px solid var(--line); border-radius: .5rem; }
figcaption { margin-top: .5rem; max-width: 45rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem 1.2rem .3rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 500; }
thead th { color: var(--soft); font-size: .82rem; }
code, pre { font: .9em/1.45 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
code { unicode-bidi: isolate; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .75rem 1rem; overflow-x: auto; }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --paper: #fff;
  --card: #fff; --holds: #000; --fails: #000; --open: #000; --link: #000; }
  body { max-width: none; padding: 0; font-size: 10pt; } h2, h3, h4 { break-after: avoid; }
  pre { white-space: pre-wrap; } figure img { max-height: 18cm; width: auto; padding: 0;
  border: 0; } }
"""


@dataclass(frozen=True)
class Illustration:
    """A figure of the page.

    Args:
        figure: A picture, a Matplotlib figure, or the bytes of a PNG file.
        caption: What it shows, under it.
        alt: What it shows, for those who do not see it; the caption when not given.
    """

    figure: Any
    caption: str = ""
    alt: str = ""


@dataclass(frozen=True)
class Numbers:
    """A table of the page: what it shows, the names of its columns, its rows."""

    caption: str
    titles: Sequence[str]
    rows: Sequence[Sequence[Any]]


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
        name: Short, such as `li2023 fig1a`.
        title: The heading.
        statement: What is claimed, in our words.
        verdicts: What was decided about it.
        figures: What to show.
        numbers: Tables to show.
        settings: How it was run, name to value; a value may be a mapping of its own.
        cost: What it took.
        versions: Software and device, name to version.
        rerun: The commands that make it again.
        notes: Anything else the reader must know, a paragraph each.
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


def report(title: str, sections: Sequence[Section], statement: str = "") -> str:
    """The page as a string of HTML.

    Args:
        title: The heading of the page.
        sections: One for each study; the page opens with the verdicts of all.
        statement: What is claimed or asked, under the heading.

    Example:
        >>> page = report("Two <plus> two", [Section("sum", "A sum", rerun=["limelight verify"])])
        >>> "<h1>Two &lt;plus&gt; two</h1>" in page
        True
    """
    every = [verdict for section in sections for verdict in section.verdicts]
    lead = f'<p class="lead">{_text(statement)}</p>' if statement else ""
    header = f"<header>\n<h1>{_text(title)}</h1>\n{lead}{_counts(every)}</header>\n"
    parts = [_summary(sections), *(_section(section, i) for i, section in enumerate(sections, 1))]
    return _page(title, header + "<main>\n" + "".join(parts) + "</main>\n")


def write_report(
    path: str | Path, title: str, sections: Sequence[Section], statement: str = ""
) -> None:
    """Write the page of `report`, whole or not at all.

    Raises:
        InputError: When the place cannot be written or the name does not end in `.html`.
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is an HTML page: {path}", "use .html")
    write_whole(path, report(title, sections, statement).encode())


# --- parts of the page ------------------------------------------------------------------------


def _page(title: str, body: str) -> str:
    seal = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{seal}'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}; base-uri \'none\'; '
        "form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="generator" content="limelight">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}</body>\n</html>\n"
    )


def _counts(verdicts: Sequence[Verdict]) -> str:
    """How many claims hold, fail and stay open, as badges."""
    found = [(kind, sum(v.verdict == kind for v in verdicts)) for kind in BADGES]
    words = [
        (kind, f"{n} {kind if n == 1 else _SEVERAL.get(kind, kind)}") for kind, n in found if n
    ]
    items = [f"<li>{_badge(kind, text)}</li>" for kind, text in words]
    return f'<ul class="counts">{"".join(items)}</ul>\n' if items else ""


def _summary(sections: Sequence[Section]) -> str:
    """Every verdict of the page in one table, each with a link to its section."""
    rows = [
        f"<tr><td>{_badge(v.verdict)}</td>"
        f'<td><a href="#s{i}"><code>{_text(v.claim)}</code></a></td><td>{_text(section.title)}</td>'
        f"<td>{_number(v.value)}</td><td>{_ends(v)}</td><td>{v.n:,}</td></tr>\n"
        for i, section in enumerate(sections, 1)
        for v in section.verdicts
    ]
    names = ("verdict", "claim", "study", "value", "interval", "n")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        '<section>\n<h2>All verdicts</h2>\n<div class="scroll"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n</table></div>\n"
        "</section>\n"
        if rows
        else ""
    )


def _section(section: Section, index: int) -> str:
    name = f'<p class="name"><code>{_text(section.name)}</code></p>\n' if section.name else ""
    statement = f"<p>{_text(section.statement)}</p>\n" if section.statement else ""
    return (
        f'<section id="s{index}">\n<h2>{_text(section.title)}</h2>\n{name}{statement}'
        f"{_parts(section)}</section>\n"
    )


def _parts(section: Section) -> str:
    """What a section holds, in the one order of every page; empty parts leave no heading."""
    cost = section.cost.rows() if section.cost else {}
    rerun = "\n".join(_text(line) for line in section.rerun)
    parts = {
        "Verdicts": "".join(_verdict(verdict) for verdict in section.verdicts),
        "Figures": "".join(_figure(picture) for picture in section.figures),
        "Numbers": "".join(_numbers(table) for table in section.numbers),
        "Settings": _pairs(_flat(section.settings)),
        "Cost": _pairs(cost.items()),
        "Versions and device": _pairs(_flat(section.versions)),
        "How to run it again": f"<pre><code>{rerun}</code></pre>\n" if rerun else "",
        "Notes": "".join(f"<p>{_text(note)}</p>\n" for note in section.notes),
    }
    return "".join(f"<h3>{name}</h3>\n{content}" for name, content in parts.items() if content)


def _verdict(verdict: Verdict) -> str:
    facts = {"value": _number(verdict.value), "interval": _interval(verdict), "n": f"{verdict.n:,}"}
    facts |= {"source": _text(verdict.source)} if verdict.source else {}
    facts |= {"claimed by": _text(verdict.reference), "kind": _text(verdict.kind)}
    facts |= {"rule fixed": _FIXED[verdict.fixed]}
    note = f'<p class="note">{_text(verdict.note)}</p>\n' if verdict.note else ""
    items = [f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in facts.items()]
    items += [f'<div class="wide"><dt>rule</dt><dd>{_text(verdict.rule)}</dd></div>']
    return (
        f'<article class="verdict">\n<h4>{_badge(verdict.verdict)} '
        f"<code>{_text(verdict.claim)}</code></h4>\n<p>{_text(verdict.statement)}</p>\n"
        f"<dl>{''.join(items)}</dl>\n{note}</article>\n"
    )


def _badge(verdict: str, text: str = "") -> str:
    """Sign, word and border all differ, so the colour is not needed."""
    kind = verdict if verdict in BADGES else "inconclusive"
    sign = f'<span aria-hidden="true">{BADGES[kind]}</span>'
    return f'<span class="badge {kind.replace(" ", "-")}">{sign} {_text(text or verdict)}</span>'


def _figure(picture: Any) -> str:
    from limelight.plot.files import render

    picture = picture if isinstance(picture, Illustration) else Illustration(picture)
    content = picture.figure if isinstance(picture.figure, bytes) else render(picture.figure)
    if not content.startswith(PNG) or len(content) < 24:
        raise InputError("a picture is neither a figure nor a PNG file")
    width, height = (pixels // 2 for pixels in struct.unpack(">II", content[16:24]))
    caption = f"<figcaption>{_text(picture.caption)}</figcaption>\n" if picture.caption else ""
    alt = _text(picture.alt or picture.caption)
    data = base64.b64encode(content).decode()
    return (
        f'<figure>\n<img width="{width}" height="{height}" alt="{alt}" '
        f'src="data:image/png;base64,{data}">\n{caption}</figure>\n'
    )


def _numbers(table: Numbers) -> str:
    head = "".join(f'<th scope="col">{_text(title)}</th>' for title in table.titles)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>\n" for row in table.rows
    )
    return (
        f'<p>{_text(table.caption)}</p>\n<div class="scroll"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


def _pairs(pairs: Iterable[tuple[str, Any]]) -> str:
    rows = [
        f'<tr><th scope="row">{_text(name)}</th><td>{_text(value)}</td></tr>\n'
        for name, value in pairs
    ]
    return f'<div class="scroll"><table>\n{"".join(rows)}</table></div>\n' if rows else ""


# --- text -------------------------------------------------------------------------------------


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Nested settings as dotted names, as they are written on the command line."""
    out: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            out += _flat(value, f"{before}{name}.")
        else:
            out.append((f"{before}{name}", value))
    return out


def _text(value: Any) -> str:
    """Escaped for text and for quoted attributes; what no page may hold becomes a mark."""
    if isinstance(value, list | tuple):
        value = ", ".join(str(part) for part in value)
    text = str(value).replace("\r\n", "\n").replace("\r", "\n")
    return html.escape(_UNPRINTABLE.sub("\ufffd", text), quote=True)


def _number(value: Number) -> str:
    return "not a number" if math.isnan(value) else _text(f"{float(value):.3g}")


def _interval(verdict: Verdict) -> str:
    level = "" if verdict.level is None else f" ({verdict.level:.0%})"
    shared = f", shared by {verdict.family} points" if verdict.family > 1 else ""
    return f"{_ends(verdict)}{level}{shared}"


def _ends(verdict: Verdict) -> str:
    if verdict.interval is None:
        return "none"
    low, high = (_number(end) for end in verdict.interval)
    return f"[{low}, {high}]"
