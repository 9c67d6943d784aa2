r"""Figure 1(b) with another axis: do noisier tokens cost examples?"""

from dataclasses import replace

import numpy as np

from limelight import fit, plot
from limelight._engine.grid import assign
from limelight.claims import AtLeast, Estimate, Undecided
from limelight.fit import estimates
from limelight.measures import Accuracy, AttentionMass, FreshLoss
from limelight.papers.li2023 import boundary, fig1b_sigma
from limelight.papers.li2023.boundary import LEVELS, logarithmic, n50, n50_lines
from limelight.papers.li2023.quotients import bracketed
from limelight.papers.recipe import Finding, Scale, claim, claims, scales
from limelight.table import Table


@claims(
    "1b.noise{suffix}",
    "Noisier tokens cost at least a quarter more examples.",
    AtLeast(1.25),
    at="li2023, Theorem 1 (10) and Remark 2",
    cases=LEVELS,
    fixed="after",
)
def noise_ratio(table: Table, level: float) -> Estimate:
    """N50(c_0 = 0.4) / N50(c_0 = 0.01), beyond the grid counted as beyond, loss below {level:g}."""
    return bracketed(n50(table, level), "world.noise", 0.4, 0.01)


@claim(
    "1b.noise.loss",
    "Noisier tokens raise the loss at a given number of examples.",
    AtLeast(0.0),
    at="li2023, Theorem 1 (10) and Remark 2",
)
def noise_cost(table: Table) -> Estimate:
    """Paired difference of test loss at 16 examples, c_0 = 0.4 minus c_0 = 0.01."""
    rows = table.where(train__examples=16)
    if not len(rows):
        raise Undecided("16 examples are not in this table")
    loud, quiet = (rows.where(world__noise=noise)["test_loss"] for noise in (0.4, 0.01))
    return estimates.paired(loud, quiet, method="bootstrap", least=2)


def draw_noise(table: Table) -> plot.Picture:
    """N50 at both criteria against the token noise."""
    found = fig1b_sigma.both_levels(table, "world.noise")
    return logarithmic(found, r"token noise $c_0$, per coordinate", log_x=False)


def draw_loss(table: Table) -> plot.Picture:
    """Mean test loss against examples, one line for each token noise."""
    noises = table.values("world.noise")
    few = noises[np.unique(np.linspace(0, len(noises) - 1, 4).round().astype(int))]
    rows = table.rows(np.isin(table["world.noise"], few))
    return plot.lines(
        plot.over_cells(rows, "train.examples", "test_loss", "world.noise", name="$c_0$ = {:g}"),
        x_label="training examples $N$",
        y_label="test hinge loss",
        log_x=True,
    )


EXPLORER = replace(
    boundary.EXPLORER,
    across={r"token noise $c_0$, per coordinate": lambda at: at["world.noise"]},
    theory=None,
    fact=None,
    conditions=None,
    wide=None,
)


def summary(table: Table) -> list[str]:
    """N50 at every noise, and the mass that attention ends with."""
    largest = table.where(train__examples=table.values("train.examples")[-1])
    mass = {"final attention mass on S_*": "mass.all"}
    return [*n50_lines(table), *fit.tabulate(largest, {"world.noise": "c_0"}, mass)]


def tested(examples: int) -> tuple:
    """Loss and accuracy on fresh examples, and where attention goes."""
    return FreshLoss(examples), Accuracy(examples), AttentionMass(20)


figure = replace(
    fig1b_sigma.figure,
    statement="noisier tokens need more examples: the bound pays for sigma + tau",
    # Up to 2,048 examples, so that the boundary at the loudest noise is inside the grid; 4,000
    # steps, so that they are learned; the loss of so many is measured rarely.
    trial=assign(
        fig1b_sigma.figure.trial,
        {
            "world.noise": 0.01,
            "model.groups": False,
            "train.rate": 1.5,
            "train.steps": 4000,
            "train.every": 100,
            "measures": tested(200),
        },
    ),
    grid={
        "world.noise": [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4],
        "train.examples": [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048],
    },
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={"world.noise": [0.01, 0.4], "train.examples": [8, 16]},
            settings={
                "model.width": 20,
                "train.steps": 60,
                "train.every": 20,
                "measures": tested(50),
            },
        ),
        small=Scale(
            trials=8,
            grid={"world.noise": [0.01, 0.1, 0.2, 0.4], "train.examples": [8, 16, 32]},
            settings={
                "model.width": 100,
                "train.steps": 300,
                "train.every": 20,
                "measures": tested(100),
            },
        ),
    ),
    claims=(*noise_ratio, noise_cost),
    pictures={"noise": draw_noise, "loss": draw_loss},
    findings={
        "noise": Finding(
            "1b.noise", holds="Noisier tokens cost examples: {value:.0f} times as many at c_0 = 0.4"
        ),
        "loss": "1b.noise.loss",
    },
    charts={"noise": EXPLORER.chart},
    summary=summary,
    departures=f"{fig1b_sigma.DEPARTURES}; the axis is ours: the paper varies sigma",
    shared=("world.noise", "train.examples"),
)
