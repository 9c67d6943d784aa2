"""Costs are those of the published manifests, in words."""

import json
from importlib.resources import files
from pathlib import Path

from limelight.papers import KEYS, load
from limelight.papers._costs import cost_of, gather

RESULTS = Path(__file__).parents[2] / "results"


def test_the_costs_in_the_package_are_those_of_the_published_runs():
    """To renew them: write `gather("results")` as JSON, indented by one, to papers/costs.json."""
    kept = json.loads((files("limelight.papers") / "costs.json").read_text())
    assert kept == gather(RESULTS)


def test_every_published_figure_says_what_it_took():
    for key in KEYS:
        for name in load(key).titles:
            published = (RESULTS / key / name / "table.parquet").exists()
            assert bool(cost_of(key, name)) == published
