"""Run figures and publish their tables under a results folder.

    python benchmarks/publish.py [--seed N] [--set PATH=VALUE ...] SCALE RESULTS KEY[/FIGURE] ...

A key alone means every figure of the paper. Runs are kept under runs/, so that the same command
again goes on where it stopped. A figure that fails is named and the rest goes on. Where a cell
occurs at two scales its trials are the same for the same seed: another seed makes them fresh.
"""

import argparse
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


def run(figure, scale: str, results: str, seed: int, settings: dict[str, str]) -> None:
    store = default_store(figure, scale, seed, settings)
    seen: list = []
    began = time.perf_counter()
    command = "python " + shlex.join(sys.argv)
    table = figure.run(
        scale, store, seed=seed, settings=settings, progress=seen.append, command=command
    )
    print(
        f"{figure.paper}/{figure.name} {scale}: {len(table)} trials,"
        f" {time.perf_counter() - began:.1f} s in all, {seen[-1].compile_seconds:.1f} s compiling"
        f" {seen[-1].compilations} programs",
        flush=True,
    )
    for verdict in figure.verdict(table):
        print(f"  {verdict}", flush=True)
    publish(store, results)


def main() -> int:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    words.add_argument("scale")
    words.add_argument("results")
    words.add_argument("names", nargs="+", metavar="KEY[/FIGURE]")
    told = words.parse_args()
    settings = dict(pair.split("=", 1) for pair in told.set)
    failed = []
    began = time.perf_counter()
    for figure in figures(told.names):
        try:
            run(figure, told.scale, told.results, told.seed, settings)
        except LimelightError as error:
            failed.append(figure.name)
            print(f"{figure.name} failed: {error}", flush=True)
    print(f"all: {time.perf_counter() - began:.1f} s; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
