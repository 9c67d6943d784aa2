"""Papers: one door each for a visitor with the PDF open. Deleting this folder leaves a library.

`contents` and `recipe` are the contract; then comes one package per paper key, with symbols,
statements, and one file per figure.
"""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight._core.errors import InputError, suggest

if TYPE_CHECKING:
    from limelight.papers.contents import Paper

__all__ = ["KEYS", "known", "load", "load_each"]

#: Every paper that is here, in order of arrival.
KEYS = (
    "li2023",
    "edelman2022",
    "xu2022",
    "jelassi2022",
    "zhang2024",
    "tarzanagh2023",
    "geshkovski2023",
)


def known() -> list[str]:
    """The key of every paper that is here or in an installed package; none is loaded.

    Example:
        >>> "li2023" in known()
        True
    """
    from limelight.papers._outside import installed

    return [*KEYS, *(key for key in installed() if key not in KEYS)]


def load(key: str) -> "Paper":
    """A paper by key; or by the path of the file or folder that holds it.

    Example:
        >>> paper = load("li2023")
        >>> paper.venue
        'ICLR 2023, arXiv 2302.06015'
        >>> paper.find("theorem1").title
        'samples, batch, steps and width that suffice'
    """
    from limelight.papers import _outside as outside

    if outside.is_path(key):
        paper = outside.from_path(key)
        if paper.key in known():
            raise InputError(
                f"two papers are called {paper.key!r}: {key} and {_origin(paper.key)}",
                "give yours another key",
            )
        return paper
    if key not in known():
        here = Path(key).exists()
        hint = (
            f"a file or a folder is named by its path: ./{key}" if here else suggest(key, known())
        )
        raise InputError(f"no paper {key!r}", hint)
    points = outside.installed().get(key, ())
    if len(points) + (key in KEYS) > 1:
        raise InputError(
            f"two papers are called {key!r}: {_origin(key)} and {outside.origin(points[-1])}",
            "remove one of the packages",
        )
    if points:
        return outside.from_package(key)
    return importlib.import_module(f"limelight.papers.{key}").paper


def load_each(keys: Iterable[str]) -> "tuple[list[Paper], dict[str, str]]":
    """The papers of some keys; and why, in a line, for each that cannot be loaded.

    Example:
        >>> papers, failed = load_each(["li2023", "li2032"])
        >>> [paper.key for paper in papers], failed
        (['li2023'], {'li2032': "no paper 'li2032'"})
    """
    papers, failed = [], {}
    for key in keys:
        try:
            papers.append(load(key))
        except InputError as error:  # a stranger's paper harms no other
            failed[key] = " ".join(error.message.split())
    return papers, failed


def _origin(key: str) -> str:
    from limelight.papers import _outside as outside

    return "limelight's own" if key in KEYS else outside.origin(outside.installed()[key][0])


def __getattr__(name: str) -> Any:
    """`papers.li2023` is the paper's module, loaded when it is asked for."""
    if name in KEYS:
        return importlib.import_module(f"limelight.papers.{name}")
    raise AttributeError(f"module 'limelight.papers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*KEYS, "KEYS", "known", "load", "load_each"]
