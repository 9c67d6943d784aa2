"""The same on a real Ray: a local cluster, every fault, and the bytes of one process after it."""

import contextlib
import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from tests.cluster.scene import CHUNKS, PAPER, PATIENCE, TRIALS, Scene, chunk_bytes, finish, kill

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory):
    """A Ray of two cores, which the submitting processes come and go from."""
    if importlib.util.find_spec("ray") is None:
        why = "ray is not installed: WORKERS ON RAY ARE NOT TESTED"
        warnings.warn(why, stacklevel=1)
        pytest.skip(why)
    # Made for this cluster alone: who connects must know it, and Ray reads it when it is imported.
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    environment = os.environ | {
        # One test fills the memory: what counts as full is little above what is used now.
        "RAY_memory_usage_threshold": str(min(0.95, used() + 0.18)),
        "RAY_memory_monitor_refresh_ms": "200",
    }
    words = ["start", "--head", "--block", "--node-ip-address=127.0.0.1", "--port=26379"]
    words += ["--num-cpus=2", "--include-dashboard=false", "--object-store-memory=80000000"]
    ray = [str(Path(sys.executable).parent / "ray"), *words, "--disable-usage-stats"]
    with (tmp_path_factory.mktemp("ray") / "log").open("w") as log:
        head = subprocess.Popen(
            ray, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        wait_for_port(26379, head)
        yield
        head.terminate()  # with all that it started, and nobody else's
        try:
            head.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(head.pid, signal.SIGKILL)
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        os.environ.pop(name)


def wait_for_port(port: int, process: subprocess.Popen) -> None:
    """Wait until somebody listens."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.5)
    raise AssertionError("Ray did not start")


#: What a submitting process is told of it.
THERE = ("address=127.0.0.1:26379", "grace=5")


def used() -> float:
    """The share of the machine's memory that is in use."""
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    total, free = (int(lines[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    return 1 - free / total


def total() -> int:
    """Bytes of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_two_workers_then_one_killed(scene, reference):
    submitter = scene.start("ray", *THERE)
    who = scene.until_at_work()
    assert who["job"].startswith("actor-")
    kill(who)
    code, out, err = finish(submitter)
    assert code == 0, err
    assert "by 2 workers on ray" in out
    assert f"(job {who['job']}) ended with work left and is replaced" in err
    scene.assert_same(reference, died=1)


def test_the_driver_killed_and_started_again(scene, reference):
    scene.environment["DICE_SECONDS"] = "1.5"
    submitter = scene.start("ray", *THERE)
    scene.until_at_work()
    submitter.send_signal(signal.SIGKILL)
    finish(submitter)
    code, _, err = finish(scene.start("ray", *THERE))
    assert code == 0, err
    assert scene.logs().count("worker 0 of 2") == 2
    scene.assert_same(reference, died=2)


def test_an_actor_out_of_memory_is_replaced(scene: Scene, reference):
    """The first that throws eight sides takes a third of the memory: Ray ends its actor."""
    hog = scene.faults / "hog-8"
    hog.write_text(str(total() // 3))
    submitter = scene.start("ray", *THERE, workers=1)
    scene.until(lambda seen: len(seen.missing) <= 4, "the others")
    scene.until(lambda seen: "worker 0 of 1" in scene.logs().partition("000-00003")[2], "the end")
    hog.unlink()
    code, _, err = finish(submitter)
    assert code == 0, err
    assert "is replaced" in err
    scene.assert_same(reference, died=4)


#: A program of a user's: it cancels its workers, and later starts others that finish the run.
CANCELS = """
import sys, time
import limelight as ll
from limelight._workers.status import status

store, paper = sys.argv[1:]
place = {"on": "ray", "count": 2, "address": "127.0.0.1:26379", "grace": 5}
crew = ll.workers(store, paper=paper, **place)
while not (seen := status(store)).held or len(seen.missing) == seen.chunks:
    time.sleep(0.05)
print(seen.workers, next(iter(seen.held.values()))["pid"], flush=True)
crew.cancel()
print(crew.status().workers, flush=True)
input()
print(len(ll.workers(store, paper=paper, **place).wait()), flush=True)
"""


def test_all_leave_when_cancelled(scene, reference):
    """In a process of its own: Ray sends classes as they are, not as tests instrument them."""
    scene.lay_out()
    words = [sys.executable, "-c", CANCELS, str(scene.store), str(PAPER)]
    pipe = subprocess.PIPE
    user = scene.process = subprocess.Popen(
        words, env=scene.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    there, _, pid = user.stdout.readline().strip().rpartition(" ")
    assert there == "{'waiting': 2}", finish(user)  # only who started them knows more
    assert user.stdout.readline().strip() == "{'ended': 2}"
    wait_until_gone(int(pid))
    kept = chunk_bytes(scene.store)
    assert 0 < len(kept) < CHUNKS
    assert kept.items() <= reference.items()
    gave_up = scene.logs().count("is given up")
    out, err = user.communicate("\n", timeout=PATIENCE)
    assert out.strip() == str(TRIALS), err
    scene.assert_same(reference, died=gave_up)


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended."""
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists()


def test_options_that_ray_refuses_are_one_line(scene):
    code, _, err = finish(scene.start("ray", *THERE, "num_cpus=-3"))
    assert code == 2
    assert "error: Ray does not take the options" in err
    assert "Traceback" not in err


@pytest.mark.timeout(120)
def test_a_ray_that_is_not_there_is_one_line(scene):
    code, _, err = finish(scene.start("ray", "address=127.0.0.1:9"))
    assert code == 2
    assert "error: Ray cannot be reached" in err
    assert "Traceback" not in err
