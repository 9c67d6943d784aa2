r"""Theorem 1 inside its own hypotheses: is the loss zero, and does the time follow (11)?

The paper's figures lie outside its theorem (step sizes above 1, too few neurons). Here every
condition holds with the hidden constants set to 1, which `limelight show li2023 theorem1`
evaluates one by one; a cell that breaks one of them decides nothing.
"""

from collections.abc import Callable

import numpy as np

from limelight import fit, plot
from limelight.claims import AtLeast, Estimate, Inside, Undecided
from limelight.experiments import Study
from limelight.fit import curves, estimates
from limelight.measures import Accuracy, FreshLoss
from limelight.models import Shallow
from limelight.papers.li2023.boundary import DRAWS, STRICT
from limelight.papers.recipe import Figure, Finding, Scale, claim, claims, scales
from limelight.table import Table
from limelight.theory.base import Bound
from limelight.theory.li2023 import learning
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

POINT = RATE, ERROR, PATTERNS = ("train.rate", "model.value_error", "world.patterns")
#: Step size, error of the value map, patterns: where all lines of the figure meet.
BASE = (0.5, 0.1, 5)
#: The theorem's epsilon, as large as leaves lucky neurons for every cell.
SLACK = 0.3
NAMES = {RATE: r"step size $\eta$", ERROR: r"error $\sigma$", PATTERNS: "patterns $M$"}


def hypotheses(rows: Table) -> Bound:
    """Theorem 1 at the setting of a cell, every condition evaluated."""
    names = {
        "relevant": "world.relevant",
        "confusing": "world.confusing",
        "examples": "train.examples",
        "batch": "train.batch",
        "steps": "train.steps",
        "rate": RATE,
        "width": "model.width",
        "patterns": PATTERNS,
        "dimension": "world.dimension",
        "tokens": "world.tokens",
        "value_error": ERROR,
        "key_error": "model.key_error",
    }
    return learning(**{k: rows.setting(v) for k, v in names.items()}, noise=0.0, slack=SLACK)


def along(table: Table, axis: str) -> list[tuple[float, Table]]:
    """Cells through the base point along one of the three axes, in order of its values."""
    others = {name: value for name, value in zip(POINT, BASE, strict=True) if name != axis}
    found = [
        (float(at[axis]), rows)
        for at, rows in table.cells(*POINT)
        if all(np.isclose(at[name], value) for name, value in others.items())
    ]
    return sorted(found, key=lambda cell: cell[0])


def inside(cells: list[tuple[float, Table]], least: int) -> list[tuple[float, Table]]:
    """The same cells; undecided where there are too few, or where one breaks a hypothesis."""
    if len(cells) < least:
        raise Undecided(f"{len(cells)} cells, {least} needed", n=sum(len(r) for _, r in cells))
    for value, rows in cells:
        if not (found := hypotheses(rows)).applies:
            broken = next(c.name for c in found.conditions if not c.holds)
            raise Undecided(f"at {value:g} a hypothesis does not hold: {broken}", n=len(rows))
    return cells


@claims(
    "T1.{name}",
    "Inside the hypotheses {words} with probability at least 0.99.",
    AtLeast(0.99),
    at="li2023, Theorem 1{ours}",
    cases=(
        {"name": "zero", "words": "the population loss is 0", "most": 0.0, "ours": ""},
        {
            "name": "small",
            "words": "the population loss is below 0.001",
            "most": STRICT,
            "ours": "; 0.001 is that of its figures",
        },
    ),
    statistic="share of trials whose test loss is at most {most:g}, 500 fresh examples each",
)
def solved(table: Table, most: float) -> Estimate:
    """Share of trials at the base point whose test loss is at most a number."""
    [(_, rows)] = inside([c for c in along(table, RATE) if np.isclose(c[0], BASE[0])], 1)
    loss = rows["test_loss"].astype(float)
    note = f"largest test loss {loss.max():.2g}, mean {loss.mean():.2g}"
    return estimates.share(loss <= most, method="exact", note=note)


def times(cells: list[tuple[float, Table]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, and the median step at which training has settled: in the table, in every draw."""
    steps = np.stack([rows["steps"][np.argsort(rows["trial"])].astype(float) for _, rows in cells])
    picks = np.random.default_rng(0).integers(steps.shape[1], size=(DRAWS, steps.shape[1]))
    drawn = np.stack([np.median(steps[:, pick], axis=1) for pick in picks])
    return np.array([value for value, _ in cells]), np.median(steps, axis=1), drawn


@claim(
    "T1.rate",
    "Iterations are inversely proportional to the step size, to a power of 1 within a fifth.",
    Inside(0.8, 1.2),
    at="li2023, Theorem 1 (11)",
)
def in_rate(table: Table) -> Estimate:
    """Log-log slope in 1/eta of the median step at which training settles."""
    cells = inside(along(table, RATE), 3)
    rates, middle, drawn = times(cells)
    found = curves.slopes(-np.log(rates), np.log(np.concatenate([middle[None], drawn])).T)
    return spread(
        found, sum(len(rows) for _, rows in cells), f"{middle[0]:.0f} to {middle[-1]:.0f} steps"
    )


@claims(
    "T1.{name}",
    "Iterations grow by a quarter or more with {words}, from {start}.",
    AtLeast(1.25),
    at="li2023, Theorem 1 (11)",
    cases=(
        {
            "name": "sigma",
            "axis": ERROR,
            "words": "the error of the value map",
            "start": "0 to 0.15",
            "ends": "0.15 to 0",
        },
        {
            "name": "patterns",
            "axis": PATTERNS,
            "words": "the number of patterns",
            "start": "3 to 9",
            "ends": "9 to 3",
        },
    ),
    statistic="median step at which training settles, ratio of {ends}",
)
def in_others(table: Table, axis: str) -> Estimate:
    """Ratio of the median step at the largest value of an axis to that at the smallest.

    Training is looked at every few steps: each median may be that much smaller.
    """
    cells = inside(along(table, axis), 3)
    first, last = (1 / hypotheses(cells[end][1]).quantities["steps"] for end in (0, -1))
    _, middle, drawn = times(cells)
    between = table.setting("train.every")
    ends = (drawn[:, -1] - between) / drawn[:, 0], drawn[:, -1] / (drawn[:, 0] - between)
    low, high = fit.percentile_interval(ends[0])[0], fit.percentile_interval(ends[1])[1]
    note = f"(11) says {first / last:.2f}"
    value = float(middle[-1] / middle[0])
    n = len(cells[0][1]) + len(cells[-1][1])
    return Estimate(value, (float(low), float(high)), n, note)


def spread(found: np.ndarray, n: int, note: str) -> Estimate:
    """The first of several numbers, with the interval of the others, which are bootstrap draws."""
    low, high = fit.percentile_interval(found[1:])
    return Estimate(float(found[0]), (float(low), float(high)), n, note)


def draw_times(table: Table) -> plot.Picture:
    """Median steps until training settles along each axis, with what (11) says."""
    return plot.panels(
        [panel for axis in POINT if (panel := _panel(table, axis)) is not None],
        columns=3,
        height=2.2,
    )


def _panel(table: Table, axis: str) -> plot.Panel | None:
    cells = along(table, axis)
    if len(cells) < 2:
        return None
    x, middle, drawn = times(cells)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    law = np.array([hypotheses(rows).quantities["steps"] for _, rows in cells])
    scaled = law * np.exp(np.mean(np.log(middle / law)))
    log = axis == RATE
    whole = None if log else (0.0, 1.1 * float(max(scaled.max(), middle.max())))
    return plot.Panel(
        "",
        [plot.Series("median", x, middle, low, high), plot.Guide("(11), through them", x, scaled)],
        y=plot.Axis("steps until settled", log=log, limits=whole),
        x=plot.Axis(NAMES[axis], log=log),
    )


def summary(table: Table) -> list[str]:
    """Steps, loss and whether the hypotheses hold, cell by cell."""
    columns: dict[str, str | Callable] = {
        "median steps": lambda rows: float(np.median(rows["steps"])),
        "(11), constant 1": lambda rows: hypotheses(rows).quantities["steps"],
        "test loss": "test_loss",
        "loss exactly 0": lambda rows: float((rows["test_loss"] == 0).mean()),
        "hypotheses": lambda rows: "hold" if hypotheses(rows).applies else "do not hold",
    }
    heads = {RATE: "eta", ERROR: "sigma", PATTERNS: "M"}
    return fit.tabulate(table, heads, columns)


def lines(
    rates: tuple[float, ...], errors: tuple[float, ...], patterns: tuple[int, ...]
) -> list[tuple[float, float, int]]:
    """Three lines through the base point."""
    rate, error, many = BASE
    return [
        BASE,
        *((value, error, many) for value in rates),
        *((rate, value, many) for value in errors),
        *((rate, error, value) for value in patterns),
    ]


def tested(examples: int) -> tuple:
    """Loss and accuracy on fresh examples."""
    return FreshLoss(examples), Accuracy(examples)


figure = Figure(
    statement="inside its hypotheses training reaches zero loss with probability 0.99, in a number "
    "of iterations that grows as 1/((1 - eps - (sigma + tau) M/pi) eta alpha_*)",
    trial=Study(
        world=Patterns(tokens=100, relevant=0.4, confusing=0.08),
        model=Shallow(width=5000, start="scale", groups=True),
        train=Train(steps=8000, batch=16, rate=BASE[0], examples=256, every=10),
        measures=tested(500),
    ),
    grid={POINT: lines((0.125, 0.25), (0.0, 0.05, 0.15), (3, 7, 9))},
    trials=400,  # all of them at zero loss put the lower end of the probability above 0.99
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={POINT: lines((0.25,), (0.0,), ())},
            settings={
                "world.tokens": 25,
                "model.width": 40,
                "train.steps": 200,
                "train.examples": 32,
                "measures": tested(40),
            },
        ),
        small=Scale(
            trials=10,
            grid={POINT: lines((0.25,), (0.15,), (3,))},
            settings={
                "world.tokens": 50,
                "model.width": 1600,
                "train.steps": 3000,
                "measures": tested(100),
            },
        ),
    ),
    claims=(*solved, in_rate, *in_others),
    pictures={"times": draw_times},
    findings={
        "times": (
            Finding("T1.rate", holds="Iterations go as one over the step size"),
            Finding(
                "T1.patterns",
                holds="and they grow with the number of patterns",
                fails="but three times the patterns take only {value:.2f} times as many",
            ),
        )
    },
    summary=summary,
    reference="Theorem 1",
    departures="the paper has no such experiment; hidden constants are 1, epsilon is 0.3 and"
    " eps_S 1/2; the start is `scale`, which keeps the norms of Assumption 1; no token noise;"
    " iterations are those until every training margin passes 1",
    shared=POINT,
)
