"""A crew of workers on one run: started, watched, replaced until nothing is missing.

The run folder says what is done; the launcher says only which workers are there. So a worker that
was killed is never taken for a result, and a crew that was killed is started again by the same
call: workers that outlived it are found and kept.
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from limelight._core.errors import InputError, LimelightError, RunError, StoreError
from limelight._core.files import explained
from limelight._engine.claims import Claims
from limelight._engine.reading import (
    DAMAGE,
    check_is_run,
    covered,
    first_line,
    read_chunk,
    read_manifest,
    read_table,
)
from limelight._engine.run import ROUNDS, Progress
from limelight._engine.store import Store, clear
from limelight._identity.description import modern
from limelight._workers.jobs import write_down, written_down
from limelight._workers.launcher import Launcher, launcher
from limelight._workers.share import TRIES
from limelight._workers.status import Status, Watch, last_lines
from limelight._workers.work import command
from limelight.table import Table

#: Seconds of silence, or of waiting for room, after which whoever waits is told.
SILENCE = 60.0
#: Seconds between two looks at most.
RAREST = 30.0
#: Seconds before workers that were refused are asked for again.
AGAIN = 30.0

Found = TypeVar("Found")


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
    check_is_run(place)
    manifest = read_manifest(place)
    if count is not None and count < 1:
        raise InputError(f"count = {count}", "at least one worker")
    if "chunks" not in manifest:
        raise InputError(
            f"{store} was begun by an early release, which did not write down its chunks",
            "limelight resume goes on with it",
        )
    start = launcher(on, place, options)
    _check_rebuilds(manifest, place, paper)
    count = count or start.usual
    there = str(Path(paper).resolve()) if paper else None
    rest = {"grace": start.grace, "stall": start.stall, "paper": there, "same_code": same_code}
    return Crew(place, start, [command(place, n, count, **rest) for n in range(count)])


def _check_rebuilds(manifest: Mapping[str, Any], store: Path, paper: str | None) -> None:
    """Refuse now what every worker would refuse, perhaps hours later: code that it cannot find."""
    from limelight.papers._outside import from_path
    from limelight.papers.published import rebuild, recipe_of

    if isinstance(manifest.get("paper"), str):
        recipe_of(manifest, store, from_path(paper) if paper else None)
    else:
        rebuild(manifest["configuration"]["experiment"])


class Since:
    """Whether something has lasted; told once each time that it begins anew."""

    def __init__(self):
        self.began, self.told = 0.0, False

    def over(self, true: bool) -> bool:
        """Whether it has been true for `SILENCE` seconds just now."""
        now = time.monotonic()
        if not true:
            self.began, self.told = 0.0, False
            return False
        self.began = self.began or now
        lasts = not self.told and now >= self.began + SILENCE
        self.told |= lasts
        return lasts


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
        with explained(self.folder):
            self.folder.mkdir(exist_ok=True)
        self.watch = Watch(store)
        self.messages: list[str] = []
        #: Since when the launcher does not answer, and since when all workers wait for room; both
        #: are told once.
        self.silent, self.idle = Since(), Since()
        self.refusal, self.refusals, self.again = "", 0, 0.0
        self.damages = 0  # times that all seemed to be there and was not
        self.posts = {post.number: post for post in self._found()}
        if not self.posts:
            self._forget_failures()
        clear(store, Claims(store / "locks"))
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
            pause = min(4 * (time.monotonic() - looked), RAREST)
            time.sleep(max(self.launcher.interval, pause))

    def cancel(self) -> None:
        """Ask all workers to leave, and wait until they have; what is finished stays.

        Raises:
            RunError: When nobody can say whether they heard it.
        """
        self._dismiss(self.launcher.grace + 10.0)
        if self.launcher.poll(self.jobs) is None:
            raise RunError(
                f"{self.launcher.name} does not answer: workers may still be there",
                "cancel again later",
            )

    # --- workers ---------------------------------------------------------------------------------

    def _found(self) -> list[Post]:
        """Workers that an earlier crew, larger perhaps, started and that are still there."""
        if not self.launcher.outlives:
            return []
        known, name = written_down(self.store), self.launcher.name
        posts = [Post(told["number"], told["job"]) for told in known if told["on"] == name]
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
        words = {n: self.orders[n] for n in numbers}
        for number, job in (self._asked(lambda: self.launcher.start(words)) or {}).items():
            self.posts[number] = Post(number, job, finished=self.watch.finished_by[str(number)])
            write_down(self.store, number, self.launcher.name, job)

    def _asked(self, start: Callable[[], Found]) -> Found | None:
        """What the launcher gives; a refusal is told and waited out, unless it is the very first.

        While others work it may last. When nobody is left it counts.
        """
        if time.monotonic() < self.again:
            return None
        try:
            found = start()
        except LimelightError as error:
            if not self.posts:
                raise
            self.again = time.monotonic() + AGAIN
            self.refusals += not self._any_left()
            if error.message != self.refusal:
                self.messages.append(f"{error.message}; asked again every {AGAIN:g} s")
            self.refusal = error.message
            return None
        self.refusal, self.refusals = "", 0
        return found

    def _poll(self) -> bool:
        """Ask the launcher; whether any worker is there."""
        there, name = self.launcher.poll(self.jobs), self.launcher.name
        if self.silent.over(there is None):
            self.messages.append(
                f"{name} has not said for {SILENCE:g} s which workers are there; still waiting"
            )
        if there is not None:
            for post in self.posts.values():
                post.state = there.get(post.job, "ended")
        states = {post.job: post.state for post in self.posts.values()}
        waiting = [job for job, state in states.items() if state == "waiting"]
        if self.idle.over(bool(waiting) and "running" not in states.values()):
            why = self.launcher.why(waiting)
            self.messages.append(
                f"no worker has run for {SILENCE:g} s: they wait for room on {name}"
                + (f" ({why})" if why else "")
            )
        return self._any_left()

    def _any_left(self) -> bool:
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
        for post in self._replaceable()[: len(free)]:
            self._replace(post)
        if len(free) > len(self.posts):  # such as chunks that turned out to be damaged
            wanted = range(min(len(free), len(self.orders)))
            self._start([number for number in wanted if number not in self.posts])
        refused = self.refusal and self.refusals <= self.launcher.retries  # asked again soon
        hope = free and refused and self._replaceable()
        if not (self._any_left() or seen.held or hope):
            last = self.watch.look()
            if last.missing:
                raise self._failure(last)

    def _replaceable(self) -> list[Post]:
        """Workers that ended, but not again and again without having finished anything."""
        return [
            post
            for post in self.posts.values()
            if post.state == "ended"
            and post.fruitless <= self.launcher.retries
            and post.number < len(self.orders)
        ]

    def _replace(self, post: Post) -> None:
        if time.monotonic() < self.again:
            return
        finished = self.watch.finished_by[str(post.number)]
        post.fruitless = 0 if finished > post.finished else post.fruitless + 1
        post.finished = finished
        if post.fruitless > self.launcher.retries:
            return
        order = self.orders[post.number]
        job = self._asked(lambda: self.launcher.replace(post.job, post.number, order))
        if job is None:
            post.fruitless -= 1  # counted when it is replaced
            return
        lines = last_lines(self.store, post.number, 1)
        self.messages.append(
            f"worker {post.number} (job {post.job}) ended with work left and is replaced"
            + (f"; its last line: {lines[0]}" if lines else "")
        )
        post.job, post.state = job, "waiting"
        write_down(self.store, post.number, self.launcher.name, job)

    def _failure(self, seen: Status) -> RunError:
        """What is missing and why, as far as anybody wrote it down."""
        names = ", ".join(seen.missing[:5]) + ", ..." * (len(seen.missing) > 5)
        reasons = list(dict.fromkeys(failure.error for failure in seen.failures))
        reasons += [self.refusal] if self.refusal else []
        if not reasons:
            tails = [last_lines(self.store, number, 1) for number in sorted(self.posts)]
            reasons = list(dict.fromkeys(line for lines in tails for line in lines))
        for number in sorted(self.posts):
            if lines := last_lines(self.store, number):
                self.messages.append(f"worker {number}, last lines:\n  " + "\n  ".join(lines))
        nothing = "no log of theirs says why; do their machines see this folder?"
        return RunError(
            f"{len(seen.missing)} of {seen.chunks} chunks are missing ({names}) and no worker is"
            f" left: {'; '.join(reasons[:3]) or nothing}",
            f"their logs are in {self.folder}; finished chunks are kept: the same call tries again",
        )

    # --- the folder ------------------------------------------------------------------------------

    def _proved(self) -> Table | None:
        """The table, if every planned trial is in it exactly once; what is damaged is set aside."""
        try:
            table = read_table(self.store)
        except StoreError:
            self.damages += 1
            if self.damages > ROUNDS or not self._set_aside():
                raise
            return None
        if not covered(table):
            raise RunError("the store does not hold every cell's trials exactly once")
        clear(self.store, Claims(self.store / "locks"))
        return table

    def _set_aside(self) -> int:
        """Rename chunks that cannot be read, so that they are computed again; how many."""
        known = self.watch.manifest
        today = {**known, "configuration": modern(known["configuration"])}
        keep, before = Store(self.store, today), len(self.messages)
        for name in self.watch.planned:
            with keep.claim(name) as mine:
                try:
                    read_chunk(keep.file(name), keep.manifest)
                except DAMAGE as error:
                    if mine and keep.file(name).exists():
                        keep.set_aside(name, first_line(error))
        self.messages += keep.warnings
        return len(self.messages) - before

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
