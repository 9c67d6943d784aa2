r"""Figure 1(a) with $\alpha_\#$ held at a quarter of $\alpha_*$: only one thing changes."""

from dataclasses import replace

from limelight._engine.grid import assign
from limelight.papers.li2023 import fig1a
from limelight.papers.li2023.boundary import EXPLORER, draw_law, draw_phase, laws
from limelight.papers.li2023.offset import offset_claims
from limelight.papers.li2023.protocols import MORE_EXAMPLES, PAIR, RATIO_FRACTIONS, fixed_ratio
from limelight.papers.recipe import Finding, Scale, scales

WHERE = "alpha_# a quarter of alpha_*"

figure = replace(
    fig1a.figure,
    remark="",
    statement="by Theorem 1 the sample complexity grows as alpha_*^-2 here too",
    trial=assign(fig1a.figure.trial, {"train.steps": 2000}),
    grid={PAIR: fixed_ratio(RATIO_FRACTIONS), "train.examples": MORE_EXAMPLES},
    scales=scales(
        smoke=Scale(
            trials=4,
            grid={PAIR: fixed_ratio((0.16, 0.32, 0.48)), "train.examples": [2, 8, 32]},
            settings=fig1a.SMOKE | {"train.steps": 300},
        ),
        small=Scale(
            trials=12,
            grid={
                PAIR: fixed_ratio((0.08, 0.12, 0.16, 0.24, 0.36, 0.52)),
                "train.examples": [4, 8, 16, 32, 64],
            },
            settings=fig1a.SMALL | {"train.steps": 800},
        ),
    ),
    claims=(
        *laws("1a.ratio", WHERE, at=fig1a.ORDER),
        *offset_claims("1a.ratio", WHERE),
    ),
    pictures={"phase": draw_phase, "law": draw_law},
    findings={
        "phase": Finding(
            "1a.ratio",
            holds="At a fixed ratio examples needed grow as alpha_*^-{value:.1f}, as printed",
            fails="At a fixed ratio examples needed grow as alpha_*^-{value:.1f}, not alpha_*^-2",
        ),
        "law": Finding(
            "1a.ratio.offset",
            holds="At a fixed ratio the power -2 holds with a fitted offset",
            fails="At a fixed ratio no offset saves the power -2",
        ),
    },
    charts={"phase": EXPLORER.chart},
    reference="Figure 1(a), without its confounder",
    sizes="the sizes of fig1a, in a protocol of ours",
    departures=f"{fig1a.figure.departures}; the protocol is ours: alpha_# = alpha_*/4",
)
