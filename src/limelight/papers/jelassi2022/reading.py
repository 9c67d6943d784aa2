"""What the figures of jelassi2022 share: courses read off a table, intervals, worst cells."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from limelight import fit
from limelight.claims import Estimate
from limelight.plot import provenance
from limelight.table import Table

#: Bootstrap draws of a median.
DRAWS = 10_000
#: A statistic of fewer seeds decides nothing.
FEW = 5


def fact(table: Table, path: str, at: Mapping[str, Any] | None = None) -> Any:
    """A setting: its coordinate where it was swept, else what the run was given."""
    if at is not None and path in at:
        return at[path]
    value = table.manifest["configuration"]["experiment"]
    for name in path.split("."):
        value = value[name]
    return value


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


# --- estimates --------------------------------------------------------------------------------


def share(good: np.ndarray, note: str = "") -> Estimate:
    """A share of seeds with Wilson's interval."""
    low, high = (float(end) for end in fit.wilson(int(good.sum()), len(good)))
    return _enough(Estimate(float(good.mean()), (low, high), len(good), note))


def median(values: np.ndarray, note: str = "") -> Estimate:
    """A median over seeds with a percentile bootstrap interval."""
    low, high = median_ends(values)
    return _enough(Estimate(float(np.median(values)), (low, high), len(values), note))


def median_ends(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Percentile bootstrap of a median."""
    picks = np.random.default_rng(0).integers(len(values), size=(DRAWS, len(values)))
    tail = 50 * (1 - level)
    low, high = np.percentile(np.median(np.asarray(values)[picks], axis=1), [tail, 100 - tail])
    return float(low), float(high)


def mean(values: np.ndarray, note: str = "") -> Estimate:
    """A mean over seeds with Student's interval."""
    from scipy.stats import t

    values, n = np.asarray(values, float), len(values)
    half = t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    centre = float(values.mean()) if n else float("nan")
    return _enough(Estimate(centre, (centre - half, centre + half), n, note))


def worst(values: Mapping[str, float], note: str = "") -> Estimate:
    """The largest of some runs' values, all of them in the note; exact, so without an interval."""
    if not values:
        return Estimate(float("nan"), None, 0, note or "not in this table")
    listed = ", ".join(f"{name}: {value:.3g}" for name, value in values.items())
    value = max(values.values()) if np.isfinite(list(values.values())).all() else float("nan")
    return Estimate(value, None, len(values), f"{listed}; {note}" if note else listed)


def ends(estimate: Estimate) -> tuple[float, float]:
    """The ends of an interval, not numbers where there is none."""
    return estimate.interval or (float("nan"), float("nan"))


def lowest(cells: Iterable[tuple[str, Estimate]]) -> Estimate:
    """The cell that speaks most against a claim of at least: that with the lowest lower end."""
    return _worst(cells, lambda e: -ends(e)[0])


def highest(cells: Iterable[tuple[str, Estimate]]) -> Estimate:
    """The cell that speaks most against a claim of at most: that with the highest upper end."""
    return _worst(cells, lambda e: ends(e)[1])


def _worst(cells: Iterable[tuple[str, Estimate]], badness) -> Estimate:
    cells = list(cells)
    if not cells:
        return Estimate(float("nan"), None, 0, "not in this table")
    if any(not np.isfinite(ends(e)).all() for _, e in cells):
        badness = lambda e: not np.isfinite(ends(e)).all()
    name, worst = max(cells, key=lambda cell: badness(cell[1]))
    listed = ", ".join(f"{where}: {e.value:.3g}" for where, e in cells)
    notes = [listed if len(cells) > 1 else f"at {name}", worst.note]
    return Estimate(worst.value, worst.interval, worst.n, "; ".join(n for n in notes if n))


def _enough(estimate: Estimate) -> Estimate:
    """Fewer than five seeds leave every interval open."""
    if estimate.n >= FEW:
        return estimate
    note = f"fewer than {FEW} seeds" + (f"; {estimate.note}" if estimate.note else "")
    return Estimate(estimate.value, (float("nan"), float("nan")), estimate.n, note)


# --- words ------------------------------------------------------------------------------------


def rule_of(table: Table) -> str:
    """How the two groups of weights shared their steps, with the ratio of their rates."""
    mode = fact(table, "descent.mode")
    if "descent.mode" in table.axes:
        return "; ".join(
            _rule(str(at["descent.mode"]), rows) for at, rows in table.cells("descent.mode")
        )
    return _rule(mode, table)


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
