r"""Figure 3 at ten bits, with two hundred runs: do half of them learn within the plotted range?

Forty runs leave open on which side of the range, 500 iterations, their median lies.
"""

from dataclasses import replace

import numpy as np

from limelight import fit
from limelight.claims import AtMost, Estimate
from limelight.papers.edelman2022 import fig3
from limelight.papers.edelman2022.critical import LENGTH
from limelight.papers.recipe import claim
from limelight.table import Table

TEN = 10
#: Iterations on the horizontal axis of the paper's panel.
RANGE = 500


@claim(
    "runs.panels",
    "Half of the runs learn within the range that the paper plots at T = 10, 500 iterations (an"
    " axis, not a statement).",
    AtMost(1.0),
    at="limelight, against the axes of edelman2022, Figure 3",
    fixed="pilot",
)
def panel(table: Table) -> Estimate:
    """Median time over the range; unfinished runs count as the budget."""
    runs = fig3.runs_at(table, [TEN])[TEN]
    times = np.minimum(fig3.transitions(runs).reaches, fig3.BUDGET)
    middle, low, high = (float(time) / RANGE for time in fit.median_interval(times))
    return Estimate(middle, (low, high), len(runs), f"median {np.median(times):g} iterations")


figure = replace(
    fig3.figure,
    statement="have half of the runs at ten bits learned within the range that the paper plots?",
    grid={LENGTH: [TEN]},
    trials=200,
    claims=(panel,),
    summary=fig3.learned_lines,
    reference="limelight; the protocol of Figure 3",
    sizes="the sizes of fig3, more runs",
    departures="as fig3, at ten bits alone",
)
