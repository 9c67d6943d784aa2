r"""Figure 2 on a grid that holds all of it: which law the critical number of examples follows.

On the paper's grid half of the trials at $T = 700$ and 800 succeed only near its last size, so
$m^*$ leaves the grid in too many resamples to fit a law through it. Here the sizes go on to 400, in
steps of 40, with fewer lengths. $m^*$ is coarse on such steps; $m_{50}$, by likelihood, is not, and
it is asked the same questions. The rules were fixed before this grid was run, with the paper's grid
known.
"""

import numpy as np

from limelight import fit
from limelight.claims import Above, AtMost, Below, Claim, Estimate
from limelight.papers.base import Figure, Setup
from limelight.papers.edelman2022.beyond import boundary, ours
from limelight.papers.edelman2022.claims import (
    exponent,
    log_against_linear,
    ratio,
    squares_left,
)
from limelight.papers.edelman2022.critical import (
    CENSORED,
    LENGTH,
    MANY,
    SIZE,
    counted,
    critical_lines,
    law_lines,
)
from limelight.papers.edelman2022.fig2 import draw_critical, draw_success, experiment, shares
from limelight.table import Table

LENGTHS, SIZES = [100, 150, 200, 300, 400, 600, 800], list(range(40, 401, 40))
#: Lengths that a comparison of laws needs.
LEAST = 6


# --- what is read off a table -------------------------------------------------------------------


def against_log(table: Table, other) -> Estimate:
    """Squares of m50 left by a line in `other(T)`, less what a line in ln T leaves."""
    edge = boundary(table)
    T = edge.x(LENGTH).astype(float)
    note = "m50 " + ", ".join(f"{m:.0f}" for m in edge.values)
    if len(T) < LEAST or not edge.resolved.all():
        return Estimate(
            np.nan, None, len(table), f"{note}; {LEAST} lengths are needed, m50 on the grid"
        )
    difference = lambda m: squares_left(other(T), m) - squares_left(np.log(T), m)
    drawn, known = edge.draws(MANY)
    lost = 1.0 - known.all(axis=1).mean()
    low, high = fit.percentile_interval(difference(drawn))
    ends = (float(low), float(high))
    if lost > CENSORED:
        note, ends = f"{note}; off the grid in {lost:.1%} of resamples", (np.nan, np.nan)
    return Estimate(float(difference(edge.values[None])[0]), ends, len(table), note)


def longest(table: Table, length: int = 800) -> Estimate:
    """m50 at one length, with its likelihood interval."""
    found = counted(table)
    at = np.flatnonzero(found.lengths == length)
    if not len(at):
        return Estimate(np.nan, None, found.n, f"T = {length} is needed")
    half = found.thresholds()[int(at[0])]
    known = half.resolved and not half.censored_low and not half.censored_high
    return Estimate(half.value, half.interval if known else (np.nan, np.nan), half.n)


def summary(table: Table) -> list[str]:
    """Critical sizes, laws of m50 and success by cell."""
    lines = ["critical examples (accuracy above .99): m* +- paper's standard error [95 %], m50"]
    lines += critical_lines(table)
    lines += law_lines(table)
    return [*lines, "share of trials above .99:", *shares(counted(table))]


# --- claims -------------------------------------------------------------------------------------

CLAIMS: tuple[Claim, ...] = (
    ours(
        "wide.sublinear",
        "The critical number of examples grows slower than the length.",
        "slope of ln m* on ln T",
        exponent,
        Below(1.0),
    ),
    ours(
        "wide.ratio",
        "From T = 100 to 800 the critical number of examples grows at most fourfold.",
        "m*(800) / m*(100)",
        lambda table: ratio(table, any_grid=True),
        AtMost(4.0),
    ),
    ours(
        "wide.enough",
        "With 200 examples half of the trials succeed at T = 800.",
        "m50 at T = 800, likelihood interval",
        longest,
        AtMost(200.0),
    ),
    ours(
        "wide.log",
        "A logarithm of the length describes m* better than a line.",
        "squares of m* left by a + b T minus squares left by a + b ln T",
        log_against_linear,
        Above(0.0),
    ),
    ours(
        "wide.log50",
        "A logarithm of the length describes m50 better than a line.",
        "squares of m50 left by a + b T minus squares left by a + b ln T",
        lambda table: against_log(table, lambda T: T),
        Above(0.0),
    ),
    ours(
        "wide.root",
        "A logarithm of the length describes m50 better than its square root.",
        "squares of m50 left by a + b sqrt(T) minus squares left by a + b ln T",
        lambda table: against_log(table, np.sqrt),
        Above(0.0),
    ),
)


# --- recipe -------------------------------------------------------------------------------------

figure = Figure(
    name="fig2-wide",
    title="examples needed to learn a 3-bit AND, on a grid up to 400 examples",
    statement="does the number of examples grow like the logarithm of the length, or like a line?",
    setups={
        "smoke": Setup(
            experiment(16, share=0.0, iterations=60, holdout=1000, first=250),
            {LENGTH: [16], SIZE: [20, 60]},
            2,
        ),
        "small": Setup(
            experiment(25, share=0.0, iterations=200),
            {LENGTH: [25, 50, 100], SIZE: [40, 80, 160]},
            10,
        ),
        "paper": Setup(
            experiment(share=0.0, numbers="bfloat16"), {LENGTH: LENGTHS, SIZE: SIZES}, 50
        ),
    },
    claims=CLAIMS,
    draws={"success": draw_success, "critical": draw_critical},
    summary=summary,
    reference="limelight; the protocol of Figure 2",
    cost={"paper": "182 s on one H200 that another figure shared"},
    departures=(
        "not in the paper: fewer lengths, other sizes; otherwise as fig2, every trial ending at "
        "its first success"
    ),
)
