"""Trials per second beside the ordinary loop, side by side in one run, as JSON.

python benchmarks/throughput.py [OUTPUT.json]
"""

import json
import sys
from pathlib import Path

from limelight._engine.device import describe_machine
from limelight.bench import measure


def main(output: str = "") -> None:
    record = {"command": " ".join(sys.argv), **describe_machine()}
    record["rows"] = [row.as_json() for row in measure()]
    text = json.dumps(record, indent=2)
    print(text)
    if output:
        Path(output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
