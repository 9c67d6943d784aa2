"""`python -m tests.machines`: the quick part of the suite in every place; the matrix is kept.

All rows of a record are of one commit: one of another commit is begun anew.
"""

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from limelight._engine.device import commit
from tests.machines.places import PLACES, ROOT, WHOLE, Unavailable
from tests.machines.quick import COMMANDS, DEMO, EVERYTHING, FIRST, NOTICING, TESTS, tried
from tests.machines.versions import VERSIONS, WHEELS, named

RESULTS = ROOT / "results" / "benchmarks" / "machines.json"


def main() -> int:
    """Read the words, go from place to place, write down; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="some of the places, by a part of their names")
    parser.add_argument("--but-not", nargs="*", default=[], help="places to leave out, likewise")
    parser.add_argument("--output", type=Path, default=RESULTS)
    words = parser.parse_args()
    record = begun(words.output)
    failed = False
    for name, (made, commands, tests) in ROWS.items():
        wanted = not words.only or any(part in name for part in words.only)
        if not wanted or any(part in name for part in words.but_not):
            continue
        began = time.monotonic()
        say = lambda what: print(f"  {time.monotonic() - began:5.0f} s  {what}", flush=True)  # noqa: B023
        print(name, flush=True)
        try:
            with made() as place:
                row = {"versions": named(place), **tried(place, commands, tests, say)}
            peak = {} if place.peak is None else {"most memory, GB": round(place.peak / 1e9, 2)}
            record["places"][name] = row | peak
            failed |= not row["passed"]
            say("passed" if row["passed"] else f"FAILED {row}")
        except Unavailable as error:
            record["places"][name] = {"not here": str(error)}
            say(f"not here: {error}")
        record["places"] = {n: record["places"][n] for n in ROWS if n in record["places"]}
        words.output.write_text(json.dumps(record, indent=1) + "\n")
    return int(failed)


#: Every place: how it is made, the commands and the tests that are tried in it.
ROWS = (
    {name: (made, FIRST, NOTICING) for name, made in PLACES.items()}
    | {name: (made, COMMANDS, TESTS) for name, made in VERSIONS.items()}
    | {name: (made, DEMO, ()) for name, made in WHEELS.items()}
    | {name: (made, (), EVERYTHING) for name, made in WHOLE.items()}
)


def begun(path: Path) -> dict:
    """The record so far, if it is of this commit; else a new one."""
    here = {"commit": commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    there = json.loads(path.read_text()) if path.exists() else {}
    # Once it is written, the tree is no longer the commit's: that alone is no change of code.
    plain = lambda record: record.get("commit", "").removesuffix("-dirty")
    return there if plain(there) == plain(here) else {**here, "places": {}}


if __name__ == "__main__":
    sys.exit(main())
