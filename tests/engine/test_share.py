"""One worker among many: where it begins, how it leaves, and claims without locks."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from limelight._core import files
from limelight._engine import claims
from limelight._engine.claims import Claims
from limelight._engine.device import describe_machine
from limelight._engine.run import Engine, lay_out
from limelight._workers import share
from limelight._workers.share import Bell, Released, Share
from limelight._workers.status import status
from tests.torture.study import AXES, CHUNKS, TRIALS, WIDTH, Walk, chunk_bytes


@pytest.fixture(scope="module")
def plan():
    return Walk().plan(AXES, trials=TRIALS, width=WIDTH)


@pytest.fixture(scope="module")
def alone(plan, tmp_path_factory):
    store = tmp_path_factory.mktemp("alone")
    Walk().sweep(AXES, trials=TRIALS, width=WIDTH, store=store)
    return chunk_bytes(store)


def make(plan, store, *given, **more) -> Share:
    opened = lay_out(plan, store)
    return Share(
        Engine(plan, opened, lambda _: None, 60.0, describe_machine()), opened, *given, **more
    )


@pytest.fixture
def no_locks(monkeypatch):
    """A file system that knows no locks."""

    def flock(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(files.fcntl, "flock", flock)


#: Another process that holds a lock.
HOLDS = """
import fcntl, json, os, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
json.dump({"host": "here", "pid": os.getpid()}, file)
file.flush()
time.sleep(60)
"""


def test_a_worker_begins_at_its_own_place_and_goes_round(plan, alone, tmp_path):
    order = []
    say = lambda line: order.append(line.partition(":")[0])
    assert make(plan, tmp_path, 1, 4, say=say).work() == CHUNKS
    names = [chunk.name for chunk in plan.chunks]
    assert order == names[10:] + names[:10]
    assert chunk_bytes(tmp_path) == alone


def test_without_locks_two_workers_compute_nothing_twice(plan, alone, tmp_path, no_locks):
    """Two threads stand for two processes; `tests/cluster` has the processes."""
    workers = [make(plan, tmp_path, number, 2) for number in range(2)]
    threads = [threading.Thread(target=worker.work) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(worker.store.claims.leases for worker in workers)
    assert all(worker.computed for worker in workers)
    assert sum(worker.computed for worker in workers) == CHUNKS
    assert chunk_bytes(tmp_path) == alone
    assert not list((tmp_path / "locks").iterdir())


def test_a_lease_is_taken_by_one_of_many(tmp_path):
    """Sixteen threads with claims of their own stand for sixteen machines."""
    taken, gate = [], threading.Barrier(16)

    def try_it():
        mine = Claims(tmp_path, leases=True)
        for round in range(20):
            gate.wait()
            with mine.hold(f"chunk-{round}") as got:
                if got:
                    taken.append(round)
                gate.wait()

    threads = [threading.Thread(target=try_it) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(20))


def test_the_lease_of_a_dead_process_is_taken_over_at_once(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = claims.holder() | {"pid": dead.pid}
    (tmp_path / "a.lease").write_text(json.dumps(left))
    other = Claims(tmp_path, leases=True)
    assert other.held() == {}
    with other.hold("a") as mine:
        assert mine
        assert other.held()["a"]["pid"] == os.getpid()
    assert not list(tmp_path.iterdir())


def test_the_lease_of_another_machine_lives_as_long_as_its_heart(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "BEAT", 0.05)
    monkeypatch.setattr(claims, "LEASE", 0.4)
    there, here = Claims(tmp_path, leases=True), Claims(tmp_path, leases=True)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(claims.socket, "gethostname", lambda: "elsewhere")
        held = there.hold("a")
        assert held.__enter__()
    deadline = time.monotonic() + 1.2  # three leases long
    while time.monotonic() < deadline:
        with here.hold("a") as mine:
            assert not mine
        time.sleep(0.05)
    there.mine.clear()  # its machine has failed: nobody touches the lease any more
    began = time.monotonic()
    while True:
        with here.hold("a") as mine:
            if mine:
                break
        assert time.monotonic() < began + 10
        time.sleep(0.05)
    assert time.monotonic() - began > 0.3
    assert not list(tmp_path.glob("[!.]*"))


def test_a_lease_that_was_taken_over_is_not_released_by_its_first_holder(tmp_path):
    first = Claims(tmp_path, leases=True)
    with first.hold("a"):
        path = tmp_path / "a.lease"
        path.write_text(json.dumps({"host": "elsewhere", "pid": 1}))
    assert path.exists()


def test_asked_to_leave_a_worker_finishes_its_chunk_if_there_is_time(plan, tmp_path):
    bell = Bell(grace=30.0)
    worker = make(plan, tmp_path, bell=bell)
    attempt = worker.engine.attempt
    worker.engine.attempt = lambda chunk: (bell.ring(), attempt(chunk))[1]
    assert worker.work() == 1
    assert len(status(tmp_path).missing) == CHUNKS - 1
    assert not list((tmp_path / "locks").iterdir())


def test_asked_to_leave_a_worker_gives_up_a_chunk_that_takes_too_long(plan, tmp_path):
    worker = make(plan, tmp_path, bell=Bell(grace=0.1))
    before = signal.signal(signal.SIGTERM, worker.bell.ring)
    worker.engine._compute = lambda chunk: time.sleep(60)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    began = time.monotonic()
    try:
        with pytest.raises(Released):
            worker.work()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert time.monotonic() - began < 10
    assert len(status(tmp_path).missing) == CHUNKS
    assert not list((tmp_path / "locks").iterdir())


def test_a_worker_does_not_wait_for_ever_for_what_others_hold(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(share, "LINGER", 0.3)
    monkeypatch.setattr(share, "POLL", 0.05)
    worker = make(plan, tmp_path, 0, 2)
    lock = tmp_path / "locks" / "001-00019"
    other = subprocess.Popen([sys.executable, "-c", HOLDS, str(lock)])
    while not lock.exists() or not lock.read_text():
        time.sleep(0.02)
    assert worker.work() == CHUNKS - 1
    seen = status(tmp_path)
    assert seen.missing == tuple(seen.held) == ("001-00019",)
    assert seen.held["001-00019"]["pid"] == other.pid
    other.kill()
    other.wait()
    assert status(tmp_path).held == {}
    assert make(plan, tmp_path, 1, 2).work() == 1


def test_a_program_is_compiled_by_one_worker_and_found_by_the_others(plan, tmp_path, monkeypatch):
    """Two workers that need one program at one time: the second waits, then finds it."""
    programs, events = tmp_path / "programs", []
    programs.mkdir()
    workers = [make(plan, tmp_path / "run", n, 2, programs=programs) for n in range(2)]

    def compile_it(worker):
        with worker._turn(0):
            events.append("in")
            time.sleep(0.2)
            events.append("out")

    threads = [threading.Thread(target=compile_it, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events == ["in", "out"] * 2
    assert (programs / "group-000").exists()
    with workers[0]._turn(0), workers[1]._turn(0):  # known to be there: nobody waits
        pass


def test_status_serves_any_run_folder(plan, tmp_path):
    worker = make(plan, tmp_path)
    seen = status(tmp_path)
    assert (seen.chunks, len(seen.missing), seen.done, seen.trials) == (CHUNKS, CHUNKS, 0, 400)
    worker.engine.attempt(plan.chunks[0])
    worker.engine.attempt(plan.chunks[-1])
    seen = status(tmp_path)
    assert (len(seen.missing), seen.done) == (CHUNKS - 2, 2 * WIDTH)
    assert seen.pace > 0
    assert seen.seconds_left != seen.seconds_left  # nobody works on it


def _flipped(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


#: What may become of the file of a finished chunk.
DAMAGED = {
    "a flipped bit": _flipped,
    "nothing in it": lambda file: file.write_bytes(b""),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "a link to nothing": lambda file: (file.unlink(), file.symlink_to("nowhere")),
    "a pipe": lambda file: (file.unlink(), os.mkfifo(file)),
    "another chunk": lambda file: file.write_bytes(file.with_name("other").read_bytes()),
}


@pytest.mark.parametrize("how", DAMAGED)
def test_status_counts_no_damaged_chunk(plan, tmp_path, how):
    worker = make(plan, tmp_path)
    for chunk in plan.chunks[:2]:
        worker.engine.attempt(chunk)
    first, second = (tmp_path / "chunks" / f"{chunk.name}.parquet" for chunk in plan.chunks[:2])
    foreign = second.read_bytes().replace(b"limelight.study", b"limelight.STUDY")
    first.with_name("other").write_bytes(foreign)
    DAMAGED[how](first)
    seen = status(tmp_path)
    assert seen.damaged == (plan.chunks[0].name,)
    assert plan.chunks[0].name in seen.missing
    assert plan.chunks[1].name not in seen.missing
    assert (seen.done, len(seen.missing)) == (WIDTH, CHUNKS - 1)
