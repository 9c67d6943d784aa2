"""What the figures of jelassi2022 share: courses read off a table, and words."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from limelight.plot import provenance
from limelight.table import Table


def fact(table: Table, path: str, at: Mapping[str, Any] | None = None) -> Any:
    """A setting: its coordinate where it was swept, else what the run was given."""
    return table.setting(path, at)


def steps(table: Table, rows: Table) -> np.ndarray:
    """The step of every look, a row a trial where `descent.every` was swept."""
    looks = rows["trace.loss"].shape[1]
    if "descent.every" in rows.columns:
        return rows["descent.every"][:, None] * np.arange(looks)
    return np.broadcast_to(fact(table, "descent.every") * np.arange(looks), (len(rows), looks))


def last_look(rows: Table) -> np.ndarray:
    """The last look of each trial."""
    return np.isfinite(rows["trace.loss"]).sum(axis=1) - 1


def stop_look(table: Table, rows: Table) -> np.ndarray:
    """The look of the stopping step, the last one where it was not reached."""
    gap = steps(table, rows)[:, 1]
    stop = rows["stop"].astype(float) / gap
    return np.where(np.isfinite(stop), stop, last_look(rows)).astype(int)


def first_exact(rows: Table) -> np.ndarray:
    """The first look at which every row of attention is exact, -1 for never."""
    exact = rows["trace.exact"] == 1.0
    return np.where(exact.any(axis=1), exact.argmax(axis=1), -1)


def read_at(rows: Table, trace: str, look: np.ndarray) -> np.ndarray:
    """A trace of each trial at a look of its own."""
    return rows[f"trace.{trace}"][np.arange(len(rows)), look].astype(float)


def exact_at(rows: Table, look: np.ndarray) -> np.ndarray:
    """Seeds with every row of attention exact at a look of their own; what diverged has none."""
    return (read_at(rows, "exact", look) == 1.0) & ~rows["diverged"].astype(bool)


# --- words ------------------------------------------------------------------------------------


def rule_of(table: Table) -> str:
    """How the two groups of weights shared their steps, with the ratio of their rates."""
    if "descent.mode" in table.axes:
        return "; ".join(
            _rule(str(at["descent.mode"]), rows) for at, rows in table.cells("descent.mode")
        )
    return _rule(fact(table, "descent.mode"), table)


def _rule(mode: str, rows: Table) -> str:
    if "trace.logit_rate" not in rows.columns:
        return f"steps {mode}"
    ratio = (rows["trace.logit_rate"] / rows["trace.value_rate"]).ravel()
    low, middle, high = np.nanpercentile(ratio, [5, 50, 95])
    if mode != "curvature":
        return f"steps {mode}, rates A : v {middle:.4g}"
    return f"steps {mode}, rates A : v {middle:.2g}, 5 to 95 % {low:.1g} to {high:.1g}"


def diverged(table: Table) -> str:
    """How many trials ended early, in words."""
    return f"{int(table['diverged'].sum())} of {len(table)} trials diverged"


def told(table: Table, note: str = "") -> tuple[str, ...]:
    """The line under a figure that trains nothing."""
    trials = table.manifest.get("configuration", {}).get("trials")
    many = None if trials == 1 else trials
    return provenance(scale=table.manifest.get("scale", ""), trials=many, note=note)


def facts(table: Table, note: str = "") -> tuple[str, ...]:
    """The line under a figure."""
    return (*told(table, note), rule_of(table))
