"""Run folders written by the first release, before anything moved: they open, resume and plot."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import limelight as ll
from limelight._engine.reading import read_manifest
from limelight._identity.description import digest, modern
from limelight.papers.published import recipe_of
from limelight.table import Table

RUNS = Path(__file__).parents[1] / "fixtures" / "earlier"
FIGURES = sorted(p.name for p in RUNS.iterdir() if not p.name.endswith("unfinished"))
UNFINISHED = sorted(p.name for p in RUNS.iterdir() if p.name.endswith("unfinished"))


@pytest.mark.parametrize("name", FIGURES)
def test_it_opens_and_its_recipe_is_still_the_same_study(name):
    """The description that the old release stored is, in today's words, today's description."""
    table, manifest = ll.open(RUNS / name), read_manifest(RUNS / name)
    assert len(table) > 0
    figure = recipe_of(manifest, name)
    setup = figure.setup(manifest["scale"], manifest["settings"])
    from limelight._identity.description import describe

    stored = modern(manifest["configuration"])
    assert stored["experiment"] == describe(setup.experiment)
    assert stored["trials"] == setup.trials
    names = [list(p) if isinstance(p, tuple) else [p] for p in setup.axes]
    assert [paths for paths, _ in stored["axes"]] == names


@pytest.mark.parametrize("name", FIGURES)
def test_it_plots(name, tmp_path):
    table = ll.open(RUNS / name)
    figure = recipe_of(table.manifest, name)
    figure.plot(table).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000


@pytest.mark.parametrize("name", UNFINISHED)
def test_it_resumes_from_any_process(name, tmp_path):
    """A chunk is missing; it is computed by today's code and agrees with what the old code made."""
    folder = tmp_path / "run"
    shutil.copytree(RUNS / name, folder)
    whole = Table.load(folder / "whole.parquet")
    before = read_manifest(folder)
    table = ll.resume(folder)
    assert len(table) == len(whole)
    for column in whole.columns:
        np.testing.assert_allclose(table[column], whole[column], rtol=2e-3, atol=1e-5)
    assert read_manifest(folder) == before
    assert digest(modern(before["configuration"])) != before["hash"]  # it is an old one
