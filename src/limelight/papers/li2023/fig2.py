r"""Figure 2: iterations until the test loss is below 0.001, against one over $\alpha_*$."""

import numpy as np

from limelight import fit
from limelight.claims import AtLeast, Claim, Estimate
from limelight.experiments import Passage
from limelight.measures import FreshLoss
from limelight.models import Shallow
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.boundary import DRAWS, PAIR, POINTS
from limelight.papers.li2023.fig1a import facts
from limelight.plot import caption, fit_label, fit_panel
from limelight.table import Table
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

PASSAGE = "passage.test_loss"
ERROR = "model.key_error"


def setup(scale: str, steps: int, fractions, errors, trials: int) -> Setup:
    """Common randomness; the test loss is taken after every update."""
    tokens, width, test = {"smoke": (50, 50, 50), "small": (100, 100, 100)}.get(
        scale, (200, 1000, 200)
    )
    experiment = Passage(
        world=Patterns(tokens=tokens),
        model=Shallow(width=width, groups=True),
        train=Train(steps=steps, batch=16, rate=2.0, examples=64, every=1),
        traces=(FreshLoss(test),),
    )
    pairs = [(a, round(a / 10, 6)) for a in fractions]
    axes = {PAIR: pairs, ERROR: list(errors)}
    return Setup(experiment, axes, trials, shared=(*PAIR, ERROR))


# --- what is read off a table -----------------------------------------------------------------


def medians(table: Table, error: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Fractions, and the median passage at each, in the table and in every bootstrap draw.

    A trial that never passes counts as infinitely late; a median that is infinite is unresolved.
    """
    rows = table.where(**{ERROR.replace(".", "__"): error})
    fractions = rows.values("world.relevant")
    grid = []
    for a in fractions:
        part = rows.where(world__relevant=a)
        late = np.where(np.isnan(part[PASSAGE]), np.inf, part[PASSAGE])
        grid.append(late[np.argsort(part["trial"])])
    times = np.array(grid, dtype=float)
    generator = np.random.default_rng(0)
    picks = generator.integers(times.shape[1], size=(DRAWS, times.shape[1]))
    middle = lambda values: np.median(values, axis=-1)
    drawn = np.stack([middle(times[:, pick]) for pick in picks])
    return fractions, middle(times), drawn


def straightness(error: float):
    """R squared of a line of T50 in one over the relevant fraction."""

    def estimate(table: Table) -> Estimate:
        if error not in table.values(ERROR):
            return Estimate(np.nan, None, 0, "not in this table")
        a, middle, drawn = medians(table, error)
        use = np.isfinite(middle)
        n = int((table[ERROR] == error).sum())
        if use.sum() < min(POINTS, len(a)):
            return Estimate(np.nan, None, n, f"{use.sum()} of {len(a)} medians resolved")
        whole = np.isfinite(drawn[:, use]).all(axis=1)
        law = fit.linear(1 / a[use], middle[use], level=0.9, samples=drawn[whole][:, use])
        note = f"{use.sum()} of {len(a)} medians resolved, "
        note += f"T50 = {law.intercept:.0f} + {law.slope:.1f}/alpha_*"
        return Estimate(law.r_squared, law.r_squared_interval, n, note)

    return estimate


def draw_times(table: Table):
    """Median iterations to success against one over the relevant fraction, with the line."""
    error = float(table.values(ERROR)[0])
    a, middle, drawn = medians(table, error)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0, method="inverted_cdf")
    fits = []
    use = np.isfinite(middle)
    if use.sum() >= 3:
        law = fit.linear(1 / a[use], middle[use])
        at = np.linspace(0.9 / a.max(), 1.03 / a[use].min(), 50)
        fits.append((fit_label("line", law.r_squared), at, law.predict(at)))
    figure = fit_panel(
        1 / a[use],
        middle[use],
        low[use],
        high[use],
        x_label=r"$1/\alpha_*$",
        y_label="iterations to test loss < 0.001",
        label=f"median, 95 % interval, $\\delta$ = {error:g}",
        fits=fits,
        width=4.6,
    )
    lost = ", ".join(f"{x:g}" for x in a[~use])
    caption(figure, *facts(table), *([f"no median at α* {lost}"] if lost else []))
    return figure


def summary(table: Table) -> list[str]:
    """T50 for every fraction and error."""
    lines = []
    for error in table.values(ERROR):
        a, middle, _ = medians(table, error)
        lines.append(f"median iterations to test loss below 0.001, delta = {error:g}:")
        lines += [f"  alpha_* {x:.2f}: {t:.0f}" for x, t in zip(a, middle, strict=True)]
        found = straightness(float(error))(table)
        ends = found.interval or (np.nan, np.nan)
        squared = f"R^2 {found.value:.4f} [{ends[0]:.4f}, {ends[1]:.4f}]"
        lines.append(f"  line in 1/alpha_*: {squared}; {found.note}")
    return lines


figure = Figure(
    name="fig2",
    title="iterations to success against one over the fraction of label-relevant tokens",
    statement="the number of iterations is linear in 1/alpha_*",
    setups={
        "smoke": setup("smoke", 150, (0.2, 0.4, 0.6), (0.2,), 2),
        "small": setup("small", 420, (0.1, 0.2, 0.3, 0.5, 0.7), (0.2,), 4),
        "paper": setup(
            "paper",
            4000,
            (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7),
            (0.2, 0.4),
            50,
        ),
    },
    claims=tuple(
        Claim(
            f"2.line{suffix}",
            f"Iterations to success are linear in 1/alpha_* (delta = {error:g}).",
            "R^2 of the median first iteration with test loss below 0.001 on 1/alpha_*",
            straightness(error),
            AtLeast(0.9),
            "li2023, Figure 2 and Theorem 1 (11)",
        )
        for suffix, error in (("", 0.2), (".far", 0.4))
    ),
    draws={"iterations": draw_times},
    summary=summary,
    reference="Figure 2",
    departures="alpha_# is a tenth of alpha_*, 64 examples, step size 2, batch 16; no token noise. "
    "The text of the figure is not in the copies at hand",
)
