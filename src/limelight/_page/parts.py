"""The parts that every page is made of: badges, claims, figures, tables."""

import base64
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from limelight._core.errors import InputError
from limelight._core.maths import in_text
from limelight._core.strip import number, strip, where
from limelight._page.shell import data, packed, text, typeset
from limelight.chart import Chart
from limelight.claims import OPEN_KINDS, Verdict

PNG = b"\x89PNG\r\n\x1a\n"
BADGES = {"holds": "✓", "fails": "✗", "inconclusive": "?", "not applicable": "–", "not run": "…"}
_SEVERAL = {"holds": "hold", "fails": "fail", "inconclusive": "are open"}
_ONE = {"inconclusive": "is open"}
_FIXED = {
    "before": "before its first table",
    "pilot": "after a pilot run",
    "after": "after its first table",
}
_KINDS = {
    "statistical": "decided by trials",
    "deterministic": "runs in which nothing is drawn",
    "identity": "an identity: it cannot fail if the code is right",
    "control": "a control: it is there to fail",
    "formula": "a formula: no trial is used",
}
#: Dots of a still picture per CSS pixel: alone, behind a chart, where few readers see it, and in
#: small.
ALONE, BEHIND, SMALL = 1.75, 1.5, 1.1
#: The colours that a still picture keeps. With 24, bands of confidence vanish.
SHADES = 64
#: From here on the lightest colour of a picture is its white ground.
WHITE = 240
#: Dots per inch of a picture that is drawn for the page, and of a file that does not say its own.
DRAWN = 300


@dataclass(frozen=True)
class Illustration:
    """A figure of the page.

    Args:
        figure: A picture, a Matplotlib figure, the bytes of a PNG file, or an `Svg`.
        caption: What it shows, under it.
        alt: What it shows, for those who do not see it; the caption when not given.
        chart: The same to be moved by a reader, where there is one.
        shaded: Whether its shades mean something, as those of a map: on a dark page it stays as it
            is on paper, where others are inverted.
        title: What it found, in a sentence: over its chart, which has no title of its own.
        subtitle: What stands under the title in the still picture.
    """

    figure: Any
    caption: str = ""
    alt: str = ""
    chart: Chart | None = None
    shaded: bool = False
    title: str = ""
    subtitle: str = ""


@dataclass(frozen=True)
class Svg:
    """An `<svg>` element of ours, as `plot._svg` makes it: it goes onto the page as it is."""

    element: str


@dataclass(frozen=True)
class Numbers:
    """A table of the page: what it shows, the names of its columns, its rows."""

    caption: str
    titles: Sequence[str]
    rows: Sequence[Sequence[Any]]


# --- words ------------------------------------------------------------------------------------


def outcome(verdicts: Sequence[Verdict]) -> str:
    """What was found, in a sentence or two."""
    return " ".join(filter(None, (tally(verdicts), furthest_off(verdicts))))


def tally(verdicts: Sequence[Verdict]) -> str:
    """How many claims hold, fail and are open, in a sentence."""
    decided = [v for v in verdicts if v.verdict in ("holds", "fails", "inconclusive")]
    if not decided:
        waits = bool(verdicts) and all(v.verdict == "not run" for v in verdicts)
        return "Not run yet." if waits else "Nothing is decided here." if verdicts else ""
    counts = Counter(v.verdict for v in decided)
    if len(counts) == 1:
        (word,) = counts
        if len(decided) == 1:
            found = {"holds": "The claim holds.", "fails": "The claim fails."}
            found = found.get(word, "The claim is open.")
        else:
            both = "Both" if len(decided) == 2 else f"All {len(decided)}"
            found = f"{both} claims {_SEVERAL[word]}."
    else:
        words = [
            f"{counts[k]} {_SEVERAL[k] if counts[k] > 1 else _ONE.get(k, k)}"
            for k in ("holds", "fails", "inconclusive")
            if counts[k]
        ]
        found = f"Of {len(decided)} claims, {', '.join(words[:-1])} and {words[-1]}."
    if unrun := sum(v.verdict == "not run" for v in verdicts):
        found += f" {unrun} more {'is' if unrun == 1 else 'are'} not run yet."
    return found


def furthest_off(verdicts: Sequence[Verdict]) -> str:
    """The claim that fails most clearly, in a sentence; nothing where none does."""
    worst = furthest(verdicts)
    if worst is None:
        return ""
    said = worst.statement.rstrip(".")
    return f"Furthest off: “{said}”; measured {number(worst.value)}, it would hold {where(worst)}."


def furthest(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The claim that fails most clearly; one of a paper before one of ours, no control."""
    failing = [v for v in verdicts if v.verdict == "fails" and v.kind in OPEN_KINDS]
    failing = [v for v in failing if not v.ours] or failing
    return max(failing, key=lambda v: v.miss, default=None)


def anchor(verdict: Verdict) -> str:
    """The name of a claim in links."""
    return "-".join(f"{verdict.paper}.{verdict.claim}".removeprefix(".").split()) or "claim"


# --- claims -----------------------------------------------------------------------------------


def badge(verdict: str, words: str = "") -> str:
    """Sign, word and border all differ, so the colour is not needed."""
    kind = verdict if verdict in BADGES else "inconclusive"
    sign = f'<span aria-hidden="true">{BADGES[kind]}</span>'
    return f'<span class="badge {kind.replace(" ", "-")}">{sign} {text(words or verdict)}</span>'


def counts(
    verdicts: Sequence[Verdict], chosen: Mapping[str, str] | None = None, there: str = ""
) -> str:
    """How many claims hold, fail and stay open, as badges.

    Args:
        verdicts: Of the claims.
        chosen: Where each badge leads to these claims: what else the filters are set to.
        there: The page that has the filters; this one when not given.
    """
    found, items = Counter(v.verdict for v in verdicts), []
    for kind in filter(found.get, BADGES):
        shown = badge(kind, f"{found[kind]} {kind if found[kind] == 1 else _plural(kind)}")
        if chosen is not None:
            query = urlencode({**chosen, "verdict": kind})
            shown = f'<a href="{text(f"{there}?{query}#claims")}">{shown}</a>'
        items.append(f"<li>{shown}</li>")
    return f'<ul class="counts">{"".join(items)}</ul>\n' if items else ""


def _plural(kind: str) -> str:
    return {"holds": "hold", "fails": "fail"}.get(kind, kind)


def claim(verdict: Verdict, name: str, level: int = 4, more: str = "", paper: str = "") -> str:
    """A claim: its sentence, its strip, and the rest folded away.

    Args:
        verdict: What was decided.
        name: Its anchor.
        level: Of its heading.
        more: What else is folded away; safe HTML.
        paper: Its paper, where a page has several.
    """
    by = f"ours, on {paper}" if verdict.ours else f"of {paper}"
    by = by if paper else "ours" if verdict.ours else "of the paper"
    measured = (
        f"{number(verdict.value)}{_ends(verdict)}" if math.isfinite(verdict.value) else "no number"
    )
    facts = {
        "measured": text(measured),
        "rule": typeset(verdict.rule),
        "claimed in": typeset(verdict.reference),
        "trials": f"{verdict.n:,}",
        "from": text(verdict.source),
        "rests on": text(_KINDS[verdict.kind]),
        "rule fixed": text(_FIXED[verdict.fixed]),
    }
    facts |= {"note": typeset(verdict.note)} if verdict.note else {}
    items = "".join(f"<dt>{k}</dt><dd>{v}</dd>" for k, v in facts.items() if v)
    missing = (
        ""
        if math.isfinite(verdict.value)
        else f'<p class="note small">{typeset(verdict.note or "No number.")}</p>'
    )
    of, decided, _ = verdict.rule.partition(": holds if")
    axis = f'<p class="axis">{typeset(of)}</p>' if decided and not missing else ""
    return (
        f'<article class="claim" id="{text(name)}">\n<h{level}><span>{typeset(verdict.statement)}'
        f"</span>{badge(verdict.verdict)}</h{level}>\n{strip(verdict)}{axis}{missing}\n"
        f'<details><summary>how it is decided</summary><dl class="small">{items}</dl>{more}'
        "</details>\n"
        f'<p class="id"><a href="#{text(name)}"><code>{text(verdict.claim)}</code></a>'
        f"<span>{text(by)}</span></p>\n</article>\n"
    )


def _ends(verdict: Verdict) -> str:
    if verdict.interval is None:
        return ""
    low, high = (number(end) for end in verdict.interval)
    level = "" if verdict.level is None else f", {verdict.level:.0%}"
    shared = f", shared by {verdict.family} points" if verdict.family > 1 else ""
    return f" [{low}, {high}]{level}{shared}"


# --- figures and tables -----------------------------------------------------------------------


def figure(picture: Any, name: str, headed: bool = False) -> str:
    """A figure: the chart where scripts run, the still picture elsewhere and in print.

    Args:
        picture: The figure.
        name: Its anchor.
        headed: Whether its title stands over it already.
    """
    picture = picture if isinstance(picture, Illustration) else Illustration(picture)
    alt = text(picture.alt or picture.caption or "figure")
    if isinstance(picture.figure, Svg):
        image = picture.figure.element.replace("<svg ", f'<svg aria-label="{alt}" ', 1)
    else:
        image = _image(picture.figure, alt, ALONE if picture.chart is None else BEHIND)
    live, caption, moving = "", picture.caption, ""
    if picture.chart is not None:
        controls = [vars(control) for control in picture.chart.controls]
        spec = {k: v for k, v in picture.chart.spec().items() if k != "$schema"}
        if picture.title and not headed:
            live = f'<p class="finding moving">{typeset(picture.title)}</p>\n'
        live += (
            f'<script type="application/gzip" id="{text(name)}-data">{packed(spec)}</script>\n'
            f'<div class="live" role="group" aria-label="{text(picture.chart.title or caption)}"'
            f' data-chart="{text(name)}-data" data-renderer="{picture.chart.renderer}"'
            f' data-controls="{text(data(controls))}"></div>\n'
        )
        told = picture.chart.title not in ("", in_text(picture.title))
        head = picture.chart.title if told else caption
        head = f"{head}." if head else ""
        moving = f'<span class="moving">{typeset(" ".join((head, picture.chart.caption)))}</span>'
    words = typeset(caption)
    if moving:
        words = f'{moving}<span class="resting">{words}</span>'
    words = f"<figcaption>{words}</figcaption>\n" if words else ""
    kind = ' class="shaded"' if picture.shaded else ""
    shown = f'{live}<div class="still">{image}</div>\n{words}'
    return f'<figure id="{text(name)}"{kind}>\n{shown}</figure>\n'


def thumbnail(picture: Any) -> str:
    """A figure in small, without its title, which stands beside it."""
    if not isinstance(picture, Illustration) or isinstance(picture.figure, Svg):
        return ""
    kind = ' class="shaded"' if picture.shaded else ""
    heading = picture.title, picture.subtitle
    return f"<figure{kind}>{_image(picture.figure, '', SMALL, heading)}</figure>"


def _image(picture: Any, alt: str, density: float, less: tuple[str, str] = ("", "")) -> str:
    content, width, height = still(picture, density, less)
    encoded = base64.b64encode(content).decode()
    return (
        f'<img width="{width}" height="{height}" alt="{alt}" '
        f'src="data:image/webp;base64,{encoded}">'
    )


def side_by_side(pictures: Iterable[Illustration], names: Any) -> str:
    """Pictures of what is studied, in columns where there is room; nothing where there are none.

    Args:
        pictures: Which.
        names: The anchors of the page.
    """
    found = "".join(figure(one, names.new("studied")) for one in pictures)
    return f'<div class="beside">\n{found}</div>\n' if found else ""


def still(
    picture: Any, density: float = ALONE, less: tuple[str, str] = ("", "")
) -> tuple[bytes, int, int]:
    """A picture as a small file, finer than it is shown, and its size on the page.

    Title and subtitle are cut off where they are given.

    Lossless WebP of few colours: thin lines and words stay sharp, and it takes five sixths of the
    bytes of the same dots as PNG. What loses detail (WebP, AVIF) is larger at an equal look.
    """
    from PIL import Image

    if not isinstance(picture, bytes):
        from limelight.plot.files import render

        picture = render(picture, dots_per_inch=DRAWN)
    try:
        image = Image.open(io.BytesIO(picture))
        image.load()
    except Exception:
        raise InputError("a picture is neither a figure nor a PNG file") from None
    dots = float(image.info.get("dpi", (DRAWN,))[0]) or DRAWN
    if any(less):
        from limelight.plot.style import heading_height

        top = round(dots * heading_height(*less, image.width / dots))
        image = image.crop((0, min(top, image.height - 1), image.width, image.height))
    width, height = (max(1, round(96 * side / dots)) for side in image.size)
    size = (max(1, round(width * density)), max(1, round(height * density)))
    image = image.convert("RGB")
    if size[0] < image.width:
        image = image.resize(size, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    few = image.quantize(SHADES, method=Image.Quantize.FASTOCTREE)
    # The lightest of few colours is not quite white, which shows on a page: it is made so.
    palette = few.getpalette() or []
    colours = [palette[i : i + 3] for i in range(0, len(palette), 3)]
    lightest = max(range(len(colours)), key=lambda i: min(colours[i]))
    if min(colours[lightest]) >= WHITE:
        palette[3 * lightest : 3 * lightest + 3] = [255, 255, 255]
        few.putpalette(palette)
    few.convert("RGB").save(buffer, "WEBP", lossless=True)
    return buffer.getvalue(), width, height


def numbers(table: Numbers) -> str:
    """A table with its caption."""
    head = "".join(f'<th scope="col">{typeset(title)}</th>' for title in table.titles)
    rows = "".join(
        f"<tr>{''.join(f'<td>{typeset(cell)}</td>' for cell in row)}</tr>\n" for row in table.rows
    )
    return (
        f'<div class="scroll"><table>\n<caption>{typeset(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


def pairs(found: Iterable[tuple[str, Any]], caption: str) -> str:
    """A table of names and values."""
    rows = [
        f'<tr><th scope="row">{text(name)}</th><td>{text(value)}</td></tr>\n'
        for name, value in found
    ]
    if not rows:
        return ""
    return (
        f'<div class="scroll"><table>\n<caption>{text(caption)}</caption>\n{"".join(rows)}'
        "</table></div>\n"
    )


def folded(title: str, content: str) -> str:
    """What a reader may open; nothing where there is nothing."""
    return (
        f'<details class="more"><summary>{text(title)}</summary>\n{content}</details>\n'
        if content
        else ""
    )


def flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Nested settings as dotted names, as they are written on the command line."""
    out: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, list | tuple) and any(isinstance(one, Mapping) for one in value):
            value = {str(place): one for place, one in enumerate(value)}
        if isinstance(value, Mapping):
            out += flat(value, f"{before}{name}.")
        else:
            out.append((f"{before}{name}", value))
    return out
