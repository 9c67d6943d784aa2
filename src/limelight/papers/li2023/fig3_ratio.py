r"""Figure 3 with $\alpha_\#$ held at a quarter of $\alpha_*$."""

from dataclasses import replace

from limelight._engine.grid import assign
from limelight.papers.li2023 import fig1a, fig1a_ratio, fig3
from limelight.papers.li2023.protocols import PAIR, RATIO_FRACTIONS, fixed_ratio
from limelight.papers.recipe import Finding, Scale, scales

figure = replace(
    fig3.figure,
    trial=assign(fig1a.figure.trial, {"train.steps": 2000}),
    grid={PAIR: fixed_ratio(RATIO_FRACTIONS), "train.examples": fig3.UP_TO_512} | fig3.BOTH,
    scales=scales(
        smoke=fig1a_ratio.figure.scales["smoke"],
        small=Scale(
            trials=8,
            grid={
                PAIR: fixed_ratio((0.12, 0.16, 0.24, 0.36, 0.52)),
                "train.examples": [2, 4, 8, 16, 32, 64, 128, 256],
            },
            settings=fig1a.SMALL | {"train.steps": 1000},
        ),
    ),
    claims=fig3.arm_claims("3.ratio", fig1a_ratio.WHERE, "limelight; the protocol is ours; "),
    findings={
        "arms": Finding(
            "3.ratio.advantage",
            holds="Trained attention needs fewer examples, {value:.1f} times fewer at least",
        ),
        "savings": Finding(
            "3.ratio.growth",
            holds="The advantage grows as alpha_*^-{value:.1f}",
            fails="The advantage does not grow as alpha_*^-2: it goes as (1/alpha_*)^{value:.1f}",
        ),
    },
    reference="Figure 3, without its confounder",
    sizes="the sizes of fig3, in a protocol of ours",
    departures=fig1a_ratio.figure.departures,
)
