"""The engine: compile a group once, compute its chunks, keep each as it is done.

Finished chunks are never computed again; a failed one is reported at once and harms no other; a
chunk that makes no progress ends the run with the store intact. Many processes may run one plan.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np

from limelight._core import bar, compiling
from limelight._core.errors import InputError, LimelightError, RunError
from limelight._core.manifests import FORMAT, sealed
from limelight._core.patience import patiently, promptly, side_by_side
from limelight._engine import device
from limelight._engine.claims import holder
from limelight._engine.plan import Chunk, Plan
from limelight._engine.progress import Progress
from limelight._engine.reading import assemble, covered
from limelight._engine.store import Store, now
from limelight._identity.inputs import check_inputs
from limelight.table import Table

#: Seconds between two looks at chunks that other processes hold.
POLL = 0.5
#: Times that chunks are looked for again when some were lost after they were finished.
ROUNDS = 5
#: Cores from which on programs are compiled ahead, and how many at a time.
SPARE, COMPILERS = 2, 8


class Memory:
    """A store that forgets: the same calls, no folder."""

    def __init__(self, manifest: Mapping[str, Any]):
        self.manifest, self.parts, self.warnings = dict(manifest), {}, []

    def finished(self, chunk: str, known: Mapping[str, np.ndarray], repair: bool = False) -> bool:
        """Whether the chunk is there."""
        return chunk in self.parts

    @contextlib.contextmanager
    def claim(self, chunk: str) -> Iterator[bool]:
        """Nobody else is here."""
        yield True

    def write(self, chunk: str, columns: Mapping[str, np.ndarray], facts: Mapping) -> None:
        """Keep it."""
        self.parts[chunk] = columns

    def read(self, chunk: str, known: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray] | None:
        """The columns of a chunk; `None` where it is missing."""
        return self.parts.get(chunk)


def run(
    plan: Plan,
    *,
    store: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    stall: float = 1800.0,
    about: Mapping[str, Any] | None = None,
    same_code: bool = False,
) -> Table:
    """Compute what is missing of a plan and return the whole table.

    Raises:
        InputError: When a trial is to be computed that no device here can hold.
        RunError: When some chunks failed; the others are stored.
        StallError: When a chunk made no progress for `stall` seconds.
    """
    cache = device.use_cache()
    machine = device.describe_machine()
    manifest = describe_run(plan, store, machine, about)
    keep = Memory(manifest) if store is None else Store(store, manifest, same_code)
    return Engine(plan, keep, progress or bar.default(), stall, machine, cache).work()


def lay_out(
    plan: Plan,
    store: str | Path,
    about: Mapping[str, Any] | None = None,
    same_code: bool = False,
    tidy: bool = True,
) -> Store:
    """Open a run folder for a plan and write down what it is to hold; nothing is computed."""
    told = describe_run(plan, store, device.describe_machine(), about)
    return Store(store, told, same_code, tidy)


def describe_run(
    plan: Plan, store: str | Path | None, machine: Mapping, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The manifest of a run that begins here and now."""
    # A finished run can be read where its data are not; a new one cannot be made there.
    new = store is None or not (Path(store) / "manifest.json").exists()
    return sealed(
        {
            "format": FORMAT,
            "hash": plan.hash,
            "configuration": plan.configuration,
            "chunks": plan.counts,
            **({"inputs": plan.inputs} if new and plan.inputs else {}),
            "created": now(),
            **machine,
            **(about or {}),
        }
    )


class Engine:
    """One process at work on a plan."""

    def __init__(
        self,
        plan: Plan,
        keep: Store | Memory,
        show: Callable[[Progress], None],
        stall: float,
        machine: Mapping,
        cache: Path | None = None,
    ):
        self.plan, self.keep, self.show, self.stall, self.machine = plan, keep, show, stall, machine
        self.cache = cache
        #: Called while a chunk is computed; raises to give it up.
        self.watch: Callable[[], None] = lambda: None
        #: Held while the program of a group is compiled.
        self.turn: Callable[[int], Any] = lambda group: contextlib.nullcontext()
        self.executor = plan.experiment.executor
        device.draw_by_kernel(plan.seconds)
        self.progress = Progress(
            total=plan.rows,
            programs=len(plan.groups),
            compiling_usually=compiling.usual(cache, plan.name),
        )
        self.began = time.monotonic()
        self.programs: dict[int, Future] = {}
        #: Chunks computed at a time, and what tells them that the run is over.
        self.hands = device.hands(plan.memory) if plan.cost.free else 1
        self.over = threading.Event()
        self.counting = threading.RLock()
        self.waiting = 0  # for the compiler
        #: What the facts of earlier chunks have counted: programs, waiting for them, time.
        self.told, self.waited, self.ended = 0, 0.0, self.began
        self.tracing = threading.Lock()  # one at a time: side by side they share one interpreter
        self.compilers: ThreadPoolExecutor | None = None
        self.moved = self.began
        self.failures: dict[str, str] = {}
        self.x64 = plan.double

    def work(self) -> Table:
        """Every chunk, ours first, then what others left."""
        waiting = self.plan.chunks
        try:
            for _ in range(ROUNDS):
                self._settle_all(waiting)
                parts = {chunk.name: self._stored(chunk) for chunk in self.plan.chunks}
                waiting = [chunk for chunk in self.plan.chunks if parts[chunk.name] is None]
                if not waiting:
                    table = assemble(filter(None, parts.values()), self.keep.manifest)
                    self._prove_coverage(table)
                    self._check_inputs(needed=False)
                    return table
                self._lost(waiting)
        finally:
            if self.compilers is not None:
                self.compilers.shutdown(wait=False, cancel_futures=True)
        raise RunError(
            f"{len(waiting)} finished chunks were lost or damaged again and again",
            "is the disk sound, and does anything else write in that folder?",
        )

    def _settle_all(self, chunks: Sequence[Chunk]) -> None:
        """Every one of these finished, by this process or another; failures are gathered."""
        waiting = self._compile_ahead(list(chunks))
        with promptly():
            while waiting:
                settled = side_by_side(self._settle, waiting, self.hands, self.over)
                waiting = [chunk for chunk, done in zip(waiting, settled, strict=True) if not done]
                if waiting:
                    time.sleep(POLL)
        if self.failures:
            missing = sum(len(c.cells) for c in self.plan.chunks if c.name in self.failures)
            reasons = "; ".join(dict.fromkeys(self.failures.values()))
            raise RunError(f"{missing} of {self.plan.rows} trials failed: {reasons}")

    def _stored(self, chunk: Chunk) -> Mapping[str, np.ndarray] | None:
        return self.keep.read(chunk.name, self.plan.known(chunk))

    def _lost(self, chunks: Sequence[Chunk]) -> None:
        """Say that finished chunks are gone; they are computed again."""
        names = ", ".join(chunk.name for chunk in chunks[:3]) + ", ..." * (len(chunks) > 3)
        self.progress.messages.append(
            f"lost or damaged while the run went on, computed again: {names}"
        )
        self.progress.done -= sum(len(chunk.cells) for chunk in chunks)

    def attempt(self, chunk: Chunk) -> str:
        """Compute and keep one chunk, whose claim the caller holds; what went wrong, if it did."""
        self._attempt(chunk)
        return self.failures.get(chunk.name, "")

    def _settle(self, chunk: Chunk) -> bool:
        """Whether nothing is left to do about a chunk: finished, failed, or computed now."""
        known = self.plan.known(chunk)
        if self.keep.finished(chunk.name, known):
            return self._report(chunk)
        with self.keep.claim(chunk.name) as mine:
            if not mine:
                return False
            # Another process may have finished it between the look and the claim; what is damaged
            # is set aside only now, when nobody else can be writing it.
            if self.keep.finished(chunk.name, known, repair=True):
                return self._report(chunk)
            return self._attempt(chunk)

    def _attempt(self, chunk: Chunk) -> bool:
        self._check_memory()
        self._check_inputs()
        self._report()
        began = self.moved = time.monotonic()
        try:
            task = lambda: self._compute(chunk)
            columns = patiently(task, self.stall, chunk.name, lambda: self.moved, self._watch)
        except LimelightError:
            raise
        except Exception as error:  # out of memory, a bug in a measure: the rest goes on
            self.failures[chunk.name] = f"{type(error).__name__}: {_in_a_line(error)}"
            self.progress.messages.append(f"chunk {chunk.name} failed: {self.failures[chunk.name]}")
            return self._report()
        with self.counting:  # so that the seconds of chunks add up to those of the run
            ended, waited = time.monotonic(), self.progress.compile_seconds
            facts = {
                "seconds": round(ended - max(began, self.ended), 4),
                "compile_seconds": round(waited - self.waited, 4),
                "compilations": self.progress.compilations - self.told,
                "trials": len(chunk.cells),
                "by": holder(),
                **self.machine,
            }
            self.ended, self.waited = ended, waited
            self.told += facts["compilations"]
        self.keep.write(chunk.name, columns, facts)
        return self._report(chunk, len(chunk.cells))

    def _watch(self) -> None:
        self.watch()
        if self.over.is_set():
            raise RunError("the run was stopped", "the same command goes on with it")

    def _check_memory(self) -> None:
        """Refuse trials too large to be held, where their size is known exactly."""
        if self.executor.exact_memory and not self.plan.fits:
            both = self.plan.cost.bytes, device.memory()
            needed, there = (f"{count / 2**30:.1f} GiB" for count in both)
            raise InputError(
                f"one trial takes {needed}, a device here has {there}", "smaller sizes"
            )

    def _check_inputs(self, needed: bool = True) -> None:
        """Refuse data and checkpoints that changed since the run was begun; once is enough."""
        there = self.keep.manifest.get("inputs", {})
        if there and not self.progress.computed:
            here = lambda: self.plan.inputs
            check_inputs(there, here, getattr(self.keep, "path", "this run"), needed)

    def _compute(self, chunk: Chunk) -> dict[str, np.ndarray]:
        with jax.enable_x64(self.x64):  # a thread does not inherit the caller's choice
            arguments = self._place(chunk)
            program = self._program(chunk.group, arguments)
            self.moved = time.monotonic()
            rows = self.plan.settings(chunk)
            results = self.executor.run(program, arguments, rows, self._tell)
        rows = len(chunk.cells)
        return self.plan.known(chunk) | {
            name: np.asarray(column)[:rows] for name, column in results.items()
        }

    def _program(self, group: int, arguments: tuple) -> Any:
        """The group's program, compiled now unless that was begun ahead."""
        with self.counting:
            mine = group not in self.programs
            ready = self.programs.setdefault(group, Future())
            self.waiting += 1
            if self.waiting == 1:
                self.progress.compiling, self.progress.compiling_since = True, time.monotonic()
        self._report()
        try:
            if mine:
                try:
                    ready.set_result(self._compile(group, arguments))
                except Exception as error:  # it would fail again; every chunk is told
                    ready.set_exception(error)
            return ready.result()
        finally:
            with self.counting:
                self.waiting -= 1
                if not self.waiting:
                    self.progress.compiling = False
                    since = self.progress.compiling_since
                    self.progress.compile_seconds += time.monotonic() - since

    def _compile(self, group: int, arguments: tuple) -> Any:
        began = time.monotonic()
        with jax.enable_x64(self.x64):
            with self.tracing:
                ready = self.executor.trace(self.plan.groups[group], arguments)
            with self.turn(group):
                program = ready.compile(device.in_haste(self.plan.seconds))
        self.progress.compilations += 1
        compiling.remember(self.cache, self.plan.name, time.monotonic() - began)
        return program

    def _compile_ahead(self, chunks: list[Chunk]) -> list[Chunk]:
        """Programs compile while others run, where there are cores to spare; the long ones first.

        Returns the chunks in the order of their programs.
        """
        cores = os.cpu_count() or 1
        missing = [c for c in chunks if not self.keep.finished(c.name, self.plan.known(c))]
        first = {chunk.group: chunk for chunk in reversed(missing)}
        todo = [chunk for group, chunk in first.items() if group not in self.programs]
        if cores < SPARE or len(todo) < 2:
            return chunks
        self.compilers = ThreadPoolExecutor(min(COMPILERS, cores // 2), "compiler")
        weight = lambda chunk: -self.plan.groups[chunk.group].flops
        for chunk in sorted(todo, key=weight):
            with jax.enable_x64(self.x64):
                arguments = self._place(chunk)
            self.programs[chunk.group] = self.compilers.submit(
                self._compile, chunk.group, arguments
            )
        return sorted(chunks, key=weight)

    def _tell(self, finished: int) -> None:
        """Called from within a chunk: it lives, and so many of its trials have ended."""
        self.moved = time.monotonic()
        if finished != self.progress.under_way:
            self.progress.under_way = finished
            self._report()

    def _place(self, chunk: Chunk) -> tuple:
        return self.executor.place(self.plan.arguments(chunk), self.plan.width)

    def _report(self, finished: Chunk | None = None, computed: int = 0) -> bool:
        with self.counting:
            self.progress.computed += computed
            if finished is not None:
                self.progress.done += len(finished.cells)
                self.progress.under_way = 0
            self.progress.messages += self.keep.warnings
            self.keep.warnings.clear()
            self.progress.seconds = time.monotonic() - self.began
            self.show(self.progress)
        return True

    def _prove_coverage(self, table: Table) -> None:
        if not covered(table):
            raise RunError("the store does not hold every cell's trials exactly once")


def _in_a_line(error: BaseException) -> str:
    """What an error says: its first line, or the end of the traceback that it holds."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()] or [""]
    return lines[-1] if "Traceback (most recent" in lines[0] else lines[0]
