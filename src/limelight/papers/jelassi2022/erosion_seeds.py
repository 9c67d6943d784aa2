"""Long training under curvature steps, on more seeds: what twenty leave open."""

from dataclasses import replace

from limelight.papers.jelassi2022 import erosion
from limelight.papers.jelassi2022.erosion import EXAMPLES, RULE, SQUARE

CURVATURE = ("curvature", 1000.0, 600, 5)

figure = replace(
    erosion.figure,
    statement="how often is association lost, and do more samples keep it?",
    grid={RULE: [CURVATURE], EXAMPLES: [many * SQUARE for many in (8, 125, 250)]},
    trials=120,
    claims=(erosion.share_lost[0], erosion.gain_of_samples[1]),
    reference="limelight; Theorem 4.2",
    departures="as erosion, curvature steps alone, on other and more seeds",
)
