r"""Keys and queries of rank R: a plateau waits 1/s where R divides m, a logarithm elsewhere."""

import numpy as np

from limelight.claims import AtLeast, AtMost, Estimate
from limelight.experiments.prompt_flow import PromptFlow
from limelight.fit import tabulate
from limelight.fit.estimates import highest, lowest, median
from limelight.models.linear_attention import LinearAttention
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.papers.zhang2024.reading import DYNAMICS, by_scale, lines_at, log_slopes, seeds
from limelight.plot import TWO_COLUMNS, Axis, Guide, Panel, Picture, Points
from limelight.table import Table
from limelight.theory.zhang2024.population import linear_spectrum, one_covariance

RANK = ("model.rank", "last")
#: Slopes are read at scales up to this one: above it short plateaus are not resolved yet.
MOST = 0.03
#: A shorter stay at the largest such scale is no plateau.
SHORTEST = 1.0


def dwells(m: int):
    """How long a run stays at level m."""
    return lambda rows: rows["dwell"][:, m - 1]


def exponents(table: Table, long: bool) -> list[tuple[str, Estimate]]:
    """Median within-seed exponents of the dwell in 1/s, where R divides m or elsewhere."""
    found = []
    for at, rows in table.cells(*RANK):
        R, last = at["model.rank"], at["last"] or int(rows.setting("dimension"))
        for m in range(1, last):
            if (m % R == 0) != long:
                continue
            values = log_slopes(rows, dwells(m), MOST)
            _, stay = by_scale(rows, dwells(m), MOST)
            if long or np.median(stay[:, 0]) >= SHORTEST:
                found.append((f"R = {R}, m = {m}", median(values)))
    return found


@claim(
    "ranks.long",
    "Where R divides m a new head must leave its saddle: the stay grows as 1/s, to a power of 0.8"
    " or more.",
    AtLeast(0.8),
    at=f"limelight, a law for {DYNAMICS}, low rank",
    fixed="pilot",
)
def long_stays(table: Table) -> Estimate:
    """Median within-seed slope of ln dwell on ln(1/s), s up to 0.03, R divides m; lowest (R, m)."""
    return lowest(exponents(table, long=True))


@claim(
    "ranks.short",
    "Where R does not divide m a head recruits its next row: the stay grows slowly, as the root of"
    " 1/s or less.",
    AtMost(0.5),
    at=f"limelight, a law for {DYNAMICS}, low rank",
    fixed="pilot",
)
def short_stays(table: Table) -> Estimate:
    """Median within-seed slope of ln dwell on ln(1/s), s at most 0.03, other m; highest (R, m)."""
    return highest(exponents(table, long=False))


def draw(table: Table) -> Picture:
    """Courses of three seeds at the smallest scale, and dwell over 1/s, one column per rank."""
    d = int(table.setting("dimension"))
    law = one_covariance(linear_spectrum(d, float(table.setting("spread"))), 31)
    above, below = [], []
    for at, rows in table.cells(*RANK):
        R = at["model.rank"]
        small = rows.where(model__scale=rows.values("model.scale")[0])
        last = float(np.nanmax(small["reached"]))
        marks = [*lines_at(law.levels, (100, last)), *seeds(small, law.levels[at["last"] or d])]
        across = Axis("time", log=True, limits=(100, last))
        above.append(Panel(f"$R = {R}$", marks, Axis("loss"), across))
        stays: list = []
        for m in range(1, (at["last"] or d)):
            s, stay = by_scale(rows, dwells(m))
            middle = np.median(stay, axis=0)
            look: dict = {"colour": "muted" if m % R else 1}
            stays.append(Guide("", 1 / s, middle, dash=0, **look))
            look |= {"hollow": bool(m % R), "marker": "o", "size": 4}
            name = "$R$ does not divide $m$" if m % R else "$R$ divides $m$"
            stays.append(Points(name, 1 / s, middle, **look))
        upwards = Axis("time at level $m$", log=True, limits=(1, 1e6))
        below.append(Panel("", stays, upwards, Axis("$1/s$", log=True)))
    smallest = table.values("model.scale")[0]
    note = f"above: three seeds at s = {smallest:g}; below: medians, a line per m"
    panels = [*above, *below]
    return Picture(panels, columns=len(above), width=TWO_COLUMNS, height=4.6, note=note)


def summary(table: Table) -> list[str]:
    """Exponents of every rank and level."""
    rows = [
        ({"plateau": name}, (word, estimate))
        for long, word in ((True, "divides"), (False, "does not"))
        for name, estimate in exponents(table, long)
    ]
    columns = {"R": lambda pair: pair[0], "exponent of 1/s": lambda pair: pair[1]}
    return tabulate(rows, {"plateau": "plateau"}, columns, title="how long a plateau lasts")


figure = Figure(
    statement="with keys and queries of rank R conspicuous plateaus are those at multiples of R",
    trial=PromptFlow(
        dimension=8,
        spread=7 / 9,
        model=LinearAttention("separate", 9, 2, 0.1),
        looks=140,
        steps=400_000,
    ),
    grid={
        RANK: [(1, 6), (2, 0), (4, 0), (8, 0)],
        "model.scale": [0.1, 0.03, 0.01, 0.003],
    },
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=1,
            grid={RANK: [(1, 0), (2, 0)], "model.scale": [0.3, 0.1]},
            settings={"dimension": 4, "spread": 0.6, "looks": 10},
        ),
        small=Scale(
            trials=6, grid={RANK: [(2, 0), (4, 0), (8, 0)], "model.scale": [0.1, 0.03, 0.01]}
        ),
    ),
    claims=(long_stays, short_stays),
    pictures={"ranks": draw},
    summary=summary,
    reference=f"{DYNAMICS}, low-rank keys and queries",
    departures="with rank 1 a run ends once level 6 is reached: the rest takes many times as long",
    shared=("model.scale",),
)
