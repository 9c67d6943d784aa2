"""Theorem 4.2 at 16 patches and 16 D^2 images, on more seeds: what twenty leave open."""

from dataclasses import replace

from limelight.papers.jelassi2022 import phase
from limelight.papers.jelassi2022.phase import AXIS, samples

figure = replace(
    phase.figure,
    charts={},  # one size: nothing to move along
    grid={AXIS: samples(16, 0.5, {16: (16,)})},
    trials=3200,
    claims=phase.error_at_size[:1],
    reference="Theorem 4.2",
    departures=f"one cell of phase on more seeds; {phase.figure.departures}",
)
