"""Options that several commands share, and what is checked of them before any work is done.

Typer makes an option's flag from its parameter: `behind_only` is `--behind-only`.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from typer import Argument, Option

from limelight.core.errors import InputError

number = partial(Option, metavar="NUMBER")
fraction = partial(Option, metavar="FRACTION")
word = partial(Option, metavar="WORD")
file = partial(Option, metavar="FILE")
folder = partial(Option, metavar="FOLDER")
#: What is on or off: it takes no value, and has no opposite.
flag = partial(Option, False, metavar="")

Json = flag("--json", help="Print JSON, and nothing else, on stdout.")
Scale = Option(
    "small", "--scale", "-s", metavar="SCALE", help="smoke (seconds), small (minutes) or paper."
)
Seed = number(0, help="The number all randomness comes from.")
Settings = Option(
    [], "--set", metavar="PATH=VALUE", help="Change a setting; a,b,c sweeps it. May be repeated."
)
Stall = Option(
    1800.0,
    metavar="SECONDS",
    help="Give up when one chunk takes longer than this; what is finished stays.",
)
SameCode = flag(
    "--same-code",
    help="Go on although code of yours changed: only when you know that it does not matter.",
)
Key = Argument(metavar="KEY", help="A paper's key, such as li2023.")

# Of the commands that show images to a real ViT.
Images = Option(
    None,
    metavar="SOURCE",
    help="The images: digits, cifar10, or the path of a folder, an .npz file or an archive.",
)
Heads = number(None, help="Attention heads per block, if the file does not say.")
Pixels = word("", help="How pixels are scaled for this network: imagenet, half, data or centred.")
BehindSource = Option(
    None,
    metavar="SOURCE",
    help="Paste each image onto one of these, or onto `tiles`, so that it is known which patches"
    " show the object.",
)
BehindOnly = Option(
    "",
    metavar="NAMES",
    help="Use only these classes of the background images; separate names by commas.",
)
Size = fraction(0.8125, help="Side length of a pasted image, as a fraction of the whole picture's.")


def background(behind: str | None, only: str, size: float):
    """What to paste images on; nothing where nothing is said."""
    from limelight.instruments.gallery import Behind

    if behind is None:
        if only:
            raise InputError("--behind-only without --behind", "name the backgrounds first")
        return None
    return Behind(behind, tuple(word.strip() for word in only.split(",") if word.strip()), size)


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
        listed = ", ".join(suffixes[:-1]) + " or " + suffixes[-1]
        raise InputError(f"cannot write {path}", f"the name must end in {listed}")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}", "make it first, or choose another")
