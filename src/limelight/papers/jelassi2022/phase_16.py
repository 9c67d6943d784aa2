"""Theorem 4.2 at 16 patches and 16 D^2 images, on more seeds: what twenty leave open."""

from dataclasses import replace

from limelight.papers.jelassi2022 import phase
from limelight.papers.jelassi2022.phase import AXIS, samples
from limelight.papers.recipe import Finding

figure = replace(
    phase.figure,
    charts={},  # one size: nothing to move along, and no map
    pictures={"later": phase.draw_later},
    findings={
        "later": Finding(
            "thm4.2-error.n16.d16",
            open="At the stopping step the error is {value:.3f} of the linear rule's: too near a"
            " fifth to decide",
        )
    },
    grid={AXIS: samples(16, 0.5, {16: (16,)})},
    trials=3200,
    claims=phase.error_at_size[:1],
    reference="Theorem 4.2",
    departures=f"one cell of phase on more seeds; {phase.figure.departures}",
)
