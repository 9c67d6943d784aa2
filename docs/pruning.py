"""What pages say of DeiT-tiny, pruned and probed: from the records of both commands, for `fill.py`.

Records of `limelight prune --json` and `benchmarks/prune_tome.py` are in `results/benchmarks`, that
of `limelight probe --json` in `results/probe`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from limelight._core.maths import in_text

RESULTS = Path(__file__).resolve().parents[1] / "results"


def pruned_rows(name: str) -> str:
    """Every row of a record: accuracy and its change, FLOPs, and how much faster."""
    rows = []
    for row in _pruned(name)["rows"]:
        low, high = (f"{100 * end:.1f}" for end in row["interval"])
        accuracy = f"{100 * row['accuracy']:.2f} ({low} to {high})"
        changed = f"{_points(row)} ({_ends(row)})", f"{_faster(row)} ({_faster_ends(row)})"
        change, faster = ("", "") if row["policy"] == "none" else changed
        counts = (row[of] / 1e9 for of in ("flops", "compiled_flops"))
        flops = "{:.3f} ({:.3f})".format(*counts)
        cells = [f"`{row['policy']}`", f"{row['keep']:g}", f"{row['tokens']}", accuracy]
        rows.append([*cells, change, flops, faster])
    head = ["policy", "keep", "tokens", "accuracy in % (95 %)", "change (95 %)"]
    return _table([*head, "GFLOPs (by XLA)", "faster (95 %)"], rows)


def pruned_speeds(name: str) -> str:
    """FLOPs and speeds of a record, a row per share that is kept and two columns per policy."""
    found, policies = _by_share(name)
    rows = []
    for keep, row in found.items():
        one = row[policies[0]]
        flops = [f"{one[of] / 1e9:.3f}" for of in ("flops", "compiled_flops")]
        both = [cell for p in policies for cell in (_faster(row[p]), _faster_ends(row[p]))]
        rows.append([f"{keep:g}", *flops, *both])
    names = [cell for p in policies for cell in (f"`{p}`, faster", "95 %")]
    return _table(["keep", "GFLOPs", "by XLA", *names], rows)


def pruned_changes(name: str) -> str:
    """Accuracies and their changes, a row per share and two columns per policy."""
    found, policies = _by_share(name)
    whole = next(r for r in _pruned(name)["rows"] if r["policy"] == "none")
    same = f"{100 * whole['accuracy']:.2f} %"
    rows = [["1", *(cell for _ in policies for cell in (same, "")), ""]]
    for keep, row in found.items():
        cells = []
        for policy in policies:
            of = row[policy]
            cells += [f"{100 * of['accuracy']:.2f} %", f"{_points(of)}, {_ends(of)}"]
        speeds = sorted({_faster(row[policy]) for policy in policies})
        faster = speeds[0] if len(speeds) == 1 else f"{speeds[0]} to {speeds[-1]}"
        rows.append([f"{keep:g}", *cells, faster])
    names = [cell for p in policies for cell in (f"`{p}`", "change, 95 %")]
    return _table(["keep", *names, "faster"], rows)


def beside_tome(name: str) -> str:
    """Points of accuracy lost at equal measured speed, by policy and for ToMe."""
    found = _pruned(name)["at_equal_speed"]
    speeds = list(next(iter(found.values())))
    rows = []
    for policy, losses in found.items():
        words = "ToMe" if policy == "tome" else "`{}`, {}".format(*policy.split(", "))
        lost = (losses[speed]["lost"] for speed in speeds)
        rows.append([words, *("{:.1f} ({:.1f} to {:.1f})".format(*ends) for ends in lost)])
    head = [f"{speed} times as fast" if not i else speed for i, speed in enumerate(speeds)]
    return _table(["", *head], rows)


def pruned(name: str, what: str, policy: str = "none", keep: str = "1", at: str = "") -> str:
    """One number of a record, by its name.

    `points` lost or won, `change` with its interval, how much `faster`, `ms` per image, `fewer`
    (FLOPs of the whole network over those that are left), `lead` of one policy over another.
    """
    rows = _pruned(name)["rows"]
    if what == "lead":  # the most points by which a policy is ahead of another at the same share
        ahead, behind = policy.split("/")
        accuracy = {(r["policy"], r["keep"]): 100 * r["accuracy"] for r in rows}
        leads = [v - accuracy[behind, k] for (p, k), v in accuracy.items() if p == ahead]
        return f"{max(leads):.1f}"
    fits = lambda r: r["policy"] == policy and r["keep"] == float(keep)
    [row, *_] = [r for r in rows if fits(r) and (not at or r["at"] == int(at))]
    return {
        "points": lambda: f"{abs(100 * row['difference']):.1f}",
        "change": lambda: in_text(f"{_points(row)} points, 95 % {_ends(row)}"),
        "faster": lambda: f"{row['speedup']:.2f}",
        "ms": lambda: f"{row['milliseconds']:.3g}",
        "fewer": lambda: f"{rows[0]['flops'] / row['flops']:.2f}",
    }[what]()


def lost_to_tome(name: str, speed: str) -> str:
    """Points that ToMe loses at a speed."""
    return f"{_pruned(name)['at_equal_speed']['tome'][speed]['lost'][0]:.1f}"


def probed(path: str, form: str, blocks: str = "", ends: str = "both") -> str:
    """A number of the probe of DeiT-tiny, as `positions.locality`; heads are averaged.

    With blocks, as `1-12`, the smallest and the largest over them, or one of the two.
    """
    record = json.loads((RESULTS / "probe" / "deit_tiny.json").read_text(encoding="utf-8"))
    if not blocks:
        return in_text(f"{_at(record, path):{form}}")
    first, _, last = blocks.partition("-")
    chosen = range(int(first), int(last or first) + 1)
    if path.startswith("similarity."):
        of = [_at(record, f"{path}.{block - 1}") for block in chosen]
    else:
        of = [_at(record["blocks"][block - 1], path) for block in chosen]
    low, high = (in_text(f"{end:{form}}") for end in (min(of), max(of)))
    return {"both": low if low == high else f"{low} to {high}", "low": low, "high": high}[ends]


def _at(found: Any, path: str) -> float:
    for step in path.split("."):
        found = found[int(step)] if isinstance(found, list) else found[step]
    return float(np.mean(found))


def _by_share(name: str) -> tuple[dict[float, dict[str, dict]], list[str]]:
    found: dict[float, dict[str, dict]] = {}
    for row in _pruned(name)["rows"]:
        if row["policy"] != "none":
            found.setdefault(row["keep"], {})[row["policy"]] = row
    return found, list(next(iter(found.values())))


def _points(row: dict) -> str:
    return f"{100 * row['difference']:+.2f}"


def _ends(row: dict) -> str:
    return "{:+.1f} to {:+.1f}".format(*(100 * end for end in row["difference_interval"]))


def _faster(row: dict) -> str:
    return f"{row['speedup']:.2f}x"


def _faster_ends(row: dict) -> str:
    return "{:.2f} to {:.2f}".format(*row["speedup_interval"])


def _table(head: list[str], rows: list[list[str]]) -> str:
    text = [f"| {' | '.join(head)} |", "| --- " + "| ---: " * (len(head) - 1) + "|"]
    text += [f"| {in_text(' | '.join(row))} |" for row in rows]
    return "\n" + "\n".join(text) + "\n"


def _pruned(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))
