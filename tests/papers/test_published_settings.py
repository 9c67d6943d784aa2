"""A published table and the recipe whose command it prints agree on axes, trials and settings."""

import json
from pathlib import Path

import numpy as np
import pytest

from limelight._identity.description import describe, modern
from limelight.papers.published import find_recipe

RESULTS = Path(__file__).parents[2] / "results"
TABLES = sorted(path.parent for path in RESULTS.glob("*/*/manifest.json"))
TABLES = [folder for folder in TABLES if (folder / "table.parquet").exists()]

#: Settings that came after a table was made, each at the only value there was before.
LATER = {"course.fresh": True, "course.numbers": "float32", "target": "label", "ball": "weights"}
#: A setting that is gone, at the value that is left.
GONE = {"keep": False}


def plain(value):
    """A value of an axis as it stands in a manifest."""
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def flat(description, path=""):
    """Every setting of a description, by its path."""
    if isinstance(description, dict) and description:
        parts = description.items()
    elif isinstance(description, list) and description:
        parts = enumerate(description)
    else:
        yield path, description
        return
    for name, part in parts:
        yield from flat(part, f"{path}.{name}" if path else str(name))


@pytest.mark.parametrize("folder", TABLES, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_table_is_what_its_recipe_would_make_today(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    figure = find_recipe(manifest)
    assert figure is not None
    assert (figure.paper, figure.name) == (folder.parent.name, folder.name)
    setup = figure.setup(manifest["scale"], manifest["settings"])
    made = modern(manifest["configuration"])
    axes = [
        [plain(paths if isinstance(paths, tuple) else [paths]), plain(values)]
        for paths, values in setup.axes.items()
    ]
    assert made["trials"] == setup.trials
    assert made["axes"] == axes
    assert made["shared"] == list(setup.shared)
    before = LATER | dict(flat(made["experiment"]))
    today = GONE | dict(flat(json.loads(json.dumps(describe(setup.experiment)))))
    for name in (before.keys() - LATER.keys()) | (today.keys() - GONE.keys()):
        assert before.get(name, "not known") == today.get(name, "gone"), name


def test_every_published_table_was_looked_at():
    assert len(TABLES) > 100
