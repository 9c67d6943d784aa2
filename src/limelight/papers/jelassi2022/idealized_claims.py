r"""The idealized run, decided: Theorem 4.1, Lemmas 4.1 to 4.3. Nothing is random."""

from dataclasses import replace

import numpy as np

from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.experiments.idealized import LATE
from limelight.fit.estimates import largest
from limelight.table import Table
from limelight.theory.jelassi2022.linear import linear_error
from limelight.worlds.spatial import label_failure

AXIS = (
    "part",
    "tokens",
    "size",
    "density",
    "linear",
    "diagonal",
    "rate",
    "ratio",
    "steps",
    "longer",
    "prune",
    "compare",
)
WORLD = ("tokens", "size", "density")
#: Runs are stable in alpha below this.
STABLE = 2.0


def of(table: Table, part: str) -> list[tuple[dict, Table]]:
    """The runs of one part, one row each."""
    return [(at, rows) for at, rows in table.cells(*AXIS) if at["part"] == part]


def named(at: dict) -> str:
    """A run's world in words."""
    return f"({at['tokens']}, {at['size']}, {at['density']:g})"


def rule_of(at: dict) -> str:
    """How the two groups of weights shared their steps, v : A."""
    mode = "shared" if at["ratio"] == 1 else "two_rate"
    return f"{mode}, rates 1 : {at['ratio']:g}"


def at_steps(rows: Table, name: str) -> float:
    """A trace at `steps`, before the run goes on for longer."""
    return float(rows[f"trace.{name}"][0, -LATE - 1])


def small_error(table: Table) -> Estimate:
    """End error over the linear error."""
    found = {
        named(at): at_steps(rows, "error") / linear_error(*(at[k] for k in WORLD))
        for at, rows in of(table, "theorem")
    }
    fstar = ", ".join(
        f"{at_steps(rows, 'error') / label_failure(*(at[k] for k in WORLD)):.3g}"
        for at, rows in of(table, "theorem")
    )
    return largest(found, f"over the failure of f*: {fstar}")


def associated(table: Table) -> Estimate:
    """Share of the theorem's runs with association at every step."""
    return share_of_runs(of(table, "theorem"), lambda rows: rows["gap"][0] > 0)


def reaches_fstar(table: Table) -> Estimate:
    """Error after ten times the steps over the failure of f*; its ends are the lost mass's."""
    found, ends = {}, {}
    for at, rows in of(table, "theorem"):
        failure, lost = label_failure(*(at[k] for k in WORLD)), float(rows["lost"][0])
        if at["longer"] < 10:
            return Estimate(float("nan"), None, 0, "needs ten times the steps")
        if lost > 0.01 * failure:
            return Estimate(float("nan"), None, 0, f"{named(at)} lost too much mass")
        wrong = float(rows["trace.error"][0, -1])
        found[named(at)] = wrong / failure
        # What was dropped may be all right or all wrong.
        ends[named(at)] = wrong * (1 - lost) / failure, (wrong * (1 - lost) + lost) / failure
    estimate = largest(found)
    return replace(estimate, interval=ends[max(found, key=lambda name: found[name])])


def residual(table: Table) -> Estimate:
    """Largest distance of full from reduced descent."""
    found = {
        f"{named(at)}, {at['steps']} steps": float(rows["residual"][0])
        for at, rows in of(table, "oracle")
    }
    return largest(found)


def stable(rows: Table) -> bool:
    """Whether descent in alpha was stable at every look."""
    return bool(rows["finite"][0]) and float(rows["trace.stiffness"].max()) < STABLE


def share_of_runs(runs, good) -> Estimate:
    """Share of stable runs that meet a condition, with the first that do not."""
    calm = [(at, rows) for at, rows in runs if stable(rows)]
    if not calm:
        return Estimate(float("nan"), None, 0, "no stable run")
    bad = [f"{named(at)} beta {at['diagonal']:g}" for at, rows in calm if not good(rows)]
    gap = min(float(rows["gap"][0]) for _, rows in calm)
    note = f"smallest gamma - rho {gap:.3g}; {len(runs) - len(calm)} of {len(runs)} unstable"
    if bad:
        note += f"; {len(bad)} against: " + ", ".join(bad[:4]) + (", .." if len(bad) > 4 else "")
    return Estimate(1 - len(bad) / len(calm), None, len(calm), note)


def weak(table: Table) -> Estimate:
    """Lemma 4.3, weak part, over the grid."""
    return share_of_runs(of(table, "grid"), lambda rows: rows["gap"][0] > 0)


def strong(table: Table) -> Estimate:
    """Lemma 4.3, strong part, over the grid; the note says how many runs break it at the end."""
    runs = of(table, "grid")
    found = share_of_runs(runs, lambda rows: rows["rising"][0] and rows["above"][0])
    below = sum(ends_below(rows) for _, rows in runs if stable(rows))
    return replace(found, note=f"{found.note}; gamma ends below the largest |rho| in {below}")


def ends_below(rows: Table) -> bool:
    """Whether gamma ends at or below the largest |rho| of the run."""
    return float(rows["trace.gamma"][0, -1]) <= float(np.abs(rows["trace.rho"]).max())


CLAIMS = (
    Claim(
        "lem4.1-2",
        "Lemmas 4.1, 4.2: under population descent the weights stay on a three-number manifold.",
        "largest distance of full from reduced gradient descent, D = 8, C = 2, all steps",
        residual,
        AtMost(1e-12),
        "jelassi2022, Lemmas 4.1 and 4.2",
    ),
    Claim(
        "lem4.3-weak",
        "Lemma 4.3, weak part: gamma > rho after every step.",
        "share of the grid's stable runs",
        weak,
        AtLeast(1.0),
        "jelassi2022, Lemma 4.3",
    ),
    Claim(
        "lem4.3-strong",
        "Lemma 4.3 and Event II: gamma rises at every step and stays above |rho|.",
        "share of the grid's stable runs",
        strong,
        AtLeast(1.0),
        "jelassi2022, Lemma 4.3",
    ),
    Claim(
        "thm4.1",
        "Theorem 4.1: idealized descent reaches a small error.",
        "end error over the error of the linear rule, largest of four runs",
        small_error,
        AtMost(0.2),
        "jelassi2022, Theorem 4.1",
    ),
    Claim(
        "thm4.1-assoc",
        "Theorem 4.1: patch association after every step.",
        "share of the four runs",
        associated,
        AtLeast(1.0),
        "jelassi2022, Theorem 4.1",
    ),
    Claim(
        "thm4.1-fstar",
        "Idealized descent reaches the error of the labelling function itself.",
        "error after ten times the steps over the failure of f*, largest of four runs",
        reaches_fstar,
        AtMost(1.25),
        "limelight; stricter reading of jelassi2022, Theorem 4.1",
    ),
)
