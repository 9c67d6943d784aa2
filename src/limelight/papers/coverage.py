"""Every numbered item of a paper, and where it lives here, or why it does not.

A list per paper (`papers/<key>/items.py`) is read by `limelight show KEY` and `docs/coverage.md`; a
test follows every pointer.
"""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from limelight._core.errors import InputError, suggest

if TYPE_CHECKING:
    from limelight.papers.contents import Paper

#: Shelves whose parts a pointer may name.
SHELVES = {
    "world": "limelight.worlds",
    "model": "limelight.models",
    "measure": "limelight.measures",
    "experiment": "limelight.experiments",
    "theory": "limelight.theory",
    "certificate": "limelight.certificate",
}
#: What a pointer may begin with.
PLACES = ("statement", "claim", "figure", *SHELVES, "test", "erratum")


class Item:
    """A theorem, lemma, definition, figure, … of a paper.

    Args:
        label: As the paper has it, such as "Theorem 1".
        says: What it says, in our words.
        where: Where it lives: `statement:theorem1`, `claim:1a.law`, `world:Patterns`, …
        why: Why it lives nowhere.
    """

    def __init__(self, label: str, says: str, *where: str, why: str = ""):
        if bool(where) == bool(why):
            raise InputError(f"{label}: either where it lives, or why nowhere")
        for pointer in where:
            place, _, name = pointer.partition(":")
            if place not in PLACES or not name:
                raise InputError(f"{label}: no place {pointer!r}", suggest(place, list(PLACES)))
        self.label, self.says, self.where, self.why = label, says, where, why

    def __repr__(self) -> str:
        return f"{self.label}: {self.says} ({', '.join(self.where) or self.why})"

    def as_json(self) -> dict[str, object]:
        """Plain JSON values."""
        return {
            "label": self.label,
            "says": self.says,
            "where": list(self.where),
            "why": self.why or None,
        }


def counts(items: tuple[Item, ...]) -> Mapping[str, int]:
    """How many items there are, how many live somewhere, and how many nowhere."""
    here = sum(bool(item.where) for item in items)
    return {"items": len(items), "here": here, "not here": len(items) - here}


def follow(paper: "Paper", pointer: str) -> None:
    """Refuse a pointer that leads nowhere; tests and errata are outside the package."""
    place, _, name = pointer.partition(":")
    if place == "statement":
        paper.statement(name)
    elif place == "figure":
        paper.figure(name)
    elif place == "claim":
        known = [claim.name for claim in paper.claims]
        if name not in known:
            raise InputError(f"{paper.key} has no claim {name!r}", suggest(name, known))
    elif place in SHELVES:
        module, _, last = f"{SHELVES[place]}.{name}".rpartition(".")
        if not hasattr(importlib.import_module(module), last):
            raise InputError(f"{module} has no {last!r}")
