"""Every numbered item of a paper is here, or says why not; every pointer leads somewhere."""

import re
from pathlib import Path

import pytest

from limelight._core.errors import InputError
from limelight.papers import KEYS, load
from limelight.papers.coverage import Item, counts, follow

ROOT = Path(__file__).parents[2]
ITEMS = [(key, item) for key in KEYS for item in load(key).items]


@pytest.mark.parametrize(("key", "item"), ITEMS, ids=lambda x: getattr(x, "label", x))
def test_an_item_leads_somewhere(key, item):
    for pointer in item.where:
        place, _, name = pointer.partition(":")
        if place == "test":
            path, _, test = name.partition("::")
            assert f"def {test}(" in (ROOT / path).read_text(), pointer
        elif place == "erratum":
            section = (ROOT / "docs" / "errata.md").read_text().partition(f"## {key}")[2]
            assert re.search(rf"^\| {name} \|", section.partition("\n## ")[0], re.M), pointer
        else:
            follow(load(key), pointer)


def test_a_pointer_to_nothing_is_found():
    paper = load("li2023")
    for pointer in ("statement:theorem9", "claim:1a.lawn", "figure:fig99", "world:Nothing"):
        with pytest.raises(InputError):
            follow(paper, pointer)


def test_an_item_lives_somewhere_or_says_why_not():
    assert counts((Item("A", "it is", "claim:x"), Item("B", "it is", why="no"))) == {
        "items": 2,
        "here": 1,
        "not here": 1,
    }
    for wrong in (lambda: Item("A", "it is"), lambda: Item("A", "it is", "somewhere:x")):
        with pytest.raises(InputError, match="A: "):
            wrong()
