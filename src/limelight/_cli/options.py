"""Options that several commands share, and what is checked of them before any work is done."""

from collections.abc import Iterable
from pathlib import Path

import typer

from limelight._core.errors import InputError

Json = typer.Option(False, "--json", metavar="", help="Print JSON, and nothing else, on stdout.")
Scale = typer.Option(
    "small", "--scale", "-s", metavar="SCALE", help="smoke (seconds), small (minutes) or paper."
)
Seed = typer.Option(0, "--seed", metavar="NUMBER", help="The number all randomness comes from.")
Settings = typer.Option(
    [],
    "--set",
    metavar="PATH=VALUE",
    help="Change a setting; a,b,c sweeps it. May be repeated.",
)
Stall = typer.Option(
    1800.0,
    "--stall",
    metavar="SECONDS",
    help="Give up when one chunk takes longer than this; what is finished stays.",
)
SameCode = typer.Option(
    False,
    "--same-code",
    metavar="",
    help="Go on although code of yours changed: only when you know that it does not matter.",
)
Key = typer.Argument(
    metavar="KEY", help="A paper's key, such as li2023, or the file or folder that holds a paper."
)
PaperAt = typer.Option(
    None,
    "--paper",
    metavar="PATH",
    help="The file or folder of the paper that the run belongs to, where it is not installed.",
)


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
        found[path] = value
    return found


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
