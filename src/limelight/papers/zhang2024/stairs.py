r"""Separate keys and queries: from saddle to saddle, one eigenvector after another."""

import numpy as np

from limelight.claims import AtLeast, AtMost, Estimate, Inside
from limelight.experiments.prompt_flow import PromptFlow
from limelight.fit import tabulate
from limelight.fit.estimates import highest, hull, lowest, median, share
from limelight.models.linear_attention import LinearAttention
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.papers.zhang2024.reading import DYNAMICS, lines_at, log_slopes, over, seeds
from limelight.plot import TWO_COLUMNS, Axis, Panel, Picture
from limelight.table import Table
from limelight.theory.zhang2024.population import linear_spectrum, one_covariance

RUN = ("model.heads", "model.start", "trainer", "model.scale")
SCALES = (0.3, 0.1, 0.03, 0.01, 0.003)


def runs(layer: tuple[int, str, str], most: int = len(SCALES)) -> list[tuple]:
    """A layer at the first few scales."""
    return [(*layer, scale) for scale in SCALES[:most]]


#: The scale at which levels are judged.
SMALL = 0.03


def flows(table: Table) -> Table:
    """The flow from Gaussian starts."""
    return table.where(model__start="gauss", trainer="flow")


def cells_at(table: Table, scale: float):
    """Cells of heads at a scale, in words."""
    rows = flows(table)
    rows = over(rows.rows(np.abs(rows["model.scale"] / scale - 1) < 1e-6))
    for at, part in rows.cells("model.heads"):
        yield f"H = {at['model.heads']}", part


@claim(
    "stairs.levels",
    "The plateaus lie at the predicted levels, within 2 % of a step.",
    AtMost(0.02),
    at=f"{DYNAMICS}, separate keys and queries",
    fixed="pilot",
)
def levels(table: Table) -> Estimate:
    """Largest distance from a level, of the smaller step beside it: median over seeds, s = 0.03;
    highest H.
    """
    cells = cells_at(table, SMALL)
    return highest((words, median(part["offset"].max(axis=1))) for words, part in cells)


@claim(
    "stairs.all",
    "From small starts every level is visited in seven seeds of ten.",
    AtLeast(0.7),
    at=f"{DYNAMICS}, separate keys and queries",
    fixed="pilot",
)
def all_levels(table: Table) -> Estimate:
    """Share of seeds with all inner levels seen, s at most 0.03; lowest cell."""
    rows = flows(table)
    rows = over(rows.rows(rows["model.scale"] <= SMALL * (1 + 1e-9)))
    return lowest(
        (f"H = {at['model.heads']}, s = {at['model.scale']:g}", share(part["seen"].all(axis=1)))
        for at, part in rows.cells("model.heads", "model.scale")
    )


@claim(
    "stairs.pcr",
    "On plateau m the layer is principal component regression with m components: a cosine of 0.99"
    " or more.",
    AtLeast(0.99),
    at=f"{DYNAMICS}, principal component regression in context",
    fixed="pilot",
)
def components(table: Table) -> Estimate:
    """Median cosine of the layer's matrix with that of the regression, s = 0.03; lowest H and m."""
    return lowest(
        (f"{words}, m = {m + 1}", median(part["cosine"][:, m]))
        for words, part in cells_at(table, SMALL)
        for m in range(part["cosine"].shape[1])
    )


@claim(
    "stairs.power",
    "The wait for the first drop is a power of the start, 1/s within 5 %, not a logarithm.",
    Inside(0.95, 1.05),
    at=f"limelight, from {DYNAMICS}",
    fixed="pilot",
)
def power(table: Table) -> Estimate:
    """Within-seed slope of ln time[1] on ln(1/s), s at most 0.1, median; all H."""
    return hull(
        (
            (f"H = {at['model.heads']}", median(log_slopes(rows, _first, 0.1)))
            for at, rows in flows(table).cells("model.heads")
        ),
        1.0,
    )


@claim(
    "stairs.gd",
    "Gradient descent with steps of 0.25 keeps the times of the flow within 5 %.",
    AtMost(0.05),
    fixed="pilot",
)
def descent(table: Table) -> Estimate:
    """Largest relative distance of descent from flow in the times of the drops, median over seeds;
    highest s.
    """
    rows = over(table.where(model__heads=5, model__start="gauss"))
    found = []
    for at, part in rows.cells("model.scale"):
        one, other = (part.where(trainer=word) for word in ("descent", "flow"))
        one, other = (half.rows(np.argsort(half["trial"])) for half in (one, other))
        if not len(one):
            continue
        apart = np.abs(one["time"] / other["time"] - 1).max(axis=1)
        found.append((f"s = {at['model.scale']:g}", median(apart)))
    return highest(found)


def draw(table: Table) -> Picture:
    """Courses of three seeds for each scale, and the levels."""
    rows = flows(table)
    H = 5 if 5 in rows.values("model.heads") else int(rows.values("model.heads")[0])
    rows = rows.where(model__heads=H)
    d = int(rows.setting("dimension"))
    law = one_covariance(
        linear_spectrum(d, float(rows.setting("spread"))), rows.setting("examples")
    )
    panels = []
    for s in rows.values("model.scale")[::-1]:
        part = rows.where(model__scale=s)
        last = float(np.nanmax(part["reached"]))
        marks = [*lines_at(law.levels, (10, last)), *seeds(part, law.levels[-1], 5)]
        across = Axis("time", log=True, limits=(10, last))
        panels.append(Panel(f"$s = {s:g}$", marks, Axis("loss"), across))
    note = f"H = {H}, five seeds, each of one colour"
    return Picture(panels, width=TWO_COLUMNS, height=2.6, share="y", note=note)


def summary(table: Table) -> list[str]:
    """Levels seen, offsets, cosines and times by cell."""
    columns = {
        "levels seen": "count",
        "all": lambda rows: share(rows["seen"].all(axis=1)),
        "offset": lambda rows: np.median(rows["offset"].max(axis=1)),
        "cosine": lambda rows: np.median(rows["cosine"].min(axis=1)),
        "first drop": lambda rows: np.median(rows["time"][:, 0]),
        "last drop": lambda rows: np.median(rows["time"][:, -1]),
        "steps": lambda rows: int(rows["steps"].max()),
    }
    by = {"model.heads": "H", "model.start": "start", "trainer": "trainer", "model.scale": "s"}
    return tabulate(table, by, columns, title="separate keys and queries of rank 1")


def _first(rows: Table) -> np.ndarray:
    return rows["time"][:, 0]


figure = Figure(
    statement="with separate keys and queries the loss goes from saddle to saddle, resting at"
    " levels that are known beforehand",
    trial=PromptFlow(model=LinearAttention("separate", 5, 1, 0.1), looks=140, steps=4_000_000),
    grid={
        RUN: [
            *(run for H in (4, 5, 8, 16) for run in runs((H, "gauss", "flow"))),
            *runs((5, "authors", "flow")),
            *runs((5, "gauss", "descent")),
        ]
    },
    trials=40,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={RUN: runs((4, "gauss", "flow"), 1)},
            settings={"dimension": 3, "looks": 10, "steps": 20_000},
        ),
        small=Scale(
            trials=10,
            grid={RUN: [*runs((5, "gauss", "flow"), 3), *runs((5, "gauss", "descent"), 3)]},
        ),
    ),
    claims=(levels, all_levels, components, power, descent),
    pictures={"stairs": draw},
    summary=summary,
    reference=f"{DYNAMICS}, separate keys and queries",
    departures="the flow of the exact population loss; the start is scaled by each array's size; a"
    " covariance in its eigenbasis, which a Gaussian start does not notice",
    shared=("model.scale", "trainer"),
)
