"""Figure 6(b) with sizes 12 % apart: with which power do the examples needed grow?"""

from dataclasses import replace
from functools import partial

from limelight.claims import Below, Inside
from limelight.papers.li2023 import fig6, reach
from limelight.papers.li2023.composites import ALL, CUT, DEPARTURES, EXAMPLES, FRACTIONS
from limelight.papers.recipe import Finding, Scale, claim, scales

#: What sets these claims apart from those of Figure 6(b).
CLOSE = " (sizes 12 % apart)"
falls = claim(
    "close.falls",
    f"{reach.FEWER}{reach.to_reach(reach.LEVEL)}{CLOSE}.",
    Below(1.0),
    at="limelight; li2023, Figure 6(b) at another level",
    statistic="N50 without background over N50 with all of it, accuracy at least 60%",
)(partial(reach.falls, level=reach.LEVEL))
law = claim(
    "close.law",
    f"{reach.SQUARE}{reach.to_reach(reach.LEVEL)}{CLOSE}.",
    Inside(1.5, 2.5),
    at="limelight; li2023, Theorem 1 (10), sufficient, read as a law",
    statistic="log-log slope of N50 in 1/alpha_*, accuracy at least 60%",
)(partial(reach.power, level=reach.LEVEL))


def without_control(*levels: float) -> list[tuple[bool, float]]:
    """Fractions, background alone removed."""
    return [(False, a) for a in levels]


figure = replace(
    fig6.figure,
    statement="with which power of the relevant fraction do the examples needed grow?",
    grid={
        CUT: without_control(*FRACTIONS),
        # Each 12 % above the one before, around those at which 60 % is reached.
        EXAMPLES: [int(round(2600 * 1.12**i, -1)) for i in range(13)],
    },
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={CUT: without_control(0.5, ALL), EXAMPLES: [40, 60, 90]},
            settings=fig6.figure.scales["smoke"].settings,
        ),
        small=Scale(
            trials=5,
            grid={
                CUT: without_control(0.4, 0.6, 0.75, 0.9, ALL),
                EXAMPLES: [12, 17, 24, 34, 48, 68, 96],
            },
            settings=fig6.figure.scales["small"].settings,
        ),
    ),
    claims=(falls, law, *reach.reach_claims("close.reach", "close.reach-law", "before", CLOSE)),
    pictures={"samples": reach.draw_samples},
    findings={
        "samples": Finding(
            "close.law",
            holds="Examples needed grow as alpha_*^-{value:.1f}, as printed",
            fails="Examples needed grow as alpha_*^-{value:.1f}, not as alpha_*^-2",
        )
    },
    summary=reach.summary,
    reference="limelight; the protocol of Figure 6(b)",
    departures=f"{DEPARTURES}; not in the paper: sizes that lie closer, at 60 %; 1,000 steps of"
    " 64 for every N",
)
