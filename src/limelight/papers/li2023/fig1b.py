r"""Figure 1(b): does a worse start, or noisier tokens, cost examples?

The bound pays for $\sigma + \tau$ as one thing. They are two: $\sigma$, the error of the value map
at the start, is the same for all examples and can be trained away; $\tau$, the noise of the tokens,
is new in every example. One figure for each.
"""

import numpy as np

from limelight import fit
from limelight.claims import AtLeast, Claim, Estimate
from limelight.experiments import Study
from limelight.measures import Accuracy, AttentionMass, FreshLoss
from limelight.models import Shallow
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.boundary import CONVERGED, LOOSE, STRICT, boundary, converged
from limelight.papers.li2023.fig1a import facts
from limelight.papers.li2023.quotients import quotients, single
from limelight.plot import Series, caption, curves
from limelight.table import Table
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

START = ("model.start", "model.value_error")
SIZES = {"smoke": (20, 50), "small": (100, 100), "paper": (1000, 200)}


def study(
    scale: str, *, rate: float, steps: int, noise=None, fractions=(0.38, 0.12), every: int = 20
) -> Study:
    """One trial with 50 tokens; grouped where there is no token noise."""
    width, test = SIZES[scale]
    measures = (FreshLoss(test), Accuracy(test))
    if noise is not None:
        measures = (*measures, AttentionMass(20))
    return Study(
        world=Patterns(tokens=50, relevant=fractions[0], confusing=fractions[1], noise=noise),
        model=Shallow(width=width, groups=noise is None),
        train=Train(steps=steps, batch=16, rate=rate, every=every),
        measures=measures,
    )


def common(experiment: Study, axes: dict, trials: int) -> Setup:
    """All cells share their trials' randomness."""
    names = [name for paths in axes for name in ((paths,) if isinstance(paths, str) else paths)]
    return Setup(experiment, axes, trials, shared=tuple(names))


def starts(perturb, scale) -> list[tuple[str, float]]:
    """Starts with their errors."""
    return [("perturb", s) for s in perturb] + [("scale", s) for s in scale]


# --- what is read off a table -----------------------------------------------------------------


def error_ratio(start: str, level: float):
    r"""N50 at the largest $\sigma$ the claim names over N50 at 0."""

    def estimate(table: Table) -> Estimate:
        rows = table.where(model__start=start)
        if not len(rows):
            return Estimate(np.nan, None, 0, "not in this table")
        return single(quotients(boundary(rows, level), "model.value_error", 0.9, 0.0))

    return estimate


def noise_ratio(level: float):
    """N50 at token noise 0.4 over N50 at 0.01."""
    return lambda table: single(quotients(boundary(table, level), "world.noise", 0.4, 0.01))


def noise_cost(table: Table) -> Estimate:
    """Paired difference of test loss at 16 examples, token noise 0.4 minus 0.01."""
    rows = table.where(train__examples=16)
    loud, quiet = (rows.where(world__noise=c)["test_loss"].astype(float) for c in (0.4, 0.01))
    if not len(loud):
        return Estimate(np.nan, None, 0, "16 examples are not in this table")
    low, high = fit.mean_interval(loud - quiet, level=0.9)
    return Estimate(float((loud - quiet).mean()), (float(low), float(high)), len(loud))


# --- pictures ---------------------------------------------------------------------------------


def draw_lines(axis: str, x_label: str, by: str | None = None):
    """N50 at both criteria along one axis."""

    def draw(table: Table):
        """N50 at both criteria, with 95 % intervals."""
        series = []
        for word in [None] if by is None else list(table.values(by)):
            rows = table if word is None else table.where(**{str(by).replace(".", "__"): word})
            for level in (STRICT, LOOSE):
                edge = boundary(rows, level)
                name = f"test loss < {level:g}" + ("" if word is None else f", {word} start")
                known = lambda values, ok=edge.resolved: np.where(ok, values, np.nan)
                series.append(
                    Series(name, edge.x(axis), *map(known, (edge.values, edge.low, edge.high)))
                )
        figure = curves(
            series, x_label=x_label, y_label="N50, training examples", log_y=True, width=4.6
        )
        caption(figure, *facts(table, series))
        return figure

    return draw


draw_sigma = draw_lines(
    "model.value_error", r"error $\sigma$ of the value map at the start", "model.start"
)
draw_noise = draw_lines("world.noise", r"token noise $c_0$, per coordinate")


def draw_loss(table: Table):
    """Mean test loss against examples, one line for each token noise."""
    series = []
    for noise in table.values("world.noise"):
        rows = table.where(world__noise=noise)
        sizes = rows.values("train.examples")
        loss = [rows.where(train__examples=n)["test_loss"].astype(float) for n in sizes]
        mean = np.array([part.mean() for part in loss])
        ends = np.array([fit.mean_interval(part, level=0.95) for part in loss]).reshape(-1, 2)
        series.append(Series(f"$c_0$ = {noise:g}", sizes, mean, *np.maximum(ends.T, 0)))
    figure = curves(
        series,
        x_label="training examples $N$",
        y_label="test hinge loss",
        log_x=True,
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def summary(table: Table) -> list[str]:
    """N50 in every cell, at both criteria; the mass that attention ends with, where measured."""
    lines = []
    for level in (STRICT, LOOSE):
        lines.append(f"N50, test loss below {level:g}, 95 % interval:")
        for at, found in boundary(table, level):
            where = ", ".join(f"{k.split('.')[-1]} {v}" for k, v in at.items())
            lines.append(f"  {where}: {found}")
    if "model.start" in table.columns and len(converged(table)) < len(table):
        lines += every_cell(table)
    if "mass.all" in table.columns:
        largest = table.where(train__examples=table.values("train.examples")[-1])
        for at, rows in largest.cells("world.noise"):
            mass = rows["mass.all"].mean()
            lines.append(f"  c_0 {at['world.noise']:g}: final attention mass on S_* {mass:.3f}")
    return lines


def every_cell(table: Table) -> list[str]:
    """N50 at sigma 0.9 over 0 with unconverged cells counted, their stuck trials both ways."""
    stuck = table["training_loss"] >= CONVERGED
    lines = [f"every cell counted, {stuck.sum()} of {len(table)} trials stuck in training:"]
    for level in (STRICT, LOOSE):
        for word, loss in (("failures", np.inf), ("successes", 0.0)):
            loss = np.where(stuck, loss, table["test_loss"])
            columns = {**table.columns, "test_loss": loss, "training_loss": np.zeros(len(table))}
            rows = Table(columns, table.axes, table.manifest)
            found = error_ratio("perturb", level)(rows)
            ends = "" if found.interval is None else " [{:.3g}, {:.3g}]".format(*found.interval)
            lines.append(
                f"  N50(sigma = 0.9) / N50(sigma = 0), test loss below {level:g}, stuck trials as"
                f" {word}: {found.value:.3g}{ends}"
            )
    return lines


def sigma_claims(prefix: str, where: str) -> tuple[Claim, ...]:
    """The ratio of N50 at the largest error to N50 at none, for both starts and criteria."""
    return tuple(
        Claim(
            f"{prefix}{name}{suffix}",
            f"A worse value map at the start costs examples ({where}, `{start}` start).",
            f"N50(sigma = 0.9) / N50(sigma = 0), test loss below {level:g}",
            error_ratio(start, level),
            AtLeast(1.25),
            "li2023, Figure 1(b) and Theorem 1 (10)",
        )
        for name, start in (("", "perturb"), (".scale", "scale"))
        for suffix, level in (("", STRICT), (".loose", LOOSE))
    )


ERRORS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9)
TRAINING = "step size, batch and steps are ours; the start is `perturb` or `scale`, not the printed"

figures = (
    Figure(
        name="fig1b-sigma",
        title="examples needed against the error of the value map at the start",
        statement="a larger error sigma needs more examples, as (Theta(1) - sigma)^-2",
        setups={
            "smoke": common(
                study("smoke", rate=1.0, steps=200),
                {START: starts((0.0, 0.9), ()), "train.examples": [4, 16]},
                4,
            ),
            "small": common(
                study("small", rate=1.0, steps=400),
                {
                    START: starts((0.0, 0.1, 0.3, 0.6, 0.9), (0.0, 0.1, 0.3, 0.6, 0.9)),
                    "train.examples": [4, 6, 8, 12, 16, 24, 32],
                },
                24,
            ),
            "paper": common(
                study("paper", rate=1.0, steps=800),
                {
                    START: starts((*ERRORS, 1.2), ERRORS),
                    "train.examples": [4, 6, 8, 12, 16, 24, 32, 48],
                },
                50,
            ),
        },
        claims=sigma_claims("1b.sigma", "alpha_* 0.38, alpha_# 0.12"),
        draws={"sigma": draw_sigma},
        summary=summary,
        reference="Figure 1(b)",
        departures=TRAINING + "; alpha_* 0.38 and alpha_# 0.12, where training converges (the "
        "paper's point is fig1b-point); no token noise",
    ),
    Figure(
        name="fig1b-point",
        title="the same at the paper's own fractions, alpha_* 0.3 and alpha_# 0.2",
        statement="a larger error sigma needs more examples, as (Theta(1) - sigma)^-2",
        setups={
            "smoke": common(
                study("smoke", rate=2.0, steps=200, fractions=(0.3, 0.2)),
                {START: starts((0.0, 0.9), ()), "train.examples": [16, 64]},
                2,
            ),
            "small": common(
                study("small", rate=2.0, steps=2000, fractions=(0.3, 0.2)),
                {START: starts((0.0, 0.9), ()), "train.examples": [16, 64, 256]},
                8,
            ),
            "paper": common(
                study("paper", rate=2.0, steps=4000, fractions=(0.3, 0.2)),
                {
                    START: starts(ERRORS, ()),
                    "train.examples": [16, 32, 64, 128, 256, 512, 1024, 2048],
                },
                50,
            ),
        },
        claims=sigma_claims("1b.point", "alpha_* 0.3, alpha_# 0.2")[:2],
        draws={"sigma": draw_sigma},
        summary=summary,
        reference="Figure 1(b)",
        departures=TRAINING + "; no token noise",
    ),
    Figure(
        name="fig1b-noise",
        title="examples needed against the noise of the tokens",
        statement="noisier tokens need more examples: the bound pays for sigma + tau",
        setups={
            "smoke": common(
                study("smoke", rate=1.5, steps=60, noise=0.01),
                {"world.noise": [0.01, 0.4], "train.examples": [8, 16]},
                2,
            ),
            "small": common(
                study("small", rate=1.5, steps=300, noise=0.01),
                {"world.noise": [0.01, 0.1, 0.2, 0.4], "train.examples": [8, 16, 32]},
                8,
            ),
            # Up to 2,048 examples, so that the boundary at the loudest noise is inside the grid;
            # 4,000 steps, so that they are learned; the loss of so many is looked at rarely.
            "paper": common(
                study("paper", rate=1.5, steps=4000, noise=0.01, every=100),
                {
                    "world.noise": [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4],
                    "train.examples": [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048],
                },
                50,
            ),
        },
        claims=(
            *(
                Claim(
                    f"1b.noise{suffix}",
                    "Noisier tokens cost examples.",
                    f"N50(c_0 = 0.4) / N50(c_0 = 0.01), test loss below {level:g}",
                    noise_ratio(level),
                    AtLeast(1.25),
                    "li2023, Theorem 1 (10) and Remark 2",
                )
                for suffix, level in (("", STRICT), (".loose", LOOSE))
            ),
            Claim(
                "1b.noise.loss",
                "Noisier tokens raise the loss at a given number of examples.",
                "paired difference of test loss at 16 examples, c_0 = 0.4 minus c_0 = 0.01",
                noise_cost,
                AtLeast(0.0),
                "li2023, Theorem 1 (10) and Remark 2",
            ),
        ),
        draws={"noise": draw_noise, "loss": draw_loss},
        summary=summary,
        reference="Figure 1(b)",
        departures=TRAINING + "; the axis is ours: the paper varies sigma",
    ),
)
