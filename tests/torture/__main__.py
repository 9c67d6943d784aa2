"""`python -m tests.torture`: rounds until enough processes were ended; the count is kept."""

import argparse
import json
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from limelight._engine.device import commit
from tests.torture.study import CHUNKS, ROWS
from tests.torture.suite import ATTEMPTS, KINDS, Torture

#: Signals twice as often as the rest.
ORDER = [kind for kind in KINDS if kind.startswith("signals")] + list(KINDS)
#: Workers first: what is sent to them then depends on the seed alone.
SLICE = ["workers, replaced", "signals, two processes", "chunk flipped", "disk full"]
RESULTS = Path(__file__).parents[2] / "results" / "benchmarks" / "torture.json"


def main() -> None:
    """Read the words, torture, write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="processes to end at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slice", action="store_true", help="a few kinds only, for every day")
    parser.add_argument("--output", type=Path, default=RESULTS)
    words = parser.parse_args()
    order = SLICE if words.slice else ORDER
    began = time.monotonic()
    source = {"commit": commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}  # before it is written
    with tempfile.TemporaryDirectory(prefix="torture") as folder:
        torture = Torture(Path(folder), words.seed, 2 if words.slice else ATTEMPTS)
        rounds = 0
        while torture.kills < words.kills or rounds < (1 if words.slice else 2) * len(order):
            kind = order[rounds % len(order)]
            torture.round(kind)
            rounds += 1
            print(f"{rounds} runs, {torture.kills} ended, last: {kind}", flush=True)
            found = record(torture, rounds, time.monotonic() - began)
            keep(words.output, "kills", {**source, **found})


def record(torture: Torture, rounds: int, seconds: float) -> dict:
    """What was done, and what came of it: a round that loses anything ends the session."""
    return {
        "seed": torture.seed,
        "runs": rounds,
        "rows of each": ROWS,
        "chunks of each": CHUNKS,
        "processes ended from outside": torture.kills,
        "rows lost, doubled or changed": 0,
        "seconds": round(seconds, 1),
        "kinds": {kind: dict(sorted(c.items())) for kind, c in torture.counts.items()},
    }


def keep(path: Path, name: str, record: dict) -> None:
    """Put one record beside the others of the file."""
    there = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**there, name: record}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
