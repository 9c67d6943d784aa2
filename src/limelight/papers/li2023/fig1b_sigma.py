r"""Figure 1(b): does a worse start cost examples?

The bound pays for $\sigma + \tau$ as one thing. They are two: $\sigma$, the error of the value map
at the start, is the same for all examples and can be trained away; $\tau$, the noise of the tokens,
is new in every example (`fig1b_noise`).
"""

import numpy as np

from limelight import fit, plot
from limelight.claims import AtLeast, Claim, Estimate, Undecided
from limelight.experiments import Study
from limelight.fit import curves
from limelight.measures import Accuracy, FreshLoss
from limelight.models import Shallow
from limelight.papers.li2023 import boundary
from limelight.papers.li2023.boundary import LEVELS, LOOSE, STRICT, n50
from limelight.papers.li2023.quotients import quotients, single
from limelight.papers.recipe import Figure, Finding, Scale, claims, scales
from limelight.table import Table
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

START = ("model.start", "model.value_error")
ERRORS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9)


def error_ratio(table: Table, start: str, level: float) -> Estimate:
    """N50(sigma = 0.9) / N50(sigma = 0), test loss below {level:g}."""
    rows = table.where(model__start=start)
    if not len(rows):
        raise Undecided("not in this table")
    return single(quotients(n50(rows, level), "model.value_error", 0.9, 0.0))


def pole(table: Table, start: str, level: float) -> Estimate:
    """1/c of the law N50 = k (c - sigma)^-2, from N50^-1/2 by least squares, loss below {level:g}.

    A law without such a pole, where sigma costs nothing, has 1/c = 0.
    """
    rows = table.where(model__start=start)
    if not len(rows):
        raise Undecided("not in this table")
    edge = n50(rows, level)
    use = edge.resolved
    if use.sum() < boundary.POINTS:
        raise Undecided(f"{use.sum()} resolved points, {boundary.POINTS} needed", n=len(rows))
    values, known = boundary.drawn(edge, common=True)
    whole = known[:, use].all(axis=1)
    every = np.concatenate([edge.values[None], values[whole]])[:, use] ** -0.5
    sigma = edge.x("model.value_error")[use]
    slope = curves.slopes(sigma, every.T)
    found = -slope / (every.mean(axis=1) - slope * sigma.mean())
    low, high = fit.percentile_interval(found[1:])
    n = boundary.trials_of(edge, use)
    return Estimate(float(found[0]), (float(low), float(high)), n, f"{use.sum()} points")


CASES = [
    {"name": name, "start": start, **level}
    for name, start in (("", "perturb"), (".scale", "scale"))
    for level in LEVELS
]


def sigma_claims(prefix: str, where: str) -> tuple[Claim, ...]:
    """What the largest error costs, for both starts and criteria."""
    return claims(
        f"{prefix}{{name}}{{suffix}}",
        f"A worse value map at the start costs at least a quarter more examples ({where},"
        f" `{{start}}` start).",
        AtLeast(1.25),
        at="li2023, Figure 1(b) and Theorem 1 (10)",
        cases=CASES,
    )(error_ratio)


def pole_claims(prefix: str, where: str) -> tuple[Claim, ...]:
    """The law of Figure 1(b), for both starts and criteria."""
    return claims(
        f"{prefix}{{name}}.law{{suffix}}",
        f"Examples needed grow as (c - sigma)^-2, c at most 2 ({where}, `{{start}}` start).",
        AtLeast(0.5),
        at="li2023, Figure 1(b); the level of c is ours",
        cases=CASES,
        fixed="after",
    )(pole)


def draw_sigma(table: Table) -> plot.Picture:
    """N50 at both criteria against the error, for each start."""
    found = [
        series
        for at, rows in table.cells("model.start")
        for series in both_levels(rows, "model.value_error", f", {at['model.start']} start")
    ]
    x_label = r"error $\sigma$ of the value map at the start"
    return boundary.logarithmic(found, x_label, log_x=False)


def both_levels(table: Table, axis: str, words: str = "") -> list[plot.Series]:
    """N50 along an axis at both criteria."""
    edges = {level: n50(table, level) for level in (STRICT, LOOSE)}
    return [
        boundary.line(f"test loss < {level:g}{words}", edge, edge.x(axis), bounds=False)
        for level, edge in edges.items()
    ]


def summary(table: Table) -> list[str]:
    """N50 in every cell; with unconverged cells counted, where there are any."""
    stuck = boundary.unconverged(table).any()
    return [*boundary.n50_lines(table), *(every_cell(table) if stuck else ())]


def is_stuck(table: Table) -> np.ndarray:
    """Trials that did not learn their own training set."""
    return table["training_loss"] >= boundary.CONVERGED


def counted(table: Table, loss: float = np.inf) -> Table:
    """The table with every cell counted: stuck trials have the loss given, so that they fail."""

    def make() -> Table:
        found = np.where(is_stuck(table), loss, table["test_loss"])
        columns = {**table.columns, "test_loss": found, "training_loss": np.zeros(len(table))}
        return Table(columns, table.axes, table.manifest)

    return table.cached(("counted", loss), make)


def every_cell(table: Table) -> list[str]:
    """N50 at sigma 0.9 over 0 with unconverged cells counted, their stuck trials both ways."""
    stuck = is_stuck(table)

    def ratio(loss: float, level: float) -> Estimate:
        return error_ratio(counted(table, loss), "perturb", level)

    return fit.tabulate(
        [({"stuck": "as failures"}, np.inf), ({"stuck": "as successes"}, 0.0)],
        {"stuck": "stuck trials"},
        boundary.at_both(ratio),
        title="N50(sigma = 0.9) / N50(sigma = 0), every cell counted,"
        f" {stuck.sum()} of {len(table)} trials stuck in training:",
    )


def starts(perturb: tuple[float, ...], scale: tuple[float, ...] = ()) -> list[tuple[str, float]]:
    """Starts with their errors."""
    return [("perturb", error) for error in perturb] + [("scale", error) for error in scale]


SMOKE = {"model.width": 20, "measures": (FreshLoss(50), Accuracy(50))}
SMALL = {"model.width": 100, "measures": (FreshLoss(100), Accuracy(100))}
DEPARTURES = (
    "step size, batch and steps are ours; the start is `perturb` or `scale`, not the printed"
)

figure = Figure(
    statement="a larger error sigma needs more examples, as (Theta(1) - sigma)^-2",
    trial=Study(
        world=Patterns(tokens=50, relevant=0.38, confusing=0.12),
        model=Shallow(width=1000, groups=True),
        train=Train(steps=800, batch=16, rate=1.0, every=20),
        measures=(FreshLoss(200), Accuracy(200)),
    ),
    grid={START: starts((*ERRORS, 1.2), ERRORS), "train.examples": [4, 6, 8, 12, 16, 24, 32, 48]},
    trials=50,
    scales=scales(
        smoke=Scale(
            trials=4,
            grid={START: starts((0.0, 0.9)), "train.examples": [4, 16]},
            settings=SMOKE | {"train.steps": 200},
        ),
        small=Scale(
            trials=24,
            grid={
                START: starts((0.0, 0.1, 0.3, 0.6, 0.9), (0.0, 0.1, 0.3, 0.6, 0.9)),
                "train.examples": [4, 6, 8, 12, 16, 24, 32],
            },
            settings=SMALL | {"train.steps": 400},
        ),
    ),
    claims=(
        *sigma_claims("1b.sigma", "alpha_* 0.38, alpha_# 0.12"),
        *pole_claims("1b.sigma", "alpha_* 0.38, alpha_# 0.12"),
    ),
    pictures={"sigma": draw_sigma},
    findings={
        "sigma": Finding(
            "1b.sigma",
            holds="A worse value map at the start costs examples: {value:.2f} times as many",
            fails="A worse value map at the start hardly costs examples: {value:.2f} times as many",
        )
    },
    summary=summary,
    reference="Figure 1(b)",
    sizes="the paper's sizes at fractions of ours",
    departures=f"{DEPARTURES}; alpha_* 0.38 and alpha_# 0.12, where training converges (the "
    "paper's point is fig1b-point); no token noise",
    shared=(*START, "train.examples"),
)
