"""A crew of workers on one run: started, watched, replaced until nothing is missing.

The run folder says what is done; the launcher says only which workers are there. So a worker that
was killed is never taken for a result, and a crew that was killed is started again by the same
call: workers that outlived it are found and kept.
"""

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limelight._core.errors import InputError, RunError, StoreError
from limelight._core.files import write_whole
from limelight._engine.reading import (
    DAMAGE,
    covered,
    first_line,
    read_chunk,
    read_manifest,
    read_table,
)
from limelight._engine.run import Progress
from limelight._engine.store import Store, now
from limelight._workers.launcher import Launcher, launcher
from limelight._workers.share import TRIES
from limelight._workers.status import Status, Watch, last_lines
from limelight._workers.work import command
from limelight.table import Table


def workers(
    store: str | Path,
    on: str = "local",
    count: int | None = None,
    *,
    paper: str | None = None,
    same_code: bool = False,
    **options: Any,
) -> "Crew":
    """Start workers on a run folder, or find those that are at work on it.

    Args:
        store: A run folder that all machines see; `limelight run` and `lay_out` make one.
        on: Where: `local`, `slurm` or `ray`.
        count: Workers in all, one process and one GPU each; two, or here as many as there are GPUs.
        paper: The file or folder of the run's paper, where it is not installed.
        same_code: Whether results of another version of your code may be continued.
        **options: `retries` (times that a worker is replaced although it finished nothing),
            `grace` (seconds to finish a chunk when asked to leave), `stall` (seconds that a chunk
            may take), and what the launcher knows: for SLURM options of `sbatch`, for Ray
            `address` and options of actors.

    Returns:
        The crew, already at work: `wait()` for the table, `status()`, `cancel()`.

    Example:
        >>> import limelight as ll
        >>> callable(ll.workers)  # ll.workers("runs/a", on="slurm", count=16).wait()
        True
    """
    place = Path(store).resolve()
    manifest = read_manifest(place)
    if count is not None and count < 1:
        raise InputError(f"count = {count}", "at least one worker")
    if "chunks" not in manifest:
        raise InputError(
            f"{store} was begun by an early release, which did not write down its chunks",
            "limelight resume goes on with it",
        )
    start = launcher(on, place, options)
    count = count or start.usual
    there = str(Path(paper).resolve()) if paper else None
    rest = {"grace": start.grace, "stall": start.stall, "paper": there, "same_code": same_code}
    return Crew(place, start, [command(place, n, count, **rest) for n in range(count)])


@dataclass
class Post:
    """One worker's place in a crew: the job that fills it, and what came of it."""

    number: int
    job: str
    state: str = "waiting"
    fruitless: int = 0
    finished: int = 0


class Crew:
    """Workers at work on one run folder.

    Args:
        store: The run folder.
        launcher: Starts and finds workers.
        orders: The command of each worker.
    """

    def __init__(self, store: Path, launcher: Launcher, orders: list[list[str]]):
        self.store, self.launcher, self.orders = store, launcher, orders
        self.folder = store / "workers"
        self.folder.mkdir(exist_ok=True)
        self.watch = Watch(store)
        self.messages: list[str] = []
        self.posts = {post.number: post for post in self._found()}
        if not self.posts:
            self._forget_failures()
        missing = self.watch.look().missing
        new = [n for n in range(min(len(orders), len(missing))) if n not in self.posts]
        self._start(new)

    @property
    def jobs(self) -> list[str]:
        """What the launcher calls the workers, in order of their numbers."""
        return [self.posts[number].job for number in sorted(self.posts)]

    # --- what users call -------------------------------------------------------------------------

    def status(self) -> Status:
        """How far the run is, and how many workers wait and run."""
        self._poll()
        states = [post.state for post in self.posts.values()]
        return self.watch.look({state: states.count(state) for state in sorted(set(states))})

    def wait(self, progress: Callable[[Progress], None] | None = None) -> Table:
        """Watch until every trial is there, replacing workers that end before; the whole table.

        Raises:
            RunError: When what is missing cannot be had: workers ended too often without having
                finished anything, or chunks failed.
        """
        show, began, first = progress or (lambda _: None), time.monotonic(), None
        while True:
            looked = time.monotonic()
            seen = self.status()
            first = seen.done if first is None else first
            show(self._progress(seen, first, began))
            if not seen.missing:
                if (table := self._proved()) is not None:
                    self._dismiss()
                    return table
                continue
            self._tend(seen)
            # Where a look takes long, such as at very many chunks, it is taken less often.
            time.sleep(max(self.launcher.interval, 4 * (time.monotonic() - looked)))

    def cancel(self) -> None:
        """Ask all workers to leave, and wait until they have; what is finished stays."""
        self._dismiss(self.launcher.grace + 10.0)

    # --- workers ---------------------------------------------------------------------------------

    def _found(self) -> list[Post]:
        """Workers that an earlier crew started and that are still there."""
        if not self.launcher.outlives:
            return []
        posts = []
        for number in range(len(self.orders)):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                told = json.loads(self._record(number).read_text())
                if told["on"] == self.launcher.name:
                    posts.append(Post(number, str(told["job"])))
        there = self.launcher.poll([post.job for post in posts])
        if there is None:
            raise RunError(
                f"{self.launcher.name} does not say which workers are there",
                "try again later",
            )
        return [post for post in posts if post.job in there]

    def _start(self, numbers: list[int]) -> None:
        if not numbers:
            return
        for number, job in self.launcher.start({n: self.orders[n] for n in numbers}).items():
            self.posts[number] = Post(number, job, finished=self.watch.finished_by[str(number)])
            self._write_down(number)

    def _poll(self) -> bool:
        """Ask the launcher; whether any worker is there."""
        there = self.launcher.poll(self.jobs)
        if there is not None:
            for post in self.posts.values():
                post.state = there.get(post.job, "ended")
        return any(post.state != "ended" for post in self.posts.values())

    def _dismiss(self, patience: float = 3.0) -> None:
        """End all workers: those that have not left when patience is over are not asked again."""
        self.launcher.cancel(self.jobs)
        deadline = time.monotonic() + patience
        while self._poll() and time.monotonic() < deadline:
            time.sleep(self.launcher.interval)
        self.launcher.cancel(self.jobs, at_once=True)

    def _tend(self, seen: Status) -> None:
        """Replace workers that ended while there is something to take; fail when none is left."""
        tries = [failure.chunk for failure in seen.failures]
        given_up = {name for name in tries if tries.count(name) >= TRIES}
        free = [n for n in seen.missing if n not in seen.held and n not in given_up]
        retries = self.launcher.retries
        ended = [
            post
            for post in self.posts.values()
            if post.state == "ended" and post.fruitless <= retries
        ]
        for post in ended[: len(free)]:
            self._replace(post)
        if len(free) > len(self.posts):  # such as chunks that turned out to be damaged
            wanted = range(min(len(free), len(self.orders)))
            self._start([number for number in wanted if number not in self.posts])
        if all(post.state == "ended" for post in self.posts.values()) and not seen.held:
            last = self.watch.look()
            if last.missing:
                raise self._failure(last)

    def _replace(self, post: Post) -> None:
        finished = self.watch.finished_by[str(post.number)]
        post.fruitless = 0 if finished > post.finished else post.fruitless + 1
        post.finished = finished
        if post.fruitless > self.launcher.retries:
            return
        lines = last_lines(self.store, post.number, 1)
        self.messages.append(
            f"worker {post.number} (job {post.job}) ended with work left and is replaced"
            + (f"; its last line: {lines[0]}" if lines else "")
        )
        post.job = self.launcher.replace(post.job, post.number, self.orders[post.number])
        post.state = "waiting"
        self._write_down(post.number)

    def _failure(self, seen: Status) -> RunError:
        """What is missing and why, as far as anybody wrote it down."""
        names = ", ".join(seen.missing[:5]) + ", ..." * (len(seen.missing) > 5)
        reasons = list(dict.fromkeys(failure.error for failure in seen.failures))
        if not reasons:
            tails = [last_lines(self.store, number, 1) for number in sorted(self.posts)]
            reasons = list(dict.fromkeys(line for lines in tails for line in lines))
        for number in sorted(self.posts):
            lines = last_lines(self.store, number)
            self.messages.append(f"worker {number}, last lines:\n  " + "\n  ".join(lines))
        return RunError(
            f"{len(seen.missing)} of {seen.chunks} chunks are missing ({names}) and no worker is"
            f" left: {'; '.join(reasons[:3]) or 'their logs say nothing'}",
            f"their logs are in {self.folder}; finished chunks are kept: the same call tries again",
        )

    # --- the folder ------------------------------------------------------------------------------

    def _proved(self) -> Table | None:
        """The table, if every planned trial is in it exactly once; what is damaged is set aside."""
        try:
            table = read_table(self.store)
        except StoreError:
            if not self._set_aside():
                raise
            return None
        if not covered(table):
            raise RunError("the store does not hold every cell's trials exactly once")
        return table

    def _set_aside(self) -> int:
        """Rename chunks that cannot be read, so that they are computed again; how many."""
        keep, before = Store(self.store, self.watch.manifest), len(self.messages)
        for name in self.watch.planned:
            with keep.claim(name) as mine:
                try:
                    read_chunk(keep.file(name), keep.manifest)
                except DAMAGE as error:
                    if mine and keep.file(name).exists():
                        keep.set_aside(name, first_line(error))
        self.messages += keep.warnings
        return len(self.messages) - before

    def _record(self, number: int) -> Path:
        return self.folder / f"{number}.json"

    def _write_down(self, number: int) -> None:
        facts = {"on": self.launcher.name, "job": self.posts[number].job, "started": now()}
        write_whole(self._record(number), (json.dumps(facts) + "\n").encode())

    def _forget_failures(self) -> None:
        for file in (self.folder / "failures").glob("*.json"):
            with contextlib.suppress(OSError):
                file.unlink()

    def _progress(self, seen: Status, first: int, began: float) -> Progress:
        messages, self.messages = self.messages, []
        return Progress(
            total=seen.trials,
            done=seen.done,
            computed=seen.done - first,
            seconds=time.monotonic() - began,
            messages=messages,
        )
