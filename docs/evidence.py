"""Run every command that an erratum names, and keep what it prints, so that a card can show it.

    python docs/evidence.py            run all of them; outputs go to results/errata/
    python docs/evidence.py --check    run all of them and compare with what is kept
    python docs/evidence.py li2023 E4  one row alone

A command is what stands in backticks in the last column of a table in `errata.md` and begins with
`limelight show`, `pytest` or `python`. Claims that a row names are decided from the published
tables and need no record.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import cards

from limelight._core.files import write_whole

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "results" / "errata"
#: Of a number that is typeset, as in 3.5×10⁻¹⁸ or 10⁻⁶: what stands for its exponent.
POWER = re.compile(r"(?:(?<=\d)×|(?<![\d.]))10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)
#: How far numbers of another machine may be: relatively, and where they are rounding alone.
RELATIVE, ROUNDING = 2e-3, 1e-9

#: By paper and row: outputs by command.
Outputs = dict[str, dict[str, dict[str, str]]]


def asked() -> Iterator[tuple[str, str, str]]:
    """Paper, row and command, in the order of the tables."""
    for key, (_, rows, _) in cards.tables((ROOT / "docs" / "errata.md").read_text()).items():
        for row in rows:
            for command in cards.commands(key, row):
                yield key, row["#"], command


def printed(command: str) -> str:
    """What a command prints; one that fails is an error. Of tests, how many passed."""
    first, *words = shlex.split(command)
    module = {"python": [], "limelight": ["-m", "limelight"], "pytest": ["-m", "pytest", "-q"]}
    ours = {name: text for name, text in os.environ.items() if name != "XLA_FLAGS"}  # of a test
    plain = {**ours, "COLUMNS": "84", "NO_COLOR": "1", "TERM": "dumb"}
    ran = subprocess.run(
        [sys.executable, *module[first], *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=plain,
    )
    if ran.returncode:
        raise SystemExit(f"{command} leaves with {ran.returncode}: {ran.stdout}{ran.stderr}")
    passed = re.search(r"\d+ passed", ran.stdout) if first == "pytest" else None
    return passed[0] if passed else "\n".join(map(str.rstrip, ran.stdout.strip().splitlines()))


def agree(kept: str, now: str) -> bool:
    """Whether two outputs have the same words, and numbers that differ in last digits alone."""
    kept, now = (POWER.sub(_exponent, text) for text in (kept, now))
    if NUMBER.sub("#", kept) != NUMBER.sub("#", now):
        return False
    numbers = ([float(n.replace(",", "")) for n in NUMBER.findall(text)] for text in (kept, now))
    return all(
        abs(a - b) <= max(RELATIVE * max(abs(a), abs(b)), ROUNDING)
        for a, b in zip(*numbers, strict=True)
    )


def _exponent(found: re.Match[str]) -> str:
    """`×10⁻¹⁸` as one types it: e-18, or 1e-18 where nothing stands before it."""
    return ("" if found[0].startswith("×") else "1") + "e" + found[1].translate(RAISED)


def kept() -> Outputs:
    """Every output that is kept."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(KEPT.glob("*.json"))}


def main(words: list[str]) -> int:
    """Run the commands; write what they print, or say which print something else."""
    check, only = "--check" in words, [word for word in words if word != "--check"]
    wanted = [row for row in asked() if not only or [*row[: len(only)]] == only]
    known = kept()
    found: Outputs = known if only else {}
    stale = []
    for key, row, command in wanted:
        now = printed(command)
        before = known.get(key, {}).get(row, {}).get(command)
        if before is None or not agree(before, now):
            stale.append(f"{key} {row}: {command}")
        # Digits that are of this machine alone are no news.
        same = before is not None and agree(before, now)
        found.setdefault(key, {}).setdefault(row, {})[command] = before if same else now
    print(f"{len(wanted)} commands ran, {len(stale)} print something else than before")
    if check:
        print("\n".join(stale))
        return int(bool(stale))
    KEPT.mkdir(parents=True, exist_ok=True)
    for key, rows in found.items():
        text = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
        write_whole(KEPT / f"{key}.json", text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
