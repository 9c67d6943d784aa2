"""What several commands share: options, printing, and the progress bar."""

import contextlib
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from limelight.core.errors import InputError, LimelightError

Json = typer.Option(False, "--json", metavar="", help="Print JSON, and nothing else, on stdout.")
Scale = typer.Option(
    "small", "--scale", "-s", metavar="SCALE", help="smoke (seconds), small (minutes) or paper."
)
Seed = typer.Option(0, "--seed", metavar="NUMBER", help="The number all randomness comes from.")
Settings = typer.Option(
    [],
    "--set",
    metavar="PATH=VALUE",
    help="Override a setting; a,b,c makes an axis. Repeatable.",
)
Stall = typer.Option(
    1800.0,
    "--stall",
    metavar="SECONDS",
    help="Give up, store intact, when a chunk takes longer.",
)
Key = typer.Argument(metavar="KEY", help="A paper's key, such as li2023.")


class Stopped(LimelightError):
    """Ctrl-C: what is kept, and how to go on."""

    code = 130


def settings(pairs: Iterable[str]) -> dict[str, str]:
    """`PATH=VALUE` words as a dictionary; several may stand in one word, apart by spaces."""
    found: dict[str, str] = {}
    for pair in (word for text in pairs for word in text.split() or [""]):
        path, equals, value = pair.partition("=")
        if not equals or not path:
            raise InputError(
                f"--set {pair!r} is not PATH=VALUE", "for example --set train.steps=200"
            )
        found[path] = value
    return found


def check_stall(seconds: float) -> None:
    """Refuse a time that no chunk can keep."""
    if not seconds > 0:
        raise InputError(f"--stall {seconds:g}", "a number of seconds above 0")


def check_output(path: Path, *suffixes: str) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    if path.suffix.lower() not in suffixes:
        listed = ", ".join(suffixes[:-1]) + " or " + suffixes[-1]
        raise InputError(f"cannot write {path}", f"the name must end in {listed}")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}", "make it first, or choose another")


# --- printing ---------------------------------------------------------------------------------


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
    for line in text.split("\n"):
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
    typer.echo(text, err=True)


def columns() -> int:
    """How wide text may be: the terminal, or 100 where nobody watches or lines grow too long."""
    return max(40, min(100, shutil.get_terminal_size((100, 24)).columns))


def watched(stream: Any) -> bool:
    """Whether a stream is a terminal; a closed one is not."""
    return stream is not None and stream.isatty()


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
    text = Text(lines)
    text.stylize("bold", 0, len(name))
    console().print(text, soft_wrap=True)


def print_table(titles: Iterable[str], rows: Iterable[Iterable[str]], right: tuple[str, ...] = ()):
    """A table for people; numbers stand to the right."""
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        grid.add_column(title, justify="right" if title in right else "left")
    for row in rows:
        grid.add_row(*row)
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

    colour = {"holds": "green", "fails": "red", "inconclusive": "yellow"}
    rows = [
        (v.claim, v.verdict, number(v.value), interval(v.interval), f"n = {v.n}") for v in verdicts
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for v, row in zip(verdicts, rows, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        text = Text("  ".join(cells).rstrip())
        text.stylize(colour[v.verdict], widths[0] + 2, widths[0] + 2 + len(v.verdict))
        console().print(text, soft_wrap=True)
        say(v.statement, indent=4)
        if rules:
            say(sentence(f"Rule: {v.rule}"), indent=4, hang=2)
        if v.note:
            say(sentence(f"Note: {v.note}"), indent=4, hang=2)


def sentence(text: str) -> str:
    """The text with one full stop, a question with its mark.

    Example:
        >>> sentence("It holds"), sentence("It holds."), sentence("Does it?")
        ('It holds.', 'It holds.', 'Does it?')
    """
    text = text.rstrip(". ")
    return text if text.endswith("?") else text + "."


def number(value: int | float) -> str:
    """A number for people.

    Example:
        >>> number(0.12345), number(float("nan"))
        ('0.123', 'n/a')
    """
    return "n/a" if math.isnan(value) else f"{value:.3g}"


def interval(ends: tuple[float, float] | None) -> str:
    """An interval for people.

    Example:
        >>> interval((0.5, 1.25)), interval(None), interval((float("nan"), float("nan")))
        ('0.5 to 1.25', '', 'n/a')
    """
    if ends is None:
        return ""
    return "n/a" if any(map(math.isnan, ends)) else " to ".join(number(end) for end in ends)


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


# --- while one waits --------------------------------------------------------------------------


def busy(title: str):
    """A spinner on a terminal while a block runs, silence elsewhere."""
    if not watched(sys.stderr):
        return contextlib.nullcontext()
    return console(stderr=True).status(title, spinner="line")


class Bar:
    """A progress bar on a terminal, silence elsewhere; messages are shown either way."""

    def __init__(self, title: str, word: str = "trials"):
        self.last: Any = None
        self.bar: Any = None
        self.title, self.word = title, word

    def __enter__(self):
        if watched(sys.stderr):
            try:
                self._start()
            except BaseException:  # Ctrl-C at this very moment
                self.__exit__()
                raise
        return self

    def _start(self) -> None:
        from rich import progress as rich

        self.bar = rich.Progress(
            rich.SpinnerColumn("line"),
            rich.TextColumn("{task.description}"),
            rich.BarColumn(bar_width=None),
            rich.TextColumn("{task.fields[bar].count}"),
            rich.TextColumn("{task.fields[bar].pace}"),
            rich.TimeElapsedColumn(),
            console=console(stderr=True),
            transient=True,
            expand=True,
        )
        self.task = self.bar.add_task(self.title, total=None, bar=self)
        self.bar.start()

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, progress) -> None:
        """What the engine calls after every chunk."""
        self.last = progress
        for message in progress.messages:
            tell(f"note: {message}")
        progress.messages.clear()
        if self.bar is not None:
            self.bar.update(
                self.task, total=progress.total, completed=progress.done + progress.under_way
            )

    @property
    def count(self) -> str:
        """How many are done."""
        if self.last is None:
            return ""
        return f"{self.last.done + self.last.under_way}/{self.last.total} {self.word}"

    @property
    def pace(self) -> str:
        """What the engine does now, or how quick it is once it computes."""
        if self.last is None:
            return "planning"
        if self.last.compiling:
            return "compiling"
        if not self.last.computed:
            return "starting"
        computing = max(self.last.seconds - self.last.compile_seconds, 1e-9)
        left = clock(self.last.seconds_left)
        return f"{self.last.computed / computing:.3g} {self.word}/s, {left} left"
