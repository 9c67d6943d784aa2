"""Papers: one door each for a visitor with the PDF open. Deleting this folder leaves a library.

`contents` and `recipe` are the contract; then comes one package per paper key, with symbols,
statements, and one file per figure.
"""

import importlib
from typing import TYPE_CHECKING, Any

from limelight.core.errors import InputError, suggest

if TYPE_CHECKING:
    from limelight.papers.contents import Paper

#: Every paper that is here, in order of arrival.
KEYS = ("li2023", "edelman2022", "xu2022", "jelassi2022")


def load(key: str) -> "Paper":
    """A paper by key."""
    if key not in KEYS:
        raise InputError(f"no paper {key!r}", suggest(key, list(KEYS)))
    return importlib.import_module(f"limelight.papers.{key}").paper


def __getattr__(name: str) -> Any:
    """`papers.li2023` is the paper's module, loaded when it is asked for."""
    if name in KEYS:
        return importlib.import_module(f"limelight.papers.{name}")
    raise AttributeError(f"module 'limelight.papers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*KEYS, "KEYS", "load"]
