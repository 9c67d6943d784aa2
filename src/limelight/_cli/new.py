"""`limelight new`: a start for a study or a paper of your own."""

import keyword
from importlib.util import find_spec
from pathlib import Path

import typer

from limelight._cli.options import Json
from limelight._cli.text import emit, quoted, say

new = typer.Typer(no_args_is_help=True, help="Begin a study or a paper of your own.")

#: What the paper of the template is called; replaced by the name that is chosen.
NAME = "mypaper2026"


@new.command()
def study(
    file: Path = typer.Argument(metavar="FILE", help="The file to write, such as needle.py."),
    json: bool = Json,
) -> None:
    """Write a complete study in one file: world, model, measure, sweep, claim, test.

    Examples:
      limelight new study needle.py
    """
    from limelight._core.errors import InputError

    if file.suffix != ".py" or not file.stem.isidentifier():
        raise InputError(
            f"cannot write {file}", "choose a name that Python can import, such as needle.py"
        )
    check_free(file, "needle.py")
    text = (templates() / "study.py").read_text(encoding="utf-8").replace("FILE", file.name)
    write({file: text})
    here = quoted(file)
    told([file], json, f"python {here}", f"pytest {here}")


@new.command()
def paper(
    folder: Path = typer.Argument(
        metavar="FOLDER", help="The folder to create; its name becomes the key of the paper."
    ),
    json: bool = Json,
) -> None:
    """Write a package for a paper: a theorem, a figure with a claim, tests.

    It runs as it is. Once installed with pip, it is listed among the papers.

    Examples:
      limelight new paper smith2026
    """
    from limelight._core.errors import InputError
    from limelight.papers import known

    key = folder.name
    if not key.isidentifier() or key != key.lower():
        raise InputError(f"a paper cannot be called {key!r}", "small letters and digits: smith2026")
    if key in known():
        raise InputError(f"there is a paper {key!r} already", "choose another key")
    check_free(folder, "smith2026")
    start = templates() / "paper"
    files = {
        folder / str(path.relative_to(start)).replace(NAME, key): path.read_text(
            encoding="utf-8"
        ).replace(NAME, key)
        for path in sorted(start.rglob("*"))
        if path.suffix in (".py", ".toml", ".md")
    }
    write(files)
    here = quoted(folder)
    told(
        list(files),
        json,
        f"cd {here}",
        f"limelight run ./{key} fig1 --scale smoke",
        "python -m pytest",
    )


def check_free(path: Path, such_as: str) -> None:
    """Refuse a word of Python, and a module's name: `numpy.py` would stand in the way of NumPy."""
    from limelight._core.errors import InputError

    name = path.stem
    word = keyword.iskeyword(name) or name.startswith("__")
    if word or not path.exists() and find_spec(name) is not None:
        what = "a word of Python" if word else "the name of a module"
        raise InputError(f"{name!r} is {what}", f"choose another name, such as {such_as}")


def templates() -> Path:
    """The folder of what is written."""
    import limelight

    return Path(limelight.__file__).parent / "start"


def write(files: dict[Path, str]) -> None:
    """Write files that are not there yet; nothing is written when one of them is."""
    from limelight._core.errors import InputError
    from limelight._core.files import write_whole

    for path in files:
        if path.exists():
            raise InputError(
                f"there is already a file {path}", "choose another name, or move it away"
            )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())


def told(files: list[Path], json: bool, *commands: str) -> None:
    """What was written, and what to do with it."""
    if json:
        emit({"files": [str(path) for path in files], "next": list(commands)})
        return
    say("Written:")
    for path in files:
        say(str(path), indent=2)
    say("\n".join(["\nNext:", *(f"  {command}" for command in commands)]))
