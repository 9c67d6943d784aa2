"""Rounds of torture: a run is disturbed until it is finished, then compared byte by byte."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from limelight._engine.reading import read_table
from tests.torture import workers
from tests.torture.crews import crews
from tests.torture.study import CHUNKS, ROWS, chunk_bytes
from tests.torture.workers import DONE, REFUSED, STOPPED, TRACEBACK, Worker

#: What is sent, and how often: a kill cannot be caught, a stop is undone a moment later.
SIGNALS = (
    (signal.SIGKILL,) * 5 + (signal.SIGTERM,) * 3 + (signal.SIGINT,) * 2 + (signal.SIGSTOP,) * 2
)
#: Processes at once.
SIZES = (1, 2, 4)
#: Times that a run is disturbed before it is left alone, unless said otherwise.
ATTEMPTS = 30
#: Seconds from a worker's first chunk within which something happens to it: most of its life is
#: longer, so that most signals find it at work.
SPAN = 0.25


class Torture:
    """One session of it: everything that happens is drawn from the seed.

    Args:
        folder: Where runs are made and removed.
        seed: Of the dice.
        attempts: Times that a run is disturbed before it is left alone.
    """

    def __init__(self, folder: Path, seed: int, attempts: int = ATTEMPTS):
        self.attempts = attempts
        self.folder, self.seed, self.dice = folder, seed, random.Random(seed)
        self.counts: dict[str, Counter] = {}
        self.log = folder / "workers.log"
        self.whole = folder / "whole"
        # Programs are compiled once; most of a worker's life is then the writing of chunks.
        jax.config.update("jax_compilation_cache_dir", str(folder / "programs"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        assert Worker(self.whole, self.log).wait() == DONE, self.log.read_text()
        self.expected = chunk_bytes(self.whole)
        assert len(self.expected) == CHUNKS
        self.table = self.columns(self.whole)

    @property
    def kills(self) -> int:
        """Processes that were ended from outside, so far."""
        return sum(count["ended"] for count in self.counts.values())

    def round(self, kind: str) -> None:
        """One run of a kind of disturbance, from nothing to its comparison."""
        count = self.counts.setdefault(kind, Counter())
        number = sum(count["runs"] for count in self.counts.values())
        store = self.folder / f"run{number}"
        try:
            KINDS[kind](self, store, count)
            code = Worker(store, self.log).wait()
            assert code == DONE, f"{kind}: left alone it ends with {code}; see {self.log}"
            self.compare(store, kind)
        finally:
            count["runs"] += 1
            shutil.rmtree(store, ignore_errors=True)
        count["survived"] += 1

    def compare(self, store: Path, kind: str) -> None:
        """Every chunk, every row, and nothing left behind."""
        assert chunk_bytes(store) == self.expected, f"{kind}: chunks differ"
        columns = self.columns(store)
        assert len(columns["end"]) == ROWS, f"{kind}: rows lost or doubled"
        for name, column in self.table.items():
            np.testing.assert_array_equal(columns[name], column, err_msg=f"{kind}: {name}")
        left = [f.name for f in store.rglob(".*.tmp")] + [
            f.name for f in (store / "locks").glob("*")
        ]
        assert not left, f"{kind}: {left} left behind"

    def columns(self, store: Path) -> dict[str, np.ndarray]:
        """The table of a run as arrays."""
        return dict(read_table(store).columns)

    # --- disturbances -------------------------------------------------------------------------

    def disturb(
        self, store: Path, count: Counter, size: int, prepare: Callable[[], None], act: Callable
    ) -> bool:
        """Some processes at once, something done to each at some moment; whether all finished."""
        started = [Worker(store, self.log, prepare) for _ in range(size)]
        for worker in started:
            early = self.dice.random() < 0.1  # now and then while it still loads
            while not early and not worker.at_work():
                time.sleep(0.001)
            time.sleep(self.dice.uniform(0, SPAN))
            act(worker)
        codes = [worker.wait() for worker in started]
        assert TRACEBACK not in codes, f"a traceback; see {self.log}"
        count["processes"] += size
        return all(code == DONE for code in codes)

    def signals(self, store: Path, count: Counter, size: int | None = None, prepare=lambda: None):
        """Signals at random moments until a run is finished, or the attempts are used up."""
        size = size or self.dice.choice(SIZES)

        def act(worker: Worker) -> None:
            number = self.dice.choice(SIGNALS)
            if not worker.send(number):
                return
            count[signal.Signals(number).name] += 1
            if number == signal.SIGSTOP:
                time.sleep(self.dice.uniform(0, SPAN))
                worker.send(signal.SIGCONT)
            else:
                code = worker.wait()
                count["ended"] += code in (-number, STOPPED)

        for _ in range(self.attempts):
            if self.disturb(store, count, size, prepare, act):
                return

    def harmed(self, store: Path, count: Counter, harm: Callable[[Path], None]) -> None:
        """Files lost or flipped while processes work; what they cannot repair the next one does."""

        def act(_: Worker) -> None:
            files = sorted((store / "chunks").glob("[!.]*.parquet")) if store.exists() else []
            with contextlib.suppress(FileNotFoundError):
                if files:
                    harm(self.dice.choice(files))
                    count["harmed"] += 1

        for _ in range(min(3, self.attempts)):
            self.disturb(store, count, self.dice.choice(SIZES), lambda: None, act)

    def full(self, store: Path, count: Counter) -> None:
        """A disk that is full after some chunks, then not."""
        with small_disk(store, self.dice.choice((60, 100, 140))) as really:
            limit = lambda: None if really else workers.small_files(self.dice.choice((1500, 4000)))
            code = Worker(store, self.log, limit).wait()
            assert code == REFUSED, f"a full disk ends with {code}"
            count["refused"] += 1

    def read_only(self, store: Path, count: Counter) -> None:
        """A disk that is read-only when a killed run is to go on, then not."""
        with small_disk(store, 2_000) as really:
            worker = Worker(store, self.log)
            while not worker.at_work():
                time.sleep(0.001)
            time.sleep(self.dice.uniform(0, SPAN))
            count["ended"] += worker.send(signal.SIGKILL)
            worker.wait()
            # Only now: a disk on which a file is open for writing cannot be made read-only.
            if really and len(chunk_bytes(store)) < CHUNKS and remount(store, "ro"):
                code = Worker(store, self.log).wait()
                assert code == REFUSED, f"a read-only disk ends with {code}"
                count["refused"] += 1
                assert remount(store, "rw")


def remove(file: Path) -> None:
    """A chunk that is gone."""
    file.unlink()


def flip(file: Path) -> None:
    """A chunk with one bit that is not what was written."""
    content = bytearray(file.read_bytes())
    place = zlib.crc32(file.name.encode()) % len(content)  # `hash` differs in every process
    content[place] ^= 1 << place % 8
    file.write_bytes(content)


def cut(file: Path) -> None:
    """A chunk that ends in its middle."""
    os.truncate(file, file.stat().st_size // 2)


def remove_folder(file: Path) -> None:
    """All chunks gone at once."""
    shutil.rmtree(file.parent, ignore_errors=True)


def clocks(torture: Torture, store: Path, count: Counter) -> None:
    """Signals, while the time of day jumps by years."""
    prepare = partial(workers.jumping_clock, torture.dice.randrange(2**32))
    torture.signals(store, count, prepare=prepare)
    for file in store.rglob("*"):
        with contextlib.suppress(OSError):
            moment = torture.dice.uniform(0, 4e9)
            os.utime(file, (moment, moment))


KINDS: dict[str, Callable[[Torture, Path, Counter], Any]] = {
    "signals, one process": partial(Torture.signals, size=1),
    "signals, two processes": partial(Torture.signals, size=2),
    "signals, four processes": partial(Torture.signals, size=4),
    "signals, no locks": partial(Torture.signals, prepare=workers.no_locks),
    "signals, jumping clock": clocks,
    "workers, replaced": crews,
    "workers with leases, replaced": partial(crews, prepare=workers.leases),
    "chunk removed": partial(Torture.harmed, harm=remove),
    "chunk flipped": partial(Torture.harmed, harm=flip),
    "chunk cut": partial(Torture.harmed, harm=cut),
    "all chunks removed": partial(Torture.harmed, harm=remove_folder),
    "disk full": Torture.full,
    "disk read-only": Torture.read_only,
}


@contextlib.contextmanager
def small_disk(store: Path, kilobytes: int) -> Iterator[bool]:
    """A disk of its own for a run, moved to the usual one at the end; whether it could be had."""
    place = Path(tempfile.mkdtemp(dir=store.parent))
    options = f"size={kilobytes}k"
    mounted = run("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place))
    store.parent.mkdir(exist_ok=True)
    store.symlink_to(place) if mounted else store.mkdir()
    try:
        yield mounted
    finally:
        if mounted:
            store.unlink()
            shutil.copytree(place, store)
            run("umount", str(place))
        place.rmdir()


def remount(store: Path, how: str) -> bool:
    """Make the disk of a run read-only, or not: whether that could be done."""
    return run("mount", "-o", f"remount,{how}", os.path.realpath(store))


def run(*command: str) -> bool:
    """Whether a command could be run, and did what it was asked to."""
    with contextlib.suppress(OSError):
        return subprocess.run(command, capture_output=True).returncode == 0
    return False
