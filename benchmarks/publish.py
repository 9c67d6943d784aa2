"""Run figures and publish their tables under a results folder.

    python benchmarks/publish.py SCALE RESULTS KEY[/FIGURE] [KEY[/FIGURE] ...]

A key alone means every figure of the paper. Runs are kept under runs/, so that the same command
again goes on where it stopped. A figure that fails is named and the rest goes on.
"""

import shlex
import sys
import time
from pathlib import Path

from limelight.core.errors import LimelightError
from limelight.papers import load
from limelight.papers.published import publish


def figures(names: list[str]) -> list:
    found = []
    for name in names:
        key, _, figure = name.partition("/")
        found += [load(key).figure(figure)] if figure else load(key).figures
    return found


def run(figure, scale: str, results: str) -> None:
    store = Path("runs") / f"{figure.paper}-{figure.name}-{scale}"
    seen: list = []
    began = time.perf_counter()
    command = "python " + shlex.join(sys.argv)
    table = figure.run(scale, store, progress=seen.append, command=command)
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
    for figure in figures(list(names)):
        try:
            run(figure, scale, results)
        except LimelightError as error:
            failed.append(figure.name)
            print(f"{figure.name} failed: {error}", flush=True)
    print(f"all: {time.perf_counter() - began:.1f} s; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
