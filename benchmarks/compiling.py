"""What a CPU's compiler costs and brings: programs of figures, with all passes and in haste.

    python benchmarks/compiling.py [OUT.json]

Each program is compiled twice and run three times on its own first chunk; seconds are of the
processor, so that other work on the machine matters little.
"""

import json
import sys
import time

import jax

import limelight as ll
from limelight._core.files import write_whole
from limelight._engine import device

FIGURES = (
    ("li2023", "fig1a", "small"),
    ("li2023", "fig6c", "smoke"),
    ("jelassi2022", "fig4", "smoke"),
    ("jelassi2022", "phase", "small"),
)


def measured(key: str, name: str, scale: str) -> dict:
    plan = getattr(ll.papers, key).figure(name).plan(scale)
    chunk = plan.chunks[0]
    row: dict = {"figure": f"{key} {name}", "scale": scale, "trials": plan.width}
    with jax.enable_x64(plan.double):
        arguments = plan.experiment.executor.place(plan.arguments(chunk), plan.width)
        traced = plan.experiment.executor.trace(plan.groups[chunk.group], arguments)
        for way, options in (("full", None), ("haste", device.in_haste(0.0))):
            began = time.process_time()
            program = traced.compile(options)
            row[f"compile_{way}"] = round(time.process_time() - began, 2)
            row[f"run_{way}"] = round(min(_seconds(program, arguments) for _ in range(3)), 3)
    return row


def _seconds(program, arguments) -> float:
    began = time.process_time()
    jax.block_until_ready(program(*arguments))
    return time.process_time() - began


def main() -> None:
    rows = []
    for figure in FIGURES:
        rows.append(measured(*figure))
        print(rows[-1], flush=True)
    if sys.argv[1:]:
        text = json.dumps({"command": "python benchmarks/compiling.py", "rows": rows}, indent=1)
        write_whole(sys.argv[1], f"{text}\n".encode())


if __name__ == "__main__":
    main()
