"""`python -m tests.machines`: the quick part of the suite in every place; the matrix is kept."""

import argparse
import json
import sys
from pathlib import Path

from tests.machines.places import PLACES, ROOT, Unavailable
from tests.machines.quick import COMMANDS, FIRST, NOTICING, TESTS, tried
from tests.machines.versions import VERSIONS, named

RESULTS = ROOT / "results" / "benchmarks" / "machines.json"


def main() -> int:
    """Read the words, go from place to place, write down; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="some of the places, by a part of their names")
    parser.add_argument("--whole", action="store_true", help="the whole suite, not its quick part")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--commands", action="store_true", help="a user's commands, no test")
    only.add_argument("--tests", action="store_true", help="tests; commands stay as written down")
    parser.add_argument("--output", type=Path, default=RESULTS)
    words = parser.parse_args()
    there = json.loads(words.output.read_text()) if words.output.exists() else {}
    failed = False
    for name, made in (PLACES | VERSIONS).items():
        if words.only and not any(part in name for part in words.only):
            continue
        print(f"{name}: ", end="", flush=True)
        try:
            with made() as place:
                versions = named(place)
                commands, tests = (FIRST, NOTICING) if name in PLACES else (COMMANDS, TESTS)
                tests = () if words.commands else ("-n", "2", "tests") if words.whole else tests
                found = tried(place, () if words.tests else commands, tests)
                if words.tests:
                    found = joined(there.get(name, {}), found, versions)
            peak = {} if place.peak is None else {"most memory, GB": round(place.peak / 1e9, 2)}
            there[name] = {**found, **peak, "versions": versions}
            failed |= not found["passed"]
            print("passed" if found["passed"] else f"FAILED {found}")
        except Unavailable as error:
            there[name] = {"not here": str(error)}
            print(f"not here: {error}")
        words.output.write_text(json.dumps(there, indent=1) + "\n")
    return int(failed)


def joined(before: dict, found: dict, versions: dict) -> dict:
    """The tests of now beside the commands that were written down for the same versions."""
    if before.get("versions") != versions:
        return found
    kept = {name: before[name] for name in ("commands", "faults") if name in before}
    passed = found["passed"] and not kept.get("faults")
    seconds = found["seconds"] + before.get("seconds", 0)
    return {**found, **kept, "passed": passed, "seconds": seconds}


if __name__ == "__main__":
    sys.exit(main())
