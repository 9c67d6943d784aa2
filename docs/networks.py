"""Tables of the guides to real networks, from records in `results/benchmarks`, for `fill.py`."""

import json
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).resolve().parents[1] / "results" / "benchmarks"


def checkpoints() -> str:
    """How many checkpoints were compared with PyTorch, and with which releases."""
    found = _record("checkpoints")
    wrong = found["wrong"] or "none"
    of = found["versions"]
    versions = ", ".join(
        f"{n} {of[n].partition('+')[0]}" for n in ("torch", "timm", "transformers")
    )
    return f"{len(found['rows'])} checkpoints, {wrong} wrong; {versions}"


def loaded_networks() -> str:
    """Those that are loaded, with the largest error against PyTorch."""
    rows = ["| network | heads | largest error | of | the bound |", "|---|---|---|---|---|"]
    for row in _record("checkpoints")["rows"]:
        if row["outcome"] == "loaded":
            error = f"{row['error']:.1e} | {row['scale']:.2f}"
            rows.append(f"| {row['source']} | {row['heads']} | {error} | {_bound(row['bound'])} |")
    return "\n" + "\n".join(rows) + "\n"


def refused_networks() -> str:
    """Those that are refused, and what is said of them."""
    rows = ["| network | what is said |", "|---|---|"]
    for row in _record("checkpoints")["rows"]:
        if row["outcome"] == "refused":
            said = row["message"].partition(": ")[2].rpartition(" (")[0]
            rows.append(f"| {row['source']} | {said} |")
    return "\n" + "\n".join(rows) + "\n"


def described_networks() -> str:
    """Networks for text that the bound describes, with the error of the first block's attention."""
    rows = [row for row in _record("checkpoints")["rows"] if row["outcome"] == "described"]
    names = ", ".join(row["source"].removeprefix("transformers ") for row in rows)
    return f"{names} (at most {max(row['error'] for row in rows):.0e})"


def probe_times() -> str:
    """CPU seconds of a probe, the first time and again, beside an earlier one."""
    found = _record("probe-cpu")
    rows = ["| read | first | again |", "|---|---|---|"]
    names = {"beside": "everything, as it was at first", "this": ""}
    for name, subjects in reversed(found["cpu_seconds"].items()):
        for subject, row in subjects.items():
            rows.append(f"| {names[name] or subject} | {row['first']:.1f} | {row['again']:.1f} |")
    return "\n" + "\n".join(rows) + "\n"


def _bound(said: str) -> str:
    if said.startswith("described, "):
        return "describes it, " + said.removeprefix("described, ")
    rotated = "turned by their position" in said
    return f"refuses it: {'rotations' if rotated else 'relative positions'}"


def _record(name: str) -> dict[str, Any]:
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
