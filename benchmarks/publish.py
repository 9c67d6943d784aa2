"""Run figures and publish their tables under a results folder.

    python benchmarks/publish.py [--seed N] [--beside N] [--set PATH=VALUE ...] SCALE RESULTS
        KEY[/FIGURE] ...

A key alone means every figure of the paper. With --beside several figures are under way at a time
and share the device's memory: one compiles while another runs. Runs are kept under runs/, so that
the same command again goes on where it stopped. A figure that fails is named and the rest goes on.
Where a cell occurs at two scales its trials are the same for the same seed: another seed makes them
fresh.
"""

import argparse
import shlex
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from limelight._core.errors import LimelightError
from limelight._engine import device
from limelight.papers import load
from limelight.papers.published import default_store, publish

#: Pictures are drawn and lines printed by one figure at a time.
TURN = threading.Lock()


def figures(names: list[str]) -> list:
    found = []
    for name in names:
        key, _, figure = name.partition("/")
        found += [load(key).figure(figure)] if figure else load(key).figures
    return found


def run(figure, scale: str, results: str, seed: int, settings: dict[str, str]) -> str:
    """Compute and publish one figure; its name if that failed."""
    store = default_store(figure, scale, seed, settings)
    seen: list = []
    began = time.perf_counter()
    command = "python " + shlex.join(sys.argv)
    try:
        table = figure.run(
            scale, store, seed=seed, settings=settings, progress=seen.append, command=command
        )
    except LimelightError as error:
        print(f"{figure.name} failed: {error}", flush=True)
        return figure.name
    with TURN:
        print(
            f"{figure.paper}/{figure.name} {scale}: {len(table)} trials,"
            f" {time.perf_counter() - began:.1f} s in all, {seen[-1].compile_seconds:.1f} s waiting"
            f" for {seen[-1].compilations} programs",
            flush=True,
        )
        for verdict in figure.verdict(table):
            print(f"  {verdict}", flush=True)
        publish(store, results)
    return ""


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
    device.SHARE /= told.beside
    one = lambda figure: run(figure, told.scale, told.results, told.seed, settings)
    with ThreadPoolExecutor(told.beside) as pool:
        failed = list(filter(None, pool.map(one, figures(told.names))))
    print(f"all: {time.perf_counter() - began:.1f} s; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
