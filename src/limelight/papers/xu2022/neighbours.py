r"""Theorem 1 against the size of a cluster: how much smaller than $m_k$ must $K$ be?

Section 3.1 assumes that $K$ is significantly smaller than every $m_k$; the theorem's own conditions
bound $K$ from below alone. Here both conditions hold in every row, $K$ is the smallest that they
allow, and clusters shrink until they are smaller than $K$.
"""

import math

import numpy as np

from limelight import plot
from limelight.claims import AtLeast, Estimate, Undecided
from limelight.experiments import Study
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.measures import noise_left, purity
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Finding, Scale, claim, scales
from limelight.papers.xu2022.ratios import POINT, Cell, model_of
from limelight.table import Table
from limelight.theory.xu2022 import printed
from limelight.worlds import Clusters

CLUSTERS, SIGMA, DELTA = 4, 0.3, 0.05
LEAST = 1 - 3 * DELTA
#: What "significantly smaller" is read as.
HALF = 0.5


def row(size: int) -> tuple:
    """The printed theorem's smallest dimension and smallest K for clusters of this size."""
    needed = printed.nearest_neighbours(math.sqrt(2), SIGMA, 1, 1, CLUSTERS * size, DELTA)
    d, k = (int(needed.quantities[f"smallest {name}"]) for name in ("dimension", "K"))
    return (CLUSTERS, size, SIGMA, d, "knn-l2", 1.0, k)


def ratio(cell: Cell) -> float:
    """K over the size of a cluster."""
    return cell[0]["model.neighbours"] / cell[0]["world.size"]


def cells_of(table: Table) -> list[Cell]:
    """Rows that meet every numbered condition of Theorem 1, checked again here, by K over m_k."""
    found = []
    for at, rows in table.cells(*POINT):
        model = model_of(rows)
        if printed.nearest_neighbours(
            model.nearest, model.sigma, model.dimension, at["model.neighbours"], model.tokens, DELTA
        ).applies:
            found.append((at, rows))
    return sorted(found, key=ratio)


def improved(rows: Table) -> int:
    """Draws in which averaging improves every token."""
    return int((rows["noise.worst_ratio"] < 1).sum())


def fewest(cells: list[Cell]) -> Estimate:
    """The share of draws that obey the theorem, in the row with the fewest."""
    if not cells:
        raise Undecided("no row of this kind")
    at, rows = min(cells, key=lambda cell: improved(cell[1]) / len(cell[1]))
    where = f"m_k {at['world.size']}, K {at['model.neighbours']}, d {at['world.dimension']}"
    return families.rate(improved(rows), len(rows), f"{len(cells)} rows, fewest at {where}")


@claim(
    "theorem1.inside",
    "With K at most half of m_k averaging improves every token with probability 1 - 3 delta.",
    AtLeast(LEAST),
    at="xu2022, Theorem 1 with Section 3.1's K significantly smaller than m_k; the half is ours",
)
def inside(table: Table) -> Estimate:
    """Share of draws in which every token improves, the row with the fewest, K <= m_k / 2."""
    return fewest([cell for cell in cells_of(table) if ratio(cell) <= HALF])


@claim(
    "theorem1.edge",
    "With K up to m_k averaging still improves every token with probability 1 - 3 delta.",
    AtLeast(LEAST),
    at="limelight; xu2022, Theorem 1",
)
def edge(table: Table) -> Estimate:
    """Share of draws in which every token improves, the row with the fewest, m_k / 2 < K <= m_k."""
    return fewest([cell for cell in cells_of(table) if HALF < ratio(cell) <= 1])


@claim(
    "theorem1.beyond",
    "Control: with K of twice m_k and more averaging still improves every token with"
    " probability 1 - 3 delta.",
    AtLeast(LEAST),
    at="limelight; xu2022, Theorem 1 without an assumption of its text",
    kind="control",
)
def beyond(table: Table) -> Estimate:
    """Share of draws in which every token improves, the row with the fewest, K >= 2 m_k."""
    return fewest([cell for cell in cells_of(table) if ratio(cell) >= 2])


def draw(table: Table) -> plot.Picture:
    """Share of draws that obey the theorem, and the mean ratio, over K / m_k."""
    cells = cells_of(table)
    x = [ratio(cell) for cell in cells]
    rates = [families.rate(improved(rows), len(rows)) for _, rows in cells]
    ends = np.array([found.interval for found in rates]).T
    middle = [float(rows["noise.mean_ratio"].mean()) for _, rows in cells]
    axis = plot.Axis(r"$K / m_k$", log=True, ticks=(0.25, 0.5, 1, 2, 4))
    share = plot.Panel(
        "",
        [
            plot.Points("measured", x, [found.value for found in rates], *ends),
            plot.Reference(r"claimed, $1 - 3\delta$", LEAST),
        ],
        y=plot.Axis("draws that improve every token", limits=(0, 1.02)),
        x=axis,
    )
    error = plot.Panel(
        "",
        [plot.Points("measured", x, middle), plot.Reference("no gain", 1.0)],
        y=plot.Axis(r"mean of $|x'-u|/|x-u|$", log=True, ticks=(0.1, 0.3, 1, 3)),
        x=axis,
    )
    note = rf"C = {CLUSTERS}, $\sigma$ = {SIGMA:g}; d and K as small as the theorem allows"
    return plot.Picture([share, error], width=plot.TWO_COLUMNS, height=2.4, note=note)


def summary(table: Table) -> list[str]:
    """Every row: what was asked, and how many draws obey."""
    columns = {
        "K / m_k": lambda rows: rows.setting("model.neighbours") / rows.setting("world.size"),
        "draws that improve every token": lambda rows: improved(rows) / len(rows),
        "mean ratio": "noise.mean_ratio",
        "purity": "purity",
    }
    heads = {"world.size": "m_k", "model.neighbours": "K", "world.dimension": "d"}
    return tabulate(cells_of(table), heads, columns)


SIZES = (400, 280, 170, 120, 90, 79, 66, 52, 36, 24)
figure = Figure(
    statement="averaging over K nearest neighbours improves every token, K being much smaller than"
    " its cluster",
    trial=Study(Clusters(), Smoother(), None, (noise_left, purity)),
    grid={POINT: [row(size) for size in SIZES]},
    trials=200,
    scales=scales(
        smoke=Scale(trials=4, grid={POINT: [row(size) for size in (170, 36)]}),
        small=Scale(trials=40, grid={POINT: [row(size) for size in (280, 120, 79, 36)]}),
    ),
    claims=(inside, edge, beyond),
    pictures={"neighbours": draw},
    findings={
        "neighbours": (
            Finding("theorem1.edge", holds="Up to K = m_k neighbours improve every token"),
            Finding(
                "theorem1.beyond",
                holds="and from 2 m_k on too",
                fails="but from 2 m_k on they do not",
            ),
        )
    },
    summary=summary,
    reference="Theorem 1 and Section 3.1",
    departures="the paper has no experiment and does not say how much smaller K is; the universal"
    " constant is taken as 1",
)
