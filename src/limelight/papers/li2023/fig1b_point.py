"""Figure 1(b) at the paper's own fractions."""

from dataclasses import replace

import numpy as np

from limelight import plot
from limelight._engine.grid import assign
from limelight.claims import Claim
from limelight.fit import estimates
from limelight.papers.li2023 import fig1b_sigma
from limelight.papers.li2023.boundary import LOOSE, STRICT
from limelight.papers.li2023.fig1b_sigma import ERRORS, SMALL, SMOKE, START, starts
from limelight.papers.recipe import Finding, Scale, scales
from limelight.table import Table

POINT = {"world.relevant": 0.3, "world.confusing": 0.2, "train.rate": 2.0, "train.steps": 4000}

WHERE = "alpha_* 0.3, alpha_# 0.2"


def as_failures(found: Claim) -> Claim:
    """The same claim with stuck trials counted as failures.

    Here training gets stuck now and then, and a cell left out for one stuck trial would leave a
    hole where the boundary is.
    """
    return replace(
        found,
        statistic=f"{found.statistic}; trials stuck in training are failures",
        estimate=lambda table: found.estimate(fig1b_sigma.counted(table)),
        fixed="after",
    )


#: Of the `perturb` start alone.
asked = [
    *fig1b_sigma.sigma_claims("1b.point", WHERE)[:2],
    *fig1b_sigma.pole_claims("1b.point", WHERE)[:2],
]


def draw_success(table: Table) -> plot.Picture:
    """Success against examples for three errors of the value map, at both criteria."""
    errors = table.values("model.value_error")
    shown = errors[sorted({0, len(errors) // 2, len(errors) - 1})]
    rows = fig1b_sigma.counted(table.rows(np.isin(table["model.value_error"], shown)))
    panels = [
        plot.Panel(
            f"test loss < {level:g}",
            plot.over_cells(
                rows,
                "train.examples",
                lambda part, level=level: estimates.share(part["test_loss"] < level, least=1),
                "model.value_error",
                name=r"$\sigma$ = {:g}",
            ),
            y=plot.Axis("share of trials that succeed", limits=(-0.03, 1.03)),
        )
        for level in (STRICT, LOOSE)
    ]
    note = "trials stuck in training are failures"
    return plot.panels(
        panels, x_label="training examples $N$", log_x=True, share=True, height=2.1, note=note
    )


figure = replace(
    fig1b_sigma.figure,
    trial=assign(fig1b_sigma.figure.trial, POINT),
    grid={START: starts(ERRORS), "train.examples": [16, 32, 64, 128, 256, 512, 1024, 2048]},
    trials=300,
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
    claims=tuple(as_failures(found) for found in asked),
    pictures={"sigma": draw_success},
    findings={
        "sigma": Finding(
            "1b.point.loose",
            holds="A worse value map at the start costs examples: {value:.2f} times as many",
            fails="A worse value map at the start hardly costs examples: {value:.2f} times as many",
        )
    },
    sizes="the paper's sizes, at its own fractions",
    departures=f"{fig1b_sigma.DEPARTURES}; no token noise",
)
