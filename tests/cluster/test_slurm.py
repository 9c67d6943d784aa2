"""The same on a real SLURM: every fault, and the bytes of one process after it.

A cluster that `sbatch` reaches is used as it is, if it has two free nodes; its controller must let
this user requeue jobs and drain nodes. Without one these tests are skipped, loudly.
"""

import shutil
import signal
import subprocess
import time
import warnings

import pytest

from limelight._workers.status import status
from tests.cluster.scene import CHUNKS, TRIALS, chunk_bytes, finish, kill

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
#: Options of every job: a limit that is far away.
QUICK = ("time=10", "grace=5")


def said(*words: str) -> str:
    """What a command of SLURM prints."""
    return subprocess.run(words, capture_output=True, text=True, timeout=60).stdout.strip()


@pytest.fixture(scope="module", autouse=True)
def cluster():
    pytest.importorskip(
        "submitit", reason="submitit is not installed: pip install limelight[slurm]"
    )
    idle = said("sinfo", "-h", "-t", "idle", "-o", "%D") if shutil.which("sbatch") else ""
    if sum(map(int, idle.split())) < 2:
        why = "no SLURM with two idle nodes here: WORKERS ON SLURM ARE NOT TESTED"
        warnings.warn(why, stacklevel=1)
        pytest.skip(why)
    yield
    for node in ("n1", "n2"):
        said("scontrol", "update", f"nodename={node}", "state=resume")


@pytest.fixture(autouse=True)
def nobody_else():
    """Every test begins with free nodes and leaves none of its jobs behind."""
    yield
    said("scancel", "--me", "--name", "limelight")
    deadline = time.monotonic() + 60
    while said("squeue", "-h", "--me") and time.monotonic() < deadline:
        time.sleep(0.5)


def test_two_workers_as_one_array(scene, reference):
    code, out, err = finish(scene.start("slurm", *QUICK))
    assert code == 0, err
    assert "Jobs" in out
    assert "by 2 workers on slurm" in out
    assert "worker 0 of 2" in scene.logs()
    assert "worker 1 of 2" in scene.logs()
    scene.assert_same(reference)


def test_a_worker_killed_is_replaced(scene, reference):
    scene.environment["DICE_SECONDS"] = "1.5"  # so that work is left when its end is noticed
    submitter = scene.start("slurm", *QUICK)
    who = scene.until_at_work()
    kill(who)
    code, _, err = finish(submitter)
    assert code == 0, err
    assert f"worker {who['worker']} (job {who['job']}) ended with work left and is replaced" in err
    scene.assert_same(reference, died=1)


def test_a_worker_preempted_is_queued_again_and_comes_back(scene, reference):
    scene.environment["DICE_SECONDS"] = "1.5"
    submitter = scene.start("slurm", *QUICK)
    who = scene.until_at_work()
    said("scontrol", "requeue", who["job"])  # what a preemption does: SIGTERM, then the queue
    code, _, err = finish(submitter)
    assert code == 0, err
    assert "asked to leave" in scene.logs()
    scene.assert_same(reference, died=1)


def test_a_node_that_fails_takes_its_worker_and_nothing_else(scene, reference):
    scene.environment["DICE_SECONDS"] = "1"
    submitter = scene.start("slurm", *QUICK)
    who = scene.until_at_work()
    node = said("squeue", "-h", "-j", who["job"], "-o", "%N")
    said("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
    said("scontrol", "requeue", who["job"])  # it cannot start again there
    code, _, err = finish(submitter)
    said("scontrol", "update", f"nodename={node}", "state=resume")
    assert code == 0, err
    scene.assert_same(reference, died=1)


def test_a_time_limit_queues_the_worker_again(scene, reference):
    """Two minutes are too little: both are warned, leave and come back by themselves.

    SLURM counts limits in minutes, and lets a job wait for two before it starts again.
    """
    scene.environment["DICE_SECONDS"] = "16"
    submitter = scene.start("slurm", "time=4", "signal_delay_s=120", "grace=1")
    code, _, err = finish(submitter)
    assert code == 0, err
    assert scene.logs().count("worker 0 of 2") > 1
    assert "is replaced" not in err  # the job queued itself again
    scene.assert_same(reference, died=scene.logs().count("asked to leave"))


def test_the_submitting_process_killed_and_started_again_finds_its_workers(scene, reference):
    scene.environment["DICE_SECONDS"] = "1.5"
    submitter = scene.start("slurm", *QUICK)
    scene.until_at_work()
    submitter.send_signal(signal.SIGKILL)
    finish(submitter)
    code, _, err = finish(scene.start("slurm", *QUICK))
    assert code == 0, err
    assert scene.logs().count("worker 0 of 2") == 1
    assert scene.logs().count("worker 1 of 2") == 1
    scene.assert_same(reference)


def test_a_failing_measure_is_one_line_and_the_rest_is_there(scene, reference):
    (scene.faults / "fail-8").touch()
    code, out, err = finish(scene.start("slurm", *QUICK))
    assert code == 1
    (error,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert "2 of 8 chunks are missing (000-00004, 000-00005)" in error
    assert "no die has 8 sides" in error
    assert "Traceback" not in err
    (scene.faults / "fail-8").unlink()
    assert finish(scene.start("slurm", *QUICK))[0] == 0
    scene.assert_same(reference, died=4)


def test_workers_that_wait_are_seen_and_all_leave_when_cancelled(scene, reference, monkeypatch):
    """Three workers on two nodes: one waits for room."""
    for name, text in scene.environment.items():
        monkeypatch.setenv(name, text)
    crew = scene.crew("slurm", 3, time=10, grace=5)
    scene.until_at_work()
    assert status(scene.store).workers == {"running": 2, "waiting": 1}
    crew.cancel()
    deadline = time.monotonic() + 60
    while status(scene.store).workers and time.monotonic() < deadline:  # they complete
        time.sleep(0.5)
    assert status(scene.store).workers == {}
    assert crew.status().workers == {"ended": 3}
    kept = chunk_bytes(scene.store)
    assert 0 < len(kept) < CHUNKS
    assert kept.items() <= reference.items()
    gave_up = scene.logs().count("is given up")
    assert len(scene.crew("slurm", 2, time=10, grace=5).wait()) == TRIALS
    scene.assert_same(reference, died=gave_up)


def test_what_sbatch_refuses_is_one_line(scene):
    code, _, err = finish(scene.start("slurm", "partition=nowhere"))
    assert code == 2
    (error,) = [line for line in err.splitlines() if "error: " in line]
    assert error.startswith("error: SLURM does not take the jobs: invalid partition")
    assert len(list(scene.store.glob("chunks/*"))) == 0
