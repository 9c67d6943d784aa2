r"""Figure 2: how many examples a Transformer needs to learn a 3-bit AND among $T$ bits."""

import numpy as np

from limelight import fit
from limelight.experiments.sparse_and import SparseAnd
from limelight.papers.base import Figure, Setup
from limelight.papers.edelman2022.claims import CLAIMS
from limelight.papers.edelman2022.critical import (
    LENGTH,
    LENGTHS,
    SIZE,
    SIZES,
    Counts,
    counted,
    critical_lines,
    law_lines,
    reference,
    setting,
)
from limelight.plot import Series, caption, curves, provenance
from limelight.table import Table
from limelight.worlds import SparseBoolean

#: Lengths that the paper shows curves for.
SHOWN = (100, 200, 400, 800)


# --- pictures -----------------------------------------------------------------------------------


def draw_success(table: Table):
    """Share of trials that succeed against the number of examples, for some lengths."""
    found = counted(table)
    known = {*found.lengths.tolist()} >= {*SHOWN}
    shown = [i for i, T in enumerate(found.lengths) if T in SHOWN or not known]
    series = []
    for i in shown:
        s, n = found.successes[i], found.trials[i]
        series.append(Series(f"T = {found.lengths[i]}", found.sizes, s / n, *fit.exact(s, n)))
    figure = curves(
        series,
        x_label="training examples $m$",
        y_label="share of trials above 99 % accuracy",
        limits=(-0.03, 1.03),
        width=4.6,
    )
    caption(figure, *facts(table), "bands: exact 95 % intervals")
    return figure


def draw_critical(table: Table):
    """The critical number of examples against the length, two laws and the reference line."""
    found = counted(table)
    T = found.lengths.astype(float)
    star = np.where(np.isinf(found.critical), np.nan, found.critical)
    low, high = found.interval
    series = [Series("$m^*$ (first $m$ above one half)", T, star, low, high)]
    fifty = found.thresholds()
    middle = [t.value if t.resolved else np.nan for t in fifty]
    ends = [
        (0.0 if t.censored_low else t.low, np.inf if t.censored_high else t.high) for t in fifty
    ]
    series.append(Series("$m_{50}$ (likelihood)", T, middle, *np.array(ends).T))
    series.append(Series("any consistent learner", T, reference(table)))
    figure = curves(
        series,
        guides=_laws(T, star),
        x_label="context length $T$",
        y_label="critical number of examples",
        log_x=True,
        width=4.6,
    )
    step = np.diff(found.sizes).max(initial=0)
    off = ", ".join(f"{length:g}" for length in T[np.isinf(found.critical)])
    laws = "laws: of $m^*$" + (f", without T = {off}, where it is beyond the grid" if off else "")
    bands = "bands: 95 % intervals, open where they leave the grid"
    caption(figure, *facts(table), f"$m^*$ in steps of {step}", bands, laws)
    return figure


def _laws(T: np.ndarray, star: np.ndarray) -> list[Series]:
    use = np.isfinite(star)
    if use.sum() < 3:
        return []
    found = []
    for name, law in (("a + b ln T", fit.logarithmic), ("a + b T", fit.linear)):
        fitted = law(T[use], star[use])
        label = f"${name.replace('ln', chr(92) + 'ln')}$, $R^2$ = {fitted.r_squared:.2f}"
        found.append(Series(label, T, fitted.predict(T)))
    return found


def facts(table: Table) -> tuple[str, ...]:
    """Scale, trials and iterations, for a caption."""
    trials = table.manifest.get("configuration", {}).get("trials")
    last = setting(table, "iterations")
    made = provenance(scale=table.manifest.get("scale", ""), trials=trials)
    return (*made, f"{last} iterations") if last else tuple(made)


# --- words --------------------------------------------------------------------------------------


def summary(table: Table) -> list[str]:
    """Critical sizes at both thresholds, success by cell, overall verdicts."""
    lines = ["critical examples (accuracy above .99): m* +- paper's standard error [95 %], m50"]
    lines += critical_lines(table)
    lines.append("the same with accuracy above .975:")
    lines += critical_lines(table, "success_loose")
    lines += law_lines(table)
    lines += ["share of trials above .99:", *shares(counted(table))]
    broken = int(table["diverged"].sum())
    lines.append(f"largest score gap {table['gap'].max():.1f}; {broken} trials diverged")
    return [*lines, *overall(table)]


def shares(found: Counts) -> list[str]:
    """Success fractions, a line a length."""
    rates = found.successes / np.maximum(found.trials, 1)
    head = "  m = " + " ".join(f"{m:>4}" for m in found.sizes)
    rows = zip(found.lengths, rates, strict=True)
    return [head, *(f"  T = {T:>4} " + " ".join(f"{p:4.2f}" for p in row) for T, row in rows)]


def overall(table: Table) -> list[str]:
    """Sentences that have several parts: they hold if all parts do and fail if one does."""
    scale = table.manifest.get("scale", "custom")
    found = {claim.name: claim.decide(table, scale).verdict for claim in CLAIMS}
    return [f"{name}, all parts: {all_parts(name, found)}" for name in ("A2", "A3")]


def all_parts(name: str, found: dict[str, str]) -> str:
    """One word for the parts of a claim.

    Example:
        >>> all_parts("A2", {"A2a.x": "holds", "A2b.y": "inconclusive", "A3a": "fails"})
        'inconclusive'
    """
    parts = {verdict for claim, verdict in found.items() if claim.startswith(name)}
    if "fails" in parts:
        return "fails"
    return "holds" if parts == {"holds"} else "inconclusive"


# --- recipes ------------------------------------------------------------------------------------


def experiment(length: int = 100, **settings) -> SparseAnd:
    """The paper's protocol on a 3-bit AND."""
    return SparseAnd(world=SparseBoolean(length=length, sparsity=3, rule="and"), **settings)


DEPARTURES = (
    "dropout masks have 16-bit probabilities (.899994 for .9); at paper scale token vectors are "
    "rounded to bfloat16 and other products to TF32 in training, not in looks; a trial ends at its "
    "first success, except for a random sixteenth that runs to the end; what the paper leaves open "
    "follows minGPT of 2021"
)

figure = Figure(
    name="fig2",
    title="examples needed to learn a 3-bit AND, against the context length",
    statement="the sample complexity grows slower than the context length, like its logarithm",
    setups={
        "smoke": Setup(
            experiment(32, iterations=120, holdout=2000, first=500),
            {LENGTH: [32], SIZE: [20, 120]},
            4,
        ),
        "small": Setup(
            experiment(50, iterations=200, share=0.0),
            {LENGTH: [50, 100, 200], SIZE: [40, 70, 100]},
            10,
        ),
        "paper": Setup(
            experiment(numbers="bfloat16", share=1 / 16),
            {LENGTH: list(LENGTHS), SIZE: list(SIZES)},
            50,
        ),
    },
    claims=CLAIMS,
    draws={"success": draw_success, "critical": draw_critical},
    summary=summary,
    reference="Figure 2",
    cost={
        "small": "110 s on 2 cores, and a minute of compiling",
        "paper": "under 5 minutes on one H200, compiling included",
    },
    departures=DEPARTURES,
)
