"""Run figures and publish their tables under a results folder.

    python benchmarks/publish.py [--seed N] [--beside N] [--set PATH=VALUE ...] SCALE RESULTS
        KEY[/FIGURE] ...

A key alone means every figure of the paper. With --beside several figures are under way at a time,
each in a process of its own, and share the device's memory: while one computes, others trace and
compile on other cores. Runs are kept under runs/, so that the same command again goes on where it
stopped. A figure that fails is named and the rest goes on.
Where a cell occurs at two scales its trials are the same for the same seed: another seed makes them
fresh.
"""

import argparse
import multiprocessing
import os
import shlex
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from limelight._core.errors import LimelightError
from limelight._engine import device
from limelight.papers import load
from limelight.papers.published import default_store, publish


def figures(names: list[str]) -> list[str]:
    """KEY/FIGURE of each."""
    found = []
    for name in names:
        key, _, figure = name.partition("/")
        found += [name] if figure else [f"{key}/{each.name}" for each in load(key).figures]
    return found


def share(parts: int) -> None:
    """Make this process content with a part of the device's memory."""
    device.SHARE /= parts


def run(name: str, told: argparse.Namespace, settings: dict[str, str]) -> list[str]:
    """Compute and publish one figure; what there is to tell of it."""
    key, _, figure_name = name.partition("/")
    figure = load(key).figure(figure_name)
    store = default_store(figure, told.scale, told.seed, settings)
    seen: list = []
    began = time.perf_counter()
    command = "python " + shlex.join(sys.argv)
    table = figure.run(
        told.scale, store, seed=told.seed, settings=settings, progress=seen.append, command=command
    )
    took = time.perf_counter() - began
    publish(store, told.results)
    return [
        f"{name} {told.scale}: {len(table)} trials, {took:.1f} s in all,"
        f" {seen[-1].compile_seconds:.1f} s waiting for {seen[-1].compilations} programs",
        *(f"  {verdict}" for verdict in figure.verdict(table)),
    ]


def main() -> int:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--beside", type=int, default=1)
    words.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    words.add_argument("scale")
    words.add_argument("results")
    words.add_argument("names", nargs="+", metavar="KEY[/FIGURE]")
    told = words.parse_args()
    settings = dict(pair.split("=", 1) for pair in told.set)
    began = time.perf_counter()
    # A process that took all of a GPU's memory when it starts would leave none to the others.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    fresh = multiprocessing.get_context("spawn")
    failed = []
    with ProcessPoolExecutor(told.beside, fresh, share, (told.beside,)) as pool:
        tasks = {pool.submit(run, name, told, settings): name for name in figures(told.names)}
        for task in as_completed(tasks):
            try:
                print("\n".join(task.result()), flush=True)
            except (LimelightError, BrokenProcessPool) as error:
                failed.append(tasks[task])
                print(f"{tasks[task]} failed: {error}", flush=True)
    print(f"all: {time.perf_counter() - began:.1f} s; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
