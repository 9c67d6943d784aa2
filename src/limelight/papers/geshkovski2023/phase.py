r"""Close pairs and clusters over time and strength, in several dimensions."""

import numpy as np

from limelight.claims import AtLeast, AtMost, Estimate, Finding, Inside, Undecided
from limelight.experiments.cluster_flow import ClusterFlow, look_times
from limelight.fit import tabulate
from limelight.fit.estimates import hull, lowest, together
from limelight.papers.geshkovski2023.reading import SPHERE, average, near, rate
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Axis, Guide, Map, Mark, Panel, Picture
from limelight.table import Table
from limelight.theory.geshkovski2023.angles import equal_time, merge_time
from limelight.worlds.sphere import Sphere

SPACE = ("world.dimension", "world.columns")
BETA = "model.strength"
#: The step of the figure, and half of it where the method is checked.
STEP, HALF = 0.1, 0.05


def plain(table: Table) -> Table:
    """Runs with the step of the figure."""
    return near(table, "step", STEP)


def edges(table: Table, low: int, high: float, most: float):
    """When half the pairs are close, over the law's time, by cell."""
    rows = plain(table)
    d, beta = rows["world.dimension"], rows[BETA]
    rows = rows.rows((d >= low) & (d < high) & (beta <= most))
    n = int(rows.setting("world.tokens"))
    for at, part in rows.cells("world.dimension", BETA):
        law = float(equal_time(n, at[BETA]))
        yield f"d = {at['world.dimension']}, strength {at[BETA]:.3g}", part["crossed"] / law


def edge(table: Table, low: int, high: float, most: float) -> Estimate:
    """Mean time over that of the flow of equal angles."""
    found = together(edges(table, low, high, most), average)
    if not found:
        raise Undecided("not in this table")
    values = [e.value for _, e in found]
    return hull(found, 1.0, f"{len(found)} cells, from {min(values):.3f} to {max(values):.3f}")


AT = f"limelight, for {SPHERE}, the diagram of time and strength"


@claim(
    "phase.edge",
    "In dimension 512 half the pairs are close when the flow of equal angles says, within 3 %, for"
    " strengths up to 5.",
    Inside(0.97, 1.03),
    at=AT,
    fixed="pilot",
)
def edge_high(table: Table) -> Estimate:
    """Time at which half the pairs are close over the law's, d at least 512, β at most 5; all."""
    return edge(table, 512, np.inf, 5.0)


@claim(
    "phase.edge-64",
    "In dimension 64, with 32 tokens, half the pairs are close when the flow of equal angles says,"
    " within 10 %, for strengths up to 4.",
    Inside(0.9, 1.1),
    at=AT,
    fixed="pilot",
)
def edge_low(table: Table) -> Estimate:
    """Time at which half the pairs are close over the law's, 64 <= d < 512, β at most 4; all."""
    return edge(table, 64, 512, 4.0)


@claim(
    "phase.back",
    "After t = 5 clusters do not come apart again, in nine of ten draws or more.",
    AtLeast(0.9),
    at="limelight, observed",
)
def never_back(table: Table) -> Estimate:
    """Share of draws in which the number of clusters never rises after t = 5; lowest dimension."""
    cells = plain(table).cells("world.dimension")
    found = ((f"d = {at['world.dimension']}", rows["rise"] <= 0) for at, rows in cells)
    return lowest(together(found, rate))


@claim(
    "phase.step",
    "Half the step changes no count of clusters.",
    AtMost(0.0),
    kind="identity",
)
def halved(table: Table) -> Estimate:
    """Looks at which runs from the same start with half the step count otherwise."""
    fine = near(table, "step", HALF)
    if not len(fine):
        raise Undecided("not in this table")
    other, looks = 0, 0
    for at, rows in fine.cells("world.dimension", BETA):
        same = plain(table).where(world__dimension=at["world.dimension"])
        same = near(same, BETA, at[BETA])
        one, two = (part["trace.clusters"][np.argsort(part["trial"])] for part in (rows, same))
        other, looks = other + int((one != two).sum()), looks + one.size
    return Estimate(float(other), None, looks, f"{looks} looks")


def draw(table: Table) -> Picture:
    """Maps of close pairs, and when theory says that they close."""
    table = plain(table)
    until, looks = float(table.setting("until")), int(table.setting("looks"))
    times, betas = look_times(until, looks, "even"), table.values(BETA)
    n = int(table.setting("world.tokens"))
    panels = []
    for d in table.values("world.dimension"):
        rows = table.where(world__dimension=d)
        shares = np.array([near(rows, BETA, b)["trace.pairs"].mean(axis=0) for b in betas])
        marks: list[Mark] = [Map(shares, "close pairs", x=times, y=betas, low=0, high=1)]
        if d >= n:
            law, words = [equal_time(n, b) for b in betas], "equal angles"
        else:
            law, words = [merge_time(b) for b in betas], "two clusters at right angles"
        inside = np.array(law) <= until
        marks.append(
            Guide(words, np.array(law)[inside], betas[inside], colour="ink", dash=int(d < n))
        )
        across = Axis("time $t$", limits=(0, until))
        panels.append(Panel(f"$d = {d}$", marks, r"strength $\beta$", across))
    note = (f"n = {n}, mean over draws", "lines: exact times to a cosine of .999")
    return Picture(panels, width=TWO_COLUMNS, height=2.7, share="both", note=note)


def summary(table: Table) -> list[str]:
    """Where clusters are at the last time, at some strengths."""
    rows = plain(table)
    betas = rows.values(BETA)
    some = near(rows, BETA, *betas[:: max(len(betas) // 5, 1)])
    columns = {
        "half closed": lambda part: np.nanmean(part["crossed"]),
        "clusters": lambda part: part["trace.clusters"][:, -1].mean(),
        "one": lambda part: rate(part["trace.clusters"][:, -1] == 1),
        "drift": lambda part: part["drift"].max(),
        "energy": lambda part: part["energy"].min(),
    }
    return tabulate(some, {"world.dimension": "d", BETA: "strength"}, columns)


BETAS = [round(0.1 * k, 1) for k in range(1, 91)]
RUN = (*SPACE, BETA, "step")
SPACES = [(2, 2), (3, 3), (8, 8), (64, 32), (512, 32)]

figure = Figure(
    statement="when tokens cluster over time and strength: early in high dimension, as the flow of"
    " equal angles says, and late or never within reach on the circle",
    trial=ClusterFlow(Sphere(32), looks=30),
    grid={
        RUN: [
            *((*space, beta, STEP) for space in SPACES for beta in BETAS),
            *((*space, beta, HALF) for space in SPACES[:2] for beta in (0.9, 3.0, 9.0)),
        ]
    },
    trials=256,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={RUN: [(2, 2, 1.0, STEP), (2, 2, 4.0, STEP)]},
            settings={"world.tokens": 8, "until": 6.0, "looks": 6},
        ),
        small=Scale(
            trials=16,
            grid={
                RUN: [
                    *((*space, beta, STEP) for space in SPACES for beta in BETAS[2::9]),
                    (2, 2, 3.0, HALF),
                ]
            },
        ),
    ),
    claims=(edge_high, edge_low, never_back, halved),
    pictures={"phase": draw},
    findings={
        "phase": Finding(
            "phase.edge",
            holds="In dimension 512 pairs close when equal angles say, for strengths up to 5",
        )
    },
    summary=summary,
    reference=f"{SPHERE}, the diagram of time and strength",
    sizes="the paper's 90 strengths, 256 draws per cell; 30 looks for its 200; 64 and 512"
    " dimensions; its 32, 128 and 1,024 have a table of their own",
    departures="the Runge-Kutta method in steps of .1 where the released code takes normalised"
    " Euler steps of .1; clusters are connected components, not the rank of a thresholded matrix;"
    " pairs are of two different tokens",
    shared=("step",),
)
