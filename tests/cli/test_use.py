"""Every command as it is meant to be used: for people, and as JSON for machines."""

import json
import math
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from limelight.bench import Row
from limelight.claims import Verdict
from limelight.cli import common
from limelight.papers import KEYS, load
from limelight.papers.published import publish, section
from limelight.store import read_manifest, read_table
from limelight.study.run import Engine
from tests.cli.cheap import made_up
from tests.cli.conftest import RUN, contents

VERDICT = {"claim", "statement", "verdict", "value", "interval", "n", "rule", "source", "note"}


def test_papers(call):
    listed = call("papers", "--json").json
    assert [paper["key"] for paper in listed] == list(KEYS)
    for paper in listed:
        assert set(paper) == {"key", "title", "figures", "claims"}
        assert paper["claims"]
    page = call("papers")
    assert (page.code, page.err) == (0, "")
    assert all(key in page.out for key in KEYS)


def test_show(call):
    paper = load("li2023")
    assert call("show", "li2023", "--json").json["figures"].keys() == {
        figure.name for figure in paper.figures
    }
    page = call("show", "li2023")
    assert "fig1a" in page.out
    assert "theorem1" in page.out
    for figure in paper.figures:
        facts = call("show", "li2023", figure.name, "--json").json
        assert set(facts["scales"]) == {"smoke", "small", "paper"}
        words = call("show", "li2023", figure.name).out
        assert all(claim.name in words for claim in figure.claims)
    for statement in paper.statements:
        assert call("show", "li2023", statement.label, "--json").json["conditions"]
        assert call("show", "li2023", statement.label).code == 0
    bound = lambda *sets: call("show", "li2023", "theorem1", *sets, "--json").json["value"]
    assert bound("--set", "relevant=0.3") > bound("--set", "relevant=0.6")
    # A statement may be left out when settings are given; several settings may share a word.
    both = call("show", "li2023", "--set", "relevant=0.3 confusing=0.05", "--json").json
    assert both["value"] == bound("--set", "relevant=0.3", "--set", "confusing=0.05")


def test_a_dry_run_says_what_it_costs_and_writes_nothing(call, monkeypatch):
    monkeypatch.setattr(Engine, "_compute", None)
    plan = call(*RUN, "--dry-run", "--json").json
    assert (plan["cells"], plan["trials"], plan["compilations"]) == (9, 36, 1)
    assert (plan["width"], plan["chunks"]) == (12, 3)
    assert plan["memory_bytes"] > 0
    assert plan["seconds"] >= 0
    words = call(*RUN, "--dry-run").out
    for fact in ("cells", "36 in 3 chunks of 12", "compilations  1", "memory", "time"):
        assert fact in words
    more = call(*RUN, "--dry-run", "--json", "--set", "world.tokens=50,60", "--set", "trials=2")
    assert (more.json["trials"], more.json["compilations"]) == (36, 2)
    assert os.listdir() == []


def test_run_then_run_again_then_resume(call):
    first = call(*RUN, "--json")
    assert (first.code, first.err) == (0, "")
    assert set(first.json) == {
        "store",
        "figure",
        "scale",
        "cells",
        "trials",
        "seconds",
        "trials_per_second",
        "compilations",
        "verdicts",
    }
    assert (first.json["cells"], first.json["trials"]) == (9, 36)
    assert all(set(verdict) == VERDICT for verdict in first.json["verdicts"])
    store = Path(first.json["store"])
    assert store == Path("runs/li2023-fig1a-smoke")
    before = contents(store)
    for words in ((*RUN,), ("resume", store)):
        again = call(*words)
        assert (again.code, again.err) == (0, "")
        assert "all 36 trials were there already" in again.out
        assert f"limelight plot {store}" in again.out
    assert contents(store) == before
    assert read_manifest(store)["command"].startswith("limelight run li2023 fig1a")


def test_resume_needs_nothing_but_the_folder(call, copy):
    whole = read_table(copy)
    before = contents(copy)
    (copy / "chunks" / "000-00001.parquet").unlink()
    assert "12 of 36 trials computed" in call("resume", copy).out
    assert {name: c for name, c in contents(copy).items() if name.endswith(".parquet")} == {
        name: c for name, c in before.items() if name.endswith(".parquet")
    }
    for name, column in whole.columns.items():
        np.testing.assert_array_equal(read_table(copy)[name], column)


def test_settings_seed_and_scale_name_the_folder_and_reach_the_trials(call):
    words = ("run", "li2023", "fig1a", "--scale", "smoke", "--json", "--seed", "3")
    done = call(*words, "--set", "train.examples=4,64", "--set", "trials=2").json
    assert (done["cells"], done["trials"]) == (6, 12)
    store = Path(done["store"])
    assert re.fullmatch(r"li2023-fig1a-smoke-seed3-[0-9a-f]{6}", store.name)
    assert sorted(read_table(store).values("train.examples")) == [4, 64]
    manifest = read_manifest(store)
    assert (manifest["seed"], manifest["scale"]) == (3, "smoke")
    assert manifest["settings"] == {"train.examples": "4,64", "trials": "2"}
    assert "train.examples=4,64" in done["verdicts"][0]["source"]
    assert call("resume", store, "--json").json["trials"] == 12


def test_notes_go_to_stderr_and_json_stays_json(call, copy):
    damaged = copy / "chunks" / "000-00002.parquet"
    damaged.write_bytes(damaged.read_bytes()[:200])
    done = call("resume", copy, "--json")
    assert done.json["trials"] == 36
    assert done.err.startswith("note: 000-00002.parquet is damaged")
    assert (copy / "chunks" / "000-00002.damaged0").exists()


def test_a_failing_chunk_is_said_at_once_and_the_rest_is_kept(call, monkeypatch):
    def breaks(engine, chunk):
        if chunk.name.startswith("001"):
            raise ValueError("no such\nthing")
        return made_up(engine, chunk)

    monkeypatch.setattr(Engine, "_compute", breaks)
    failed = call(*RUN, "--set", "world.tokens=50,60", "--store", "s", "--json")
    assert (failed.code, failed.out) == (1, "")
    note, error = failed.err.splitlines()
    assert note == "note: chunk 001-00000 failed: ValueError: no such"
    assert error.startswith("error: up to 36 of 72 trials failed")
    assert len(list(Path("s/chunks").glob("*.parquet"))) == 3
    monkeypatch.setattr(Engine, "_compute", made_up)
    assert call("resume", "s", "--json").json["trials"] == 72


def test_a_run_that_never_converges_is_marked_not_lost(call, monkeypatch):
    def lost(engine, chunk):
        made = made_up(engine, chunk)
        return made | {"training_loss": np.ones(len(chunk.cells), dtype=np.float32)}

    monkeypatch.setattr(Engine, "_compute", lost)
    done = call(*RUN)
    assert (done.code, done.err) == (0, "")
    assert "no summary" in done.out
    assert "not estimated" in done.out
    assert call("report", "runs/li2023-fig1a-smoke", "-o", "r.html").code == 0
    assert "could not be drawn" in Path("r.html").read_text()


# --- pictures, pages, citations ---------------------------------------------------------------


def test_plot_and_report(call, copy):
    drawn = call("plot", copy, "-o", "fig.svg", "--json").json
    assert drawn == {"figure": "fig1a", "files": ["fig.svg", "fig-law.svg"]}
    assert sorted(os.listdir()) == ["fig-law.svg", "fig.svg"]
    assert Path("fig.svg").read_text().startswith("<?xml")
    assert call("plot", copy).out.startswith("drawn: ")
    assert (copy / "fig1a.png").exists()
    page = call("report", copy, "-o", "page.html")
    assert (page.code, page.out) == (0, "written: page.html\n")
    text = Path("page.html").read_text()
    assert "li2023" in text
    assert f"--store {copy}" in text


def test_an_unfinished_run_is_drawn_with_a_note_and_decides_nothing(call, copy):
    (copy / "chunks" / "000-00002.parquet").unlink()
    drawn = call("plot", copy, "-o", "a.png", "--json")
    assert drawn.json["files"] == ["a.png", "a-law.png"]
    assert drawn.err == "note: the run is not finished: only 24 of 36 trials are there\n"
    assert "Unfinished: only 24 of 36 trials are there" in section(copy).notes[0]


def test_cite(call, copy):
    by_key, by_run = call("cite", "li2023").out, call("cite", copy).out
    assert by_key == by_run
    assert by_key.startswith("@inproceedings{li2023,")
    assert "@software{jax," in by_key
    entries = call("cite", "li2023", "--json").json
    assert [entry["key"] for entry in entries][:2] == ["li2023", "limelight"]
    shutil.rmtree(copy / "chunks")  # a run that has not finished anything yet
    assert call("cite", copy).out == by_key


# --- verify -----------------------------------------------------------------------------------


def test_verify_runs_every_figure_and_resumes(call):
    first = call("verify", "li2023", "--json")
    assert (first.code, first.err) == (0, "")
    assert [row["claim"] for row in first.json] == [claim.name for claim in load("li2023").claims]
    assert all(set(row) == VERDICT for row in first.json)
    assert {row["verdict"] for row in first.json} == {"inconclusive"}
    assert all("smoke scale decides nothing" in row["note"] for row in first.json)
    before = contents(Path("runs"))
    page = call("verify", "li2023")
    assert page.code == 0
    assert "14 claims: 0 hold, 0 fail, 14 inconclusive" in page.out
    assert "nan" not in page.out
    assert contents(Path("runs")) == before
    # It shares its folders with `run`, other seeds included.
    assert "were there already" in call(*RUN[:5]).out
    call("verify", "li2023", "--seed", "2", "--json")
    assert "were there already" in call(*RUN[:5], "--seed", "2").out


def test_verify_marks_a_failed_run_and_goes_on(call, monkeypatch):
    def breaks(engine, chunk):
        if "fig4" in engine.plan.name:
            raise MemoryError("too much")
        return made_up(engine, chunk)

    monkeypatch.setattr(Engine, "_compute", breaks)
    done = call("verify", "--json")
    assert done.code == 1
    marked = [row for row in done.json if row["claim"].startswith("4.")]
    assert len(marked) == 3
    assert all("the run failed" in row["note"] and row["value"] is None for row in marked)
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert errors[0].startswith("error: li2023 fig4: ")


def test_verify_decides_from_published_tables_alone(call, copy, monkeypatch):
    publish(copy, "results")
    monkeypatch.setattr(Engine, "_compute", None)
    done = call("verify", "--results", "results", "--json")
    assert (done.code, done.err) == (0, "")
    there = [row for row in done.json if row["source"].startswith("li2023 fig1a, smoke")]
    assert len(there) == 6
    missing = [row for row in done.json if row not in there]
    assert all("no published table" in row["note"] and row["n"] == 0 for row in missing)
    assert len(there) + len(missing) == len(load("li2023").claims)
    assert "n/a" in call("verify", "--results", "results").out


# --- bench ------------------------------------------------------------------------------------


def test_bench(call, monkeypatch):
    asked = {}

    def measure(**options):
        asked.update(options)
        return [
            Row("PyTorch loop", 2.0, "trials/s", "", None),
            Row("engine, grouped", 100.0, "trials/s", "PyTorch loop", 50.0),
        ]

    monkeypatch.setattr("limelight.bench.measure", measure)
    rows = call("bench", "--trials", "2", "--loop", "1", "--json").json
    assert asked == {"trials": 2, "loop": 1}
    assert [set(row) for row in rows] == [{"name", "value", "unit", "baseline", "ratio"}] * 2
    assert rows[0]["ratio"] is None
    assert "50.0x" in call("bench").out


# --- printing ---------------------------------------------------------------------------------


def test_numbers_for_people():
    assert common.number(math.nan) == "n/a"
    assert common.interval((math.nan, 1.0)) == "n/a"
    assert common.interval((-math.inf, 2.0)) == "-inf to 2"
    assert common.clock(0.0) == "under 1 s"
    assert common.clock(3600) == "1 h 0 min"
    assert common.size(1.5 * 2**40) == "1536.0 GiB"
    assert common.plural(1, "trial") == "1 trial"
    with pytest.raises(ValueError, match="JSON"):
        common.emit({"value": math.nan})


@pytest.mark.parametrize("width", [60, 80, 140])
def test_verdicts_fit_the_terminal(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    words = "attention on the relevant tokens " * 8
    verdicts = [
        Verdict("1a.first", words, "holds", 1.5, (0.25, 2.0), 12, words, "here", words),
        Verdict("1a.second.loose", words, "fails", math.nan, None, 0, words, "there"),
    ]
    common.print_verdicts(verdicts)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= min(width, 100)
    first = next(line for line in lines if line.startswith("1a.first"))
    assert first.split() == ["1a.first", "holds", "1.5", "0.25", "to", "2", "12"]
    second = next(line for line in lines if line.startswith("1a.second"))
    assert second.split() == ["1a.second.loose", "fails", "n/a", "0"]


def test_json_never_holds_a_number_that_is_not_one(call, copy):
    rows = json.loads(call("resume", copy, "--json").out)["verdicts"]
    assert any(row["value"] is None for row in rows)
