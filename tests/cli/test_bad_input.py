"""Whatever is wrong: one `error:` line, a `hint:` line, exit code 2, no traceback, nothing lost."""

import dataclasses
import json
import os

import numpy as np
import pytest

from limelight._core.errors import InputError, LimelightError
from limelight._engine.grid import assign
from limelight._engine.run import Engine
from limelight.papers import load
from limelight.papers.published import publish
from limelight.table import Table
from tests.cli import toy
from tests.cli.conftest import RUN, Outcome, contents

FIG4 = ("run", "li2023", "fig4", "--scale", "smoke")


def assert_refused(outcome: Outcome, *words: str) -> None:
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    first, *rest = outcome.err.splitlines()
    assert first.startswith("error: ")
    assert [line[:6] for line in rest] in ([], ["hint: "]), outcome.err
    for word in words:
        assert word in outcome.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "li2024"], ["li2023"]),
        (["show", "li2023", "fig9"], ["fig"]),
        (["show", "li2023", "fig1a", "--set", "a=1"], ["statement"]),
        (["show", "li2023", "theorem1", "--set", "relevnt=1"], ["relevant"]),
        (["show", "li2023", "theorem1", "--set", "relevant=many"], ["relevant", "not a number"]),
        (["show", "li2023", "theorem1", "--set", "relevant=none"], ["relevant", "none"]),
        (["show", "li2023", "theorem1", "--set", "examples=1.5"], ["whole number"]),
        (["show", "xu2022", "limit", "--set", "clusters=20000"], ["too large", "at most 1000"]),
        (["show", "toy2000", "lemma", "--set", "sides=5 sides=7"], ["sides", "occurs twice"]),
        (["show", "toy2000", "lemma", "--set", "sides=0"], ["lemma", "sides=6.0"]),
        (["run", "li2024", "fig1a"], ["li2023"]),
        (["run", "li2023", "fig1b"], ["fig1a"]),
        (["run", "li2023", "fig1a", "--scale", "tiny"], ["smoke, small, paper"]),
        (["verify", "li2024"], ["li2023"]),
        (["verify", "toy2000", "--scale", "tiny"], ["smoke, small, paper"]),
        (["verify", "toy2000", "--seed", "-1"], ["seed"]),
        (["verify", "toy2000", "--stall", "0"], ["--stall"]),
        (["verify", "--results", "nowhere"], ["nowhere"]),
        (["resume", "nowhere"], ["nowhere", "limelight run"]),
        (["plot", "nowhere"], ["nowhere"]),
        (["report", "nowhere"], ["nowhere"]),
        (["cite", "li2024"], ["li2023"]),
        (["bench", "--trials", "0"], ["--trials"]),
        (["bench", "--loop", "-1"], ["--loop"]),
    ],
)
def test_unknown_names_and_places(call, words, said):
    assert_refused(call(*words), *said)
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("world.relevnt=0.3", ["world.relevant"]),
        ("train.rate.x=3", ["train.rate.x"]),
        ("nothing=3", ["nothing"]),
        ("world=3", ["world", "world.tokens"]),
        ("measures=3", ["measures"]),
        ("train.steps=many", ["train.steps", "not a number"]),
        ("train.steps=1.5", ["train.steps", "whole number"]),
        ("train.steps=none", ["train.steps", "none"]),
        ("train.steps=7", ["train.every"]),
        ("train.steps=0", ["train.steps"]),
        ("train.every=0", ["train.every"]),
        ("train.rate=-1", ["train.rate"]),
        ("train.rate=nan", ["train.rate", "finite"]),
        ("train.rate=inf", ["train.rate", "finite"]),
        ("train.rate=1e39", ["train.rate", "large"]),
        ("train.rate=2,2", ["twice"]),
        ("train.examples=99999999999999999999", ["train.examples", "large"]),
        ("train.optimizer=sdg", ["sgd"]),
        ("model.groups=maybe", ["model.groups", "true or false"]),
        ("world.noise=loud", ["world.noise", "not a number"]),
        ("world.noise=-1", ["noise"]),
        ("model.key_dimension=word", ["model.key_dimension"]),
        ("model.start=none", ["model.start", "none"]),
        ("world.relevant=0.04", ["tied", "world.relevant"]),
        ("world.relevant=1.5", ["fit"]),
        ("world.tokens=50", ["together", "world.confusing"]),
        ("train.rate=", ["train.rate=", "no value"]),
        ("train.rate=,", ["no value"]),
        ("train.rate", ["PATH=VALUE"]),
        ("train.rate=1 train.rate=2", ["train.rate occurs twice"]),
        ("=3", ["PATH=VALUE"]),
        ("", ["PATH=VALUE"]),
        ("trials=0", ["trials"]),
        ("trials=-3", ["trials"]),
        ("trials=none", ["trials"]),
        ("trials=1,2", ["trials"]),
        ("trials=99999999999", ["trials"]),
    ],
)
def test_settings_that_make_no_sense(call, setting, said):
    assert_refused(call(*FIG4, "--set", setting), *said)
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--seed", "-1"),
        ("--seed", "4294967296"),
        ("--width", "0"),
        ("--width", "-4"),
        ("--stall", "0"),
        ("--stall", "-1"),
        ("--stall", "nan"),
    ],
)
def test_numbers_out_of_range(call, option, value):
    refused = call(*RUN, option, value)
    assert_refused(refused, option.strip("-"), value)
    assert os.listdir() == []


def test_an_axis_that_changes_the_length_of_a_trace(call):
    """It could not be one table; said before anything is computed."""
    sets = ("--set", "kind=traced", "--set", "throws=2,3")
    assert_refused(call(*RUN, *sets), "trace.throws", "throws")
    assert os.listdir() == []


def test_any_setting_is_taken_or_refused_but_never_a_traceback():
    """Every field of a study, with words that fit none of them."""

    def paths(part, before=""):
        for field in dataclasses.fields(part):
            yield before + field.name
            if dataclasses.is_dataclass(value := getattr(part, field.name)):
                yield from paths(value, f"{before}{field.name}.")

    figure = load("li2023").figure("fig4")
    refused = []
    for path in paths(figure.setup("smoke").experiment):
        for text in ("none", "word", "true", "-1", "0", "1e30", "9" * 30, "1,2", "a,b"):
            try:
                setup = figure.setup("smoke", {path: text})
                for value in setup.axes.get(path, ()):
                    assign(setup.experiment, {path: value}).check()
                setup.experiment.check()
            except LimelightError as error:
                refused.append(f"{error.message}{error.hint}")
    assert len(refused) > 100
    assert not [text for text in refused if "\n" in text]


# --- folders ----------------------------------------------------------------------------------


def test_a_folder_of_another_study_is_left_alone(call, copy):
    before = contents(copy)
    refused = call(*RUN, "--store", copy, "--seed", "1")
    assert_refused(refused, "another study", "seed: 0 there, 1 here", "--store")
    assert_refused(call(*RUN, "--set", "trials=5", "--store", copy), "trials: 12 there, 5 here")
    assert_refused(call(*RUN, "--width", "8", "--store", copy), "width: 12 there, 8 here")
    assert contents(copy) == before


def test_places_that_cannot_be_written(call, finished, tmp_path):
    (tmp_path / "file").write_text("mine")
    through = tmp_path / "file" / "run"
    assert_refused(call(*RUN, "--store", through), "file")
    assert_refused(call(*RUN, "--store", tmp_path / "file"), "file")
    assert_refused(call("verify", "toy2000", "--store", "/proc/limelight"), "/proc")
    for command, name in (("plot", "a.png"), ("report", "a.html")):
        assert_refused(call(command, finished, "-o", through / name), "file")
        assert_refused(call(command, finished, "-o", f"missing/{name}"), "missing")
    assert_refused(call("report", finished, "-o", "/proc/a.html"), "/proc")
    assert (tmp_path / "file").read_text() == "mine"
    assert os.listdir() == []


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "5", "null", '"word"', "{}", '{"hash": 1}', "\udcff", "folder"],
)
def test_a_damaged_manifest_is_named_and_the_chunks_are_kept(call, copy, damage):
    manifest = copy / "manifest.json"
    manifest.unlink()
    if damage == "folder":
        manifest.mkdir()
    else:
        manifest.write_bytes(damage.encode(errors="surrogateescape"))
    before = contents(copy)
    for words in (["resume"], ["plot"], ["report"], ["cite"], [*RUN, "--store"]):
        assert_refused(call(*words, copy), "manifest")
    assert contents(copy) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"configuration": 5}, "manifest"),
        ({"configuration": {"axes": []}}, "manifest"),
        ({"format": 99}, "format is 99"),
        ({"paper": None}, "manifest"),
        ({"paper": "li2024"}, "not li2024"),
        ({"figure": "fig9"}, "fig9"),
        ({"scale": "tiny"}, "smoke"),
        ({"seed": "zero"}, "two seeds"),
        ({"settings": None}, "settings"),
        ({"settings": {"sides": "-1"}}, "no such dice"),
        ({"seed": 5}, "two seeds"),
    ],
)
def test_a_manifest_that_was_changed_by_hand(call, copy, change, said):
    """Refused by its seal; without one, as in the first release, by what does not fit."""
    manifest = copy / "manifest.json"
    edited = json.loads(manifest.read_text()) | change
    without = {name: entry for name, entry in edited.items() if name not in ("seal", "chunks")}
    for document, what in ((edited, "manifest"), (without, said)):
        manifest.write_text(json.dumps(document))
        before = contents(copy)
        assert_refused(call("resume", copy), what)
        assert contents(copy) == before


def test_tables_that_are_missing_damaged_or_foreign(call, copy, tmp_path, monkeypatch):
    monkeypatch.setattr(Engine, "_compute", None)  # nothing here may compute
    chunk = copy / "chunks" / "000-00001.parquet"
    whole = chunk.read_bytes()
    for content in (b"", whole[:100], whole[:-50]):
        chunk.write_bytes(content)
        assert_refused(call("plot", copy), "limelight resume")
        assert_refused(call("report", copy), "limelight resume")
        assert chunk.read_bytes() == content
    Table({"cell": np.arange(12), "trial": np.arange(12)}).save(chunk)
    assert_refused(call("plot", copy), "another study")
    for file in copy.glob("chunks/*"):
        file.unlink()
    assert_refused(call("plot", copy), "no finished chunk", "limelight resume")
    (tmp_path / "table.parquet").write_bytes(b"no table")
    assert_refused(call("plot", tmp_path / "table.parquet"), "table.parquet")
    assert_refused(call("cite", tmp_path / "table.parquet"), "table.parquet")
    Table({"a": np.arange(3)}).save(tmp_path / "table.parquet")
    assert_refused(call("plot", tmp_path / "table.parquet"), "nothing to draw over")
    assert call("cite", tmp_path / "table.parquet").out.startswith("@software{limelight")
    assert call("report", tmp_path / "table.parquet", "-o", tmp_path / "a.html").code == 0
    (tmp_path / "empty").mkdir()
    for command in ("plot", "report", "cite", "resume"):
        assert_refused(call(command, tmp_path / "empty"), "no run folder")


def test_files_of_the_wrong_kind(call, finished):
    for name in ("a.jpg", "a", "a.png.txt"):
        assert_refused(call("plot", finished, "-o", name), ".png, .svg or .pdf")
    for name in ("a.png", "a"):
        assert_refused(call("report", finished, "-o", name), ".html")
    assert os.listdir() == []


def test_a_published_table_is_not_resumed(call, finished, tmp_path):
    place = publish(finished, tmp_path)
    before = contents(place)
    assert_refused(call("resume", place), "published", "limelight plot")
    assert contents(place) == before


def test_a_published_table_of_another_scale_is_not_replaced(call, finished, tmp_path):
    """A small run where the paper's stood would quietly change every verdict."""
    toy.paper.figure("dice").run("small", tmp_path / "small", width=40)
    place = publish(tmp_path / "small", "results")
    before = contents(place)
    assert_refused(call("publish", finished), "small scale", "smoke scale", "another folder")
    assert contents(place) == before
    assert call("publish", tmp_path / "small").code == 0


def test_an_error_of_several_lines_is_printed_as_one(call, monkeypatch):
    def broken(*_):
        raise InputError("one\ntwo", "three\n  four")

    monkeypatch.setattr("limelight.papers.load", broken)
    assert call("show", toy.KEY).err == "error: one two\nhint: three four\n"


def test_what_the_system_refuses_is_one_line(call, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied", "secret.json")

    monkeypatch.setattr("limelight._engine.reading.read_manifest", refused)
    monkeypatch.setattr("limelight.papers.published.read_manifest", refused)
    assert_refused(call("resume", "."), "secret.json", "Permission denied")
