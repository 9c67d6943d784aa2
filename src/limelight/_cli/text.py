"""What people read in a terminal: wrapped lines, titles, tables, verdicts, numbers in words."""

import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from limelight._core.maths import in_text

#: Control characters other than new line and tab, and halves of pairs that no terminal can show.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def emit(value: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False))


def say(text: str = "", indent: int = 0, hang: int = 0) -> None:
    """Print lines for people, each wrapped to the terminal and indented.

    Args:
        text: One or more lines.
        indent: Spaces before the first line of each.
        hang: More spaces before the lines that follow when one is wrapped.
    """
    for line in visible(text).split("\n"):
        own = len(line) - len(line.lstrip())
        typer.echo(
            textwrap.fill(
                line.strip(),
                columns(),
                initial_indent=" " * (indent + own),
                subsequent_indent=" " * (indent + own + hang),
                break_long_words=False,
                break_on_hyphens=False,
            )
        )


def tell(text: str) -> None:
    """Print a line for people on stderr, so that stdout stays clean for machines."""
    typer.echo(visible(text), err=True)


def visible(text: str) -> str:
    r"""Text with every control character written out, so that no name can steer a terminal.

    Example:
        >>> visible("a" + chr(27) + "[2J")
        'a\\x1b[2J'
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def typeset(text: str) -> str:
    """Words with maths in them as one reads them, `α∗⁻²`; as they are where a terminal cannot."""
    return in_text(text) if speaks_unicode(sys.stdout) else text


def columns() -> int:
    """How wide text may be: the terminal, or 100 where nobody watches or lines grow too long."""
    return max(40, min(100, shutil.get_terminal_size((100, 24)).columns))


def watched(stream: Any) -> bool:
    """Whether a stream is a terminal; a closed one is not."""
    return stream is not None and stream.isatty()


def speaks_unicode(stream: Any) -> bool:
    """Whether shades and Braille dots can be written to a stream."""
    try:
        "░⣿".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def console(stderr: bool = False):
    """A Rich console: plain where nobody watches, and never so narrow that a table breaks."""
    from rich.console import Console

    width = None if watched(sys.stderr if stderr else sys.stdout) else columns()
    return Console(stderr=stderr, highlight=False, width=width)


def print_title(name: str, title: str = "") -> None:
    """A heading for people: a bold name, and what it is called."""
    from rich.text import Text

    hang = " " * (len(name) + 2 if title else 4)
    lines = textwrap.fill(
        f"{name}  {title}", columns(), subsequent_indent=hang, break_long_words=False
    ).rstrip()
    text = Text(visible(lines))
    text.stylize("bold", 0, len(name))
    console().print(text, soft_wrap=True)


def print_table(titles: Iterable[str], rows: Iterable[Iterable[str]], right: tuple[str, ...] = ()):
    """A table for people; numbers stand to the right."""
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        grid.add_column(title, justify="right" if title in right else "left")
    for row in rows:
        grid.add_row(*(visible(cell) if isinstance(cell, str) else cell for cell in row))
    console().print(grid)


def print_verdicts(verdicts, rules: bool = True) -> None:
    """Verdicts for people: a line of numbers for each, then what was decided and by which rule."""
    from itertools import groupby

    for source, group in groupby(verdicts, key=lambda verdict: verdict.source):
        say()
        print_title(source)
        print_group(list(group), rules)


def print_group(verdicts, rules: bool) -> None:
    """The verdicts from one table, their numbers in columns."""
    from rich.text import Text

    colour = {"holds": "green", "fails": "red"}
    rows = [
        (v.claim, v.verdict, number(v.value, v.interval), interval(v.interval), f"n = {v.n}")
        for v in verdicts
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for v, row in zip(verdicts, rows, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        text = Text("  ".join(cells).rstrip())
        text.stylize(colour.get(v.verdict, "yellow"), widths[0] + 2, widths[0] + 2 + len(v.verdict))
        console().print(text, soft_wrap=True)
        say(typeset(v.statement), indent=4)
        if rules:
            say(typeset(sentence(f"Rule: {v.rule}")), indent=4, hang=2)
        if v.note:
            say(typeset(sentence(f"Note: {v.note}")), indent=4, hang=2)


def sentence(text: str) -> str:
    """The text with one full stop, a question with its mark.

    Example:
        >>> sentence("It holds"), sentence("It holds."), sentence("Does it?")
        ('It holds.', 'It holds.', 'Does it?')
    """
    text = text.rstrip(". ")
    return text if text.endswith("?") else text + "."


def number(value: int | float, ends: tuple[float, float] | None = None) -> str:
    """A number for people, with as many digits as the ends of its interval have.

    Example:
        >>> number(0.12345), number(float("nan")), number(0.99954, (0.99951, 0.99962))
        ('0.123', 'n/a', '0.9995')
    """
    return "n/a" if math.isnan(value) else f"{value:.{_digits(ends)}g}"


def interval(ends: tuple[float, float] | None) -> str:
    """An interval for people.

    Example:
        >>> interval((0.5, 1.25)), interval(None), interval((float("nan"), float("nan")))
        ('0.5 to 1.25', '', 'n/a')
        >>> interval((0.15901, 0.15914))  # as many digits as tell the ends apart
        '0.159 to 0.1591'
    """
    if ends is None:
        return ""
    if any(map(math.isnan, ends)):
        return "n/a"
    return " to ".join(number(end, ends) for end in ends)


def _digits(ends: tuple[float, float] | None) -> int:
    """As many as tell the ends of an interval apart, three at least and seven at most."""
    if ends is None or ends[0] == ends[1]:
        return 3
    return next((n for n in range(3, 7) if f"{ends[0]:.{n}g}" != f"{ends[1]:.{n}g}"), 7)


def clock(seconds: int | float) -> str:
    """A duration for people.

    Example:
        >>> clock(0.2), clock(3.2), clock(75), clock(7200)
        ('under 1 s', '3 s', '1 min 15 s', '2 h 0 min')
    """
    whole = round(seconds)
    if whole < 1:
        return "under 1 s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(count: int | float) -> str:
    """Bytes for people.

    Example:
        >>> size(512), size(3 * 2**20)
        ('512 B', '3.0 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("the last unit always fits")


def plural(count: int, word: str) -> str:
    """A count with its word.

    Example:
        >>> plural(1, "chunk"), plural(2, "chunk")
        ('1 chunk', '2 chunks')
    """
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def quoted(path: Path) -> str:
    """A path as one would type it in a shell."""
    import shlex

    return shlex.quote(str(path))
