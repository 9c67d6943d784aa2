r"""Figure 2 on a grid that holds all of it: which law the critical number of examples follows.

On the paper's grid half of the trials at $T = 700$ and 800 succeed only near its last size, so
$m^*$ leaves the grid in too many resamples to fit a law through it. Here the sizes go on to 400, in
steps of 40, with fewer lengths. $m^*$ is coarse on such steps; $m_{50}$, by likelihood, is not, and
it is asked the same questions. The rules were fixed before this grid was run, with the paper's grid
known.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from limelight import fit
from limelight.claims import Above, AtMost, Estimate, Undecided
from limelight.papers.edelman2022 import critical, fig2, variants
from limelight.papers.edelman2022.critical import LENGTH, MANY, SIZE, boundary, counted
from limelight.papers.recipe import Figure, claim, claims, scales
from limelight.table import Table

LENGTHS, SIZES = [100, 150, 200, 300, 400, 600, 800], list(range(40, 401, 40))
#: Lengths that a comparison of laws needs.
LEAST = 6
ours = partial(claim, at="limelight")

sublinear = replace(fig2.sublinear, name="wide.sublinear", reference="limelight")
logarithm = replace(
    fig2.logarithm,
    name="wide.log",
    statistic="squares of m* left by a + b T minus squares left by a + b ln T",
    reference="limelight",
)


@ours(
    "wide.ratio",
    "From T = 100 to 800 the critical number of examples grows at most fourfold.",
    AtMost(4.0),
)
def ratio(table: Table) -> Estimate:
    """m*(800) / m*(100)."""
    return counted(table).ratio(800, 100)


@ours("wide.enough", "With 200 examples half of the trials succeed at T = 800.", AtMost(200.0))
def enough(table: Table) -> Estimate:
    """m50 at T = 800, likelihood interval."""
    found = counted(table)
    at = np.flatnonzero(found.places == 800)
    if not len(at):
        raise Undecided("T = 800 is needed", n=found.n)
    half = found.thresholds[int(at[0])]
    known = half.resolved and not half.censored_low and not half.censored_high
    return Estimate(half.value, half.interval if known else (np.nan, np.nan), half.n)


@claims(
    "wide.{name}",
    "A logarithm of the length describes m50 better than {words}.",
    Above(0.0),
    at="limelight",
    cases=(
        {"name": "log50", "words": "a line", "law": "a + b T", "other": np.asarray},
        {"name": "root", "words": "its square root", "law": "a + b sqrt(T)", "other": np.sqrt},
    ),
)
def better(table: Table, other: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """Squares of m50 left by {law} minus squares left by a + b ln T."""
    edge = boundary(table)
    T = edge.x(LENGTH).astype(float)
    note = "m50 " + ", ".join(f"{m:.0f}" for m in edge.values)
    if len(T) < LEAST or not edge.resolved.all():
        raise Undecided(f"{note}; {LEAST} lengths are needed, m50 on the grid", n=len(table))
    left = lambda x, m: fit.squares_left(x, m)[:, None]
    difference = lambda m: left(other(T), m) - left(np.log(T), m)
    return edge.smallest(difference, draws=MANY, note=note)


figure = Figure(
    statement="does the number of examples grow like the logarithm of the length, or like a line?",
    trial=variants.trial,
    grid={LENGTH: LENGTHS, SIZE: SIZES},
    trials=50,
    scales=scales(
        smoke=critical.smaller(2, [16], [20, 60], **critical.QUICK),
        small=critical.smaller(10, [25, 50, 100], [40, 80, 160], iterations=200),
    ),
    claims=(sublinear, ratio, enough, logarithm, *better),
    pictures=critical.PICTURES,
    summary=critical.summary,
    reference=variants.REFERENCE,
    departures=(
        "not in the paper: fewer lengths, other sizes; otherwise as fig2, every trial ending at "
        "its first success"
    ),
)
