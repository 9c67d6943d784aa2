r"""Figure 2 on a grid that holds all of it: how the critical number of examples grows.

On the paper's grid half of the trials at $T = 700$ and 800 succeed only near its last size, so
$m^*$ leaves the grid in too many resamples to say how it grows. Here the sizes go on to 400, in
steps of 40, with fewer lengths. The rules were fixed before this grid was run, with the paper's
grid known. Which law it follows is asked of longer contexts (`fig2-long`).
"""

import numpy as np

from limelight.claims import AtMost, Below, Estimate
from limelight.fit.laws import line_fits
from limelight.papers.edelman2022 import critical, variants
from limelight.papers.edelman2022.critical import LENGTH, SIZE, counted
from limelight.papers.recipe import Figure, Finding, claim, scales
from limelight.table import Table

LENGTHS, SIZES = [100, 150, 200, 300, 400, 600, 800], list(range(40, 401, 40))


@claim(
    "wide.sublinear",
    "The critical number of examples grows slower than the length.",
    Below(1.0),
    at="edelman2022, Section 5 and Figure 2, on a wider grid",
    fixed="pilot",
)
def sublinear(table: Table) -> Estimate:
    """Slope of ln m* on ln T."""
    found = counted(table)
    x = np.log(found.places)
    spans = len(x) >= 3 and found.places[-1] >= 4 * found.places[0]
    slope = lambda m: line_fits(x, np.log(m))[0][:, 1]
    return found.estimate(slope, "" if spans else "3 lengths over a factor 4 needed")


@claim(
    "wide.ratio",
    "From T = 100 to 800 the critical number of examples grows at most fourfold (our reading).",
    AtMost(4.0),
    at="edelman2022, Section 5 and Figure 2, on a wider grid",
    fixed="pilot",
)
def ratio(table: Table) -> Estimate:
    """m*(800) / m*(100)."""
    return counted(table).ratio(800, 100)


figure = Figure(
    statement="does the number of examples grow slower than the length, once no size is cut off?",
    trial=variants.trial,
    grid={LENGTH: LENGTHS, SIZE: SIZES},
    trials=50,
    scales=scales(
        smoke=critical.smaller(2, [16], [20, 60], **critical.QUICK),
        small=critical.smaller(10, [25, 50, 100], [40, 80, 160], iterations=200),
    ),
    claims=(sublinear, ratio),
    pictures=critical.PICTURES,
    findings={
        "success": Finding(
            "wide.ratio",
            holds="From 100 to 800 bits the critical number of examples grows {value:.1f}-fold",
        ),
        "critical": Finding(
            "wide.sublinear",
            holds="The critical number of examples grows as T^{value:.2f}, slower than the length",
        ),
    },
    charts={"success": critical.EXPLORER.chart},
    summary=critical.summary,
    reference=variants.REFERENCE,
    departures=(
        "not in the paper: fewer lengths, other sizes; otherwise as fig2, every trial ending at "
        "its first success"
    ),
)
