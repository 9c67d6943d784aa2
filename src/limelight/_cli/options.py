"""Options that several commands share, and what is checked of them before any work is done."""

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import typer

from limelight._core.errors import InputError

Json = typer.Option(False, "--json", metavar="", help="Print only JSON on stdout.")
Scale = typer.Option(
    "small",
    "--scale",
    "-s",
    metavar="SCALE",
    help="How large: smoke (seconds), small (minutes) or paper (a GPU).",
)
Seed = typer.Option(
    0, "--seed", metavar="NUMBER", help="The number that all randomness comes from."
)
Settings = typer.Option(
    [],
    "--set",
    metavar="PATH=VALUE",
    help="Change a setting; a,b,c sweeps over three values. May be repeated.",
)
Stall = typer.Option(
    1800.0,
    "--stall",
    metavar="SECONDS",
    help="Stop if one chunk takes longer than this; finished chunks are kept.",
)
SameCode = typer.Option(
    False,
    "--same-code",
    metavar="",
    help="Resume although your code has changed. Use it only if the change cannot matter.",
)
On = typer.Option(None, "--on", metavar="WHERE", help="Where the workers run: local, slurm or ray.")
Workers = typer.Option(
    None,
    "--workers",
    metavar="NUMBER",
    help="The number of processes that share the study, each on its own GPU if there are GPUs.",
)
With = typer.Option(
    [],
    "--with",
    metavar="NAME=VALUE",
    help="An option for the workers, such as partition=gpu or time=04:00:00. May be repeated.",
)
Key = typer.Argument(
    metavar="KEY", help="A paper's key, such as li2023, or the file or folder that holds a paper."
)
PaperAt = typer.Option(
    None,
    "--paper",
    metavar="PATH",
    help="The file or folder of the paper, if that paper is not installed.",
)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses of options become these options.

    Options that several commands share are then written once, and passed on as one thing.

    Example:
        >>> @dataclass(frozen=True)
        ... class Ends:
        ...     low: int = 1
        ...     high: int = 2
        >>> @spread
        ... def show(name: str, ends: Ends, json: bool = False) -> None:
        ...     print(name, ends.high)
        >>> inspect.signature(show).parameters["high"].default
        2
        >>> show("a", high=7)
        a 7
    """
    given = inspect.signature(command).parameters
    groups: dict[str, Any] = {
        n: p.annotation for n, p in given.items() if is_dataclass(p.annotation)
    }
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found = []
    for name, parameter in given.items():
        parts = fields(groups[name]) if name in groups else ()
        found += [
            inspect.Parameter(part.name, kind, default=part.default, annotation=part.type)
            for part in parts
        ] or [parameter]

    @functools.wraps(command)
    def called(*values: Any, **named: Any) -> None:
        told = dict(zip((parameter.name for parameter in found), values, strict=False)) | named
        for name, group in groups.items():
            said = [part.name for part in fields(group) if part.name in told]
            told[name] = group(**{part: told.pop(part) for part in said})
        command(**told)

    # Typer reads both; what `wraps` points to would be read instead of them.
    del called.__wrapped__
    called.__signature__ = inspect.Signature(found)  # pyright: ignore[reportAttributeAccessIssue]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in found}
    return called


def paper_at(path: str | None):
    """The paper of a file or folder; nothing without one."""
    from limelight.papers._outside import from_path

    return None if path is None else from_path(path)


def settings(pairs: Iterable[str]) -> dict[str, str]:
    """`PATH=VALUE` words as a dictionary; several may stand in one word, apart by spaces."""
    found: dict[str, str] = {}
    for pair in (word for text in pairs for word in text.split() or [""]):
        path, equals, value = pair.partition("=")
        if not equals or not path:
            raise InputError(
                f"--set {pair!r} is not PATH=VALUE", "for example --set train.steps=200"
            )
        if path in found:
            raise InputError(f"--set {path} occurs twice", f"{path}={found[path]}, and {value}")
        found[path] = value
    return found


@dataclass(frozen=True)
class CrewOrder:
    """Workers that were asked for: where, how many, with which options."""

    on: str
    count: int | None
    options: dict[str, str]


def orders(on: str | None, workers: int | None, options: Iterable[str]) -> CrewOrder | None:
    """The workers that were asked for; none where no word speaks of them."""
    given = list(options)
    if on is None and workers is None and not given:
        return None
    if workers is not None and workers < 1:
        raise InputError(f"--workers {workers}", "at least one")
    if on is None and given:
        raise InputError(f"--with {given[0]!r} speaks of workers", "say where: --on slurm")
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--with {pair!r} is not NAME=VALUE", "for example --with time=60")
        found[name.replace("-", "_")] = value
    return CrewOrder(on or "local", workers, found)


def check_stall(seconds: float) -> None:
    """Refuse a time that no chunk can keep."""
    if not seconds > 0:
        raise InputError(f"stall = {seconds:g}", "a number of seconds above 0")


def check_output(path: Path, *suffixes: str) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    if path.suffix.lower() not in suffixes:
        listed = ", ".join(suffixes[:-1]) + " or " + suffixes[-1] if suffixes[1:] else suffixes[0]
        raise InputError(f"cannot write {path}", f"the name must end in {listed}")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}", "make it first, or choose another")


def check_not_read(path: Path, files: Iterable[str | Path]) -> None:
    """Refuse to write over what was read, or over the configuration beside it."""
    read = [Path(file) for file in files]
    for file in (*read, *(other for one in read[:1] for other in one.parent.glob("*config*.json"))):
        if path.exists() and file.exists() and path.samefile(file):
            raise InputError(f"cannot write {path}", "it was read: choose another name")
