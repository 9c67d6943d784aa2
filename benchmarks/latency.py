"""CPU seconds until a command of the first minutes has answered: the least of several runs.

    python benchmarks/latency.py results/benchmarks/latency-cpu.json

CPU time (user and system, of the process and its children) is what a command costs on any machine;
the wall clock of a busy one says little. The first run of each is left out: it warms the disk.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from timing import about

COMMANDS = {
    "import limelight": [sys.executable, "-c", "import limelight"],
    "limelight --help": [sys.executable, "-m", "limelight", "--help"],
    "limelight papers": [sys.executable, "-m", "limelight", "papers"],
    "limelight show li2023": [sys.executable, "-m", "limelight", "show", "li2023"],
    "limelight show li2023 theorem1": [
        *(sys.executable, "-m", "limelight", "show", "li2023", "theorem1"),
        *("--set", "relevant=0.3"),
    ],
    "limelight show li2023 fig1a": [sys.executable, "-m", "limelight", "show", "li2023", "fig1a"],
    "limelight verify --results results/": [
        *(sys.executable, "-m", "limelight", "verify", "--results", "results/", "--json"),
    ],
}
#: Seconds of the interpreter itself, which no import of ours can avoid.
NOTHING = [sys.executable, "-c", "pass"]


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ
        | {"PYTHONDONTWRITEBYTECODE": ""},  # compiled modules are kept, as by default
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(command: list[str], runs: int) -> float:
    """The least of several runs after one that does not count."""
    cpu_seconds(command)
    return min(cpu_seconds(command) for _ in range(runs))


def main() -> None:
    rows = {"the interpreter alone": round(least(NOTHING, 5), 3)}
    for name, command in COMMANDS.items():
        rows[name] = round(least(command, 2 if "verify" in name else 5), 3)
        print(f"{name:38} {rows[name]:7.3f} s", flush=True)
    if len(sys.argv) > 1:
        made = {"cpu_seconds": rows, **about()}
        Path(sys.argv[1]).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
