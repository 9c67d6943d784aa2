"""A run folder of four tiny chunks, and workers that are not there: what a crew is tried on."""

import shutil
from pathlib import Path

from limelight._core.errors import InputError
from limelight._workers.crew import Crew
from limelight._workers.jobs import write_down
from limelight._workers.launcher import Launcher
from tests.torture.study import Walk

AXES, TRIALS, WIDTH = {"drift": [0.0, 0.1]}, 4, 2
NAMES = tuple(f"000-{part:05d}" for part in range(4))


def finished(store: Path) -> None:
    """The whole run, by one process."""
    Walk().sweep(AXES, trials=TRIALS, width=WIDTH, store=store)


def begun(whole: Path, store: Path, chunks: int) -> Path:
    """The same run with so many chunks of it finished."""
    for folder in ("chunks", "locks", "workers"):
        (store / folder).mkdir(parents=True)
    shutil.copy(whole / "manifest.json", store)
    finish(whole, store, *NAMES[:chunks])
    return store


def finish(whole: Path, store: Path, *names: str) -> None:
    """What a worker does to some chunks."""
    for name in names:
        for ending in ("json", "parquet"):
            shutil.copy(whole / "chunks" / f"{name}.{ending}", store / "chunks")


class Fake(Launcher):
    """A scheduler whose jobs do what a test says: `there` holds those that it knows."""

    name, interval, outlives = "fake", 0.0, True

    def __init__(self, store: Path, **options):
        super().__init__(store, options)
        self.there: dict[str, str] | None = {}
        self.started: list[int] = []
        self.cancelled: set[str] = set()
        self.refusal = ""

    def start(self, commands):
        if self.refusal:
            raise InputError(self.refusal)
        assert self.there is not None
        found = {}
        for number in commands:
            found[number] = f"job-{len(self.started)}"
            self.started.append(number)
            self.there[found[number]] = "running"
        return found

    def poll(self, jobs):
        return self.there and {job: self.there[job] for job in jobs if job in self.there}

    def cancel(self, jobs, at_once=False):
        self.cancelled |= set(jobs)
        for job in jobs:
            (self.there or {}).pop(job, None)

    def why(self, jobs):
        return "Resources"


def crew(store: Path, count: int = 2, **options) -> tuple[Crew, Fake]:
    """A crew of workers that are not there."""
    launcher = Fake(store, **options)
    return Crew(store, launcher, [["work", str(n)] for n in range(count)]), launcher


def recorded(store: Path, *jobs: str) -> None:
    """What an earlier crew left written down."""
    for number, job in enumerate(jobs):
        write_down(store, number, "fake", job)
