r"""Figure 3 with more runs, where its ten leave questions open.

Ten runs per length cannot tell a share of .5 that learn from one of .8, nor place a median within a
factor of three. Here are forty at each of the lengths that the paper learns, with other random
numbers. The rules are those of Figure 3, and whether half of the runs learn within the ranges that
the paper plots, which ten runs cannot decide, is asked here alone.
"""

from dataclasses import replace

from limelight.papers.edelman2022 import fig3
from limelight.papers.edelman2022.critical import LENGTH
from limelight.papers.recipe import Finding

SMALL = fig3.figure.scales["small"]

figure = replace(
    fig3.figure,
    statement="how many runs learn within 10,000 iterations, and by when have half of them?",
    grid={LENGTH: list(fig3.SHORT)},
    trials=40,
    scales={**fig3.figure.scales, "small": replace(SMALL, trials=6)},
    claims=tuple(
        claim.again(f"runs.{claim.name.split('.')[1]}", " (with more runs)")
        for claim in (fig3.abrupt, fig3.learned, fig3.panels, fig3.slower)
    ),
    summary=fig3.learned_lines,
    findings={
        "loss": Finding("runs.abrupt", holds=fig3.FALLS),
        "times": (
            Finding("runs.slower", holds="More bits take longer"),
            Finding(
                "runs.learned",
                holds="and every run learns",
                fails="but not every run learns: {value:.0%} at the hardest length",
            ),
        ),
    },
    reference="limelight; the protocol of Figure 3",
    sizes="the sizes of fig3, more runs",
    departures="as fig3, without the lengths 60 and 100",
)
