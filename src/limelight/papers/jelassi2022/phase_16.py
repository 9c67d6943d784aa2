"""Theorem 4.2 at 16 patches and 16 D^2 images, on more seeds: what twenty leave open."""

from dataclasses import replace

import numpy as np

from limelight.claims import AtMost, Estimate
from limelight.fit.estimates import median
from limelight.papers.jelassi2022 import phase, traces
from limelight.papers.jelassi2022.phase import AXIS, samples
from limelight.papers.recipe import claim
from limelight.table import Table


@claim(
    "thm4.2-error.n16.d16",
    "Gradient descent generalizes. (N = 16 D^2, D = 16)",
    AtMost(0.2),
    at="jelassi2022, Theorem 4.2",
    fixed="pilot",
)
def error_at_stop(table: Table) -> Estimate:
    """Median test error at the stopping step over the exact error of the linear rule, D = 16."""
    ratios = [
        traces.value_at(rows, "error", traces.stop(rows)) / linear
        for D, _, rows, linear in phase.sizes(table, "n16")
        if D == 16
    ]
    return median(np.concatenate(ratios) if ratios else [])


figure = replace(
    phase.figure,
    grid={AXIS: samples(16, 0.5, {16: (16,)})},
    trials=320,
    claims=(error_at_stop,),
    reference="Theorem 4.2",
    departures=f"one cell of phase on more seeds; {phase.figure.departures}",
)
