"""The command line: it parses and prints; each command is one call to the Python API.

Nothing here imports JAX before a command needs it, so `--help` is quick.
"""

import contextlib
import inspect
import logging
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from limelight._cli import (
    bench,
    bound,
    cite,
    construct,
    new,
    papers,
    plot,
    probe,
    prune,
    publish,
    report,
    resume,
    run,
    show,
    site,
    status,
    verify,
    weights,
)
from limelight._cli.progress import Stopped
from limelight._cli.text import console, tell
from limelight._core.errors import LimelightError
from limelight._core.words import shortened


class Quiet:
    """A command whose help page names no types of Python: `KEY`, neither `{KEY}` nor `<str>`."""

    def get_help_option(self, ctx):
        """The option, without the name of a type behind it."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option

    def get_params(self, ctx):
        """Every parameter; those given by place show their name alone."""
        found = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            if one.param_type_name == "argument":
                one.display_type_rich = lambda ctx: None
        return found

    def collect_usage_pieces(self, ctx):
        """`[OPTIONS]`, then each word by place: `KEY` if it is needed, `[KEY]` if it is not."""
        given = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        names = [p.metavar or p.name.upper() for p in given]
        if not names:
            return super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return ["[OPTIONS]", *names]


class Command(Quiet, TyperCommand):
    """One command."""


class CommandGroup(Quiet, TyperGroup):
    """Several commands under one name."""


app = typer.Typer(
    name="limelight",
    cls=CommandGroup,
    help="The executable theory of attention: run, check and redraw theory papers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: limelight run li2023 fig1a --scale smoke",
)

#: Every command under its heading of the help page, in its order.
HEADINGS = {
    "Papers": {
        "papers": papers.papers,
        "show": show.show,
        "run": run.run,
        "verify": verify.verify,
        "cite": cite.cite,
    },
    "Runs and results": {
        "resume": resume.resume,
        "status": status.status,
        "plot": plot.plot,
        "report": report.report,
        "weights": weights.weights,
        "publish": publish.publish,
        "site": site.site,
        "bench": bench.bench,
    },
    "Networks": {
        "probe": probe.probe,
        "prune": prune.prune,
        "bound": bound.bound,
        "construct": construct.construct,
    },
}
COMMANDS = {name: command for these in HEADINGS.values() for name, command in these.items()}
#: What does something useful without arguments; the others then show their help.
BARE = ("papers", "verify", "bench")

#: Parameters of commands that are given by place, not as a flag.
ARGUMENTS = {
    "key",
    "keys",
    "figure",
    "file",
    "what",
    "words",
    "stores",
    "tables",
    "rule",
    "sets",
    "json",
    "options",
}

#: What Typer raises when words do not fit a command.
UsageError = typer.BadParameter.__bases__[0]


def help_page(command: Callable) -> str:
    """A docstring for the terminal: paragraphs reflowed, the examples kept one per line."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    flowed = [p if p.startswith("Examples:\n") else " ".join(p.split()) for p in paragraphs]
    # Typer removes the margin of what follows the first line; an empty first line saves it.
    first, *rest = flowed
    return (first + "\n\n\n" + "\n\n".join(rest)).replace("[", r"\[")


for heading, commands in HEADINGS.items():
    for name, command in commands.items():
        settings = {"help": help_page(command), "no_args_is_help": name not in BARE}
        app.command(name, cls=Command, rich_help_panel=heading, **settings)(command)


for command in new.new.registered_commands:
    command.help, command.cls = help_page(command.callback) if command.callback else None, Command
app.add_typer(new.new, name="new", cls=CommandGroup, rich_help_panel="Your own")


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(
        False, "--version", metavar="", help="Print the version and exit."
    ),
) -> None:
    if version:
        from importlib.metadata import PackageNotFoundError
        from importlib.metadata import version as installed

        try:
            typer.echo(installed("limelight"))
        except PackageNotFoundError:
            typer.echo("source, not installed")
        raise typer.Exit()


def main() -> None:
    """Run the command line; an error a user can act on is one line and a hint, no traceback."""
    # Matplotlib speaks of its caches where a home cannot be written; nothing is wrong then.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        code = app(standalone_mode=False) or 0
        flush()
        if code == Stopped.code:  # Ctrl-C before or after the work itself
            code = complain("stopped", "nothing is lost", "run the same command again", code)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except LimelightError as error:
        word = "stopped" if isinstance(error, Stopped) else "error"
        code = complain(word, in_flags(error.message), in_flags(error.hint), error.code)
    except UsageError as error:
        code = complain_of_usage(error)
    except MemoryError:
        code = complain("error", "this needs more memory than there is", "choose smaller sizes", 2)
    except BrokenPipeError:  # whoever read the output has left, as `head` does
        code = 1
        silence()
    except OSError as error:
        silence()
        where = f" {error.filename}" if error.filename else " the output"
        code = complain("error", f"cannot read or write{where}: {error.strerror}", "", 2)
    leave(code)


def in_flags(text: str, command: str | None = None) -> str:
    """An error of the library, which speaks of fields, in the words of the command at hand.

    Example:
        >>> in_flags("size = 1.5", "prune"), in_flags("say it with heads=16", "prune")
        ('--size 1.5', 'say it with --heads 16')
        >>> in_flags("same_code=True", "run"), in_flags("world.size = 0", "prune")
        ('--same-code', 'world.size = 0')
    """
    name = command or next((word for word in sys.argv[1:] if word in COMMANDS), "")
    options = inspect.signature(COMMANDS[name]).parameters if name else {}
    for option in sorted(set(options) - ARGUMENTS, key=len, reverse=True):
        flag = "--" + option.replace("_", "-")
        text = re.sub(rf"(?<![\w.]){option}=True\b", flag, text)
        text = re.sub(rf"(?<![\w.]){option} ?= ?(?=\S)", f"{flag} ", text)
        text = re.sub(rf"^{option}(?= cannot be )", flag, text)
    return text


def complain(word: str, message: str, hint: str, code: int) -> int:
    """One line that says what is wrong, one that says what to do; gives back the exit code."""
    with contextlib.suppress(OSError):
        flush()
        console(stderr=True).show_cursor()  # Ctrl-C may have come while a bar had hidden it
    tell(f"{word}: {one_line(message)}")
    if hint:
        tell(f"hint: {one_line(hint)}")
    return code


def one_line(text: str, most: int = 500) -> str:
    """A message in one line that is not endless, whatever names it repeats."""
    return shortened(" ".join(text.split()), most)


def complain_of_usage(error) -> int:
    """The same for words that do not fit a command; help asked for by giving none is no error."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return error.exit_code
    path = error.ctx.command_path if error.ctx else "limelight"
    hint = f"{path} --help"
    if error.ctx and type(error).__name__ == "MissingParameter":  # which words, in which order
        usage = error.ctx.get_usage().removeprefix("Usage: ").replace("[OPTIONS] ", "")
        hint = f"it is {usage}; see {hint}"
    return complain("error", error.format_message(), hint, error.exit_code)


def flush() -> None:
    """Write out what was printed; a stream that was closed from outside is `None`."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def silence() -> None:
    """Send what is left of stdout nowhere, so that leaving does not stumble over it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def leave(code: int) -> NoReturn:
    """Leave at once: a stuck or still running chunk must not keep the process alive."""
    with contextlib.suppress(OSError):
        flush()
    if any(thread.daemon for thread in threading.enumerate()):
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
