"""Run figures and publish their tables under a results folder.

    python benchmarks/publish.py SCALE RESULTS KEY[/FIGURE] [KEY[/FIGURE] ...] [--seed=NUMBER]

A key alone means every figure of the paper. Runs are kept under runs/, so that the same command
again goes on where it stopped. A figure that fails is named and the rest goes on.
"""

import shlex
import sys
import time

from limelight.core.errors import LimelightError
from limelight.papers import load
from limelight.papers.published import default_store, publish


def figures(names: list[str]) -> list:
    found = []
    for name in names:
        key, _, figure = name.partition("/")
        found += [load(key).figure(figure)] if figure else load(key).figures
    return found


def run(figure, scale: str, results: str, seed: int) -> None:
    store = default_store(figure, scale, seed)
    seen: list = []
    began = time.perf_counter()
    command = "python " + shlex.join(sys.argv)
    table = figure.run(scale, store, seed=seed, progress=seen.append, command=command)
    print(
        f"{figure.paper}/{figure.name} {scale}: {len(table)} trials,"
        f" {time.perf_counter() - began:.1f} s in all, {seen[-1].compile_seconds:.1f} s compiling"
        f" {seen[-1].compilations} programs",
        flush=True,
    )
    for verdict in figure.verdict(table):
        print(f"  {verdict}", flush=True)
    publish(store, results)


def main(scale: str, results: str, *names: str) -> int:
    failed = []
    began = time.perf_counter()
    seed = next((int(n.removeprefix("--seed=")) for n in names if n.startswith("--seed=")), 0)
    for figure in figures([name for name in names if not name.startswith("--")]):
        try:
            run(figure, scale, results, seed)
        except LimelightError as error:
            failed.append(figure.name)
            print(f"{figure.name} failed: {error}", flush=True)
    print(f"all: {time.perf_counter() - began:.1f} s; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
