"""Trials per second beside the ordinary loop, side by side in one run, as JSON.

    python benchmarks/throughput.py [--peers] [OUT.json]

With --peers stronger ways stand beside the loop (`shallow_peers.py`).
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import jax
import shallow_peers
from timing import about

from limelight._engine.grid import assign
from limelight.bench import Row, measure
from limelight.papers import load

#: Trials at once that a peer is tried with; its best counts.
AT_ONCE = {"cpu": (4, 16), "gpu": (256, 1024)}


def beside(rows: list[Row]) -> list[Row]:
    """Every peer over the ordinary loop, which is the first row."""
    study = load("li2023").figure("fig1a").setup("small").experiment
    plain = assign(study, {"model.groups": False})
    found = shallow_peers.measured(plain, AT_ONCE.get(jax.default_backend(), AT_ONCE["cpu"]))
    loop = rows[0]
    return [
        replace(loop, name=name, value=rate, baseline=loop.name, ratio=rate / loop.value)
        for name, rate in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", action="store_true", help="stronger ways beside the loop")
    parser.add_argument("output", nargs="?", default="")
    given = parser.parse_args()
    rows = measure()
    rows += beside(rows) if given.peers else []
    text = json.dumps({**about(), "rows": [row.as_json() for row in rows]}, indent=2)
    print(text)
    if given.output:
        Path(given.output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
