"""What workers cost: pace and start-up of one process, and of two workers here, on SLURM, on Ray.

    python benchmarks/workers.py [--on local,slurm,ray] [--rounds N] [OUT.json]

The same study each time, li2023 Figure 1(a) at small scale. The pace counts from the moment when
every process has finished its first chunk, so compilation is not in it. Start-up is the time from
the call to a worker's first line, and to its first chunk under way.
"""

import argparse
import datetime
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax

import limelight as ll
from limelight._engine.reading import read_facts
from limelight._engine.run import lay_out

#: Trials in a chunk, and per cell.
WIDTH, TRIALS = 16, 20


def pace(store: Path) -> float:
    """Trials per second once every process has its program."""
    files = sorted((store / "chunks").glob("*.json"))
    made = zip(read_facts(store), (file.stat().st_mtime for file in files), strict=True)
    ended = sorted((end, facts["by"]["pid"], facts["trials"]) for facts, end in made)
    first = {}
    for end, pid, _ in ended:
        first.setdefault(pid, end)
    begin = max(first.values())
    rest = [trials for end, _, trials in ended if end > begin]
    return sum(rest) / (ended[-1][0] - begin)


def alone(store: Path, figure, settings) -> dict[str, float]:
    began = time.perf_counter()
    words = [sys.executable, "-m", "limelight", "run", "li2023", "fig1a", "--store", str(store)]
    words += [
        "--width",
        str(WIDTH),
        *(w for k, v in settings.items() for w in ("--set", f"{k}={v}")),
    ]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return {"seconds": time.perf_counter() - began, "pace": pace(store)}


def crew(store: Path, figure, settings, on: str) -> dict[str, float]:
    plan = figure.plan("small", settings=settings, width=WIDTH)
    lay_out(plan, store, figure.about("small", 0, settings))
    began, clock = time.perf_counter(), time.time()
    options = {"time": "30"} if on == "slurm" else {}
    ll.workers(store, on=on, count=2, **options).wait()
    seconds = time.perf_counter() - began
    if on == "ray":  # so that the next round starts one too
        importlib.import_module("ray").shutdown()
    lines = [line for log in store.glob("workers/*.log") for line in log.read_text().splitlines()]
    said = lambda words: min(_moment(line) for line in lines if words in line) - clock
    return {
        "seconds": seconds,
        "pace": pace(store),
        "first_line": said(" worker "),
        "first_chunk": said(" trials, "),
    }


def _moment(line: str) -> float:
    stamp = datetime.datetime.fromisoformat(line.split()[0])
    return stamp.replace(tzinfo=datetime.UTC).timestamp()


def main() -> None:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--on", default="local")
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--trials", type=int, default=TRIALS)
    words.add_argument("out", nargs="?", type=Path)
    told = words.parse_args()
    jax.config.update("jax_platforms", "cpu")
    from timing import about

    figure, settings = ll.papers.li2023.figure("fig1a"), {"trials": str(told.trials)}
    ways = ["one process", *told.on.split(",")]
    found: dict[str, list] = {way: [] for way in ways}
    for number in range(told.rounds):
        for way in ways:  # in turn: whatever else the machine does meets all of them
            with tempfile.TemporaryDirectory() as folder:
                store = Path(folder) / "run"
                one = way == "one process"
                found[way].append(
                    alone(store, figure, settings) if one else crew(store, figure, settings, way)
                )
            load = os.getloadavg()[0]
            found[way][-1] = {k: round(v, 3) for k, v in (found[way][-1] | {"load": load}).items()}
            print(number, way, found[way][-1], flush=True)
    middle = {
        way: {k: statistics.median(row[k] for row in rows) for k in rows[0]}
        for way, rows in found.items()
    }
    for way in ways:
        middle[way]["against_one_process"] = middle[way]["pace"] / middle["one process"]["pace"]
    record = {**about(), "width": WIDTH, "trials": told.trials, "median": middle, "rounds": found}
    if told.out:
        told.out.write_text(json.dumps(record, indent=2) + "\n")
    print(json.dumps(middle, indent=2))


if __name__ == "__main__":
    main()
