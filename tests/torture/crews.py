"""Workers that a crew started, ended at random moments; now and then whoever waits for them too.

Here a worker is a real process of its own (`python -m limelight._workers.work`), which takes
seconds to load. So moments are drawn by what is finished, not by the clock: a signal is sent a
few milliseconds after the folder holds so many chunks.
"""

import contextlib
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.torture.study import CHUNKS, chunk_bytes
from tests.torture.walks import hire
from tests.torture.workers import DONE, TRACEBACK, Worker

#: What is sent to workers.
SIGNALS = (signal.SIGKILL,) * 6 + (signal.SIGTERM,) * 2 + (signal.SIGSTOP,)
#: How often whoever waits is killed instead, and how often a worker that may still load.
WAITER, EARLY = 0.15, 0.2
#: Seconds after a chunk within which a signal is sent, and those that a process may take to go.
SPAN, LONG = 0.03, 60.0
#: Signals in one run at most.
MOST = 8


def crews(torture, store: Path, count: Counter, prepare: Callable[[], None] = lambda: None) -> None:
    """One run by two workers, disturbed until it is finished or the signals are used up."""
    dice, seen = torture.dice, set()
    start = lambda: Worker(store, torture.log, prepare, hire)
    waiter, waiters = start(), 1
    try:
        for _ in range(min(MOST, torture.attempts)):
            more = dice.randint(1, 8)
            wait_for(store, waiter, seen, 0 if dice.random() < EARLY else more)
            time.sleep(dice.uniform(0, SPAN))
            if not waiter.alive():
                break
            if dice.random() < WAITER:
                waiter.send(signal.SIGKILL)
                ended = waiter.wait() == -signal.SIGKILL
                count.update({"whoever waits": ended, "ended": ended})
                waiter, waiters = start(), waiters + 1
            elif targets := sorted(there(seen, store)):
                hit(dice.choice(targets), dice.choice(SIGNALS), dice.uniform(0, SPAN), count)
        code = waiter.wait()
    finally:
        waiter.send(signal.SIGKILL)  # its workers leave with it
    assert code != TRACEBACK, f"a traceback; see {torture.log}"
    assert code == DONE, f"workers that are replaced end with {code}; see {torture.log}"
    until(lambda: not there(seen, store), "the last worker's end")
    count["processes"] += waiters + len(seen)
    # Before anybody else looks; what leases must leave is cleared by the next process with locks.
    assert chunk_bytes(store) == torture.expected, "workers: chunks differ"


def wait_for(store: Path, waiter: Worker, seen: set[int], more: int) -> None:
    """Wait until a worker is there and so many more chunks are, or all is over."""
    chunks = min(CHUNKS, len(finished(store)) + more)
    until(lambda: there(seen, store) or not waiter.alive(), "a worker")
    until(lambda: len(finished(store)) >= chunks or not waiter.alive(), "a chunk")


def hit(pid: int, number: signal.Signals, pause: float, count: Counter) -> None:
    """Send a signal, and see that it had its effect."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        count[number.name] += 1
        if number == signal.SIGSTOP:
            time.sleep(pause)
            os.kill(pid, signal.SIGCONT)
        else:
            until(lambda: not running(pid), f"the end of {pid}")
            count["ended"] += 1


def finished(store: Path) -> list[Path]:
    """The chunks that are there."""
    return list((store / "chunks").glob("[!.]*.parquet"))


def there(seen: set[int], store: Path) -> set[int]:
    """Workers that run, of all that were ever written down; `seen` remembers those."""
    for file in (store / "workers").glob("[0-9]*.json"):
        with contextlib.suppress(OSError, ValueError):
            seen.add(int(json.loads(file.read_text())["job"]))
    return {pid for pid in seen if running(pid)}


def running(pid: int) -> bool:
    """Whether a process runs or is halted; one that has ended may wait for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(true: Callable[[], object], what: str) -> None:
    """Wait for something."""
    deadline = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < deadline, f"no sign of {what} for {LONG:g} seconds"
        time.sleep(0.002)
