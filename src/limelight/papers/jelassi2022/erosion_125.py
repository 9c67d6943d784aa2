"""Long training on 125 D^2 samples under curvature steps: is association lost by half of the seeds?

A hundred and twenty seeds of `erosion-seeds` leave it open; here are four hundred others.
"""

from dataclasses import replace

from limelight.papers.jelassi2022 import erosion
from limelight.papers.jelassi2022.erosion import EXAMPLES, RULE, SQUARE
from limelight.papers.jelassi2022.erosion_seeds import CURVATURE
from limelight.papers.recipe import Finding

figure = replace(
    erosion.figure,
    statement="how often is association lost with many samples?",
    grid={RULE: [CURVATURE], EXAMPLES: [125 * SQUARE]},
    trials=400,
    claims=(erosion.share_lost[2],),
    findings={
        "erosion": Finding(
            "erosion.lost.n125",
            fails="With 125 D^2 images long training loses association in {value:.0%} of the seeds,"
            " less than half",
        )
    },
    reference="limelight; Theorem 4.2",
    departures="as erosion, one cell under curvature steps, on other and more seeds",
)
