"""Small pieces of HTML for notebooks; every text is escaped."""

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

from limelight._core.maths import in_html


class Maths(str):
    """Words with maths in them, which is typeset; a plain text stays as it is."""


def line(text: Any, strong: bool = False) -> str:
    """One paragraph; what stands between backticks is code.

    Example:
        >>> line("a < b"), line(Maths("D^2 <= 4"))
        ('<p>a &lt; b</p>', '<p>D<sup>2</sup> ≤ 4</p>')
        >>> line("`basins` sweeps it")
        '<p><code>basins</code> sweeps it</p>'
    """
    inside = re.sub(r"`([^`]+)`", r"<code>\1</code>", _inside(text))
    return f"<p><strong>{inside}</strong></p>" if strong else f"<p>{inside}</p>"


def grid(
    titles: Sequence[str], rows: Iterable[Sequence[Any]], last: Iterable[str] | None = None
) -> str:
    """A table, a title over each column; nothing where there are no rows.

    Args:
        titles: Over the columns.
        rows: Texts, escaped here.
        last: HTML of our own making for one more column, put there as it is.

    Example:
        >>> grid(["name", "value"], [("x", "1 < 2")])
        '<table><tr><th>name</th><th>value</th></tr><tr><td>x</td><td>1 &lt; 2</td></tr></table>'
    """
    rows = list(rows)
    more = [""] * len(rows) if last is None else [f"<td>{one}</td>" for one in last]
    body = "".join(_row("td", row, one) for row, one in zip(rows, more, strict=True))
    return f"<table>{_row('th', titles)}{body}</table>" if body else ""


def _row(cell: str, values: Sequence[Any], more: str = "") -> str:
    inside = "".join(f"<{cell}>{_inside(value)}</{cell}>" for value in values)
    return f"<tr>{inside}{more}</tr>"


def _inside(text: Any) -> str:
    return in_html(text) if isinstance(text, Maths) else html.escape(str(text))
