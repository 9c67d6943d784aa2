"""The shell of every page: its head, style, scripts and content policy; and text made safe.

A page needs nothing from the network and its policy forbids it. Only the scripts and the style that
we wrote may run, known by their digests; whatever comes from outside is escaped.
"""

import base64
import gzip
import hashlib
import html
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from limelight._core.maths import in_html
from limelight.chart.notebook import vega

#: Control characters, halves of characters, and those that turn the direction of text round.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]"
)


def text(value: Any) -> str:
    """Escaped for text and for quoted attributes; what no page may hold becomes a mark."""
    if isinstance(value, list | tuple):
        value = ", ".join(str(part) for part in value)
    return html.escape(_printable(str(value)), quote=True)


def typeset(value: Any) -> str:
    """The same for sentences of ours: their maths as a reader expects it."""
    return in_html(_printable(str(value)))


def data(value: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element."""
    found = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in ("<", ">", "&", "\u2028", "\u2029"):
        found = found.replace(letter, f"\\u{ord(letter):04x}")
    return _UNPRINTABLE.sub("\ufffd", found)


def packed(value: Any) -> str:
    """The same packed: a browser unpacks it when it draws the chart."""
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _packed(_UNPRINTABLE.sub("\ufffd", content))


def _packed(content: str) -> str:
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()


@cache
def _charts() -> tuple[str, str]:
    """What draws charts, packed to two fifths, and the seal under which a browser may run it."""
    return _packed(vega()), _seal(vega())


@cache
def asset(name: str) -> str:
    """A file of ours that pages hold."""
    return (files("limelight._page") / "assets" / name).read_text(encoding="utf-8")


def page(title: str, body: str, *, charts: bool = False, up: str | None = None) -> str:
    """A whole page.

    Args:
        title: As a browser shows it.
        body: What stands in it; safe HTML.
        charts: Whether it has any.
        up: The way to the folder of `assets` that pages share, such as `../`; inside the page
            where it is not given.
    """
    if up is None:
        style, script = asset("page.css"), asset("page.js")
        drawing, seal = _charts() if charts else ("", "")
        head = f"<style>{style}</style>\n"
        tail = f'<script type="application/gzip" id="vega">{drawing}</script>\n' if charts else ""
        tail += f"<script>{script}</script>\n"
        allowed = " ".join(filter(None, (seal, _seal(script))))
        policy = f"script-src {allowed}; style-src {_seal(style)}"
    else:
        names = [*(["vega.js"] if charts else []), "page.js"]
        head = f'<link rel="stylesheet" href="{up}assets/page.css">\n'
        tail = "".join(f'<script src="{up}assets/{name}"></script>\n' for name in names)
        policy = "script-src 'self'; style-src 'self'"
    return (
        '<!DOCTYPE html>\n<html lang="en" class="no-js">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"img-src data: 'self'; {policy}; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="generator" content="limelight">\n'
        f"<title>{text(title)}</title>\n{head}</head>\n"
        f'<body>\n<a class="skip" href="#content">To the content</a>\n{body}{tail}'
        "</body>\n</html>\n"
    )


def shared_files() -> dict[str, str]:
    """What pages of one folder share, by name."""
    return {"page.css": asset("page.css"), "page.js": asset("page.js"), "vega.js": vega()}


def _seal(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _printable(value: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", value.replace("\r\n", "\n").replace("\r", "\n"))
