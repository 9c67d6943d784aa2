"""The engine: compile a group once, compute its chunks, keep each as it is done.

Finished chunks are never computed again; a failed one is reported at once and harms no other; a
chunk that makes no progress ends the run with the store intact. Many processes may run one plan.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from limelight.core.errors import LimelightError, RunError, StallError
from limelight.store import Store, now
from limelight.study import device
from limelight.study.plan import Chunk, Plan, program
from limelight.table import Table

#: Seconds between two looks at chunks that other processes hold.
POLL = 0.5


@dataclass
class Progress:
    """How far a run is.

    Args:
        total: Trials in the study.
        done: Trials finished, earlier runs included.
        computed: Trials this run computed.
        seconds: Since this run began.
        compile_seconds: Of these, spent compiling.
        compilations: Programs this run compiled (or took from the cache).
        compiling: Whether a program is being compiled now.
        messages: What the user should hear; whoever shows a message removes it.
    """

    total: int
    done: int = 0
    computed: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    compilations: int = 0
    compiling: bool = False
    messages: list[str] = field(default_factory=list)

    @property
    def trials_per_second(self) -> float:
        """Trials of this run over its time, compilation included."""
        return self.computed / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float:
        """At the pace of the computing so far; NaN before the first chunk."""
        computing = self.seconds - self.compile_seconds
        if not self.computed:
            return float("nan")
        return (self.total - self.done) * computing / self.computed


class Memory:
    """A store that forgets: the same calls, no folder."""

    def __init__(self, manifest: Mapping[str, Any]):
        self.manifest, self.parts, self.warnings = dict(manifest), {}, []

    def finished(self, chunk: str, rows: int, repair: bool = False) -> bool:
        """Whether the chunk is there."""
        return chunk in self.parts

    @contextlib.contextmanager
    def claim(self, chunk: str) -> Iterator[bool]:
        """Nobody else is here."""
        yield True

    def write(self, chunk: str, columns: Mapping[str, np.ndarray], facts: Mapping) -> None:
        """Keep it."""
        self.parts[chunk] = columns

    def table(self) -> Table:
        """Every row, in order of cell and trial."""
        parts = list(self.parts.values())
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        order = np.lexsort([columns["trial"], columns["cell"]])
        axes = tuple(name for paths, _ in self.manifest["configuration"]["axes"] for name in paths)
        return Table({k: v[order] for k, v in columns.items()}, axes, self.manifest)


def run(
    plan: Plan,
    *,
    store: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    stall: float = 1800.0,
    about: Mapping[str, Any] | None = None,
) -> Table:
    """Compute what is missing of a plan and return the whole table.

    Raises:
        RunError: When some chunks failed; the others are stored.
        StallError: When a chunk made no progress for `stall` seconds.
    """
    device.use_cache()
    machine = device.describe_machine()
    manifest = {
        "hash": plan.hash,
        "configuration": plan.configuration,
        "created": now(),
        **machine,
        **(about or {}),
    }
    keep = Memory(manifest) if store is None else Store(store, manifest)
    engine = Engine(plan, keep, progress or (lambda _: None), stall, machine)
    return engine.work()


class Engine:
    """One process at work on a plan."""

    def __init__(self, plan: Plan, keep: Store | Memory, show, stall: float, machine: Mapping):
        self.plan, self.keep, self.show, self.stall, self.machine = plan, keep, show, stall, machine
        self.progress = Progress(total=plan.rows)
        self.began = time.monotonic()
        self.programs: dict[int, Any] = {}
        self.failures: dict[str, str] = {}
        self.x64 = plan.double

    def work(self) -> Table:
        """Every chunk, ours first, then what others left."""
        waiting = list(self.plan.chunks)
        while waiting:
            waiting = [chunk for chunk in waiting if not self._settle(chunk)]
            if waiting:
                time.sleep(POLL)
        if self.failures:
            missing = sum(len(c.cells) for c in self.plan.chunks if c.name in self.failures)
            reasons = "; ".join(dict.fromkeys(self.failures.values()))
            raise RunError(f"{missing} of {self.plan.rows} trials failed: {reasons}")
        table = self.keep.table()
        self._prove_coverage(table)
        return table

    def _settle(self, chunk: Chunk) -> bool:
        """Whether nothing is left to do about a chunk: finished, failed, or computed now."""
        rows = len(chunk.cells)
        if self.keep.finished(chunk.name, rows):
            return self._report(chunk)
        with self.keep.claim(chunk.name) as mine:
            if not mine:
                return False
            # Another process may have finished it between the look and the claim; what is damaged
            # is set aside only now, when nobody else can be writing it.
            if self.keep.finished(chunk.name, rows, repair=True):
                return self._report(chunk)
            return self._attempt(chunk)

    def _attempt(self, chunk: Chunk) -> bool:
        self._report()
        began, compiled = time.monotonic(), self.progress.compile_seconds
        try:
            columns = patiently(lambda: self._compute(chunk), self.stall, chunk.name)
        except LimelightError:
            raise
        except Exception as error:  # out of memory, a bug in a measure: the rest goes on
            first = (str(error).strip().splitlines() or [""])[0]
            self.failures[chunk.name] = f"{type(error).__name__}: {first}"
            self.progress.messages.append(f"chunk {chunk.name} failed: {self.failures[chunk.name]}")
            return self._report()
        facts = {
            "seconds": round(time.monotonic() - began, 4),
            "compile_seconds": round(self.progress.compile_seconds - compiled, 4),
            "trials": len(chunk.cells),
            **self.machine,
        }
        self.keep.write(chunk.name, columns, facts)
        self.progress.computed += len(chunk.cells)
        return self._report(chunk)

    def _compute(self, chunk: Chunk) -> dict[str, np.ndarray]:
        with jax.enable_x64(self.x64):  # a thread does not inherit the caller's choice
            arguments = self._place(self.plan.arguments(chunk))
            if chunk.group not in self.programs:
                self.programs[chunk.group] = self._compile(chunk.group, arguments)
            program = self.programs[chunk.group]
            if isinstance(program, Exception):  # it failed to compile once; it would again
                raise program
            results = jax.device_get(program(*arguments))
        rows = len(chunk.cells)
        axes = {name: column[chunk.cells] for name, column in self.plan.grid.columns.items()}
        return {"cell": chunk.cells, "trial": chunk.trials, **axes} | {
            name: np.asarray(column)[:rows] for name, column in results.items()
        }

    def _compile(self, group: int, arguments: tuple) -> Any:
        began, self.progress.compiling = time.monotonic(), True
        try:
            compiled = jax.jit(program(self.plan.groups[group])).lower(*arguments).compile()
        except Exception as error:
            compiled = error
        finally:
            self.progress.compiling = False
        self.progress.compilations += 1
        self.progress.compile_seconds += time.monotonic() - began
        return compiled

    def _place(self, arguments: tuple) -> tuple:
        seed, words, trials, swept, still = arguments
        many, one = device.over_trials(self.plan.width), device.everywhere(self.plan.width)
        words, trials, swept = jax.device_put((words, trials, swept), many)
        seed, still = jax.device_put((seed, still), one)
        return seed, words, trials, swept, still

    def _report(self, finished: Chunk | None = None) -> bool:
        if finished is not None:
            self.progress.done += len(finished.cells)
        self.progress.messages += self.keep.warnings
        self.keep.warnings.clear()
        self.progress.seconds = time.monotonic() - self.began
        self.show(self.progress)
        return True

    def _prove_coverage(self, table: Table) -> None:
        cells = len(self.plan.grid.cells)
        want = (
            np.repeat(np.arange(cells), self.plan.trials),
            np.tile(np.arange(self.plan.trials), cells),
        )
        if not all(
            np.array_equal(table[n], w) for n, w in zip(("cell", "trial"), want, strict=True)
        ):
            raise RunError("the store does not hold every cell's trials exactly once")


def patiently(task: Callable[[], Any], stall: float, name: str) -> Any:
    """Run a task in a thread of its own, so that a stuck one can be given up and Ctrl-C works.

    Side by side, batched linear algebra in one CPU program can deadlock; nothing inside the
    process can end it, so the caller must leave.
    """
    box: queue.SimpleQueue = queue.SimpleQueue()

    def work():
        try:
            box.put((task(), None))
        except BaseException as error:
            box.put((None, error))

    threading.Thread(target=work, daemon=True, name=f"chunk {name}").start()
    deadline = time.monotonic() + stall
    while True:
        try:
            value, error = box.get(timeout=0.2)
        except queue.Empty:
            if time.monotonic() > deadline:
                raise StallError(
                    f"chunk {name} made no progress for {stall:g} seconds",
                    "finished chunks are stored; resume, with a larger --stall if it is just slow",
                ) from None
            continue
        if error is not None:
            raise error
        return value
