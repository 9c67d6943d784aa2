r"""Event III: does the value strength rise again once attention has found the sets?

While attention is slow $\alpha$ sits near $\alpha^*(A) = \arg\min_\alpha L(\alpha, A)$, so a second
rise is $R = \max_t \alpha_t / \alpha^*(A_0)$ above 1. It depends on the frozen diagonal $\beta$.
With a small one attention starts nearly uniform, its gain $G$ grows several times once the sets
are found, and $\alpha$, about a number of order 1 over $G$, falls.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from limelight.claims import AtLeast, Estimate, Undecided
from limelight.experiments.idealized import Idealized
from limelight.fit import tabulate
from limelight.fit.curves import crossing
from limelight.papers.jelassi2022.idealized import named, world
from limelight.papers.recipe import Figure, Finding, Scale, claims, scales
from limelight.plot import Guide, Panel, Picture, Reference, Series, lines, panels
from limelight.table import Table

WORLD = ("tokens", "size", "density", "ratio")
BETA = "diagonal"
#: A rise that counts, and the stiffness above which alpha may oscillate and feign one.
RISE, CALM = 1.02, 1.0
EVENT = "jelassi2022, Section 4.1, Event III"
#: Where the event is looked for.
CASES = (
    {
        "name": "beta1",
        "where": "a diagonal of 1",
        "betas": (1.0,),
        "read": "R = largest alpha over the best alpha for the attention at the start, smallest of"
        " worlds",
        "of_two": "",
    },
    {
        "name": "large",
        "where": "diagonals of 4 and 5",
        "betas": (4.0, 5.0),
        "read": "the same, smallest of worlds and diagonals",
        "of_two": ", smaller of the two",
    },
)


def rises(rows: Table) -> np.ndarray:
    """The second rise R of each run; NaN where descent was not calm."""
    calm = rows["finite"] & (rows["trace.stiffness"].max(axis=1) < CALM)
    return np.where(calm, rows["top"] / rows["best_alpha"], np.nan)


def worlds(table: Table) -> Iterator[tuple[dict[str, Any], Table]]:
    """Each world's settings and runs, diagonals rising."""
    for at, rows in table.cells(*WORLD):
        yield at, rows.rows(np.argsort(rows[BETA], kind="stable"))


@claims(
    "event3-{name}",
    "Event III: alpha rises again, by 2 % or more, at {where}.",
    AtLeast(RISE),
    at=EVENT,
    statistic="{read}",
    cases=CASES,
    kind="deterministic",
    fixed="pilot",
)
def least_rise(table: Table, betas: Sequence[float]) -> Estimate:
    """The smallest R over all worlds at given diagonals."""
    found = {}
    for at, rows in worlds(table):
        for beta in betas:
            here = rows.where(diagonal=beta)
            if len(here):
                passed = "" if here["passed"].all() else ", still running"
                found[f"{named(at)} beta {beta:g}{passed}"] = float(rises(here)[0])
    if not found:
        raise Undecided("not in this table")
    note = ", ".join(f"{name}: {rise:.3f}" for name, rise in found.items())
    return Estimate(float(np.min(list(found.values()))), None, len(found), note)


def onset(betas: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """The diagonal at which R crosses the level for good, one per curve; NaN for never.

    Example:
        >>> onset(np.array([1.0, 2.0, 3.0]), np.array([0.9, 1.0, 1.1])).round(6)
        array([2.2])
    """
    return crossing(betas, rise, RISE, for_good=True)


def rates(table: Table) -> str:
    """The step size of the value vector, and how much larger that of attention is."""
    ratios = table.values("ratio") if "ratio" in table.axes else [table.setting("ratio")]
    times = " and ".join(f"{ratio:g}" for ratio in ratios)
    return f"constant rates: {table.setting('rate'):g} of v, {times} times as much of A"


def summary(table: Table) -> list[str]:
    """R by world and diagonal, and the diagonal from which on alpha rises again."""
    rise = {
        named(at): lambda rows, at=at: rises(rows.where(**at)).mean() for at, _ in worlds(table)
    }
    edge = lambda rows: float(onset(rows[BETA].astype(float), rises(rows))[0])
    running = lambda rows: ", ".join(f"{beta:g}" for beta in rows[BETA][~rows["passed"]])
    columns = {
        "rises from beta": edge,
        "e^beta / D there": lambda rows: np.exp(edge(rows)) / rows["tokens"][0],
        "not past a maximum at beta": lambda rows: running(rows) or "none",
        "largest eta_v L''": lambda rows: rows["trace.stiffness"].max(),
    }
    cells = [({"world": named(at)}, rows) for at, rows in worlds(table)]
    return [
        rates(table),
        *tabulate(table, {BETA: "beta"}, rise, title="R by world"),
        *tabulate(cells, "world", columns),
    ]


def over_beta(curves: Sequence[Series], note: Sequence[str]) -> Picture:
    """R over the frozen diagonal, and the levels to read it against."""
    return lines(
        curves,
        x_label=r"frozen diagonal $\beta$",
        y_label=r"$R = \max_t \alpha_t / \alpha^*(A_0)$",
        references=[Reference("no second rise", 1.0), Reference("counts as one", RISE)],
        note=note,
    )


def draw(table: Table) -> Picture:
    """R over the frozen diagonal, exact, one line per world."""
    curves = [Series(named(at), rows[BETA], rises(rows)) for at, rows in worlds(table)]
    return over_beta(curves, ("worlds (D, C, q); exact, nothing is drawn", rates(table)))


def draw_courses(table: Table) -> Picture:
    """Alpha, the gain and gamma over steps at several diagonals, in the smallest world."""
    at, rows = min(worlds(table), key=lambda one: world(one[0]))
    chosen = [i for i, beta in enumerate(rows[BETA]) if beta in (0.0, 1.0, 3.0, 5.0)]

    def curves(trace: str, over: np.ndarray | float = 1.0) -> list[Guide]:
        values = rows[f"trace.{trace}"] / np.reshape(over, (-1, 1))
        found = []
        for i in chosen:
            keep = np.unique(rows["trace.step"][i], return_index=True)[1][1:]
            label = rf"$\beta$ = {rows[BETA][i]:g}"
            found.append(Guide(label, rows["trace.step"][i][keep], values[i][keep], width=1.3))
        return found

    strength = curves("alpha", rows["best_alpha"])
    return panels(
        [
            Panel("value strength", strength, r"$\alpha_t / \alpha^*(A_0)$"),
            Panel("gain", curves("gain"), "$G$"),
            Panel("same set", curves("gamma"), r"$\gamma$"),
        ],
        x_label="step",
        log_x=True,
        columns=3,
        height=1.9,
        note=(f"world (D, C, q) = {named(at)}; a run ends past its maximum", rates(rows)),
    )


figure = Figure(
    statement="once attention has found the sets, alpha grows again (Event III)",
    trial=Idealized(rate=5e-4, steps=100_000, looks=160, stop=True, cautious=True, part="exact"),
    grid={
        WORLD: [
            (16, 4, 0.5, 1000.0),
            (16, 2, 0.5, 1000.0),
            (16, 4, 0.2, 1000.0),
            (24, 4, 0.5, 3000.0),
        ],
        BETA: [0.5 * i for i in range(13)],
    },
    trials=1,
    scales=scales(
        smoke=Scale(grid={WORLD: [(8, 2, 0.5, 1000.0)], BETA: [1.0, 4.0]}, settings={"steps": 400}),
        small=Scale(grid={WORLD: [(16, 4, 0.5, 1000.0), (16, 2, 0.5, 1000.0)], BETA: range(7)}),
    ),
    claims=least_rise,
    pictures={"event3": draw, "courses": draw_courses},
    findings={
        name: (
            Finding("event3-beta1", fails="alpha does not rise again at a diagonal of 1"),
            Finding("event3-large", holds="but it does at diagonals of 4 and 5"),
        )
        for name in ("event3", "courses")
    },
    summary=summary,
    reference="Section 4.1, Event III",
    departures="the paper proves the event for a diagonal of order polyloglog(d) and gives no "
    "value; worlds and rates are ours; a run ends once alpha has passed a maximum and gamma > "
    "1, or after 100,000 steps; alpha starts at half its optimum where the paper's start is "
    "larger, which is unstable at large beta",
)
