"""Temporary files of processes that were killed, where only leases are used."""

import os
import signal
import subprocess
import sys
import time

import pytest

from limelight._core import processes
from limelight._core.files import clear_leftovers
from limelight._engine.claims import Claims
from limelight._engine.store import clear

#: Kills itself in the middle of a file: of a chunk, of a lease, of a page.
KILLED = """
import os, signal, sys
from pathlib import Path
from limelight._core import files
from limelight._engine import claims

run, how = Path(sys.argv[1]), sys.argv[2]
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if how == "lease":
    os.link = die
    with claims.Claims(run / "locks", leases=True).hold("000-00000"):
        pass
files.flush = die
if how == "page":
    files.write_whole(run / "page.html", b"half")
with files.atomic(run / "chunks" / "000-00000.parquet") as temporary:
    temporary.write_bytes(b"half")
"""


@pytest.fixture
def run(tmp_path):
    for name in ("chunks", "locks", "workers"):
        (tmp_path / name).mkdir()
    return tmp_path


def kill(run, how):
    """A process that is killed while it writes; what it left."""
    ended = subprocess.run([sys.executable, "-c", KILLED, run, how])
    assert ended.returncode == -signal.SIGKILL
    (left,) = run.rglob(".*.tmp")
    return left


@pytest.mark.parametrize("how", ["chunk", "lease"])
def test_what_a_killed_process_left_is_cleared_without_locks(run, how):
    kill(run, how)
    clear(run, Claims(run / "locks", leases=True))
    assert not list(run.rglob(".*.tmp"))


def test_a_page_that_is_written_again_leaves_nothing_of_the_first_time(run):
    kill(run, "page")
    from limelight._core.files import write_whole

    write_whole(run / "page.html", b"whole")
    assert [p.name for p in run.iterdir() if p.is_file()] == ["page.html"]


def test_files_of_the_living_stay(run):
    """Of a process that writes now, and of another machine unless it is from long ago."""
    mine = run / f"{processes.owned('a')}xyz.tmp"
    far = run / ".a.00000000-1.xyz.tmp"
    other = run / ".a.xyz.tmp"
    for path in (mine, far, other):
        path.touch()
    assert clear_leftovers(run, locks=False) == 0
    os.utime(far, (0, time.time() - 2 * processes.DAY))
    os.utime(mine, (0, 0))
    assert clear_leftovers(run, locks=False) == 1
    assert {mine, other} == set(run.glob(".*.tmp"))


def test_leases_of_a_machine_that_was_lost_long_ago_are_cleared(run):
    lease = run / "locks" / "000-00000.lease"
    lease.write_text('{"host": "elsewhere", "pid": 1}')
    claims = Claims(run / "locks", leases=True)
    claims.tidy()
    assert lease.exists()
    os.utime(lease, (0, time.time() - 2 * processes.DAY))
    claims.tidy()
    assert not lease.exists()
    with claims.hold("000-00000") as mine:  # one of this very process, whatever the clock says
        assert mine
        os.utime(lease, (0, 0))
        claims.tidy()
        assert lease.exists()


def test_a_name_as_long_as_a_system_allows_can_be_written(run):
    from limelight._core.files import write_whole

    write_whole(run / ("n" * 250 + ".html"), b"x")
    if sys.getfilesystemencoding() == "utf-8":
        write_whole(run / ("ü" * 120 + ".html"), b"x")
