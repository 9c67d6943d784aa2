"""Tables of the guides to real networks, from records in `results/benchmarks`, for `fill.py`."""

import json
from pathlib import Path
from typing import Any

from limelight._core.maths import in_text

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "results" / "benchmarks"
FIXTURES = ROOT / "tests" / "fixtures" / "checkpoints"


def checkpoints() -> str:
    """How many checkpoints were compared with PyTorch, and with which releases."""
    found = _record("checkpoints")
    wrong = found["wrong"] or "none"
    of = found["versions"]
    versions = ", ".join(
        f"{n} {of[n].partition('+')[0]}" for n in ("torch", "timm", "transformers")
    )
    return f"{len(found['rows'])} checkpoints, {wrong} wrong; {versions}"


def layouts() -> str:
    """How many small networks the tests compare with PyTorch."""
    return str(len({path.parent for path in FIXTURES.glob("*/*.safetensors")}))


def loaded_networks() -> str:
    """Those that are loaded, with the largest error against PyTorch."""
    rows = ["| network | heads | largest error | of | the bound |", "|---|---|---|---|---|"]
    for row in _record("checkpoints")["rows"]:
        if row["outcome"] == "loaded":
            error = in_text(f"{row['error']:.1e} | {row['scale']:.2f}")
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
    if not rows:
        return "not measured yet"
    names = ", ".join(row["source"].removeprefix("transformers ") for row in rows)
    most = in_text(f"{max(row['error'] for row in rows):.0e}")
    return f"{names} (at most {most})"


def prune_curve(name: str) -> str:
    """The picture of a record of `limelight prune --json`, and for each block its best row.

    The best is the fastest whose accuracy is not known to be lower than the whole network's.
    """
    if not (RECORDS / f"{name}.json").exists():
        return "\n*Not measured yet.*\n"
    found = _record(name)
    at = found["pruned_behind_block"]
    lines = []
    for block in at if isinstance(at, list) else [at]:
        rows = [row for row in found["rows"] if row["at"] == block and row["policy"] != "none"]
        safe = [row for row in rows if row["difference_interval"][1] >= 0]
        if safe:
            best = max(safe, key=lambda row: row["speedup"])
            low, high = (f"{100 * end:+.1f}" for end in best["difference_interval"])
            change = in_text(f"{100 * best['difference']:+.1f} points, 95 % {low} to {high}")
            lines.append(
                f"after block {block} it is `{best['policy']}` with {best['keep']:g} of the"
                f" patches, {best['speedup']:.2f} times as fast ({change})"
            )
        else:
            lines.append(f"after block {block} every policy is known to lose some")
    where = found["device"]
    where = f"{where['cores']} CPU cores" if where["platform"] == "cpu" else where["kind"]
    picture = name.removeprefix("prune-")
    return (
        f"\n![Accuracy against time and FLOPs, {where}](../../results/prune/{picture}.png)\n\n"
        f"{found['images']}, {where} (`results/benchmarks/{name}.json`). The fastest row whose"
        f" interval does not exclude the accuracy of the whole network: {', and '.join(lines)}.\n"
    )


def probe_times() -> str:
    """CPU seconds of a probe, the first time and again, beside an earlier one."""
    if not (RECORDS / "probe-cpu.json").exists():
        return "\n*Not measured yet.*\n"
    rows = ["| read | first | again |", "|---|---|---|"]
    found = _record("probe-cpu")["cpu_seconds"]
    for name, subjects in reversed(found.items()):
        for subject, row in subjects.items():
            what = subject if name == "this" else f"{subject}, as it was at first"
            rows.append(f"| {what} | {row['first']:.1f} | {row['again']:.1f} |")
    return "\n" + "\n".join(rows) + "\n"


def _bound(said: str) -> str:
    if said.startswith("described, "):
        return "describes it, " + said.removeprefix("described, ")
    if "turned by their position" in said:
        return "refuses it: rotations"
    if "_norm." in said:
        return "refuses it: norms of queries and keys"
    return "refuses it: relative positions"


def _record(name: str) -> dict[str, Any]:
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
