"""Figure 1(b) at the paper's own fractions."""

from dataclasses import replace

from limelight.engine.grid import assign
from limelight.papers.li2023 import fig1b_sigma
from limelight.papers.li2023.fig1b_sigma import ERRORS, SMALL, SMOKE, START, starts
from limelight.papers.recipe import Scale, scales

POINT = {"world.relevant": 0.3, "world.confusing": 0.2, "train.rate": 2.0, "train.steps": 4000}

figure = replace(
    fig1b_sigma.figure,
    trial=assign(fig1b_sigma.figure.trial, POINT),
    grid={START: starts(ERRORS), "train.examples": [16, 32, 64, 128, 256, 512, 1024, 2048]},
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={START: starts((0.0, 0.9)), "train.examples": [16, 64]},
            settings=SMOKE | {"train.steps": 200},
        ),
        small=Scale(
            trials=8,
            grid={START: starts((0.0, 0.9)), "train.examples": [16, 64, 256]},
            settings=SMALL | {"train.steps": 2000},
        ),
    ),
    claims=fig1b_sigma.sigma_claims("1b.point", "alpha_* 0.3, alpha_# 0.2")[:2],
    departures=f"{fig1b_sigma.DEPARTURES}; no token noise",
)
