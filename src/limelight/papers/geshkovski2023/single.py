r"""One cluster: a limit for almost every start, and how much of it is there at t = 30."""

import numpy as np

from limelight.claims import AtLeast, Estimate, Finding, Undecided
from limelight.experiments.cluster_flow import ClusterFlow
from limelight.fit import tabulate
from limelight.fit.estimates import lowest, together
from limelight.papers.geshkovski2023.reading import SPHERE, average, rate
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import Axis, Panel, Picture, Points, Reference
from limelight.table import Table
from limelight.worlds.sphere import Sphere

RUN = ("world.start", "world.dimension", "world.columns", "model.strength")
BETA = "model.strength"


def one(table: Table, start: str, low: float, high: float) -> Estimate:
    """The share of draws with one cluster at the last time; lowest cell."""
    rows = table.where(world__start=start)
    rows = rows.rows((rows[BETA] >= low) & (rows[BETA] <= high))
    if not len(rows):
        raise Undecided("not in this table")
    words = lambda at: f"d = {at['world.dimension']}, strength {at[BETA]:g}"
    cells = rows.cells("world.dimension", BETA)
    found = ((words(at), part["trace.clusters"][:, -1] == 1) for at, part in cells)
    return lowest(together(found, rate))


@claim(
    "single.weak",
    "With strengths up to 1 tokens are one cluster by t = 30, in four of five draws or more.",
    AtLeast(0.8),
    at=f"limelight, for {SPHERE}, convergence to one cluster",
    fixed="pilot",
)
def weak(table: Table) -> Estimate:
    """Share of draws with one cluster at t = 30, β at most 1, d = 2, 3; lowest cell."""
    return one(table, "uniform", 0.0, 1.0)


@claim(
    "single.strong",
    "Control: with strengths from 4 on tokens are one cluster by t = 30, in four of five draws or"
    " more.",
    AtLeast(0.8),
    at=f"limelight, for {SPHERE}, convergence to one cluster",
    kind="control",
    fixed="pilot",
)
def strong(table: Table) -> Estimate:
    """Share of draws with one cluster at t = 30, β at least 4, d = 2, 3; lowest cell."""
    return one(table, "uniform", 4.0, np.inf)


@claim(
    "single.hemisphere",
    "Tokens that start in a half-sphere are one cluster by t = 30, with strengths up to 1, in 95 %"
    " of the draws or more.",
    AtLeast(0.95),
    at=f"limelight, for {SPHERE}, convergence from a half-sphere",
)
def hemisphere(table: Table) -> Estimate:
    """Share of draws with one cluster at t = 30, β at most 1, d = 3; lowest cell."""
    return one(table, "hemisphere", 0.0, 1.0)


def draw(table: Table) -> Picture:
    """Shares of one cluster over the strength."""
    marks: list = []
    for place, (at, rows) in enumerate(table.cells("world.start", "world.dimension")):
        found = [(b, rows.rows(rows[BETA] == b)) for b in rows.values(BETA)]
        each = [rate(part["trace.clusters"][:, -1] == 1) for _, part in found]
        ends = np.array([e.interval or (np.nan, np.nan) for e in each])
        label = f"{at['world.start']}, $d = {at['world.dimension']}$"
        beside = [b + 0.2 * (place - 1) for b, _ in found]  # beside each other, not on top
        marks.append(Points(label, beside, [e.value for e in each], *ends.T))
    marks.append(Reference("rule", 0.8))
    until = float(table.setting("until"))
    upwards = Axis(f"share with one cluster at $t = {until:g}$", limits=(-0.03, 1.03))
    return Picture([Panel("", marks, upwards, r"strength $\beta$")], note="95 % intervals")


def summary(table: Table) -> list[str]:
    """Clusters at the last time."""
    last = lambda rows: rows["trace.clusters"][:, -1]
    columns = {
        "one": lambda rows: rate(last(rows) == 1),
        "clusters": lambda rows: average(last(rows)),
    }
    by = {"world.start": "start", "world.dimension": "d", BETA: "strength"}
    return tabulate(table, by, columns, title="at the last time")


figure = Figure(
    statement="tokens converge to one cluster for almost every start",
    trial=ClusterFlow(Sphere(32), looks=12),
    grid={
        RUN: [
            *(("uniform", d, d, beta) for d in (2, 3) for beta in (0.0, 1.0, 4.0, 9.0)),
            *(("hemisphere", 3, 3, beta) for beta in (0.0, 0.5, 1.0)),
        ]
    },
    trials=256,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={RUN: [("uniform", 2, 2, 1.0), ("hemisphere", 3, 3, 1.0)]},
            settings={"world.tokens": 8, "until": 6.0, "looks": 3},
        ),
        small=Scale(trials=128),
    ),
    claims=(weak, strong, hemisphere),
    pictures={"single": draw},
    findings={
        "single": (
            Finding("single.weak", holds="With strengths up to 1 tokens are one cluster by t = 30"),
            Finding("single.strong", fails="but with strengths from 4 on they are not"),
        )
    },
    summary=summary,
    reference=f"{SPHERE}, convergence to one cluster",
    departures="the theorem speaks of a limit: no time is in it, and a share at t = 30 neither"
    " confirms nor contradicts it",
    remark="Tokens do become one cluster in the limit; with strengths from 4 on the limit lies far"
    " beyond t = 30.",
)
