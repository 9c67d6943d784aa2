r"""Theorem 4.1: gradient flow ends at $A = \Gamma^{-1}$; and where it ends by Theorem 4.5."""

import numpy as np

from limelight._core.arrays import Real
from limelight.claims import AtMost, Estimate, Undecided
from limelight.experiments.prompt_flow import PromptFlow
from limelight.fit import tabulate
from limelight.models.linear_attention import LinearAttention
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Axis, Panel, Picture, Points, Reference
from limelight.table import Table

LAW = ("dimension", "spectrum", "spread", "model.start")
FIVE = [
    (5, "linear", 0.0, "theorem"),
    (5, "linear", 0.6, "theorem"),
    (5, "uneven", 0.0, "theorem"),
]
RANDOM = (5, "exponential", 0.0, "aligned")
LARGER = [
    (d, name, g, "theorem") for d in (10, 20) for name, g in (("linear", 0.6), ("uneven", 0.0))
]


def largest(table: Table, start: str, where: tuple[Real, Real], *columns: str) -> Estimate:
    """The largest of some columns among runs whose scale lies between two ends."""
    inside = (table["model.start"] == start) & (table["model.scale"] > where[0])
    rows = table.rows(inside & (table["model.scale"] < where[1]))
    if not len(rows):
        raise Undecided("not in this table")
    worst = float(np.max([np.max(rows[name]) for name in columns]))
    cut = int((~rows["finished"].astype(bool)).sum())
    return Estimate(worst, None, len(rows), f"{cut} runs were cut off" if cut else "")


@claim(
    "minimum.value",
    "From the theorem's start, with an admissible scale, the flow ends at the least loss.",
    AtMost(1e-8),
    at="zhang2024, Theorem 4.1",
    kind="identity",
)
def least_loss(table: Table) -> Estimate:
    """Largest excess of the loss over the least, relative to predicting 0, admissible scales."""
    return largest(table, "theorem", (0, 1), "excess")


@claim(
    "minimum.matrix",
    "The matrix and the value end where the theorem says.",
    AtMost(1e-4),
    at="zhang2024, Theorem 4.1",
    kind="identity",
)
def best_matrix(table: Table) -> Estimate:
    """Largest relative distance of A from the inverse of Gamma, and of v from its limit."""
    found = largest(table, "theorem", (0, 1), "distance")
    inside = (table["model.start"] == "theorem") & (table["model.scale"] < 1)
    value = float(np.max(np.abs(table.rows(inside)["value"] - 1)))
    return Estimate(float(np.maximum(found.value, value)), None, found.n, found.note)


@claim(
    "minimum.beyond",
    "The bound on the scale is not needed: six times the admissible scale converges as well.",
    AtMost(1e-8),
    at="limelight, beyond zhang2024, Theorem 4.1",
    fixed="pilot",
)
def beyond_the_bound(table: Table) -> Estimate:
    """Largest excess of the loss over the least, scales above the bound."""
    return largest(table, "theorem", (1, np.inf), "excess")


@claim(
    "minimum.random",
    "With a fresh random covariance per prompt the flow ends at the global minimum, which is not an"
    " inverse covariance.",
    AtMost(1e-4),
    at="zhang2024, Theorem 4.5",
    kind="identity",
)
def random_covariances(table: Table) -> Estimate:
    """Largest relative distance of A from its closed form, Exponential(1) covariances, start sI."""
    return largest(table, "aligned", (0, np.inf), "distance")


def draw(table: Table) -> Picture:
    """The excess at the end over the scale of the start."""
    panels = []
    for start, words in (("theorem", "one covariance"), ("aligned", "random covariances")):
        rows = table.where(model__start=start)
        if not len(rows):
            continue
        marks: list = [
            Points(
                f"$N = {at['examples']:g}$",
                part["model.scale"],
                np.maximum(part["excess"], 1e-18),
                opacity=0.5,
                size=3,
            )
            for at, part in rows.cells("examples")
        ]
        if start == "theorem":
            marks.append(Reference("the bound", 1.0, vertical=True))
        across = "scale $\\sigma$, of the bound" if start == "theorem" else "scale $\\sigma$"
        upwards = Axis("excess loss / tr Λ", log=True, limits=(1e-16, 1e-8))
        panels.append(Panel(words, marks, upwards, Axis(across, log=True)))
    note = "a run stops at 1e-12 of the last step of the loss; claimed: below 1e-8"
    return Picture(panels, width=TWO_COLUMNS, height=2.6, share="y", note=note)


def summary(table: Table) -> list[str]:
    """Excess, distance and steps by cell."""
    columns = {
        "excess": lambda rows: rows["excess"].max(),
        "distance": lambda rows: rows["distance"].max(),
        "v": lambda rows: rows["value"].mean(),
        "steps": lambda rows: int(rows["steps"].max()),
    }
    by = {"dimension": "d", "spectrum": "spectrum", "spread": "g", "model.scale": "scale"}
    return tabulate(table, by, columns, title="worst over N and seeds; v of the theorem's", most=40)


figure = Figure(
    statement="gradient flow converges to a global minimum of the population loss",
    trial=PromptFlow(
        model=LinearAttention("merged", 1, 1, 0.5, "theorem"),
        tolerance=1e-9,
        stop=1e-12,
        plateaus=False,
    ),
    grid={
        LAW: [*FIVE, RANDOM, *LARGER],
        "examples": [5, 20, 100, 1000],
        "model.scale": [0.01, 0.1, 0.5, 0.99, 2.0, 6.0],
    },
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={LAW: [(3, "linear", 0.6, "theorem")], "examples": [10], "model.scale": [0.5]},
            settings={"stop": 1e-8},
        ),
        small=Scale(
            trials=5,
            grid={
                LAW: [*FIVE, RANDOM],
                "examples": [5, 20, 100],
                "model.scale": [0.1, 0.5, 0.99, 3.0],
            },
        ),
    ),
    claims=(least_loss, best_matrix, beyond_the_bound, random_covariances),
    pictures={"minimum": draw},
    summary=summary,
    reference="Theorems 4.1 and 4.5",
    departures="random Theta of rank 2; random covariances start at a multiple of the identity",
)
