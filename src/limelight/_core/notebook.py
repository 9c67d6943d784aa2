"""Small pieces of HTML for notebooks; every text is escaped."""

import html
from collections.abc import Iterable, Sequence
from typing import Any


def line(text: Any, strong: bool = False) -> str:
    """One paragraph.

    Example:
        >>> line("a < b")
        '<p>a &lt; b</p>'
    """
    inside = html.escape(str(text))
    return f"<p><strong>{inside}</strong></p>" if strong else f"<p>{inside}</p>"


def grid(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table, a title over each column; nothing where there are no rows.

    Example:
        >>> grid(["name", "value"], [("x", "1 < 2")])
        '<table><tr><th>name</th><th>value</th></tr><tr><td>x</td><td>1 &lt; 2</td></tr></table>'
    """
    body = "".join(_row("td", row) for row in rows)
    return f"<table>{_row('th', titles)}{body}</table>" if body else ""


def _row(cell: str, values: Sequence[Any]) -> str:
    inside = "".join(f"<{cell}>{html.escape(str(value))}</{cell}>" for value in values)
    return f"<tr>{inside}</tr>"
