"""Does a test notice when a line is wrong? A seeded sample of small faults, and who finds them.

    python benchmarks/mutants.py map MAP.json [TESTS ...]     which test runs which line
    python benchmarks/mutants.py run MAP.json OUT.json --as before [--each 50] [--package NAME ...]
    python benchmarks/mutants.py run MAP.json OUT.json --as before --draw second   another sample

A mutant (`mutations.py`) is killed when a test that runs its line fails, or runs far too long. The
sample is drawn by a hash of each change, so that it stays as it is when other lines are written.
Every mutant is a fork of one process that has imported the library: the child puts the changed
code into the functions that are there, and meets the tests that run the line, cheapest first, up to
half a minute of them. So only what stands inside a function is drawn. Now and then the same tests
meet the functions as they are: they must pass.
"""

import argparse
import contextlib
import gc
import hashlib
import importlib
import json
import os
import pkgutil
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from types import CodeType, FunctionType

from mutations import Finder, Mutant

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("_core", "fit", "claims", "_engine", "theory", "certificate")
#: Tests of these packages, and cheap ones of those that use them.
TESTS = (
    *("tests/core", "tests/fit", "tests/engine", "tests/theory", "tests/certificate"),
    *("tests/test_claims.py", "tests/test_table.py", "tests/test_notebook.py"),
    *("tests/cli/test_names.py", "tests/cli/test_cli_bound.py", "tests/torture/test_fuzz.py"),
    *("tests/papers/test_unsound_tables.py", "tests/papers/test_recipe.py", "tests/test_words.py"),
)
#: Seconds of tests that one mutant may meet, and how much longer than these it may take.
TESTED, SLACK = 30.0, 45.0
#: Mutants that no test could kill, by name, with the reason.
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.json")
#: How a child ends that did not find the function to change.
NOT_PUT = 99
QUIET = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--no-summary"]
#: What pyproject.toml asks of pytest, but for the hook of jaxtyping, which is here already.
AS_USUAL = ["-o", "addopts=", "--strict-markers", "-m", "not slow"]
AS_USUAL += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported already
#: Not imported: PyTorch is an extra, the start is for users, and no test here draws.
LEFT_OUT = ("limelight.torch", "limelight.start", "limelight.__main__")


def main() -> None:
    """Read the words."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    mapped = commands.add_parser("map")
    mapped.add_argument("map", type=Path)
    mapped.add_argument("tests", nargs="*", help="only these; the others of the map are kept")
    tried = commands.add_parser("run")
    tried.add_argument("map", type=Path)
    tried.add_argument("output", type=Path)
    tried.add_argument("--as", dest="name", required=True, help="a name for this round")
    tried.add_argument("--each", type=int, default=50, help="mutants of each package")
    tried.add_argument("--package", nargs="*", default=PACKAGES)
    tried.add_argument("--draw", default="", help="a word: another sample, kept under it")
    tried.add_argument("--survivors", help="only those that survived the round of this name")
    words = parser.parse_args()
    with copied() as tree:
        if words.command == "map":
            draw_map(tree, words.map, words.tests)
        else:
            Round(tree, words).run()


@contextlib.contextmanager
def copied():
    """A copy of the tree that can be changed, as the working folder; the tables are linked."""
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        tree = Path(folder).resolve() / "tree"
        left = shutil.ignore_patterns(".*", "results", "__pycache__", "demo", "dist")
        shutil.copytree(ROOT, tree, ignore=left)
        (tree / "results").symlink_to(ROOT / "results")
        os.environ["PYTHONPATH"] = str(tree / "src")
        sys.path.insert(0, str(tree / "src"))
        os.chdir(tree)
        yield tree


# --- which test runs which line -----------------------------------------------------------------


class Tracer:
    """A plugin of pytest that tells coverage.py the name of every test, and keeps what passed."""

    def __init__(self, coverage):
        self.coverage, self.seconds, self.failed = coverage, defaultdict(float), set()

    def pytest_runtest_logstart(self, nodeid, location):
        """A test begins."""
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report):
        """A part of a test has ended."""
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.failed.add(report.nodeid)


def draw_map(tree: Path, path: Path, only: list[str]) -> None:
    """Run the tests once and write down what each of them runs."""
    import coverage
    import pytest

    measured = [str(tree / file) for package in PACKAGES for file in files(package)]
    cover = coverage.Coverage(data_file=None, include=measured, messages=False)
    tracer = Tracer(cover)
    cover.start()
    pytest.main([*(only or TESTS), *QUIET[:1], *QUIET[2:]], plugins=[tracer])
    cover.stop()
    found = (
        json.loads(path.read_text(encoding="utf-8"))
        if path.exists()
        else {"seconds": {}, "lines": {}}
    )
    found["seconds"] |= {
        test: round(s, 3) for test, s in tracer.seconds.items() if test not in tracer.failed
    }
    for file in measured:
        lines = found["lines"].setdefault(str(Path(file).relative_to(tree)), {})
        for line, tests in cover.get_data().contexts_by_lineno(file).items():
            there = set(lines.get(str(line), ())) | set(tests) - {""} - tracer.failed
            lines[str(line)] = sorted(there)
    path.write_text(json.dumps(found), encoding="utf-8")
    print(f"{len(found['seconds'])} tests; failed here: {sorted(tracer.failed)}")


def files(package: str) -> list[Path]:
    """The modules of a package, or the module itself."""
    folder = ROOT / "src" / "limelight" / package
    found = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    return [path.relative_to(ROOT) for path in found]


# --- a round ------------------------------------------------------------------------------------


def drawn(whole: dict, but: str) -> set[str]:
    """Names of the mutants of a record that other draws took; the first draw looks at none."""
    others = [whole, *(one for one in whole.values() if isinstance(one, dict))] if but else []
    return {name for one in others if one is not whole.get(but) for name in one.get("mutants", ())}


def sample(package: str, size: int, draw: str, known: Collection[str]) -> list[Mutant]:
    """The first by name, one for each line at most; another draw has its own order.

    Args:
        package: Where from.
        size: How many.
        draw: Its name; none for the first.
        known: Names that other draws took.
    """
    every = [mutant for file in files(package) for mutant in Finder(package, ROOT, file).found]
    chosen: dict[tuple[str, int], Mutant] = {}
    order = lambda m: hashlib.sha256((draw + m.name).encode()).hexdigest() if draw else m.name
    for mutant in sorted((m for m in every if m.name not in known), key=order):
        if len(chosen) < size and (mutant.file, mutant.line) not in chosen and changed(mutant):
            chosen[mutant.file, mutant.line] = mutant
    return list(chosen.values())


def changed(mutant: Mutant) -> dict[str, CodeType]:
    """The functions of a module that a mutant changes, by name, with their new code."""
    text = (ROOT / mutant.file).read_bytes()
    before, after = (_functions(t, mutant.file) for t in (text, mutant.into(text)))
    inside = {n: c for n, c in after.items() if n == mutant.function or "<locals>" not in n}
    return {n: c for n, c in inside.items() if _what(before.get(n)) != _what(c)}


def _functions(text: bytes, name: str) -> dict[str, CodeType]:
    found: dict[str, CodeType] = {}
    waiting = [compile(text, name, "exec", dont_inherit=True)]
    while waiting:
        for inner in waiting.pop().co_consts:
            if isinstance(inner, CodeType):
                found[inner.co_qualname] = inner
                waiting.append(inner)
    # the body of a class is code too, which has long been run
    return {n: c for n, c in found.items() if c.co_flags & 1}


def _what(code: CodeType | None) -> tuple | None:
    """All of a function but its lines."""
    if code is None:
        return None
    inner = tuple(_what(c) if isinstance(c, CodeType) else (type(c), c) for c in code.co_consts)
    return (code.co_code, inner, code.co_names, code.co_varnames)


class Round:
    """Every mutant of the sample against the tests that run its line."""

    def __init__(self, tree: Path, words: argparse.Namespace):
        self.tree, self.words = tree, words
        self.map = json.loads(words.map.read_text())
        self.reasons = json.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else {}
        import_everything()

    def run(self) -> None:
        """Try them all; what is known is written down after each."""
        path, name = self.words.output, self.words.name
        whole = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        draw = self.words.draw
        record = whole.setdefault(draw, {}) if draw else whole
        rows = record.setdefault("mutants", {})
        known = drawn(whole, but=draw)
        for package in self.words.package:
            for number, mutant in enumerate(sample(package, self.words.each, draw, known)):
                row = rows.setdefault(mutant.name, about(mutant))
                row |= {"file": mutant.file, "line": mutant.line}
                earlier = row["ends"].get(self.words.survivors, {})
                if earlier.get("end") == "killed":
                    row["ends"][name] = earlier
                elif name not in row["ends"]:
                    row["ends"][name] = self.end(mutant, number % 10 == 0 and not earlier)
                record["table"] = table(rows)
                path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")

    def end(self, mutant: Mutant, control: bool) -> dict:
        """What became of one mutant, and the test that found it."""
        tests = self.covering(mutant)
        if control and tests:
            end, by = self.attempt(None, tests)
            assert end == "survived", f"these tests fail without a fault: {by}"
        if mutant.name in self.reasons:
            end, by = "equivalent", self.reasons[mutant.name]
        else:
            end, by = self.attempt(mutant, tests) if tests else ("survived", "no test runs it")
        print(f"{end:10} {mutant.file}:{mutant.line} {mutant.kind}: {mutant.before!r}", flush=True)
        return {"end": end, "by": by, "tests": len(tests)}

    def covering(self, mutant: Mutant) -> list[str]:
        """The tests that run its line, cheapest first."""
        lines, seconds = self.map["lines"].get(mutant.file, {}), self.map["seconds"]
        tests = set(lines.get(str(mutant.line)) or lines.get(str(mutant.statement), ()))
        chosen, total = [], 0.0
        for test in sorted(tests & seconds.keys(), key=lambda test: seconds[test]):
            total += seconds[test]
            if total > TESTED and chosen:
                break
            chosen.append(test)
        return sorted(chosen, key=lambda test: test.split("::")[0])

    def attempt(self, mutant: Mutant | None, tests: list[str]) -> tuple[str, str]:
        """Fork, put the fault in, run the tests."""
        said = self.tree / f"said-{os.getpid()}"
        said.write_text("")
        child = os.fork()
        if child == 0:
            _test(mutant, self.tree, tests, said)
        allowed = SLACK + 10 * sum(self.map["seconds"][test] for test in tests)
        ended = _wait(child, allowed)
        if ended is None:
            return "killed", f"still running after {allowed:.0f} s"
        assert ended != NOT_PUT, f"the function of {mutant} was not found"
        return ("killed", said.read_text() or "not collected") if ended else ("survived", "")


def import_everything() -> None:
    """The library with its annotations checked, as in the suite, and what the tests use."""
    import hypothesis
    import jaxtyping
    import pytest  # noqa: F401

    assert hypothesis
    jaxtyping.install_import_hook("limelight", "beartype.beartype")
    top = importlib.import_module("limelight")
    for found in pkgutil.walk_packages(top.__path__, "limelight."):
        if not found.name.startswith(LEFT_OUT):
            importlib.import_module(found.name)


def put(mutant: Mutant, tree: Path) -> bool:
    """Give the functions that are there the code of a mutant; whether any was found."""
    new, file = changed(mutant), str(tree / mutant.file)
    found = [
        function
        for function in gc.get_objects()
        if isinstance(function, FunctionType)
        and function.__code__.co_filename == file
        and function.__code__.co_qualname in new
    ]
    for function in found:
        function.__code__ = new[function.__code__.co_qualname]
    return bool(found)


class Teller:
    """A plugin of pytest that writes down the first test that fails."""

    def __init__(self, path: Path):
        self.path = path

    def pytest_runtest_logreport(self, report):
        """A part of a test has ended."""
        if report.failed and not self.path.read_text():
            self.path.write_text(report.nodeid)


def _test(mutant: Mutant | None, tree: Path, tests: list[str], said: Path) -> None:
    """In the child: pytest, and nothing of the parent's afterwards."""
    code = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        import pytest

        there = mutant is None or put(mutant, tree)
        words = [*tests, *AS_USUAL, *QUIET]
        code = int(pytest.main(words, plugins=[Teller(said)])) if there else NOT_PUT
    finally:
        os._exit(code)


def _wait(child: int, seconds: float) -> int | None:
    """Its exit code; nothing if it had to be ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def about(mutant: Mutant) -> dict:
    """A mutant for the record."""
    where = {"package": mutant.package, "function": mutant.function, "kind": mutant.kind}
    return where | {"was": mutant.before, "becomes": mutant.after, "ends": {}}


def table(rows: dict) -> dict:
    """Tried, killed, survived and equivalent, by package and round."""
    counts: dict = {}
    for row in rows.values():
        for name, how in row["ends"].items():
            none = {"tried": 0, "killed": 0, "survived": 0, "equivalent": 0}
            counted = counts.setdefault(row["package"], {}).setdefault(name, none)
            counted["tried"] += 1
            counted[how["end"]] += 1
    return counts


if __name__ == "__main__":
    main()
