"""Processes at work on one run, made by forking: importing JAX anew would take most of the time."""

import contextlib
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.torture.walks import sweep

#: How a worker ends: done, refused in one line, stopped by a signal that Python sees, a traceback.
DONE, REFUSED, STOPPED, TRACEBACK = 0, 2, 130, 99
#: Seconds between two chunks, so that a signal has something to hit.
PAUSE = 0.01


class Worker:
    """A forked process that computes what is missing of a run.

    Args:
        store: The run folder.
        log: A file for what it has to say.
        prepare: Called in the new process before it starts: limits, clocks, locks.
        task: How it computes: by itself, unless said otherwise.
    """

    def __init__(
        self,
        store: Path,
        log: Path,
        prepare: Callable[[], None] = lambda: None,
        task: Callable = sweep,
    ):
        self.log, self.status = log, None
        self.begun, begun = os.pipe()
        os.set_blocking(self.begun, False)
        self.pid = os.fork()
        if self.pid:
            os.close(begun)
            return
        code = TRACEBACK
        try:
            with open(log, "a", encoding="utf-8") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            prepare()
            code = work(task, store, lambda progress: (os.write(begun, b"."), time.sleep(PAUSE)))
        finally:
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os._exit(code)

    def alive(self) -> bool:
        """Whether it still runs."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is None

    def at_work(self) -> bool:
        """Whether it has begun to compute, or has ended."""
        try:
            return bool(os.read(self.begun, 1)) or not self.alive()
        except BlockingIOError:
            return not self.alive()

    def send(self, number: int) -> bool:
        """Send a signal; whether it was there to receive it."""
        if not self.alive():
            return False
        os.kill(self.pid, number)
        return True

    def wait(self, seconds: float = 120.0) -> int:
        """Its exit code, negative for a signal; one that hangs is killed and counts as such."""
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError(f"a worker hung for {seconds:g} seconds; see {self.log}")
            time.sleep(0.002)
        with contextlib.suppress(OSError):
            os.close(self.begun)
        return os.waitstatus_to_exitcode(self.status or 0)


def work(task: Callable, store: Path, show: Callable) -> int:
    """Compute what is missing; how it ended."""
    from limelight._core.errors import LimelightError

    try:
        task(store, show)
    except LimelightError as error:
        print("refused:", error, flush=True)
        return REFUSED
    except KeyboardInterrupt:
        return STOPPED
    except BaseException:
        traceback.print_exc()
        return TRACEBACK
    return DONE


# --- what can be wrong with the world that a worker lives in -------------------------------------


def no_locks() -> None:
    """A file system whose locks always fail."""
    from limelight._core import files

    files.fcntl = None


def leases() -> None:
    """A file system whose locks hold on one machine only: here and in every process begun here."""
    os.environ["LIMELIGHT_LOCKS"] = "off"


def small_files(most: int) -> None:
    """No file may grow beyond this: a full disk, where none can be mounted."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def jumping_clock(seed: int) -> None:
    """The time of day jumps by years, both ways, at every look."""
    import datetime

    from limelight._engine import run, store

    dice, real = random.Random(seed), time.time
    time.time = lambda: real() + dice.uniform(-3e8, 3e8)

    def now() -> str:
        moment = datetime.datetime.fromtimestamp(time.time(), datetime.UTC)
        return moment.isoformat(timespec="seconds")

    store.now = run.now = now
