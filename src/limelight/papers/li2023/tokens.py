r"""Figure 1(a) token by token: does leaving token noise out change the boundary?"""

import numpy as np

from limelight import fit
from limelight.claims import Claim, Estimate, Inside
from limelight.experiments import Study
from limelight.measures import Accuracy, FreshLoss
from limelight.models import Shallow
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.boundary import PAIR, boundary
from limelight.papers.li2023.fig1a import draw_phase, nd
from limelight.papers.li2023.quotients import ENOUGH, quotients
from limelight.table import Table
from limelight.train.minibatch import Train
from limelight.worlds import Patterns


def noise_ratio(table: Table) -> Estimate:
    """Geometric mean over fractions of N50 with token noise over N50 without."""
    found = quotients(boundary(table), "world.noise", 0.01, 0.0)
    use = np.isfinite(found.values)
    if not use.any():
        return Estimate(np.nan, None, found.n, "no boundary is inside the grid")
    mean = lambda values: np.exp(np.log(values).mean(axis=-1))
    draws = mean(found.draws[:, use])
    note = f"{use.sum()} of {use.size} fractions have both boundaries inside the grid"
    if np.isfinite(draws).mean() < ENOUGH:
        note += "; too many bootstrap draws unresolved to give an interval"
        return Estimate(float(mean(found.values[use])), (np.nan, np.nan), found.n, note)
    low, high = fit.percentile_interval(draws, level=0.9)
    return Estimate(float(mean(found.values[use])), (float(low), float(high)), found.n, note)


def setup(scale: str, steps: int, fractions, examples, trials: int) -> Setup:
    """The `nd` protocol token by token, with the paper's token noise and without."""
    tokens, width, test = {"smoke": (20, 20, 20), "small": (100, 100, 100)}.get(
        scale, (100, 1000, 200)
    )
    experiment = Study(
        world=Patterns(tokens=tokens, noise=0.0),
        model=Shallow(width=width),
        train=Train(steps=steps, batch=16, rate=2.0, every=20),
        measures=(FreshLoss(test), Accuracy(test)),
    )
    points = [(a, round(nd(a), 6)) for a in fractions]
    axes = {PAIR: points, "train.examples": list(examples), "world.noise": [0.0, 0.01]}
    return Setup(experiment, axes, trials, shared=("world.noise",))


def draw_tokens(table: Table):
    """The success map of the trials with token noise."""
    return draw_phase(table.where(world__noise=0.01))


def summary(table: Table) -> list[str]:
    """N50 with and without token noise."""
    return [
        f"alpha_* {at['world.relevant']:.2f}, c_0 {at['world.noise']:g}: N50 {found}"
        for at, found in boundary(table)
    ]


figure = Figure(
    name="fig1a-tokens",
    title="Figure 1(a) token by token, with the paper's token noise and without",
    statement="token noise of 0.01 does not move the boundary",
    setups={
        "smoke": setup("smoke", 60, (0.35, 0.45), (2, 8), 2),
        "small": setup("small", 400, (0.36, 0.46), (4, 8, 16, 32), 4),
        "paper": setup("paper", 1000, (0.34, 0.4, 0.46), (4, 8, 16, 32, 64), 20),
    },
    claims=(
        Claim(
            "1a.tokens",
            "Leaving token noise out, as the grouped trainer does, does not move the boundary.",
            "N50 with c_0 = 0.01 over N50 without, geometric mean over alpha_*",
            noise_ratio,
            Inside(0.8, 1.25),
            "limelight",
        ),
    ),
    draws={"phase": draw_tokens},
    summary=summary,
    reference="Figure 1(a)",
    departures="as fig1a, token by token and with c_0 = 0.01",
)
