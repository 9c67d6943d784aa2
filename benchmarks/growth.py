"""How cost grows: CPU time and memory against trials, tokens, examples, width and chunks.

    python benchmarks/growth.py [OUT.json] [--picture OUT.png] [--rounds N] [--only NAME ...]

Each point is a process of its own, and the points of all lines take turns, so that what else the
machine does falls on all of them alike. Time is that of the processor for one call of a compiled
program, the least of several; memory is how far that call raises the peak of what the process
holds. Powers are fitted in logarithms, with 95 % intervals from the scatter about the line; beside
them stands the power of time over the last doubling. With --only the lines of a record that are
not named stay as they are.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Seconds after which a point is not called again, and calls at most.
ENOUGH, CALLS = 2.0, 7
#: Bytes below which memory cannot be told from what the allocator keeps anyway.
TOLD = 2 * 2**20


@dataclass(frozen=True)
class Line:
    """One thing that grows.

    Args:
        words: What it is, for people.
        short: The same beside a line.
        values: How far.
        expected: The power that time should have.
        make: From a value to a call that computes.
    """

    words: str
    short: str
    values: tuple[int, ...]
    expected: str
    make: Callable[[int], Callable[[], Any]]


# --- what is called -------------------------------------------------------------------------------


def shallow(trials: int, tokens: int, width: int, groups: bool, steps: int) -> Callable[[], Any]:
    """Trials of li2023's Figure 1(a) in one program, of other sizes."""
    import jax

    from limelight._engine.grid import assign
    from limelight._engine.plan import make_plan
    from limelight.papers import load

    study = load("li2023").figure("fig1a").setup("small").experiment
    sizes = {"world.tokens": tokens, "model.width": width, "model.groups": groups}
    steady = {"train.steps": steps, "train.every": steps, "train.early_exit": False}
    plan = make_plan(
        assign(study, sizes | steady), {"train.examples": [16]}, trials=trials, width=trials
    )
    executor, chunk = plan.experiment.executor, plan.chunks[0]
    arguments = executor.place(plan.arguments(chunk), plan.width)
    program = executor.trace(plan.groups[0], arguments).compile()
    return lambda: jax.block_until_ready(program(*arguments))


def decoder(length: int, examples: int, trials: int) -> Callable[[], Any]:
    """Twenty iterations of edelman2022's Figure 2, looks included."""
    from limelight._engine.plan import make_plan
    from limelight.experiments.sparse_and import SparseAnd
    from limelight.worlds import SparseBoolean

    world = SparseBoolean(length=length, sparsity=3, rule="and")
    base = SparseAnd(world=world, iterations=20, share=1.0)
    plan = make_plan(base, {"examples": [examples]}, trials=trials, width=trials)
    chunk = plan.chunks[0]
    arguments, rows = plan.arguments(chunk), plan.settings(chunk)
    program = base.executor.trace(plan.groups[0], arguments).compile()
    return lambda: base.executor.run(program, arguments, rows, lambda done: None)


def chunks(count: int) -> Callable[[], Any]:
    """A run of small trials in so many chunks, each claimed, computed and written to a folder."""
    from limelight._engine.grid import assign
    from limelight._engine.plan import make_plan
    from limelight._engine.run import Engine, describe_run
    from limelight._engine.store import Store
    from limelight.papers import load

    study = load("li2023").figure("fig1a").setup("smoke").experiment
    study = assign(study, {"train.steps": 20, "train.every": 20, "train.early_exit": False})
    plan = make_plan(study, {"train.examples": [16]}, trials=8 * count, width=8)
    executor = plan.experiment.executor
    arguments = executor.place(plan.arguments(plan.chunks[0]), plan.width)
    ready: Future = Future()
    ready.set_result(executor.trace(plan.groups[0], arguments).compile())

    def call() -> None:
        with tempfile.TemporaryDirectory() as folder:
            keep = Store(Path(folder) / "run", describe_run(plan, None, {}))
            engine = Engine(plan, keep, lambda progress: None, 600.0, {})
            engine.programs[0] = ready
            engine.work()

    return call


LINES = {
    "trials": Line(
        "trials in a program, li2023 token by token",
        "trials",
        (1, 2, 4, 8, 16, 32),
        "1",
        lambda n: shallow(n, 100, 100, False, 100),
    ),
    "tokens": Line(
        "tokens, li2023 token by token",
        "tokens",
        (50, 75, 100, 150, 200, 300, 400),
        "1 to 2",
        lambda n: shallow(4, n, 100, False, 50),
    ),
    "grouped": Line(
        "tokens, li2023 with equal ones computed once",
        "tokens, grouped",
        (100, 150, 200, 300, 400, 600, 800),
        "0 to 1",
        lambda n: shallow(16, n, 100, True, 400),
    ),
    "width": Line(
        "hidden neurons, li2023 token by token",
        "neurons",
        (250, 350, 500, 700, 1000, 1400, 2000),
        "1",
        lambda n: shallow(4, 100, n, False, 50),
    ),
    "length": Line(
        "bits T, edelman2022",
        "T",
        (50, 75, 100, 150, 200, 300, 400),
        "1",
        lambda n: decoder(n, 100, 4),
    ),
    "examples": Line(
        "examples m, edelman2022",
        "m",
        (50, 75, 100, 150, 200, 300, 400),
        "1",
        lambda n: decoder(100, n, 4),
    ),
    "chunks": Line("chunks of a run, li2023", "chunks", (8, 16, 32, 64, 128), "1", chunks),
}
#: The lines of the first panel.
FIRST = ("trials", "tokens", "grouped", "width")


# --- one point ------------------------------------------------------------------------------------


def held(name: str) -> int:
    """Bytes that this process holds (`VmRSS`), or has held at most (`VmHWM`)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"no {name} here")


def point(name: str, value: int) -> dict[str, float]:
    """CPU seconds and bytes of one call, and the most the whole process held."""
    call = LINES[name].make(value)
    before = held("VmRSS")
    whole = held("VmHWM")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    call()
    raised = held("VmHWM") - before
    times: list[float] = []
    began = time.monotonic()
    while len(times) < 2 or (len(times) < CALLS and time.monotonic() - began < ENOUGH):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return {"cpu": min(times), "bytes": raised, "most": max(whole, held("VmHWM"))}


# --- all of them ----------------------------------------------------------------------------------


def measured(names: list[str], rounds: int) -> dict[tuple[str, int], list[dict]]:
    """Every point in a process of its own, so many times, in turns."""
    longest = max(len(LINES[name].values) for name in names)
    turns = [
        (name, LINES[name].values[place])
        for place in range(longest)
        for name in names
        if place < len(LINES[name].values)
    ]
    found: dict[tuple[str, int], list[dict]] = {turn: [] for turn in turns}
    with tempfile.TemporaryDirectory() as cache:
        told = os.environ | {"JAX_COMPILATION_CACHE_DIR": cache}
        told["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        for _ in range(rounds):
            for name, value in turns:
                command = [sys.executable, __file__, "--point", name, str(value)]
                left = subprocess.run(command, env=told, capture_output=True, text=True, check=True)
                found[name, value].append(json.loads(left.stdout.splitlines()[-1]))
                print(name, value, left.stdout.splitlines()[-1], flush=True)
    return found


def fitted(name: str, points: dict[int, list[dict]]) -> dict[str, Any]:
    """The powers of one line."""
    from limelight.fit import fit_law

    values = list(points)
    least = lambda of: [min(one[of] for one in found) for found in points.values()]
    row: dict[str, Any] = {
        "line": name,
        "name": LINES[name].words,
        "expected": LINES[name].expected,
        "values": values,
        "cpu_seconds": least("cpu"),
        "bytes": least("bytes"),
        "most_bytes": least("most"),
    }
    for of, numbers in (("time", row["cpu_seconds"]), ("memory", row["bytes"])):
        told = [n if of == "time" or n >= TOLD else math.nan for n in numbers]
        if sum(n == n for n in told) < 3:
            row |= {of: None, f"{of}_low": None, f"{of}_high": None}
            continue
        law = fit_law("power", values, told)
        low, high = law.slope_interval
        row |= {of: law.slope, f"{of}_low": low, f"{of}_high": high}
    half = values.index(values[-1] // 2)
    row["time_at_last"] = math.log2(row["cpu_seconds"][-1] / row["cpu_seconds"][half])
    return row


def merged(rows: list[dict], output: str) -> list[dict]:
    """These lines, and those of the record that is there already, in the order of `LINES`."""
    path = Path(output)
    told = json.loads(path.read_text())["rows"] if output and path.exists() else []
    found = {row["line"]: row for row in (*told, *rows)}
    return [found[name] for name in LINES if name in found]


def draw(rows: list[dict]) -> Any:
    """Time over that of the smallest point, against size over the smallest; beside y = x."""
    from limelight.plot import Axis, Guide, Panel, Picture, Series
    from limelight.plot.picture import TWO_COLUMNS

    def panel(title: str, ours: list[dict]) -> Panel:
        far = max(row["values"][-1] / row["values"][0] for row in ours)
        marks: list[Any] = [Guide("in proportion", [1, far], [1, far], colour="muted", dash=1)]
        for row in ours:
            x = [value / row["values"][0] for value in row["values"]]
            y = [spent / row["cpu_seconds"][0] for spent in row["cpu_seconds"]]
            marks.append(Series(f"{LINES[row['line']].short}: {row['time']:.2f}", x, y))
        return Panel(title, marks, Axis("CPU time", log=True), Axis("size", log=True))

    first = [row for row in rows if row["line"] in FIRST]
    second = [row for row in rows if row["line"] not in FIRST]
    parts = (("training, li2023", first), ("training, edelman2022, and the engine", second))
    panels = [panel(title, ours) for title, ours in parts if ours]
    note = "both over the smallest; numbers are fitted powers"
    return Picture(panels, len(panels), TWO_COLUMNS, 3.3, note=note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", default="")
    parser.add_argument("--picture", default="")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=LINES, default=list(LINES))
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.point:
        print(json.dumps(point(given.point[0], int(given.point[1]))))
        return
    found = measured(given.only, given.rounds)
    rows = [
        fitted(name, {value: found[name, value] for value in LINES[name].values})
        for name in given.only
    ]
    rows = merged(rows, given.output)
    from timing import about

    record = {**about(), "rounds": given.rounds, "rows": rows}
    print(json.dumps(rows, indent=1))
    if given.output:
        Path(given.output).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    if given.picture:
        draw(rows).save(given.picture)


if __name__ == "__main__":
    main()
