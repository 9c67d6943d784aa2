"""Figure 5: test loss against removed tokens, at a budget that leaves the whole model unfinished.

There faster learning can show; `fig5_long` and `fig5_samples` show whether more is gained.
"""

from limelight.papers.li2023.removal import (
    CUT,
    LOUD,
    MAIN,
    POINT,
    cuts,
    draw_loss,
    loss_claims,
    small,
    smoke,
    summary,
    trial,
)
from limelight.papers.recipe import Figure, Finding, Scale, scales

LOUDS = [0.1, 0.3, 0.5]
#: Fractions and error as recollected of the paper's own figure, whose text is not at hand.
RECOLLECTED = (0.6, 0.04, 0.5)
QUIETER = "limelight; li2023, Figure 5, with quieter noise"
DEPARTURES = (
    "the copies at hand lack the paper's text of this figure: alpha_* = 0.4 and alpha_# = 0.1 are "
    "ours, and the summary also has the values as recollected (alpha_* = 0.6, 2 confusing tokens "
    "of 50, delta = 0.5); 30 % of the tokens are noisy, with a noise c_big of their own; removed "
    "tokens are masked out of the softmax"
)

figure = Figure(
    statement="removing random tokens does not help; removing label-irrelevant or noisy ones "
    "lowers the loss",
    trial=trial(steps=70, every=10),
    grid={
        POINT: [tuple(MAIN[name] for name in POINT), RECOLLECTED],
        LOUD: LOUDS,
        CUT: cuts((45, 40, 35, 30)),
    },
    trials=400,  # the loss of unfinished models varies from trial to trial
    scales=scales(
        smoke=Scale(
            trials=2, grid={POINT: None, LOUD: [0.5], CUT: cuts((35,))}, settings=smoke(steps=40)
        ),
        small=Scale(
            trials=8,
            grid={POINT: None, LOUD: [0.3, 0.5], CUT: cuts((42, 35))},
            settings=small(steps=70, every=10),
        ),
    ),
    claims=tuple(
        found
        for loud, suffix, at in (
            (0.5, "", "li2023, Figure 5"),
            (0.3, ".c0.3", QUIETER),
            (0.1, ".c0.1", QUIETER),
        )
        for found in loss_claims(
            "5", suffix, f"noise {loud:g} on noisy tokens, alpha_* 0.4", {**MAIN, LOUD: loud}, at
        )
        if found.name != "5.random.c0.3"  # four hundred trials leave it open: `fig5_trials`
    ),
    pictures={"loss": draw_loss},
    findings={
        "loss": (
            Finding("5.attention", holds="Removing the least attended tokens lowers the loss"),
            Finding(
                "5.random",
                holds="while removing at random moves it by {value:+.0%}, within a quarter",
                fails="while removing at random moves it by {value:+.0%}",
            ),
        )
    },
    summary=summary,
    reference="Figure 5",
    sizes="the paper's width and tokens at fractions of ours: the text of this figure is not "
    "at hand",
    departures=f"{DEPARTURES}; 70 steps, a budget at which the whole model is unfinished",
    shared=(*POINT, LOUD, *CUT),
)
