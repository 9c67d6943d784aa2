"""A run by workers with a fault in it, started as a user starts it, and what must come out."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import limelight as ll
from limelight._engine.run import lay_out
from limelight._workers.status import Status, status
from limelight.papers._outside import from_path

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "tests" / "cluster" / "dice.py"
#: Trials in a chunk, trials and chunks in all.
WIDTH, TRIALS, CHUNKS = 2, 16, 8
PATIENCE = 500


class Scene:
    """A run folder, and a folder with which faults are switched on and calls are counted."""

    def __init__(self, folder: Path, seconds: float = 0.5):
        self.store, self.faults = folder / "run", folder / "faults"
        self.process: subprocess.Popen | None = None
        self.faults.mkdir()
        self.environment = os.environ | {
            "PYTHONPATH": f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}",
            "LIMELIGHT_CACHE": "off",
            "DICE_SECONDS": str(seconds),
            "DICE_FAULTS": str(self.faults),
            "COLUMNS": "100",
        }

    def words(self, on: str, *more: str, workers: int = 2) -> list[str]:
        """The command that a user types."""
        run = ["run", str(PAPER), "dice", "--store", str(self.store), "--width", str(WIDTH)]
        asked = ["--on", on, "--workers", str(workers), *(w for m in more for w in ("--with", m))]
        return [sys.executable, "-m", "limelight", *run, *asked]

    def start(self, on: str, *more: str, workers: int = 2) -> subprocess.Popen:
        """Start it, without waiting."""
        self.process = subprocess.Popen(
            self.words(on, *more, workers=workers),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self.process

    def crew(self, on: str, count: int = 2, **options):
        """The same from Python, in this process, whose environment must be the scene's."""
        self.lay_out()
        return ll.workers(self.store, on=on, count=count, paper=str(PAPER), **options)

    def lay_out(self) -> None:
        """Write down what is to be computed."""
        figure = from_path(str(PAPER)).figure("dice")
        lay_out(figure.plan("small", width=WIDTH), self.store, figure.about("small", 0, {}))

    def end(self) -> None:
        """Leave no process behind, whatever happened."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def until(self, true, what: str = "it") -> Status:
        """Wait until something is true of the run's status."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not self._ended():
            if (self.store / "manifest.json").exists():
                seen = status(self.store)
                if true(seen):
                    return seen
            time.sleep(0.05)
        said = ""
        if self.process is not None:
            self.process.kill()
            said = self.process.communicate()
        raise AssertionError(f"{what} did not happen: {said}; logs: {self.logs()}")

    def _ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def until_at_work(self) -> dict:
        """Wait until a chunk is there and another is being computed; by whom."""
        done = lambda seen: len(seen.missing) < CHUNKS and seen.held and len(seen.missing) > 2
        seen = self.until(done, "a chunk under way")
        return dict(next(iter(seen.held.values())))

    def logs(self) -> str:
        """Everything that workers said."""
        return "\n".join(f.read_text() for f in sorted(self.store.glob("workers/*.log")))

    def assert_same(self, reference: dict[str, str], died: int = 0) -> None:
        """The bytes of a run by one process, and nothing computed twice but what died."""
        assert chunk_bytes(self.store) == reference
        calls = Counter((self.faults / "calls").read_text().split("\n")[:-1])
        assert len(calls) == TRIALS
        assert sum(calls.values()) <= TRIALS + died * WIDTH, calls
        assert not list((self.store / "locks").glob("[!.]*"))


def finish(process: subprocess.Popen) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, out, err


def kill(who: dict, number: int = signal.SIGKILL) -> None:
    """Send a signal to a worker."""
    os.kill(int(who["pid"]), number)


def chunk_bytes(store: Path) -> dict[str, str]:
    """A digest of every chunk."""
    files = sorted((store / "chunks").glob("*.parquet"))
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}
