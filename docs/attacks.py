"""Tables of what was tried to break runs and parsers, from the record of `make torture`."""

import json
from pathlib import Path

RECORD = Path(__file__).resolve().parents[1] / "results" / "benchmarks" / "torture.json"


def killed() -> str:
    """Runs that were disturbed, by kind."""
    record = _read("kills")
    rows = ["| disturbed | runs | processes | ended from outside | survived |"]
    rows += ["| --- " + "| ---: " * 4 + "|"]
    for kind, count in record["kinds"].items():
        known = [count.get(name, "") for name in ("runs", "processes", "ended", "survived")]
        rows.append(f"| {kind} | " + " | ".join(f"{number}" for number in known) + " |")
    lost = record["rows lost, doubled or changed"]
    told = f"{record['processes ended from outside']:,} processes ended in {record['runs']} runs of"
    told += f" {record['chunks of each']} chunks and {record['rows of each']} rows, seed"
    told += f" {record['seed']}. Rows lost, doubled or changed: {lost}. {_source(record)}"
    return _table(rows, told)


def fuzzed() -> str:
    """Inputs that were mutated, by kind: the whole session, and a shorter one if one is kept."""
    record = _read("fuzz")
    rows = ["| mutated | inputs | refused in one line | longest |"]
    rows += ["| --- " + "| ---: " * 3 + "|"]
    for kind, count in record["kinds"].items():
        refused, inputs = count.get("refused", 0), count.get("refused", 0) + count.get("taken", 0)
        took = f"{count['longest, ms'] / 1000:.1f} s"
        rows.append(f"| {kind} | {inputs:,} | {refused:,} | {took} |")
    told = f"{record['inputs']:,} inputs, {record['tracebacks']} tracebacks"
    if "seed" in record:
        told += (
            f", seed {record['seed']}. One may compute for {record['seconds for one at most']:g} s;"
        )
        told += f" the process grew by {record['GB of growth']} GB"
        told += f" ({record['GB of growth at most']:g} allowed)"
        ended = record["kinds"].get("nearly right command lines", {})
        codes = [f"{n:,} with {w[-1]}" for w, n in ended.items() if w.startswith("ended with")]
        told += f". Lines that nearly work ended {', '.join(codes)}"
    told += f". {_source(record)}"
    if shorter := _read("fuzz, shorter"):
        told += f" A shorter session since: {shorter['inputs']:,} inputs,"
        told += f" {shorter['tracebacks']} tracebacks. {_source(shorter)}"
    return _table(rows, told)


def _read(name: str) -> dict:
    return json.loads(RECORD.read_text(encoding="utf-8")).get(name, {})


def _source(record: dict) -> str:
    """When it was done, and with which code."""
    how = "Code" if "commit" in record else "Kept in"
    commit = record.get("commit") or record["kept in"]
    return f"{record['date']}. {how}: {commit[:7]}."


def _table(rows: list[str], told: str) -> str:
    return "\n" + "\n".join(rows) + f"\n\n*{told}*\n"
