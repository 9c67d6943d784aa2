"""What several commands share: options, printing, and the progress bar."""

import json
import sys
from collections.abc import Iterable
from typing import Any

import typer

from limelight.core.errors import InputError

Json = typer.Option(False, "--json", help="Print JSON for machines, and nothing else, on stdout.")
Scale = typer.Option("small", "--scale", "-s", help="smoke (seconds), small (minutes) or paper.")
Seed = typer.Option(0, "--seed", help="The number all randomness comes from.")
Settings = typer.Option(
    [],
    "--set",
    metavar="PATH=VALUE",
    help="Override a setting; a,b,c makes an axis. Repeatable.",
)
Stall = typer.Option(
    1800.0, "--stall", help="Give up, store intact, when a chunk takes longer (seconds)."
)


def settings(pairs: Iterable[str]) -> dict[str, str]:
    """`PATH=VALUE` words as a dictionary; several may stand in one word, apart by spaces."""
    found: dict[str, str] = {}
    for pair in (word for text in pairs for word in text.split()):
        path, equals, value = pair.partition("=")
        if not equals or not path:
            raise InputError(f"--set {pair} is not PATH=VALUE", "for example --set train.steps=200")
        found[path] = value
    return found


def emit(value: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False))


def say(text: str = "") -> None:
    """Print a line for people."""
    typer.echo(text)


def console(stderr: bool = False):
    """A Rich console; plain, and as wide as its text, when nobody watches."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else 140)


def print_verdicts(verdicts) -> None:
    """A table of verdicts for people."""
    from rich.table import Table as Grid
    from rich.text import Text

    colour = {"holds": "green", "fails": "red", "inconclusive": "yellow"}
    grid = Grid(box=None, pad_edge=False, show_header=True, header_style="bold")
    for title in ("claim", "verdict", "value", "interval", "n"):
        right = title in ("value", "n")
        grid.add_column(title, justify="right" if right else "left", no_wrap=True)
    grid.add_column("what was decided, and how", ratio=1)
    for v in verdicts:
        ends = "" if v.interval is None else "{:.3g} to {:.3g}".format(*v.interval)
        words = f"{v.statement} Rule: {v.rule}." + (f" Note: {v.note}." if v.note else "")
        grid.add_row(
            Text(v.claim),
            Text(v.verdict, style=colour[v.verdict]),
            f"{v.value:.3g}",
            ends,
            str(v.n),
            Text(words),
        )
    console().print(grid)


class Bar:
    """A progress bar on a terminal, silence elsewhere; messages are shown either way."""

    def __init__(self, title: str, quiet: bool = False):
        self.last: Any = None
        self.bar: Any = None
        self.title = title
        self.quiet = quiet or not sys.stderr.isatty()

    def __enter__(self):
        if not self.quiet:
            from rich import progress as rich

            self.bar = rich.Progress(
                rich.TextColumn("{task.description}"),
                rich.BarColumn(),
                rich.TextColumn("{task.completed}/{task.total} trials"),
                rich.TextColumn("{task.fields[pace]}"),
                console=console(stderr=True),
                transient=True,
            )
            self.bar.start()
            self.task = self.bar.add_task(self.title, total=None, pace="compiling")
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, progress) -> None:
        """What the engine calls after every chunk."""
        self.last = progress
        for message in progress.messages:
            print(f"note: {message}", file=sys.stderr)
        progress.messages.clear()
        if self.bar is not None:
            left = progress.seconds_left
            pace = f"{progress.trials_per_second:.1f}/s, {clock(left)} left" if left == left else ""
            self.bar.update(
                self.task,
                total=progress.total,
                completed=progress.done,
                pace=pace or "compiling",
            )


def clock(seconds: float) -> str:
    """A duration for people.

    Example:
        >>> clock(3.2), clock(75), clock(7200)
        ('3 s', '1 min 15 s', '2 h 0 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(count: float) -> str:
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
