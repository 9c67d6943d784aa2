"""The store: whole files, one study a folder, damage, full disks, many processes.

Kills at random moments are in `tests/torture`.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from limelight._core.errors import StoreError
from limelight._core.files import atomic, write_once
from limelight._engine.reading import read_facts, read_manifest, read_table
from limelight.table import Table
from tests.engine.test_engine import SMALL, Dice

AXES = {"sides": [float(s) for s in range(2, 14)]}

#: A study of 24 chunks, a little slowed so that a kill lands in its middle.
WORKER = """
import sys, time
from limelight._engine import run as engine
from tests.engine.test_engine import Dice
slow = float(sys.argv[2])
compute = engine.Engine._compute
def slowly(self, chunk):
    time.sleep(slow)
    return compute(self, chunk)
engine.Engine._compute = slowly
axes = {"sides": [float(s) for s in range(2, 14)]}
seen = []
see = lambda p: seen.append(p.computed)
table = Dice().sweep(axes, trials=10, width=5, store=sys.argv[1], progress=see)
print(len(table), seen[-1])
"""


def worker(store, slow=0.0, **options):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(store), str(slow)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def chunk_bytes(store: Path) -> dict[str, str]:
    files = sorted((store / "chunks").glob("*.parquet"))
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run."""
    store = tmp_path_factory.mktemp("whole")
    table = Dice().sweep(AXES, trials=10, width=5, store=store)
    return store, table


def test_two_processes_share_one_study(whole, tmp_path):
    store = tmp_path / "shared"
    first, second = worker(store, slow=0.05), worker(store, slow=0.05)
    outputs = [p.communicate(timeout=120) for p in (first, second)]
    assert [p.returncode for p in (first, second)] == [0, 0], outputs
    rows, computed = zip(*(map(int, out.split()) for out, _ in outputs), strict=True)
    assert rows == (120, 120)
    assert sum(computed) == 120  # no chunk was computed twice
    assert chunk_bytes(store) == chunk_bytes(whole[0])
    assert len(read_facts(store)) == 24


def test_finished_chunks_are_never_computed_again(tmp_path):
    Dice().sweep(AXES, trials=4, width=8, store=tmp_path)
    before = {f: f.stat().st_mtime_ns for f in (tmp_path / "chunks").iterdir()}
    seen = []
    Dice().sweep(AXES, trials=4, store=tmp_path, progress=lambda p: seen.append(p.computed))
    assert seen[-1] == 0
    assert {f: f.stat().st_mtime_ns for f in (tmp_path / "chunks").iterdir()} == before


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "foreign"])
def test_a_damaged_chunk_is_named_set_aside_and_computed_again(tmp_path, damage):
    table = Dice().sweep(AXES, trials=4, width=8, store=tmp_path)
    path = tmp_path / "chunks" / "000-00002.parquet"
    content = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "flipped":
        middle = content.index(b"PAR1") + 60
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :])
    else:
        Table({"cell": np.arange(8), "trial": np.arange(8)}).save(path)
    messages = []
    again = Dice().sweep(
        AXES, trials=4, store=tmp_path, progress=lambda p: messages.extend(p.messages)
    )
    assert any("000-00002.parquet is damaged" in message for message in messages)
    assert (tmp_path / "chunks" / "000-00002.damaged0").exists()
    assert path.read_bytes() == content
    np.testing.assert_array_equal(again["value"], table["value"])


def test_another_study_in_the_same_folder_is_refused_with_what_differs(tmp_path):
    Dice().sweep(AXES, trials=4, store=tmp_path)
    with pytest.raises(StoreError, match="holds another study") as error:
        Dice().sweep(AXES, trials=5, store=tmp_path)
    assert "trials: 4 there, 5 here" in error.value.message
    assert "another store" in error.value.hint


def test_the_first_of_two_studies_in_a_new_folder_stays(tmp_path):
    assert write_once(tmp_path / "a", b"first")
    assert not write_once(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_trained_study_killed_and_resumed_gives_the_same_bytes(tmp_path):
    axes = {"train.examples": [4, 9]}
    SMALL.sweep(axes, trials=6, width=4, store=tmp_path / "whole")
    part = tmp_path / "part"
    shutil.copytree(tmp_path / "whole", part)
    for name in ("000-00000", "000-00002"):  # as a kill between chunks leaves it
        (part / "chunks" / f"{name}.parquet").unlink()
    SMALL.sweep(axes, trials=6, store=part)
    assert chunk_bytes(part) == chunk_bytes(tmp_path / "whole")


def test_a_full_disk_loses_nothing(tmp_path):
    """A file-size limit stands in for a full disk: the write fails, what was written stays."""
    import resource

    table = Dice().sweep({"sides": [2.0, 3.0]}, trials=4, width=4, store=tmp_path)
    kept = chunk_bytes(tmp_path)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    other = tmp_path / "other"
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, limit[1]))
        with pytest.raises(StoreError, match="no room") as error:
            Dice().sweep({"sides": [2.0, 3.0]}, trials=4, width=4, store=other)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert error.value.code == 2
    assert "again" in error.value.hint
    assert not [f for f in other.rglob("*") if f.name.endswith(".tmp")]
    after = Dice().sweep({"sides": [2.0, 3.0]}, trials=4, width=4, store=other)
    np.testing.assert_array_equal(after["value"], table["value"])
    assert chunk_bytes(tmp_path) == kept


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        Dice().sweep({"sides": [2.0]}, trials=1, store=tmp_path / "file" / "run")


def test_no_run_folder_and_a_damaged_manifest_are_one_line(tmp_path):
    with pytest.raises(StoreError, match="no run folder"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match="not a manifest"):
        read_manifest(tmp_path)


def test_the_manifest_says_how_it_was_made(whole):
    manifest = read_manifest(whole[0])
    assert manifest["versions"]["jax"]
    assert manifest["device"]["platform"] == "cpu"
    assert manifest["configuration"]["width"] == 5
    assert manifest["configuration"]["experiment"]["is"].endswith("Dice")
    facts = read_facts(whole[0])
    assert len(facts) == 24
    assert all(fact["finished"] and fact["seconds"] >= 0 for fact in facts)
    assert sum(fact["compilations"] for fact in facts) == 1


def test_tables_reach_other_formats(whole, tmp_path):
    table = read_table(whole[0])
    frame = table.to_pandas()
    assert len(frame) == 120
    cube = table.to_xarray()
    assert cube["value"].shape == (12, 10)
    np.testing.assert_array_equal(cube["value"].values.ravel(), table["value"])
    assert cube["log"].shape == (12, 10, 2)
    table.save(tmp_path / "t.parquet")
    again = Table.load(tmp_path / "t.parquet")
    assert again.axes == table.axes
    assert again.manifest["hash"] == table.manifest["hash"]
    np.testing.assert_array_equal(again["log"], table["log"])
    assert set(table.to_numpy()) == set(table.columns)


def test_an_atomic_write_that_fails_leaves_no_trace(tmp_path):
    def write():
        with atomic(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_manifests_are_plain_json(whole):
    json.loads((whole[0] / "manifest.json").read_text())
    assert os.access(whole[0] / "manifest.json", os.R_OK)
