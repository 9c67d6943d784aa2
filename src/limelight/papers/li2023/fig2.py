r"""Figure 2: iterations until the test loss is below 0.001, against one over $\alpha_*$."""

import numpy as np

from limelight import fit, plot
from limelight.claims import AtLeast, Estimate, Undecided
from limelight.experiments import Passage
from limelight.measures import FreshLoss
from limelight.models import Shallow
from limelight.papers.li2023.boundary import DRAWS, POINTS
from limelight.papers.li2023.protocols import PAIR, fixed_ratio
from limelight.papers.recipe import Figure, Finding, Scale, claims, scales
from limelight.table import Table
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

ERROR = "model.key_error"


def medians(table: Table, error: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Fractions, and the median passage at each, in the table and in every bootstrap draw.

    A trial that never passes counts as infinitely late; a median that is infinite is unresolved.
    """
    rows = table.where(model__key_error=error)
    fractions = rows.values("world.relevant")
    times = []
    for fraction in fractions:
        part = rows.where(world__relevant=fraction)
        passage = part["passage.test_loss"][np.argsort(part["trial"])]
        times.append(np.where(np.isnan(passage), np.inf, passage))
    trials = np.array(times, dtype=float)
    picks = np.random.default_rng(0).integers(trials.shape[1], size=(DRAWS, trials.shape[1]))
    drawn = np.stack([np.median(trials[:, pick], axis=1) for pick in picks])
    return fractions, np.median(trials, axis=1), drawn


def straightness(table: Table, error: float) -> Estimate:
    """R^2 of the median first iteration with test loss below 0.001 on 1/alpha_*."""
    if error not in table.values(ERROR):
        raise Undecided("not in this table")
    fractions, middle, drawn = medians(table, error)
    use = np.isfinite(middle)
    n = int((table[ERROR] == error).sum())
    note = f"{use.sum()} of {len(use)} medians resolved"
    if use.sum() < min(POINTS, len(use)):
        raise Undecided(note, n=n)
    whole = np.isfinite(drawn[:, use]).all(axis=1)
    law = fit.fit_law("linear", 1 / fractions[use], middle[use], samples=drawn[whole][:, use])
    note += f", T50 = {law.intercept:.0f} + {law.slope:.1f}/alpha_*"
    return Estimate(law.r_squared, law.r_squared_interval, n, note)


straight = claims(
    "2.line{suffix}",
    "Iterations to success are linear in 1/alpha_*, with an R^2 of 0.9 or more (delta ="
    " {error:g}).",
    AtLeast(0.9),
    at="li2023, Figure 2 and Theorem 1 (11)",
    cases=({"suffix": "", "error": 0.2}, {"suffix": ".far", "error": 0.4}),
)(straightness)


def draw_times(table: Table) -> plot.Picture:
    """Median iterations to success against one over the relevant fraction, with the line."""
    error = float(table.values(ERROR)[0])
    a, middle, drawn = medians(table, error)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0, method="inverted_cdf")
    use = np.isfinite(middle)
    fits = []
    if use.sum() >= 3:
        law = fit.fit_law("linear", 1 / a[use], middle[use])
        at = np.linspace(0.9 / a.max(), 1.03 / a[use].min(), 50)
        name = f"line: $R^2$ = {law.r_squared:.2f}"
        fits.append(plot.Guide(name, at, law.predict(at), width=1.2))
    lost = ", ".join(f"{fraction:g}" for fraction in a[~use])
    name = rf"median, 95 % interval, $\delta$ = {error:g}"
    return plot.lines(
        [plot.Points(name, 1 / a[use], middle[use], low[use], high[use])],
        guides=fits,
        x_label=r"$1/\alpha_*$",
        y_label="iterations to test loss < 0.001",
        note=rf"no median at $\alpha_*$ = {lost}" if lost else "",
    )


def summary(table: Table) -> list[str]:
    """The median for every error and fraction, and the lines through them."""
    errors = table.values(ERROR).tolist()
    middle = [
        ({ERROR: error, "world.relevant": fraction}, median)
        for error in errors
        for fraction, median in zip(*medians(table, error)[:2], strict=True)
    ]
    columns = {
        "R^2 of a line in 1/alpha_*": lambda error: straightness(table, error),
        "line": lambda error: straightness(table, error).note,
    }
    return [
        *fit.tabulate(
            middle,
            {ERROR: "delta", "world.relevant": "alpha_*"},
            {"median iterations to test loss < 0.001": float},
        ),
        *fit.tabulate([({"delta": error}, error) for error in errors], "delta", columns),
    ]


figure = Figure(
    statement="the number of iterations is linear in 1/alpha_*",
    trial=Passage(
        world=Patterns(tokens=200),
        model=Shallow(width=1000, groups=True),
        train=Train(steps=4000, batch=16, rate=2.0, examples=64, every=1),
        traces=(FreshLoss(200),),
    ),
    grid={
        PAIR: fixed_ratio((0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7), 10),
        ERROR: [0.2, 0.4],
    },
    trials=50,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={PAIR: fixed_ratio((0.2, 0.4, 0.6), 10), ERROR: [0.2]},
            settings={
                "world.tokens": 50,
                "model.width": 50,
                "train.steps": 150,
                "traces": (FreshLoss(50),),
            },
        ),
        small=Scale(
            trials=4,
            grid={PAIR: fixed_ratio((0.1, 0.2, 0.3, 0.5, 0.7), 10), ERROR: [0.2]},
            settings={
                "world.tokens": 100,
                "model.width": 100,
                "train.steps": 420,
                "traces": (FreshLoss(100),),
            },
        ),
    ),
    claims=straight,
    pictures={"iterations": draw_times},
    findings={
        "iterations": Finding(
            "2.line", holds="Iterations to success are linear in 1/alpha_*: R^2 = {value:.3f}"
        )
    },
    summary=summary,
    reference="Figure 2",
    sizes="the sizes of the other figures: the text of this one is not at hand",
    departures="alpha_# is a tenth of alpha_*, 64 examples, step size 2, batch 16; no token noise. "
    "The text of the figure is not in the copies at hand",
    shared=(*PAIR, ERROR),
)
