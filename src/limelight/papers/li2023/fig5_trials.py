"""Figure 5 with quieter noise, on more trials: what four hundred leave open.

Whether removing tokens at random changes the loss at $c_{big} = 0.3$ is asked here alone, by the
rule of Figure 5 and with other random numbers.
"""

from dataclasses import replace

from limelight.papers.li2023 import fig5
from limelight.papers.li2023.removal import CUT, FEW, LOUD, MAIN, WHOLE, loss_claims
from limelight.papers.recipe import Finding, Scale, scales

NOISE = 0.3
SMOKE, SMALL = (fig5.figure.scales[name] for name in ("smoke", "small"))

figure = replace(
    fig5.figure,
    statement="does removing tokens at random change the loss where noisy tokens are less noisy?",
    grid={LOUD: [NOISE], CUT: [(0, WHOLE), (0, FEW)]},
    trials=4000,
    scales=scales(
        smoke=Scale(trials=2, settings=SMOKE.settings),
        small=Scale(trials=8, settings=SMALL.settings),
    ),
    claims=loss_claims(
        "5", ".c0.3", "noise 0.3 on noisy tokens, alpha_* 0.4", {**MAIN, LOUD: NOISE}, fig5.QUIETER
    )[:1],
    findings={
        "loss": Finding(
            "5.random.c0.3", fails="Removing tokens at random changes the loss by {value:.0%}"
        )
    },
    reference="limelight; Figure 5",
    departures=f"{fig5.figure.departures}; two cells on more trials",
    shared=CUT,
)
