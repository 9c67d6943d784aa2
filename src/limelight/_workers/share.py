"""One worker among many: it takes chunks that nobody holds, from a place of its own on.

A worker lists the folder, begins at a place that depends on its number, and goes round. So
workers meet only where one has finished its own part; it then lists what is held, which is short,
and goes for the rest. It reads no chunk: whoever waits for the whole proves that all is there.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jax

from limelight._core.errors import LimelightError
from limelight._core.files import write_whole
from limelight._engine.claims import LEASE, holder
from limelight._engine.plan import Chunk
from limelight._engine.reading import stored_chunks
from limelight._engine.run import Engine
from limelight._engine.store import Store, now

#: Seconds between two looks at what others hold: at first, and at most.
POLL, SLOWEST = 0.5, 5.0
#: Seconds that a worker stays although others hold all that is left.
LINGER = 60.0
#: Workers that may fail at one chunk before it is given up.
TRIES = 2
#: Chunks in a row that turn out to be done or held before the folder is listed anew, and held
#: chunks that a waiting worker tries each time.
STRETCH, GLANCE = 32, 8


class Released(LimelightError):
    """A worker was asked to leave and gave up its chunk; somebody else will compute it."""

    code = 75


class Bell:
    """Rings when a worker is to leave: what is under way may still take `grace` seconds."""

    def __init__(self, grace: float = 20.0):
        self.grace, self.at, self.rung = grace, 0.0, threading.Event()

    def ring(self, *_) -> None:
        """Ask the worker to leave; fit to be the handler of a signal."""
        self.at = self.at or time.monotonic()
        self.rung.set()

    def watch(self) -> None:
        """Give up what is under way once its time is over."""
        if self.at and time.monotonic() > self.at + self.grace:
            raise Released("asked to leave: the chunk under way is given up")


class Share:
    """One worker's part of a run.

    Args:
        engine: Computes chunks.
        store: The run folder.
        number: The worker's, from 0.
        count: Workers in all.
        bell: Tells it to leave.
        programs: A folder of compiled programs that alike machines share; `None` for none.
        say: Called with a line for the log.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        number: int = 0,
        count: int = 1,
        *,
        bell: Bell | None = None,
        programs: Path | None = None,
        say: Callable[[str], None] = lambda line: None,
    ):
        self.engine, self.store, self.number, self.count = engine, store, number, count
        self.bell, self.programs, self.say = bell or Bell(), programs, say
        self.failures = self.store.path / "workers" / "failures"
        self.failed: set[str] = set()
        self.computed = 0
        self.found = 0
        engine.watch, engine.turn = self.bell.watch, self._turn
        if programs is not None:
            jax.monitoring.register_event_listener(self._heard)

    def work(self) -> int:
        """Compute until nothing is left to be taken; how many chunks were computed here."""
        waiting, pause, idle = self._absent(), POLL, time.monotonic()
        while waiting and not self.bell.at:
            waiting, free = self._round(waiting)
            if free:
                pause, idle = POLL, time.monotonic()
            elif (
                time.monotonic() > idle + self._patience()
            ):  # whoever waits for the whole sees to the rest
                self.say(f"{len(waiting)} chunks are left, all held by others")
                break
            elif waiting:
                self.bell.rung.wait(pause)
                pause = min(2 * pause, SLOWEST)
        return self.computed

    def _patience(self) -> float:
        """Seconds to wait for others: a lease left behind falls to who has watched it for long."""
        return max(LINGER, 2 * LEASE) if self.store.claims.leases else LINGER

    def _absent(self) -> list[Chunk]:
        """The chunks that are not there, from this worker's place on."""
        there = set(stored_chunks(self.store.path))
        chunks = self.engine.plan.chunks
        start = self.number % self.count * len(chunks) // self.count
        return [c for c in (*chunks[start:], *chunks[:start]) if c.name not in there]

    def _round(self, waiting: list[Chunk]) -> tuple[list[Chunk], bool]:
        """Once through what nobody seems to hold: what is left then, and whether there was any."""
        names = self.store.claims.names()
        free = [chunk for chunk in waiting if chunk.name not in names]
        held = [chunk for chunk in waiting if chunk.name in names]
        stretch = 0
        for place, chunk in enumerate(free):
            if self.bell.at:
                return free[place:] + held, True
            before = self.computed
            if not self._settle(chunk):
                held.append(chunk)
            stretch = 0 if self.computed > before else stretch + 1
            if stretch >= STRETCH:  # others were here: look again
                there = set(stored_chunks(self.store.path))
                return [c for c in free[place + 1 :] + held if c.name not in there], True
        if free:
            return held, True
        # A holder that was killed leaves its name behind: some are tried each time.
        tried = [chunk for chunk in held[:GLANCE] if not self._settle(chunk)]
        return held[GLANCE:] + tried, len(tried) < len(held[:GLANCE])

    def _settle(self, chunk: Chunk) -> bool:
        """Whether nothing is left to do here about a chunk."""
        if self._over(chunk):
            return True
        with self.store.claim(chunk.name) as mine:
            if not mine:
                return False
            if not self._over(chunk):
                self._attempt(chunk)
            return True

    def _over(self, chunk: Chunk) -> bool:
        """Whether a chunk is there, or was given up."""
        if chunk.name in self.failed or self.store.file(chunk.name).exists():
            return True
        return len(list(self.failures.glob(f"{chunk.name}.*"))) >= TRIES

    def _attempt(self, chunk: Chunk) -> None:
        began = time.monotonic()
        wrong = self.engine.attempt(chunk)
        if not wrong:
            self.computed += 1
            self.say(f"{chunk.name}: {len(chunk.cells)} trials, {time.monotonic() - began:.1f} s")
            return
        self.failed.add(chunk.name)
        self.say(f"{chunk.name} failed: {wrong}")
        facts = {"chunk": chunk.name, "error": wrong, "at": now(), **holder()}
        self.failures.mkdir(parents=True, exist_ok=True)
        name = f"{chunk.name}.{time.time_ns()}.json"
        write_whole(self.failures / name, (json.dumps(facts) + "\n").encode())

    @contextlib.contextmanager
    def _turn(self, group: int) -> Iterator[None]:
        """Let one worker compile a program; the others then find it among the compiled ones."""
        if self.programs is None:
            yield
            return
        ready, found = self.programs / f"group-{group:03d}", self.found
        while not ready.exists():
            with self.store.claim(f"{self.programs.name}-{group:03d}") as mine:
                if mine and not ready.exists():
                    yield
                    ready.touch()
                    self.say(f"program {group} was compiled here")
                    return
            self.bell.watch()
            self.engine.moved = time.monotonic()
            time.sleep(POLL)
        yield
        self.say(f"program {group} was " + ("found" if self.found > found else "compiled again"))

    def _heard(self, event: str, **_) -> None:
        """Count the programs that JAX finds among the compiled ones."""
        self.found += event == "/jax/compilation_cache/cache_hits"
