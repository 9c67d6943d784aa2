"""Every claim that changed since the first list, as a table with the reason for each.

`papers/first.json` is what `limelight verify --results results/ --json` said of the first 281
claims, before any of them was reviewed; `papers/reasons.json` says why claims changed, by patterns
of their names. `fill.py` writes the table into CHANGELOG.md. A change without a reason is refused,
and so is a reason without a change.
"""

import json
import math
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "papers"
#: Values closer than this, relatively, are one value: compilers differ in the last digits.
SAME = 1e-4

#: A claim in plain values, by paper and name: verdict, value, interval, rule.
Claims = Mapping[str, Mapping[str, Any]]


def changed(first: Claims, now: Claims) -> dict[str, tuple[Mapping | None, Mapping | None]]:
    """Claims whose verdict, rule or value is another, and those that are gone."""
    return {
        name: (before, now.get(name))
        for name, before in first.items()
        if name not in now or _differs(before, now[name])
    }


def _differs(before: Mapping, after: Mapping) -> bool:
    a, b = before["value"], after["value"]
    moved = (a is None) != (b is None) or (
        a is not None and not math.isclose(a, b, rel_tol=SAME, abs_tol=1e-12)
    )
    return moved or any(before[part] != after[part] for part in ("verdict", "rule"))


def explained(names: list[str], reasons: Mapping[str, str]) -> dict[str, str]:
    """The reason for each name, by the one pattern that fits it; all patterns are used."""
    found = {}
    for name in names:
        fitting = [why for pattern, why in reasons.items() if fnmatchcase(name, pattern)]
        if len(fitting) != 1:
            raise SystemExit(
                f"{len(fitting)} reasons for the change of {name}: docs/papers/reasons.json"
            )
        found[name] = fitting[0]
    for pattern in reasons:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise SystemExit(f"nothing changed that fits {pattern!r}: docs/papers/reasons.json")
    return found


def table(first: Claims, now: Claims, reasons: Mapping[str, str]) -> str:
    """One row per changed claim: what was said first, what is said now, and why."""
    rows = changed(first, now)
    why = explained(list(rows), reasons)
    lines = ["| claim | first | now | rule | why |", "| --- | --- | --- | --- | --- |"]
    for name, (before, after) in rows.items():
        rule = "" if after is None else "same" if before["rule"] == after["rule"] else "new"
        lines.append(f"| `{name}` | {_said(before)} | {_said(after)} | {rule} | {why[name]} |")
    return "\n".join(lines)


def _said(found: Mapping | None) -> str:
    if found is None:
        return "retired"
    value = "" if found["value"] is None else f", {found['value']:.3g}"
    return found["verdict"] + value


def of_today(now: Claims) -> str:
    """The table for the lists that are kept here."""
    first, reasons = (
        json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("first", "reasons")
    )
    return table(first, now, reasons)
