r"""Figure 1(a) token by token: does leaving token noise out change the boundary?"""

from dataclasses import replace

import numpy as np

from limelight import fit, plot
from limelight._engine.grid import assign
from limelight.claims import Estimate, Inside, Undecided
from limelight.measures import Accuracy, FreshLoss
from limelight.papers.li2023 import boundary, fig1a
from limelight.papers.li2023.boundary import n50, n50_lines
from limelight.papers.li2023.protocols import PAIR, fixed_sum
from limelight.papers.li2023.quotients import ENOUGH, quotients
from limelight.papers.recipe import Scale, claim, scales
from limelight.table import Table


@claim(
    "1a.tokens",
    "Leaving token noise out, as the grouped trainer does, moves the boundary by less than a"
    " quarter.",
    Inside(0.8, 1.25),
    at="limelight",
)
def noise_ratio(table: Table) -> Estimate:
    """N50 with c_0 = 0.01 over N50 without, geometric mean over alpha_*."""
    found = quotients(n50(table), "world.noise", 0.01, 0.0)
    use = np.isfinite(found.values)
    if not use.any():
        raise Undecided("no boundary is inside the grid", n=found.n)
    value, n = float(np.exp(np.log(found.values[use]).mean())), int(found.trials[use].sum())
    draws = np.exp(np.log(found.draws[:, use]).mean(axis=-1))
    note = f"{use.sum()} of {use.size} fractions have both boundaries inside the grid"
    if np.isfinite(draws).mean() < ENOUGH:
        note += "; too many bootstrap draws unresolved to give an interval"
        return Estimate(value, (np.nan, np.nan), n, note)
    low, high = fit.percentile_interval(draws)
    return Estimate(value, (float(low), float(high)), n, note)


def draw_tokens(table: Table) -> plot.Picture:
    """The success map of the trials with token noise."""
    return fig1a.draw_phase(table.where(world__noise=0.01))


#: Both arms, one after the other.
EXPLORER = replace(
    boundary.EXPLORER,
    parts={
        "without token noise": lambda table: table["world.noise"] == 0.0,
        "with token noise of 0.01": lambda table: table["world.noise"] == 0.01,
    },
)

figure = replace(
    fig1a.figure,
    remark="",
    charts={"phase": EXPLORER.chart},
    statement="token noise of 0.01 does not move the boundary",
    trial=assign(fig1a.figure.trial, {"world.noise": 0.0, "model.groups": False}),
    grid={
        PAIR: fixed_sum((0.34, 0.4, 0.46)),
        "train.examples": [4, 8, 16, 32, 64],
        "world.noise": [0.0, 0.01],
    },
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={PAIR: fixed_sum((0.35, 0.45)), "train.examples": [2, 8]},
            settings={
                "world.tokens": 20,
                "model.width": 20,
                "train.steps": 60,
                "measures": (FreshLoss(20), Accuracy(20)),
            },
        ),
        small=Scale(
            trials=4,
            grid={PAIR: fixed_sum((0.36, 0.46)), "train.examples": [4, 8, 16, 32]},
            settings=fig1a.SMALL | {"train.steps": 400},
        ),
    ),
    claims=(noise_ratio,),
    pictures={"phase": draw_tokens},
    summary=n50_lines,
    departures="as fig1a, token by token and with c_0 = 0.01",
    shared=("world.noise",),
)
