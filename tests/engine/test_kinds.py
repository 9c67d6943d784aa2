"""Folders and tables of the first release: everything that they name is known by a kind."""

import json
from pathlib import Path

import pyarrow.parquet as pq

from limelight._core.kinds import EARLIER
from limelight._engine.reading import STUDY

RESULTS = Path(__file__).parents[2] / "results"


def paths(value) -> set[str]:
    """Every import path in a description."""
    if isinstance(value, dict):
        return set().union(*map(paths, value.values()))
    if isinstance(value, list):
        return set().union(*map(paths, value))
    return {value} if isinstance(value, str) and value.startswith("limelight.") else set()


def test_every_path_that_a_published_table_names_has_a_kind():
    named = set()
    for file in RESULTS.rglob("table.parquet"):
        about = json.loads(pq.read_schema(file).metadata[b"limelight"])
        named |= paths(about["manifest"]["configuration"])
    assert "limelight.study.base.Study" in named
    assert named <= set(EARLIER), sorted(named - set(EARLIER))


def test_chunks_are_marked_as_they_always_were():
    assert STUDY == b"limelight.study"
