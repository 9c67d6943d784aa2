"""Real processes: Ctrl-C, stalls, full disks, broken pipes, and what a terminal shows."""

import contextlib
import errno
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from limelight._engine.reading import read_table
from tests.cli.conftest import RUN, contents

ROOT = Path(__file__).parents[2]
#: Nothing here takes half as long, even on a busy machine.
PATIENCE = 120
STORED = "chunks/*.parquet"


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return kept | {"LIMELIGHT_CACHE": "off", "TERM": "xterm"}


def start(*words, module: str = "tests.cli.driver", **options) -> subprocess.Popen:
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    given = piped | {"cwd": ROOT, "env": environment()} | options
    return subprocess.Popen([sys.executable, "-m", module, *map(str, words)], **given)


def finish(process: subprocess.Popen) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; a process that does not end is a failure."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, out, err


def assert_same_rows(store: Path, other: Path) -> None:
    assert [f.read_bytes() for f in sorted(store.glob(STORED))] == [
        f.read_bytes() for f in sorted(other.glob(STORED))
    ]
    for name, column in read_table(other).columns.items():
        np.testing.assert_array_equal(read_table(store)[name], column)


# --- stopping ---------------------------------------------------------------------------------


def test_a_stuck_chunk_is_given_up_and_the_store_is_intact(call, finished, tmp_path):
    store = tmp_path / "run"
    code, out, err = finish(start("stuck", *RUN, "--store", store, "--stall", "10", "--json"))
    assert (code, out) == (3, "")
    error, hint = err.splitlines()
    assert error == "error: chunk 000-00002 made no progress for 10 seconds"
    assert hint.startswith("hint: ")
    assert len(list(store.glob(STORED))) == 2
    assert call("resume", store).code == 0
    assert_same_rows(store, finished)


def test_a_full_disk_loses_nothing(call, copy, finished):
    (copy / "chunks" / "000-00001.parquet").unlink()
    before = contents(copy)
    code, out, err = finish(start("full", "resume", copy))
    assert (code, out) == (2, "")
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "no room" in errors[0]
    assert "Traceback" not in err
    assert contents(copy) == before
    assert call("resume", copy).code == 0
    assert_same_rows(copy, finished)


@pytest.mark.parametrize(
    "where",
    [
        # While modules are imported, before anything of ours runs.
        """
        class Finder:
            def find_spec(self, name, *rest):
                if name == "typer":
                    os.kill(os.getpid(), signal.SIGINT)

        sys.meta_path.insert(0, Finder())
        """,
        # In a callback of the garbage collector, such as JAX's, which cannot raise.
        """
        def collected(*of_what):
            gc.callbacks.remove(collected)
            os.kill(os.getpid(), signal.SIGINT)
            sum(range(1000))

        def work():
            gc.callbacks.append(collected)
            gc.collect()
            for _ in range(200):
                time.sleep(0.1)

        app.main = work
        """,
    ],
)
def test_ctrl_c_is_heard_wherever_it_comes(where):
    code = "import gc, os, signal, sys, time\n"
    code += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from limelight import _cli\n" + "from limelight._cli import app\n" * ("app" in where)
    code += f"{textwrap.dedent(where)}\nsys.argv = ['limelight', 'papers']\n_cli.main()\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    said = "stopped: nothing is lost\nhint: run the same command again\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


# --- pipes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--help"], ["papers"]])
def test_nobody_reads_the_output(words):
    read, write = os.pipe()
    os.close(read)
    process = start(*words, module="limelight._cli.app", stdout=write)
    os.close(write)
    code, _, err = finish(process)
    assert (code, err) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_the_output_cannot_be_written():
    with open("/dev/full", "w", encoding="utf-8") as full:
        code, _, err = finish(start("cite", "li2023", module="limelight._cli.app", stdout=full))
    assert code == 2
    assert err == "error: cannot read or write the output: No space left on device\n"


# --- terminals --------------------------------------------------------------------------------


class Terminal:
    """A process on a terminal of its own, and what it shows there."""

    def __init__(self, *words, columns: int, **options):
        self.end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        # A shell lets what it runs in the background ignore Ctrl-C, and processes inherit that.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = start(*words, stdin=other, stdout=other, stderr=other, **options)
        signal.signal(signal.SIGINT, before)
        os.close(other)
        self.raw = ""

    def read_until(self, seen) -> None:
        """Read until `seen(text)` is true, or the process has ended."""
        deadline = time.monotonic() + PATIENCE
        while not seen(self.text):
            assert time.monotonic() < deadline
            try:
                part = os.read(self.end, 65536)
            except OSError as error:  # how Linux says that the other end is closed
                if error.errno != errno.EIO:
                    raise
                break
            if not part:
                break
            self.raw += part.decode(errors="replace")

    def close(self) -> int:
        """Read the rest; the exit code."""
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, self.end)
            stack.callback(self.process.kill)
            self.read_until(lambda text: False)
            return self.process.wait(PATIENCE)

    @property
    def text(self) -> str:
        """Without colours and movements of the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.raw)

    @property
    def lines(self) -> list[str]:
        """Every state of every line."""
        return re.split(r"[\r\n]+", self.text)


def test_a_bar_shows_trials_pace_and_time_left_until_ctrl_c(call, finished, tmp_path):
    store = tmp_path / "a folder"
    terminal = Terminal("stuck", *RUN, "--store", store, columns=80)
    terminal.read_until(lambda text: "24/36 trials" in text)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.close() == 130
    bars = [line for line in terminal.lines if " trials " in line and "toy2000 dice" in line]
    assert any("0/36 trials" in bar for bar in bars)
    pace = re.compile(r"24/36 trials [\d.]+ trials/s, .* left 0:\d\d:\d\d")
    assert any(pace.search(bar) for bar in bars)
    assert max(map(len, bars)) <= 80
    assert terminal.raw.count("\x1b[?25l") <= terminal.raw.count("\x1b[?25h")
    stopped, hint = terminal.text.replace("\r", "").strip().splitlines()[-2:]
    assert stopped.startswith("stopped: 24 of 36 trials are stored")
    assert hint == f"hint: to go on: limelight resume '{store}'"
    assert not list(store.rglob("*.tmp"))
    # What comes after gives the table of a run that was never stopped.
    rest = call("resume", store)
    assert rest.code == 0
    assert "12 of 36 trials computed" in rest.out
    assert_same_rows(store, finished)


def test_ctrl_c_while_a_program_compiles(tmp_path):
    """The real thing: a program that takes long to compile, with a bar that lives meanwhile."""
    store = tmp_path / "run"
    words = ("run", "li2023", "fig1a", "--scale", "smoke", "--store", store)
    thorough = environment() | {"XLA_FLAGS": ""}  # as users compile: long enough to be stopped
    terminal = Terminal(*words, columns=80, module="limelight._cli.app", env=thorough)
    # Two different times beside the word: the bar moves while the compiler works.
    times = lambda text: set(re.findall(r"compiling for ([^(]+)\(", text))
    terminal.read_until(lambda text: len(times(text)) > 1)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.close() == 130
    stopped, hint = terminal.text.replace("\r", "").strip().splitlines()[-2:]
    assert stopped.startswith("stopped: 0 of 36 trials are stored")
    assert hint == f"hint: to go on: limelight resume {store}"
    assert terminal.raw.count("\x1b[?25l") <= terminal.raw.count("\x1b[?25h")
    assert "Traceback" not in terminal.text
    manifest = json.loads((store / "manifest.json").read_text())
    assert (manifest["figure"], manifest["scale"]) == ("fig1a", "smoke")
    assert not list(store.glob("chunks/*"))
