"""What is done in every place: a user's first commands, and the tests that can notice a place."""

import atexit
import functools
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

#: Commands of the first minutes, in an empty folder, one after another.
FIRST = (
    "--help",
    "papers",
    "show li2023 theorem1 --set relevant=0.3",
    "run li2023 fig4 --scale smoke --store fig4",
    "report fig4 -o report.html",
    "construct and --length 8 --sparsity 2 -o and.safetensors",
    "construct --check and.safetensors",
    "new study study.py",
)
#: Another figure and every kind of drawing, for other versions.
COMMANDS = (
    *FIRST,
    "run li2023 fig1a --scale smoke --store fig1a",
    "report fig1a fig4 -o reports.html",
    "plot fig1a -o fig1a.png",
    "cite fig4",
)
#: With the demo's last figure, for a wheel.
DEMO = (*COMMANDS, "run li2023 fig6c --scale smoke --store fig6c", "report fig6c -o fig6c.html")
#: Tests of files, processes, words and terminals, which notice a place.
NOTICING = (
    "tests/test_table.py",
    "tests/core/test_files.py",
    "tests/engine/test_leftovers.py",
    "tests/engine/test_store.py",
    "tests/engine/test_earlier_runs.py::test_it_opens_and_its_recipe_is_still_the_same_study",
    "tests/certificate/test_copies.py",
    "tests/cli/test_names.py",
)
#: For other versions also tests that use every dependency.
TESTS = (
    *NOTICING,
    "tests/test_claims.py",
    "tests/core",
    "tests/engine/test_grid.py",
    "tests/engine/test_identity.py",
    "tests/certificate/test_certify.py",
    "tests/cli/test_help.py",
    "tests/cli/test_new.py",
    "tests/fit/test_estimates.py",
    "tests/fit/test_families.py",
    "tests/theory/test_covering.py",
    "tests/theory/test_consistent.py",
)
#: All of it, as `make test` does.
EVERYTHING = ("-n", "2", "--dist", "worksteal", "tests")
#: What XLA says of itself where compiling takes minutes, as on a machine that is busy.
ALARM = re.compile(r"^.*slow_operation_alarm.*\n|^\*{9,}\n(?:.*\n)*?\*{9,}\n?", re.MULTILINE)
#: What one dependency of another version deprecates in a second one is no fault of the place.
LENIENT = ("-W", "ignore::DeprecationWarning", "-W", "ignore::PendingDeprecationWarning")
#: Seconds that one command, and all tests, may take.
COMMAND_LIMIT, TESTS_LIMIT = 600, 2400


@functools.cache
def programs() -> dict[str, str]:
    """Where the tests of all places keep what they compile, for the next place with these versions.

    Commands compile for themselves: where they keep their programs depends on the place.
    """
    folder = tempfile.mkdtemp(prefix="machines-programs")
    Path(folder).chmod(0o777)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {"JAX_COMPILATION_CACHE_DIR": folder}


@dataclass
class Place:
    """How a program is started somewhere.

    Args:
        python: The interpreter.
        tree: The folder to test in; nothing where only an installed library is there.
        scratch: An empty folder that may be written.
        before: Words that come before the interpreter's.
        environment: The whole of it.
        options: More for `subprocess`, such as the user.
        peak: Bytes that were used at most, where that is known afterwards.
    """

    python: str
    tree: Path | None
    scratch: Path
    before: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    peak: int | None = None

    def run(self, *words: str, cwd: Path, limit: float, **more: str) -> subprocess.CompletedProcess:
        """One program in this place; `more` goes into its environment."""
        return subprocess.run(
            [*self.before, self.python, *words],
            cwd=cwd,
            env=self.environment | more,
            timeout=limit,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            **self.options,
        )


def tried(
    place: Place,
    commands: tuple[str, ...],
    tests: tuple[str, ...],
    say: Callable[[str], None] = lambda what: None,
) -> dict:
    """What came of the commands and of the tests; `say` is told what comes next."""
    began = time.monotonic()
    faults = {}
    with tempfile.TemporaryDirectory(dir=place.scratch) as folder:
        Path(folder).chmod(0o777)
        for command in commands:
            say(f"limelight {command}")
            words = ("-m", "limelight", *command.split())
            try:
                done = place.run(*words, cwd=Path(folder), limit=COMMAND_LIMIT)
            except subprocess.TimeoutExpired:
                faults[command] = f"still running after {COMMAND_LIMIT} s"
                continue
            said = ALARM.sub("", done.stderr).strip()
            if done.returncode or said:
                faults[command] = f"{done.returncode}: {said[-300:]}"
    found: dict = {"commands": len(commands), "faults": faults}
    if place.tree is not None and tests:
        say(f"pytest {' '.join(tests)}")
        how = ("-q", "-p", "no:cacheprovider", "--tb=line", "-rfE", *LENIENT)
        done = place.run(
            *("-m", "pytest", *how, *tests), cwd=place.tree, limit=TESTS_LIMIT, **programs()
        )
        last = (done.stdout.strip().splitlines() or [done.stderr[-200:]])[-1]
        found["tests"] = re.sub(r" in [0-9.]+s.*", "", last)
        found["failed"] = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        found["tests passed"] = done.returncode == 0
    found["passed"] = not faults and found.get("tests passed", True)
    found["seconds"] = round(time.monotonic() - began)
    return found
