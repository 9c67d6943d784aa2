"""From tables on disk back to recipes: folders, pages, published verdicts, citations."""

import json
import shlex
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from limelight._core.errors import InputError, StoreError
from limelight._engine.run import Engine
from limelight.papers import KEYS, load
from limelight.papers.pages import illustrations, section, write_page
from limelight.papers.published import (
    _repeated,
    decide_published,
    decide_running,
    default_store,
    entries,
    open_manifest,
    open_table,
    publish,
    recipe_of,
    unfinished,
)
from limelight.table import Table
from tests.cli import toy

DICE = toy.paper.figure("dice")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A finished run at a scale that decides; look, but do not touch."""
    place = tmp_path_factory.mktemp("published") / "run"
    DICE.run("small", place, seed=4, settings={"sides": "4,8"}, width=40)
    return place


@pytest.fixture(autouse=True)
def _shelf(monkeypatch):
    toy.lay_out(monkeypatch.setattr)


def test_a_folder_is_named_for_what_it_holds():
    assert default_store(DICE, "small") == Path("runs/toy2000-dice-small")
    assert default_store(DICE, "small", seed=3, folder="x") == Path("x/toy2000-dice-small-seed3")
    one = default_store(DICE, "small", settings={"sides": "4", "throws": "3"})
    same = default_store(DICE, "small", settings={"throws": "3", "sides": "4"})
    other = default_store(DICE, "small", settings={"sides": "5", "throws": "3"})
    assert one == same
    assert len({one, other, default_store(DICE, "small")}) == 3


def test_tables_open_from_runs_published_folders_and_files(run, tmp_path):
    place = publish(run, tmp_path)
    assert place == tmp_path / "toy2000" / "dice"
    assert sorted(file.name for file in place.iterdir()) == [
        "fair.png",
        "manifest.json",
        "means.png",
        "table.parquet",
    ]
    tables = [open_table(p) for p in (run, str(run), place, place / "table.parquet")]
    for table in tables:
        assert recipe_of(table.manifest, place).name == "dice"
        np.testing.assert_array_equal(table["mean"], tables[0]["mean"])
        assert unfinished(table) == ""
    assert open_manifest(run)["hash"] == open_manifest(place)["hash"]
    assert json.loads((place / "manifest.json").read_text())["seconds"] > 0
    with pytest.raises(InputError, match="does not exist"):
        open_table(tmp_path / "nothing")
    with pytest.raises(StoreError, match="no run folder"):
        open_manifest(tmp_path)


@pytest.mark.parametrize(
    "manifest",
    [{}, {"figure": "dice"}, {"paper": 5, "figure": "dice", "scale": "small"}],
)
def test_a_table_of_ones_own_has_no_recipe(manifest):
    with pytest.raises(InputError, match="does not belong") as error:
        recipe_of(manifest, "here")
    assert "sweep" in error.value.hint


def test_a_picture_with_fixed_arguments_keeps_its_caption(run):
    fixed = replace(DICE, pictures={name: partial(draw) for name, draw in DICE.pictures.items()})
    table = open_table(run)
    captions = [[part.caption for part in illustrations(f, table, run)[0]] for f in (DICE, fixed)]
    assert captions[0] == captions[1] != []


def test_a_section_says_how_to_run_it_again(run, tmp_path):
    place = publish(run, tmp_path)
    for store, kept in ((run, True), (place, False), (place / "table.parquet", False)):
        part = section(store)
        assert [verdict.verdict for verdict in part.verdicts] == ["holds", "inconclusive"]
        assert len(part.figures) == 2
        assert part.cost is not None
        assert part.cost.seconds > 0
        assert part.cost.compilations == 1
        words = shlex.split(part.rerun[0])
        assert words[:4] == ["limelight", "run", "toy2000", "dice"]
        assert words[words.index("--set") + 1] == "sides=4,8"
        assert words[words.index("--seed") + 1] == "4"
        assert ("--store" in words) is kept
    write_page(tmp_path / "page.html", [run, place])
    assert (tmp_path / "page.html").read_text().count("dice.half") >= 4


def test_published_tables_decide_and_missing_ones_are_marked(run, tmp_path):
    publish(run, tmp_path)
    verdicts = [v for figure in toy.paper.figures for v in decide_published(figure, tmp_path)]
    assert [v.claim for v in verdicts] == [claim.name for claim in toy.paper.claims]
    assert [v.verdict for v in verdicts] == ["holds", "inconclusive", "not run", "not run"]
    assert verdicts[0].source == "toy2000 dice, small scale, sides=4,8, 80 trials"
    assert [v.n for v in verdicts] == [80, 80, 0, 0]
    assert all("no published table" in v.note for v in verdicts[2:])
    assert all(np.isnan(v.value) for v in verdicts[2:])
    for key in KEYS:
        for figure in load(key).figures:
            assert {v.verdict for v in decide_published(figure, tmp_path)} == {"not run"}


def test_a_table_in_the_wrong_place_is_refused(run, tmp_path):
    place = publish(run, tmp_path)
    shutil.copytree(place, tmp_path / "toy2000" / "pairs")
    with pytest.raises(InputError, match="holds toy2000 dice, not toy2000 pairs"):
        decide_published(toy.paper.figure("pairs"), tmp_path)
    with pytest.raises(InputError, match="no folder"):
        decide_published(toy.paper.figure("pairs"), tmp_path / "nowhere")


def test_an_unfinished_table_decides_nothing(run, tmp_path):
    table = open_table(run)
    part = table.rows(np.arange(60))
    assert unfinished(part) == "only 60 of 80 trials are there"
    verdicts = DICE.verdict(part)
    assert {v.verdict for v in verdicts} == {"inconclusive"}
    assert all("unfinished, 60 of 80 trials" in v.note for v in verdicts)
    # A table that does not say how many trials were planned is taken as it is.
    bare = Table(table.columns, table.axes, {"configuration": {"experiment": {"kind": "fair"}}})
    assert unfinished(bare) == ""
    assert DICE.verdict(bare)[0].verdict == "holds"


def test_running_decides_resumes_and_says_what_failed(tmp_path, monkeypatch):
    pairs = toy.paper.figure("pairs")
    seen = []
    verdicts, failure = decide_running(pairs, "smoke", tmp_path, 7, 60.0, seen.append)
    assert failure is None
    assert [v.n for v in verdicts] == [10, 10]
    place = default_store(pairs, "smoke", 7, folder=tmp_path)
    assert open_manifest(place)["command"].endswith(f"--seed 7 --store {place}")
    decide_running(pairs, "smoke", tmp_path, 7, 60.0, seen.append)
    assert seen[-1].computed == 0

    def breaks(engine, chunk):
        raise MemoryError("too much")

    monkeypatch.setattr(Engine, "_compute", breaks)
    verdicts, failure = decide_running(pairs, "smoke", tmp_path, 8, 60.0, None)
    assert failure is not None
    assert "too much" in failure
    assert all(v.verdict == "inconclusive" and "the run failed" in v.note for v in verdicts)


def test_every_paper_and_the_software_can_be_cited():
    software = ["limelight", "jax", "equinox", "optax"]
    for key in KEYS:
        found = entries(load(key), *software, "nobody1900")
        assert list(found) == [key, *software]
        assert all(text.startswith("@") and text.endswith("}") for text in found.values())


def test_a_published_command_does_not_say_where_it_ran():
    said = "python benchmarks/publish.py --seed 1 paper /home/me/out li2023/fig1a"
    assert _repeated(said) == ("python benchmarks/publish.py --seed 1 paper out li2023/fig1a")
    said = "limelight run li2023 fig1a --store=/shared/a --on slurm --with account=me"
    assert _repeated(said) == "limelight run li2023 fig1a"
