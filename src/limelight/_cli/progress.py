"""What is shown while one waits: a spinner, a bar, and how to go on after Ctrl-C."""

import contextlib
import datetime
import sys
import time
from typing import Any

from limelight._cli.text import clock, console, tell, watched
from limelight._core.errors import LimelightError

#: What is said of a machine on which nothing has been compiled yet.
USUALLY = "usually 2 to 30 s"


class Stopped(LimelightError):
    """Ctrl-C: what is kept, and how to go on."""

    code = 130


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
        self.began = time.monotonic()

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
            rich.TextColumn("{task.fields[bar].since}"),
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
    def since(self) -> str:
        """How long it has been going on; while a program compiles, `pace` says for how long."""
        if self.last is not None and self.last.compiling:
            return ""
        return str(datetime.timedelta(seconds=int(time.monotonic() - self.began)))

    @property
    def pace(self) -> str:
        """What the engine does now, or how quick it is once it computes."""
        if self.last is None:
            return "planning"
        if self.last.compiling:
            return compiling(self.last)
        if not self.last.computed:
            return "starting"
        computing = max(self.last.seconds - self.last.compile_seconds, 1e-9)
        left = clock(self.last.seconds_left)
        return f"{self.last.computed / computing:.3g} {self.word}/s, {left} left"


def compiling(progress) -> str:
    """That a program is being compiled, for how long now, and how long that usually takes."""
    which = f" {progress.compilations + 1} of {progress.programs}" if progress.programs > 1 else ""
    waited = max(0, int(time.monotonic() - progress.compiling_since))
    usual = progress.compiling_usually
    often = USUALLY if usual is None else f"usually {clock(usual)}"
    return f"compiling{which} for {clock(waited) if waited else '0 s'} ({often})"
