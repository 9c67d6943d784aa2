"""Run folders as accidents and enemies leave them: edited, flipped, littered, half removed."""

import copy
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from limelight._core.errors import InputError, RunError, StoreError
from limelight._core.files import atomic, clear_leftovers, read_regular, still_named
from limelight._core.manifests import digest, sealed
from limelight._core.sealed import read_sealed, sealed_bytes
from limelight._engine.reading import open_table, read_facts, read_manifest, read_table, stored_rows
from limelight._engine.store import Store
from limelight.table import Table
from tests.engine.test_engine import Dice

AXES = {"sides": [2.0, 3.0, 4.0]}


def sweep(store, **options):
    return Dice().sweep(AXES, trials=8, width=4, store=store, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed run of six chunks."""
    store = tmp_path_factory.mktemp("undisturbed")
    sweep(store)
    return store


@pytest.fixture
def store(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def chunk_bytes(store):
    return {f.name: f.read_bytes() for f in (store / "chunks").glob("*.parquet")}


# --- manifests ----------------------------------------------------------------------------------


def changed(path, value):
    """A change of one entry; its hash and seal are made right again, as an enemy would."""

    def change(manifest):
        *parents, last = path.split(".")
        at = manifest
        for name in parents:
            at = at[name]
        at[last] = value
        manifest["hash"] = digest(manifest["configuration"])
        manifest.pop("seal")
        manifest |= sealed(manifest)

    return change


def edited(path, value):
    """The same by hand, hash and seal as they were."""

    def change(manifest):
        *parents, last = path.split(".")
        at = manifest
        for name in parents:
            at = at[name]
        at[last] = value

    return change


WRONG = {
    "axes of numbers": changed("configuration.axes", [1]),
    "axes of pairs": changed("configuration.axes", [[1, 2]]),
    "no axis values": changed("configuration.axes", [[["sides"], []]]),
    "values that are mappings": changed("configuration.axes", [[["sides"], [{"a": 1}]]]),
    "an axis twice": changed("configuration.axes", [[["sides"], [1]], [["sides"], [2]]]),
    "points of another length": changed("configuration.axes", [[["sides", "b"], [[1.0]]]]),
    "trials as text": changed("configuration.trials", "8"),
    "trials true": changed("configuration.trials", True),
    "no trials": changed("configuration.trials", 0),
    "width none": changed("configuration.width", None),
    "a seed of 33 bits": changed("configuration.seed", 2**32),
    "too many trials": changed("configuration.trials", 10**18),
    "shared not axes": changed("configuration.shared", ["no"]),
    "an experiment of text": changed("configuration.experiment", "Dice"),
    "a configuration of text": edited("configuration", "all"),
    "settings not text": changed("settings", {"a": 1}),
    "a scale that is no text": changed("scale", 3),
    "chunks of text": changed("chunks", ["1"]),
    "seconds of text": changed("seconds", "x"),
    "seconds that are no number": changed("seconds", float("nan")),
    "compilations below zero": changed("compilations", -1),
    "a list of compile seconds": changed("compile_seconds", [1]),
    "another figure": changed("paper", "li2023"),
    "another format": changed("format", 3),
    "a format of true": changed("format", True),
    "axes gone, by hand": edited("configuration.axes", []),
    "an axis renamed, by hand": edited("configuration.axes", [[["side"], [2.0, 3.0, 4.0]]]),
    "more trials, by hand": edited("configuration.trials", 4),
    "its seal taken away": lambda manifest: manifest.pop("seal"),
    "another command, by hand": edited("command", "rm"),
    "a scale, by hand": edited("scale", "paper"),
    "another hash": edited("hash", "0" * 64),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_manifest_of_another_shape_or_hash_is_refused_in_one_line(store, name):
    file = store / "manifest.json"
    manifest = json.loads(file.read_text())
    WRONG[name](manifest)
    file.write_text(json.dumps(manifest))
    for read in (read_manifest, open_table, sweep):
        with pytest.raises(StoreError, match="manifest") as error:
            read(store)
        assert "\n" not in error.value.message
    assert stored_rows(store) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"format": 2, "format": 2}',
        "[" * 100_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        '{"format": ' + "9" * 5_000 + "}",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_a_manifest_that_is_no_json_of_ours_is_refused_in_one_line(store, text):
    (store / "manifest.json").write_text(text)
    with pytest.raises(StoreError, match="manifest"):
        read_manifest(store)


def test_nesting_under_the_hash_of_an_enemy_is_refused(store):
    manifest = json.loads((store / "manifest.json").read_text())
    deep: dict = {}
    for _ in range(200):
        deep = {"is": deep}
    changed("configuration.experiment", deep)(manifest)
    (store / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="deep"):
        read_manifest(store)


def test_the_smallest_study_has_a_manifest_like_any_other(tmp_path):
    Dice().sweep({"sides": [2.0]}, trials=1, width=1, store=tmp_path)
    known = read_manifest(tmp_path)["configuration"]
    assert (known["trials"], known["width"], known["seed"]) == (1, 1, 0)
    assert len(read_table(tmp_path)) == 1


def test_the_order_of_entries_does_not_matter(store):
    manifest = json.loads((store / "manifest.json").read_text())
    (store / "manifest.json").write_text(json.dumps(manifest, sort_keys=True))
    assert read_manifest(store) == manifest


# --- what lies beside the chunks ---------------------------------------------------------------

STRAYS = (
    "._000-00001.parquet",
    "000-00001 (1).parquet",
    "000-00001 copy.parquet",
    "copy.parquet",
    "0000-00001.parquet",
    "000-00099.parquet",
    "001-00000.parquet",
    "000-000001.parquet",
    "000-00001.parquet~",
)


@pytest.mark.parametrize("seconds", ["NaN", "1e400", "-1", '"1"', "[]"])
def test_facts_that_are_no_numbers_are_left_out(store, seconds):
    """They would be published: a manifest with NaN in it, which is no JSON."""
    file = store / "chunks" / "000-00001.json"
    facts = json.loads(file.read_text())
    facts["seconds"] = "HERE"
    file.write_text(json.dumps(facts).replace('"HERE"', seconds))
    assert len(read_facts(store)) == 5


def test_files_that_were_not_planned_are_not_read(store):
    good = (store / "chunks" / "000-00001.parquet").read_bytes()
    for number, name in enumerate(STRAYS):
        (store / "chunks" / name).write_bytes(good if number else b"\0\5\26\7")
    (store / "chunks" / "000-00002.parquet").unlink()
    assert len(read_table(store)) == stored_rows(store) == 20
    assert len(read_facts(store)) == 5
    assert len(sweep(store)) == 24
    assert len(read_table(store)) == stored_rows(store) == 24
    assert set(STRAYS) < {p.name for p in (store / "chunks").iterdir()}  # nobody's to remove


def test_a_copy_under_a_planned_name_is_found_and_computed_again(store, whole):
    chunks = store / "chunks"
    shutil.copy(chunks / "000-00001.parquet", chunks / "000-00002.parquet")
    with pytest.raises(StoreError, match="stored twice"):
        read_table(store)
    sweep(store)
    assert chunk_bytes(store) == chunk_bytes(whole)


def test_a_pipe_in_place_of_a_file_does_not_hang(store, whole):
    file = store / "chunks" / "000-00003.parquet"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(StoreError, match="plain file"):
        read_table(store)
    sweep(store)
    assert chunk_bytes(store) == chunk_bytes(whole)
    (store / "manifest.json").unlink()
    os.mkfifo(store / "manifest.json")
    with pytest.raises(StoreError, match="plain file"):
        read_manifest(store)
    with pytest.raises(OSError, match="larger than 10"):
        read_regular(whole / "manifest.json", 10)


# --- flipped bits -------------------------------------------------------------------------------


def test_a_flipped_bit_anywhere_in_a_chunk_is_found(whole, tmp_path):
    manifest = read_manifest(whole)
    known = {"cell": np.array([0] * 4, np.int32), "trial": np.arange(4, dtype=np.int32)}
    keep = Store(tmp_path, manifest)
    content = (whole / "chunks" / "000-00000.parquet").read_bytes()
    keep.file("a").write_bytes(content)
    assert keep.finished("a", known)
    for place in range(0, len(content), 3):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        keep.file("a").write_bytes(flipped)
        assert not keep.finished("a", known), place


def test_a_seal_is_the_same_for_the_same_table_and_survives_reading(tmp_path):
    table = Table({"cell": np.arange(3), "y": np.array([0.5, np.nan, 2.0])}).to_arrow()
    content = sealed_bytes(table)
    assert content == sealed_bytes(copy.copy(table))
    (tmp_path / "a.parquet").write_bytes(content)
    assert read_sealed(tmp_path / "a.parquet")["cell"].to_pylist() == [0, 1, 2]
    with pytest.raises(ValueError, match="3 rows instead of 2"):
        read_sealed(tmp_path / "a.parquet", most_rows=2)


def test_a_saved_table_that_was_edited_is_refused(whole, tmp_path):
    table = read_table(whole)
    table.save(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    at = content.rindex(b'"scale"') if b'"scale"' in content else content.rindex(b"created")
    (tmp_path / "t.parquet").write_bytes(content[: at + 2] + b"X" + content[at + 3 :])
    with pytest.raises(InputError, match="not those that were written"):
        Table.load(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    "meta", [b"[]", b"{", b'{"axes": 3}', b'{"axes": ["no"]}', b'{"manifest": 3}', b"[" * 9999]
)
def test_a_table_that_says_nonsense_of_itself_is_refused(tmp_path, meta):
    import pyarrow.parquet as pq

    arrow = Table({"y": np.arange(3)}).to_arrow().replace_schema_metadata({b"limelight": meta})
    pq.write_table(arrow, tmp_path / "t.parquet")
    with pytest.raises(InputError, match="cannot read the table"):
        Table.load(tmp_path / "t.parquet")


# --- while a run goes on ------------------------------------------------------------------------


def remove(file):
    file.unlink()


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 16
    file.write_bytes(content)


@pytest.mark.parametrize("harm", [remove, flip])
def test_a_chunk_lost_while_the_run_goes_on_is_computed_again(whole, tmp_path, harm):
    harmed, messages = [], []

    def watch(progress):
        messages.extend(progress.messages)
        if progress.computed == 16 and not harmed:
            harmed.append(harm(tmp_path / "run" / "chunks" / "000-00001.parquet"))

    table = sweep(tmp_path / "run", progress=watch)
    assert harmed
    assert len(table) == 24
    assert chunk_bytes(tmp_path / "run") == chunk_bytes(whole)
    assert any("computed again: 000-00001" in message for message in messages)


def test_a_chunk_that_is_lost_every_time_ends_the_run_in_one_line(tmp_path):
    def watch(progress):
        if progress.done == progress.total:
            (tmp_path / "run" / "chunks" / "000-00001.parquet").unlink(missing_ok=True)

    with pytest.raises(RunError, match="again and again"):
        sweep(tmp_path / "run", progress=watch)


@pytest.mark.parametrize("folder", ["chunks", "locks"])
def test_a_folder_removed_while_the_run_goes_on_is_made_again(whole, tmp_path, folder):
    removed = []

    def watch(progress):
        if progress.computed == 12 and not removed:
            # Another chunk may be written there at the same time.
            removed.append(shutil.rmtree(tmp_path / "run" / folder, ignore_errors=True))

    sweep(tmp_path / "run", progress=watch)
    assert removed
    assert chunk_bytes(tmp_path / "run") == chunk_bytes(whole)


def test_the_whole_folder_removed_while_the_run_goes_on_is_one_line(tmp_path):
    def watch(progress):
        while progress.computed >= 12 and (tmp_path / "run").exists():
            shutil.rmtree(tmp_path / "run", ignore_errors=True)

    with pytest.raises(StoreError, match="removed while the run went on|there is no folder"):
        sweep(tmp_path / "run", progress=watch)


# --- what killed processes leave ----------------------------------------------------------------

HOLDER = """
import sys, time
from pathlib import Path
from limelight._core.files import atomic
with atomic(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_leftovers_of_the_dead_go_and_files_of_the_living_stay(tmp_path):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tmp_path / name)], stdout=subprocess.PIPE
        )
        for name in ("dead.json", "alive.json")
    ]
    for process in started:
        process.stdout.readline()
    dead, alive = started
    dead.kill()
    dead.communicate()
    try:
        assert len(list(tmp_path.glob(".*.tmp"))) == 2
        assert clear_leftovers(tmp_path) == 1
        assert [p.name.startswith(".alive.json") for p in tmp_path.glob(".*.tmp")] == [True]
        with atomic(tmp_path / "mine.json") as temporary:
            assert clear_leftovers(tmp_path) == 0
            temporary.write_text("whole")
        assert (tmp_path / "mine.json").read_text() == "whole"
    finally:
        alive.kill()
        alive.communicate()
    assert clear_leftovers(tmp_path) == 1


def test_an_open_file_knows_whether_its_name_still_means_it(tmp_path):
    file = tmp_path / "a"
    with file.open("w") as handle:
        assert still_named(handle.fileno(), file)
        file.unlink()
        assert not still_named(handle.fileno(), file)
        file.touch()
        assert not still_named(handle.fileno(), file)


def test_a_run_leaves_no_locks_and_clears_those_of_the_dead(store):
    assert not list((store / "locks").iterdir())
    (store / "locks" / "000-00001").touch()
    (store / "chunks" / ".000-00001.parquet.abc.tmp").write_text("half")
    manifest = read_manifest(store)
    keep, other = Store(store, manifest), Store(store, manifest)
    assert not list((store / "locks").iterdir())
    assert not list(store.rglob(".*.tmp"))
    with keep.claim("000-00002") as mine:
        assert mine
        with other.claim("000-00002") as theirs:
            assert not theirs
        Store(store, manifest)
        assert [p.name for p in (store / "locks").iterdir()] == ["000-00002"]
    assert not list((store / "locks").iterdir())


# --- coordinates --------------------------------------------------------------------------------


def test_coordinates_of_cells_are_those_of_the_grid_and_no_others_exist():
    from limelight._engine.grid import Grid
    from limelight._engine.reading import coordinates

    axes = {"a": [1, 2, 3], ("b", "c"): [(0.5, "x"), (0.25, "y")], "d": [None, 2.0]}
    listed = [[["a"], [1, 2, 3]], [["b", "c"], [[0.5, "x"], [0.25, "y"]]], [["d"], [None, 2.0]]]
    cells = np.arange(12, dtype=np.int32)
    found, expected = coordinates(listed, cells), Grid(axes).columns
    assert set(found) == set(expected)
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column)
    for cell in (-1, 12, 1000):
        with pytest.raises(ValueError, match="not planned"):
            coordinates(listed, np.array([0, cell], np.int32))


@pytest.mark.parametrize("harm", ["trial", "cell", "coordinate", "type", "another study"])
def test_a_sealed_chunk_that_is_not_of_this_study_is_refused(store, harm):
    """As an enemy would: whole, sealed, and wrong."""
    file = store / "chunks" / "000-00001.parquet"
    table = read_sealed(file)
    columns = {name: table[name].to_numpy() for name in ("cell", "trial", "sides", "value")}
    columns = {name: column.copy() for name, column in columns.items()}
    if harm == "trial":
        columns["trial"][0] = 8
    elif harm == "cell":
        columns["cell"][0] = 3
    elif harm == "coordinate":
        columns["sides"][0] += 1
    elif harm == "type":
        columns["cell"] = columns["cell"].astype(np.int64)
    study = {
        b"limelight.study": b"0" * 64
        if harm == "another study"
        else table.schema.metadata[b"limelight.study"]
    }
    file.write_bytes(sealed_bytes(Table(columns).to_arrow().replace_schema_metadata(study)))
    with pytest.raises(StoreError, match=r"000-00001.parquet"):
        read_table(store)
