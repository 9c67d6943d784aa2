"""How far a run folder is, seen from outside: done, held and by whom, how fast, what failed."""

import contextlib
import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from limelight._core.files import read_regular
from limelight._core.manifests import Broken, planned_rows, read_json
from limelight._engine.claims import Claims
from limelight._engine.reading import (
    DAMAGE,
    NAME,
    check_is_run,
    chunk_name,
    read_chunk,
    read_manifest,
    stored_chunks,
)
from limelight._workers.jobs import there

#: Seconds before the last finished chunk that count for the pace.
RECENT = 900.0
#: Chunks of them that are read at most.
READ = 2000


@dataclass(frozen=True)
class Failure:
    """A chunk that a process failed at."""

    chunk: str
    error: str
    host: str
    job: str
    worker: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Status:
    """How far a run is.

    Args:
        chunks: Planned.
        missing: Names of the chunks that are not there, or damaged.
        trials: Planned.
        done: Trials that are there.
        held: Chunks that somebody works on, each with host, pid, job, worker and since when.
        pace: Trials per second of the whole, lately.
        failures: What went wrong since the workers were started.
        workers: Jobs that wait, run or have ended, counted; `None` where nobody can say.
        damaged: Names of the chunks that are there and are not as they were written.
    """

    chunks: int
    missing: tuple[str, ...]
    trials: int
    done: int
    held: Mapping[str, Mapping[str, Any]]
    pace: float
    failures: tuple[Failure, ...] = ()
    workers: Mapping[str, int] | None = None
    damaged: tuple[str, ...] = ()

    @property
    def seconds_left(self) -> float:
        """At the pace of late; NaN where nobody works or none is known."""
        working = self.held and self.pace > 0
        return (self.trials - self.done) / self.pace if working else float("nan")


class Watch:
    """Looks at a run folder again and again; what it has read of finished chunks it remembers."""

    def __init__(self, store: str | Path):
        self.path = Path(store)
        check_is_run(store)
        self.manifest = read_manifest(store)
        known = self.manifest["configuration"]
        self.width, self.trials = known["width"], planned_rows(known)
        self.planned = planned_chunks(self.manifest)
        counts = self.manifest.get("chunks", [])
        self.lasts = {chunk_name(g, count - 1) for g, count in enumerate(counts)}
        self.rows: dict[str, int] = {}
        self.ends: dict[str, float] = {}  # when a chunk was finished
        self.facts: dict[str, tuple[float, float]] = {}  # when it was begun and finished
        self.damaged: set[str] = set()
        #: Chunks that each worker finished, by its number, as far as they were read.
        self.finished_by: Counter[str] = Counter()

    def look(self, workers: Mapping[str, int] | None = None) -> Status:
        """How far it is now."""
        # Claims first: a chunk that is finished in between is then both held and there.
        held = Claims(self.path / "locks").held()
        there = [c for c in stored_chunks(self.path, self.manifest) if c not in self.damaged]
        done = set(there)
        return Status(
            chunks=len(self.planned) or len(there),
            missing=tuple(name for name in self.planned if name not in done),
            trials=self.trials,
            done=sum(self._rows(name) for name in there),
            held={name: who for name, who in held.items() if NAME.fullmatch(name)},
            pace=self._pace(there),
            failures=self._failures(done),
            workers=workers,
            damaged=tuple(sorted(self.damaged)),
        )

    def check(self) -> None:
        """Read every chunk that is there; the damaged ones count as missing from now on."""
        for name in stored_chunks(self.path, self.manifest):
            try:
                read_chunk(self._file(name, "parquet"), self.manifest)
            except FileNotFoundError:  # a link to nothing, or set aside to be computed again
                self.damaged |= {name} if self._file(name, "parquet").is_symlink() else set()
            except DAMAGE:
                self.damaged.add(name)

    def _rows(self, name: str) -> int:
        """Trials of a finished chunk; only the last of a group may hold fewer than the others."""
        if self.planned and name not in self.lasts:
            return self.width
        if name not in self.rows:
            file = self._file(name, "parquet")
            try:
                self.rows[name] = pq.read_metadata(file).num_rows if file.is_file() else 0
            except DAMAGE:
                return 0
        return self.rows[name]

    def _pace(self, there: list[str]) -> float:
        """Trials per second over the last minutes in which something was finished."""
        known = [(self._finished(name), name) for name in there]
        latest = max((end for end, _ in known), default=0.0)
        recent = [name for end, name in sorted(known) if end >= latest - RECENT][-READ:]
        times = [(*self._times(name), self._rows(name)) for name in recent]
        span = max((end for _, end, _ in times), default=0.0)
        span -= min((begun for begun, _, _ in times), default=0.0)
        return sum(rows for *_, rows in times) / span if span > 0 else 0.0

    def _finished(self, name: str) -> float:
        if name not in self.ends:
            try:
                self.ends[name] = self._file(name, "json").stat().st_mtime
            except OSError:
                return 0.0
        return self.ends[name]

    def _times(self, name: str) -> tuple[float, float]:
        """When a chunk was begun and finished, by the clock of the file system."""
        if name not in self.facts:
            end, took = self._finished(name), 0.0
            with contextlib.suppress(
                OSError, Broken, TypeError, ValueError, LookupError, OverflowError
            ):
                told = read_json(read_regular(self._file(name, "json"), 2**20))
                took = float(told["seconds"])
                self.finished_by[told["by"]["worker"]] += 1
            self.facts[name] = end - took, end
        return self.facts[name]

    def _file(self, name: str, ending: str) -> Path:
        return self.path / "chunks" / f"{name}.{ending}"

    def _failures(self, done: set[str]) -> tuple[Failure, ...]:
        found = []
        for file in sorted((self.path / "workers" / "failures").glob("*.json")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                told = json.loads(read_regular(file, 2**16))
                names = ("chunk", "error", "host", "job", "worker")
                words = {name: str(told[name]) for name in names}
                if words["chunk"] not in done:
                    found.append(Failure(**words, lines=last_lines(self.path, words["worker"])))
        return tuple(found)


def status(store: str | Path) -> Status:
    """How far a run folder is; any will do, whoever works on it."""
    watch = Watch(store)
    watch.check()
    return watch.look(there(Path(store)))


def planned_chunks(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of all chunks of a run, in order; none where an early release did not say."""
    counts = manifest.get("chunks", [])
    return tuple(chunk_name(g, part) for g, count in enumerate(counts) for part in range(count))


def log_of(store: str | Path, worker: int | str) -> Path:
    """Where a worker writes what it has to say."""
    return Path(store) / "workers" / f"{worker}.log"


def last_lines(store: str | Path, worker: int | str, most: int = 5) -> tuple[str, ...]:
    """The end of a worker's log."""
    if not str(worker).isdigit() or not log_of(store, worker).is_file():
        return ()
    try:
        with log_of(store, worker).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 4000))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(line[:200] for line in lines if line.strip())[-most:]


def ago(since: Any) -> float:
    """Seconds since a moment that another process wrote down; NaN where it did not."""
    known = isinstance(since, int | float) and abs(since) < 1e12
    return max(0.0, time.time() - since) if known else float("nan")
