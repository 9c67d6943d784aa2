"""Figure 5 after 1,000 steps."""

from dataclasses import replace

from limelight.papers.li2023 import fig5
from limelight.papers.li2023.removal import CUT, LOUD, MAIN, cuts, loss_claims, small, smoke, trial
from limelight.papers.recipe import Finding, Scale, scales

figure = replace(
    fig5.figure,
    statement="removing label-irrelevant or noisy tokens lowers the loss",
    trial=trial(steps=1000, every=20),
    grid={LOUD: fig5.LOUDS, CUT: cuts((40, 35, 30))},
    scales=scales(
        smoke=Scale(trials=2, grid={LOUD: [0.5], CUT: cuts((35,))}, settings=smoke(steps=80)),
        small=Scale(
            trials=4, grid={LOUD: [0.5], CUT: cuts((35,))}, settings=small(steps=300, every=20)
        ),
    ),
    trials=50,
    claims=loss_claims(
        "5.long",
        "",
        "1,000 steps, noise 0.5 on noisy tokens, alpha_* 0.4",
        MAIN,
        "limelight; li2023, Figure 5, trained longer",
    ),
    findings={
        "loss": Finding(
            "5.long.irrelevant",
            fails="After 1,000 steps removing label-irrelevant tokens no longer lowers the loss",
        )
    },
    departures=f"{fig5.DEPARTURES}; 1,000 steps",
)
