r"""Metastable clusters on the circle: how many are left, over time and strength."""

from dataclasses import replace

import numpy as np

from limelight.claims import AtMost, Estimate, Finding, Undecided
from limelight.experiments.cluster_flow import ClusterFlow, look_times
from limelight.fit import tabulate
from limelight.fit.estimates import highest, together
from limelight.papers.geshkovski2023.reading import SPHERE, average, near
from limelight.papers.recipe import Figure, Scale, claims, scales
from limelight.plot import TWO_COLUMNS, Axis, Guide, Panel, Picture, Series
from limelight.table import Table
from limelight.theory.geshkovski2023.angles import merge_time
from limelight.worlds.sphere import Sphere

BETA = "model.strength"
#: Strengths of which the claims speak.
JUDGED = (4.0, 9.0, 16.0, 25.0)


def times(table: Table) -> np.ndarray:
    """When clusters were counted."""
    return look_times(float(table.setting("until")), int(table.setting("looks")), "log")


@claims(
    "circle.root{suffix}",
    "At t = {time} the clusters left on the circle are as many as the square root of the strength,"
    " to within .6, for strengths from 4 to 25.",
    AtMost(0.6),
    at="limelight, observed",
    cases=(
        {"suffix": "", "time": 100, "fixed": "pilot"},
        {"suffix": "-later", "time": 500, "fixed": "pilot"},
    ),
)
def root(table: Table, time: int) -> Estimate:
    """Largest |mean clusters - √β| at the look next to t = {time}; β = 4, 9, 16, 25."""
    if times(table)[-1] < time:
        raise Undecided(f"the flow ends at t = {times(table)[-1]:g}, before t = {time}")
    look = int(np.argmin(np.abs(times(table) - time)))
    cells = near(table, BETA, *JUDGED).cells(BETA)
    off = (
        (f"strength {at[BETA]:g}", rows["trace.clusters"][:, look] - np.sqrt(at[BETA]))
        for at, rows in cells
    )
    return highest((name, _distance(found)) for name, found in together(off, average))


def _distance(off: Estimate) -> Estimate:
    """From 0, on either side."""
    ends = off.interval or (np.nan, np.nan)
    low, high = sorted(abs(float(end)) for end in ends)
    return replace(
        off, value=abs(off.value), interval=(0.0 if ends[0] * ends[1] < 0 else low, high)
    )


def draw(table: Table) -> Picture:
    """The number of clusters over time, and over the strength at two times."""
    at, betas = times(table), table.values(BETA)
    left, right = [], []
    for beta in betas[:: 2 if len(betas) > 4 else 1]:  # four lines in a panel at most
        rows = near(table, BETA, beta)
        left.append(Series(rf"$\beta = {beta:g}$", at[1:], rows["trace.clusters"].mean(axis=0)[1:]))
    for time in (10, 100, at[-1]):
        look = int(np.argmin(np.abs(at - time)))
        found = [average(near(table, BETA, b)["trace.clusters"][:, look]) for b in betas]
        ends = np.array([e.interval or (np.nan, np.nan) for e in found])
        mean = [e.value for e in found]
        right.append(Series(f"$t = {at[look]:.0f}$", np.sqrt(betas), mean, *ends.T))
    line = np.sqrt(betas)
    right.append(Guide(r"$\sqrt{\beta}$", line, line, colour="ink", dash=1))
    return Picture(
        [
            Panel("", left, "clusters, mean", Axis("time $t$", log=True)),
            Panel("", right, "clusters, mean", r"$\sqrt{\beta}$"),
        ],
        width=TWO_COLUMNS,
        height=2.9,
        note=("32 tokens on the circle", "bands: 95 % intervals"),
    )


def summary(table: Table) -> list[str]:
    """Clusters at some times, and how long two at right angles wait."""
    at = times(table)
    pick = lambda time: int(np.argmin(np.abs(at - time)))
    columns = {
        f"t = {time}": lambda rows, time=time: average(rows["trace.clusters"][:, pick(time)])
        for time in (10, 100, 500, 1000)
        if time <= at[-1] * 1.01
    }
    wait = lambda rows: float(merge_time(float(rows[BETA][0])))
    return tabulate(table, {BETA: "strength"}, columns | {"two at right angles merge": wait})


figure = Figure(
    statement="how many clusters are left on the circle, and for how long?",
    trial=ClusterFlow(Sphere(32, 2, 2), until=1000.0, looks=31, spacing="log"),
    grid={BETA: [4.0, 9.0, 16.0, 25.0, 36.0, 49.0]},
    trials=256,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={BETA: [4.0]},
            settings={"world.tokens": 8, "until": 10.0, "looks": 5},
        ),
        small=Scale(trials=32, settings={"until": 100.0, "looks": 21}),
    ),
    claims=root,
    pictures={"circle": draw},
    findings={
        "circle": Finding(
            "circle.root",
            holds="At t = 100 there are as many clusters as the root of the strength, for"
            " strengths up to 25",
        )
    },
    summary=summary,
    reference=f"limelight, for {SPHERE}, metastability",
    departures="ours: the papers prove that metastable clusters last exponentially long in the"
    " strength; their number at a time is observed",
)
