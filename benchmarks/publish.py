"""Run figures and publish their tables under results/.

    python benchmarks/publish.py SCALE RESULTS KEY/FIGURE [KEY/FIGURE ...]

Each run is kept under runs/, so that the same command again goes on where it stopped.
"""

import shlex
import sys
import time
from pathlib import Path

from limelight.papers import load
from limelight.papers.published import publish


def main(scale: str, results: str, *names: str) -> None:
    for name in names:
        key, figure = name.split("/")
        store = Path("runs") / f"{key}-{figure}-{scale}"
        command = "python " + shlex.join(sys.argv)
        last = []
        began = time.perf_counter()
        recipe = load(key).figure(figure)
        table = recipe.run(scale, store, progress=last.append, command=command)
        seen = last[-1]
        print(
            f"{name} {scale}: {len(table)} trials, {time.perf_counter() - began:.1f} s in all,"
            f" {seen.compile_seconds:.1f} s compiling {seen.compilations} programs",
            flush=True,
        )
        for verdict in recipe.verdict(table):
            print(f"  {verdict}", flush=True)
        print(f"  published in {publish(store, results)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
