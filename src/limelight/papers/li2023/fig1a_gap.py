r"""Figure 1(a) with $\alpha_* - \alpha_\#$ held at 0.24: is it the fraction or the gap?"""

from dataclasses import replace

from limelight._engine.grid import assign
from limelight.claims import Estimate, Inside
from limelight.papers.li2023 import fig1a, fig1a_ratio
from limelight.papers.li2023.boundary import LEVELS, exponent, laws, relevant
from limelight.papers.li2023.offset import offset_claims
from limelight.papers.li2023.protocols import GAP_FRACTIONS, MORE_EXAMPLES, PAIR, fixed_gap
from limelight.papers.recipe import Finding, Scale, claims, scales
from limelight.table import Table

WHERE = "alpha_* - alpha_# held at 0.24"


@claims(
    "1a.which.gap{suffix}",
    "Examples needed depend on the gap alpha_* - alpha_# alone.",
    Inside(-0.5, 0.5),
    cases=({**LEVELS[0], "fixed": "before"}, {**LEVELS[1], "fixed": "after"}),
)
def gap_alone(table: Table, level: float) -> Estimate:
    """Log-log slope of N50 in 1/alpha_* at a fixed gap, test loss below {level:g}."""
    return exponent(table, level, relevant)


figure = replace(
    fig1a_ratio.figure,
    trial=assign(fig1a.figure.trial, {"train.steps": 1500}),
    grid={PAIR: fixed_gap(GAP_FRACTIONS), "train.examples": MORE_EXAMPLES},
    scales=scales(
        smoke=Scale(
            trials=4,
            grid={PAIR: fixed_gap((0.32, 0.5)), "train.examples": [4, 32]},
            settings=fig1a.SMOKE | {"train.steps": 300},
        ),
        small=Scale(
            trials=16,
            grid={
                PAIR: fixed_gap((0.26, 0.32, 0.4, 0.5, 0.6)),
                "train.examples": [4, 8, 16, 32, 64],
            },
            settings=fig1a.SMALL | {"train.steps": 600},
        ),
    ),
    claims=(
        *laws("1a.which.alpha", WHERE, at=fig1a.ORDER),
        *offset_claims("1a.which", WHERE),
        *gap_alone,
    ),
    findings={
        "phase": Finding(
            "1a.which.alpha",
            holds="At a fixed gap examples needed grow as alpha_*^-{value:.1f}, as printed",
            fails="At a fixed gap examples needed go as (1/alpha_*)^{value:.1f}, not as alpha_*^-2",
        ),
        "law": Finding(
            "1a.which.gap",
            holds="The gap alone sets how many examples are needed",
            fails="The gap alone does not set how many examples are needed",
        ),
    },
    sizes="the sizes of fig1a, in a protocol of ours",
    departures=f"{fig1a.figure.departures}; the protocol is ours: alpha_# = alpha_* - 0.24",
)
