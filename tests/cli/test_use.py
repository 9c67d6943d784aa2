"""Every command as it is meant to be used: for people, and as JSON for machines."""

import dataclasses
import html
import json
import math
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from limelight._cli import text as common
from limelight._engine import device
from limelight._engine.reading import read_manifest, read_table
from limelight._engine.run import Engine
from limelight.bench import Row
from limelight.claims import Verdict
from limelight.models import load_vit
from limelight.models._flat import count, to_vector
from limelight.papers import KEYS, load
from limelight.papers.pages import section
from limelight.papers.published import publish
from tests.cli import toy
from tests.cli.conftest import RUN, contents

VERDICT = {field.name for field in dataclasses.fields(Verdict)} | {"ours"}


def test_papers(call):
    listed = call("papers", "--json").json
    assert [paper["key"] for paper in listed] == [toy.KEY, *KEYS]
    assert all(set(paper) == {"key", "title", "figures", "statements"} for paper in listed)
    assert listed[0]["figures"] == ["dice", "pairs"]
    assert listed[0]["statements"] == ["lemma"]
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
    said = call("show", "li2023", "1a.law").err
    assert "1a.law is a claim of li2023 fig1a" in said
    assert "limelight verify li2023 1a.law" in said
    bound = lambda *sets: call("show", "li2023", "theorem1", *sets, "--json").json["value"]
    assert bound("--set", "relevant=0.3") > bound("--set", "relevant=0.6")
    # A statement may be left out when settings are given; several settings may share a word.
    both = call("show", "li2023", "--set", "relevant=0.3 confusing=0.05", "--json").json
    assert both["value"] == bound("--set", "relevant=0.3", "--set", "confusing=0.05")


def test_a_dry_run_says_what_it_costs_and_writes_nothing(call, monkeypatch):
    monkeypatch.setattr(Engine, "_compute", None)
    plan = call(*RUN, "--dry-run", "--json").json
    assert (plan["cells"], plan["trials"], plan["compilations"]) == (3, 36, 1)
    assert (plan["width"], plan["chunks"]) == (12, 3)
    assert plan["memory_bytes"] > 0
    assert plan["fits"]
    assert plan["seconds"] >= 0
    words = call(*RUN, "--dry-run").out
    for fact in ("cells", "36 in 3 chunks of 12", "compilations  1", "memory", "time"):
        assert fact in words
    assert "a trial" not in words
    with monkeypatch.context() as patch:
        patch.setattr(device, "memory", lambda: 10)
        assert "per trial: more than any device here has" in call(*RUN, "--dry-run").out
    more = call(*RUN, "--dry-run", "--json", "--set", "throws=2,3", "--set", "trials=2")
    assert (more.json["trials"], more.json["compilations"]) == (12, 2)
    assert os.listdir() == []


def test_run_then_run_again_then_resume(call):
    first = call(*RUN, "--json")
    assert (first.code, first.err) == (0, "")
    assert set(first.json) == {
        "store",
        "figure",
        "scale",
        "cells",
        "diverged",
        "trials",
        "seconds",
        "trials_per_second",
        "compilations",
        "picture",
        "verdicts",
    }
    assert (first.json["cells"], first.json["trials"], first.json["compilations"]) == (3, 36, 1)
    assert all(set(verdict) == VERDICT for verdict in first.json["verdicts"])
    store = Path(first.json["store"])
    assert store == Path("runs/toy2000-dice-smoke")
    assert Path(first.json["picture"]).read_bytes().startswith(b"\x89PNG")
    before = contents(store)
    for words in ((*RUN,), ("resume", store)):
        again = call(*words)
        assert (again.code, again.err) == (0, "")
        assert "all 36 trials had been computed before" in again.out
        assert f"limelight plot {store}" in again.out
        assert f"Figure: {store / 'dice.png'}" in again.out
        assert again.out.count("left open") == 1  # one line, not a list
        assert "Rule:" not in again.out
        assert "└" in again.out  # a small version of the figure
    assert contents(store) == before
    assert read_manifest(store)["command"].startswith("limelight run toy2000 dice")


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


def test_settings_and_seed_name_the_folder_and_reach_the_trials(call):
    words = ("run", toy.KEY, "dice", "--scale", "smoke", "--json", "--seed", "3")
    done = call(*words, "--set", "sides=4,64", "--set", "trials=2 bonus=100").json
    assert (done["cells"], done["trials"]) == (2, 4)
    store = Path(done["store"])
    assert re.fullmatch(r"toy2000-dice-smoke-seed3-[0-9a-f]{6}", store.name)
    table = read_table(store)
    assert list(table.values("sides")) == [4, 64]
    assert (table["mean"] > 100).all()
    manifest = read_manifest(store)
    assert (manifest["seed"], manifest["scale"]) == (3, "smoke")
    assert manifest["settings"] == {"sides": "4,64", "trials": "2", "bonus": "100"}
    assert "sides=4,64" in done["verdicts"][0]["source"]
    assert "had been computed before" in call("resume", store).out


def test_a_claim_is_decided_at_a_scale_that_decides(call):
    rows = call("run", toy.KEY, "dice", "--json").json["verdicts"]
    assert [row["verdict"] for row in rows] == ["holds", "inconclusive"]
    assert rows[0]["interval"][0] >= 0.3
    assert rows[1]["value"] is None
    page = call("run", toy.KEY, "dice").out
    assert "dice.half" in page
    assert "n/a" in page
    assert "nan" not in page


def test_notes_go_to_stderr_and_json_stays_json(call, copy):
    damaged = copy / "chunks" / "000-00002.parquet"
    damaged.write_bytes(damaged.read_bytes()[:200])
    done = call("resume", copy, "--json")
    assert done.json["trials"] == 36
    assert done.err.startswith("note: 000-00002.parquet is damaged")
    assert (copy / "chunks" / "000-00002.damaged0").exists()


def test_a_failing_chunk_is_said_at_once_and_the_rest_is_kept(call, monkeypatch):
    compute = Engine._compute

    def breaks(engine, chunk):
        if chunk.name.startswith("001"):
            raise ValueError("no such\nthing")
        return compute(engine, chunk)

    monkeypatch.setattr(Engine, "_compute", breaks)
    failed = call(*RUN, "--set", "throws=2,3", "--store", "s", "--json")
    assert (failed.code, failed.out) == (1, "")
    *notes, error = failed.err.splitlines()
    assert "note: chunk 001-00000 failed: ValueError: no such" in notes
    assert all(note.startswith("note: chunk 001-") for note in notes)
    assert error.startswith("error: ")
    assert "36 of 72 trials failed" in error
    assert len(list(Path("s/chunks").glob("*.parquet"))) == 3
    monkeypatch.setattr(Engine, "_compute", compute)
    assert call("resume", "s", "--json").json["trials"] == 72


def test_a_claim_that_cannot_be_estimated_is_marked_and_the_rest_is_shown(call):
    small = [word if word != "smoke" else "small" for word in RUN]
    done = call(*small, "--set", "kind=broken", "--store", "s")
    assert (done.code, done.err) == (0, "")
    assert "no summary: the dice are broken" in done.out
    assert "not estimated: the dice are broken" in done.out
    assert call("report", "s", "-o", "r.html").code == 0
    assert "could not be drawn: the dice are broken" in html.unescape(
        Path("r.html").read_text(encoding="utf-8")
    )


# --- pictures, pages, citations ---------------------------------------------------------------


def test_plot_and_report(call, copy):
    drawn = call("plot", copy, "-o", "fig.svg", "--json").json
    assert drawn == {"figure": "dice", "files": ["fig.svg", "fig-fair.svg"]}
    assert sorted(os.listdir()) == ["fig-fair.svg", "fig.svg"]
    assert Path("fig.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert call("plot", copy).out.startswith("Drawn: ")
    assert (copy / "dice.png").exists()
    page = call("report", copy, "-o", "page.html")
    assert (page.code, page.out) == (0, "Written: page.html\n")
    text = Path("page.html").read_text(encoding="utf-8")
    assert "dice.half" in text
    assert f"--store {copy}" in text


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A run that keeps its networks."""
    store = tmp_path_factory.mktemp("starts") / "run"
    load("li2023").figure("fig6-starts").run("smoke", store)
    return store


def test_networks_of_a_run_become_files_that_others_read(call, trained, tmp_path):
    """Written, read again, and started from by a figure."""
    store, folder = trained, tmp_path / "starts"
    made = call("run", "li2023", "fig6-starts", "--scale", "smoke", "--store", store)
    assert f"limelight weights {store}" in made.out
    files = call("weights", store, "-o", folder, "--json").json["files"]
    assert [Path(file).name for file in files] == ["wide.safetensors", "narrow.safetensors"]
    assert files[0] in call("weights", store, "-o", folder).out
    model = load_vit(files[0])
    kept = read_table(store)["trace.weights"][0]
    np.testing.assert_array_equal(to_vector(model), kept[: count(model)])
    plan = ("run", "li2023", "fig6c", "--scale", "smoke", "--dry-run")
    assert call(*plan, "--set", f"starts.folder={folder}").code == 0
    lost = call(*plan, "--set", f"starts.folder={tmp_path / 'nowhere'}")
    assert (lost.code, "limelight weights" in lost.err) == (2, True)


def test_networks_that_are_not_there(call, copy, trained, tmp_path):
    slip = call("weights", copy)
    assert (slip.code, "keeps no networks" in slip.err) == (2, True)
    publish(trained, tmp_path / "results")
    slip = call("weights", tmp_path / "results" / "li2023" / "fig6-starts")
    assert (slip.code, "published tables" in slip.err) == (2, True)
    (tmp_path / "file").write_text("")
    slip = call("weights", trained, "-o", tmp_path / "file")
    assert (slip.code, "is a file" in slip.err) == (2, True)


def test_an_unfinished_run_is_drawn_with_a_note_and_decides_nothing(call, copy):
    (copy / "chunks" / "000-00002.parquet").unlink()
    drawn = call("plot", copy, "-o", "a.png", "--json")
    assert drawn.json["files"] == ["a.png", "a-fair.png"]
    assert drawn.err == "note: the run is not finished: only 24 of 36 trials are there\n"
    part = section(copy)
    assert part.notes[0] == "Unfinished: only 24 of 36 trials are there."
    assert all("unfinished, 24 of 36 trials" in verdict.note for verdict in part.verdicts)


def test_cite(call, copy):
    found = call("cite", "li2023").out
    assert found.startswith("@inproceedings{li2023,")
    assert "@software{jax," in found
    entries = call("cite", "li2023", "--json").json
    assert [entry["key"] for entry in entries][:2] == ["li2023", "limelight"]
    shutil.rmtree(copy / "chunks")  # a run that has not finished anything yet
    assert call("cite", copy).out == found[found.index("@software{limelight") :]


# --- verify -----------------------------------------------------------------------------------


def test_verify_runs_every_figure_and_resumes(call):
    first = call("verify", toy.KEY, "--json")
    assert (first.code, first.err) == (0, "")
    assert [row["claim"] for row in first.json] == [claim.name for claim in toy.paper.claims]
    assert all(set(row) == VERDICT for row in first.json)
    assert {row["verdict"] for row in first.json} == {"inconclusive"}
    assert all("smoke scale decides nothing" in row["note"] for row in first.json)
    before = contents(Path("runs"))
    page = call("verify", toy.KEY)
    assert page.code == 0
    assert "toy2000  paper's             4    4" in page.out
    assert "nan" not in page.out
    assert contents(Path("runs")) == before
    # It shares its folders with `run`, other seeds included.
    assert "had been computed before" in call(*RUN[:5]).out
    call("verify", toy.KEY, "--seed", "2", "--json")
    assert "had been computed before" in call(*RUN[:5], "--seed", "2").out


def test_verify_marks_a_failed_run_and_goes_on(call, monkeypatch):
    compute = Engine._compute

    def breaks(engine, chunk):
        if "dice" in engine.plan.name:
            raise MemoryError("too much")
        return compute(engine, chunk)

    monkeypatch.setattr(Engine, "_compute", breaks)
    done = call("verify", toy.KEY, "--json")
    assert done.code == 1
    assert [row["n"] for row in done.json] == [0, 0, 10, 10]
    assert all("the run failed" in row["note"] for row in done.json[:2])
    assert [row["value"] for row in done.json[:2]] == [None, None]
    *notes, error = done.err.splitlines()
    assert notes[0].startswith("note: chunk 000-00000 failed: MemoryError")
    assert all(note.startswith("note: ") for note in notes)
    assert error.startswith("error: toy2000 dice: ")


def test_verify_can_be_stopped_and_goes_on(call, monkeypatch):
    compute = Engine._compute

    def interrupted(engine, chunk):
        if "pairs" in engine.plan.name:
            raise KeyboardInterrupt
        return compute(engine, chunk)

    monkeypatch.setattr(Engine, "_compute", interrupted)
    stopped = call("verify", toy.KEY, "--json")
    assert (stopped.code, stopped.out) == (130, "")
    assert stopped.err == (
        "stopped: at toy2000 pairs; what was computed is stored in runs\n"
        "hint: the same command goes on from here\n"
    )
    monkeypatch.setattr(Engine, "_compute", compute)
    assert call("verify", toy.KEY, "--json").code == 0


@pytest.mark.parametrize("where", ["limelight.papers.load", "limelight.papers.recipe.make_plan"])
def test_ctrl_c_before_the_work_begins(call, monkeypatch, where):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    stopped = call(*RUN)
    assert (stopped.code, stopped.out) == (130, "")
    assert [line.split(":")[0] for line in stopped.err.splitlines()] == ["stopped", "hint"]
    assert os.listdir() == []


def test_verify_decides_from_published_tables_alone(call, copy, monkeypatch):
    publish(copy, "results")
    monkeypatch.setattr(Engine, "_compute", None)
    done = call("verify", toy.KEY, "--results", "results", "--json")
    assert (done.code, done.err) == (0, "")
    assert [row["n"] for row in done.json] == [36, 36, 0, 0]
    assert all("no published table" in row["note"] for row in done.json[2:])
    assert "n/a" in call("verify", toy.KEY, "--results", "results", "--all").out
    one = call("verify", toy.KEY, "dice.half", "--results", "results")
    assert ("Rule: " in one.out, "dice.unfair" in one.out) == (True, False)
    assert call("verify", f"{toy.KEY}.dice.half", "--results", "results").out == one.out
    wrong = call("verify", toy.KEY, "dice.hal", "--results", "results")
    assert (wrong.code, "dice.half" in wrong.err) == (2, True)
    everything = call("verify", "--results", "results", "--json")
    assert everything.code == 0
    assert len(everything.json) == sum(len(load(key).claims) for key in (toy.KEY, *KEYS))


# --- bench ------------------------------------------------------------------------------------


def test_bench(call, monkeypatch):
    asked = {}

    def measure(**options):
        asked.update(options)
        return [
            Row("PyTorch loop", 2.0, "trials/s", "", None),
            Row("engine, grouped", 100.0, "trials/s", "PyTorch loop", 50.0),
            Row("memory, grouped", 3.0 * 2**20, "bytes/trial", "", None),
        ]

    monkeypatch.setattr("limelight.bench.measure", measure)
    rows = call("bench", "--trials", "2", "--loop", "1", "--json").json
    assert asked == {"trials": 2, "loop": 1}
    assert [set(row) for row in rows] == [{"name", "value", "unit", "baseline", "ratio"}] * 3
    assert rows[0]["ratio"] is None
    page = call("bench").out
    assert "50.0x" in page
    assert "3.0 MiB" in page


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
    assert first.split() == ["1a.first", "holds", "1.5", "0.25", "to", "2", "n", "=", "12"]
    second = next(line for line in lines if line.startswith("1a.second"))
    assert second.split() == ["1a.second.loose", "fails", "n/a", "n", "=", "0"]


def test_a_long_heading_is_wrapped_between_words(capsys):
    words = [f"world.setting{i}={i}," for i in range(12)]
    common.print_title(" ".join(words))
    lines = capsys.readouterr().out.splitlines()
    assert [word for line in lines for word in line.split()] == words
    assert 1 < len(lines) < 6


def test_json_never_holds_a_number_that_is_not_one(call, copy):
    rows = json.loads(call("resume", copy, "--json").out)["verdicts"]
    assert any(row["value"] is None for row in rows)
