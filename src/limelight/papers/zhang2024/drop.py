r"""Merged keys and queries: a wait of $\ln(1/s)$, then one abrupt drop."""

import numpy as np

from limelight.claims import AtMost, Below, Estimate, Inside, Undecided
from limelight.experiments.prompt_flow import PromptFlow
from limelight.fit import tabulate
from limelight.fit.estimates import highest, hull, median
from limelight.models.linear_attention import LinearAttention
from limelight.papers.recipe import Figure, Scale, claim, claims, scales
from limelight.papers.zhang2024.reading import DYNAMICS, by_scale, course, lines_at, over, slopes
from limelight.plot import TWO_COLUMNS, Axis, Guide, Panel, Picture, Points
from limelight.table import Table
from limelight.theory.zhang2024.population import linear_spectrum, one_covariance

MODEL = ("model.heads", "model.start")
#: The scale at which the drop is timed.
SMALL = 1e-2


def drawn(table: Table) -> Table:
    """Runs from random starts."""
    return table.where(model__start="gauss")


def strength(rows: Table) -> float:
    """The Frobenius norm of the squared covariance: the rate of growth at the start."""
    spectrum = linear_spectrum(int(rows.setting("dimension")), float(rows.setting("spread")))
    return float(np.linalg.norm(spectrum**2))


def rate(rows: Table) -> Estimate:
    """Strength times the within-seed slope of t_half on ln(1/s), at small s."""
    s, times = by_scale(rows, lambda part: part["half"], SMALL)
    return median(strength(rows) * slopes(-np.log(s), times))


def cells_of(table: Table):
    """Cells but for the scale, in words."""
    for at, rows in drawn(table).cells("model.heads", "spread", "examples"):
        words = f"H = {at['model.heads']}, g = {at['spread']:g}, N = {at['examples']:g}"
        yield words, rows


@claim(
    "drop.slope",
    "The wait before the drop grows as ln(1/s) over the norm of the squared covariance, within 3"
    " %.",
    Inside(0.97, 1.03),
    at=f"{DYNAMICS}, merged keys and queries",
    fixed="pilot",
)
def slope(table: Table) -> Estimate:
    """That norm times the within-seed slope of t_half on ln(1/s), s at most 0.01; all cells."""
    return hull(((words, rate(rows)) for words, rows in cells_of(table)), 1.0)


@claim(
    "drop.closed",
    "From an aligned start on a white covariance the loss follows the closed form.",
    AtMost(1e-6),
    at=f"{DYNAMICS}, the time-course solution",
    kind="identity",
)
def closed(table: Table) -> Estimate:
    """Largest distance of the loss from the closed form along a course, of the loss at 0."""
    rows = table.where(model__start="aligned", spread=0.0)
    if not len(rows):
        raise Undecided("not in this table")
    return Estimate(float(rows["apart"].max()), None, len(rows))


@claim(
    "drop.single",
    "There is no plateau between the first and the last loss, for a spread up to 0.6 or starts up"
    " to 0.01.",
    AtMost(0.0),
    at=f"{DYNAMICS}, two fixed points",
    fixed="pilot",
)
def single(table: Table) -> Estimate:
    """Largest number of inner levels seen in a run, g at most 0.6 or s at most 0.01."""
    rows = drawn(table)
    rows = rows.rows((rows["spread"] <= 0.6) | (rows["model.scale"] <= SMALL * (1 + 1e-9)))
    outside = drawn(table)["count"].sum() - rows["count"].sum()
    return Estimate(
        float(over(rows)["count"].max()), None, len(rows), f"outside {outside} were seen"
    )


@claims(
    "drop.abrupt{suffix}",
    "The drop is abrupt: shorter than the wait before it ({words}).",
    Below(1.0),
    at=f"{DYNAMICS}, merged keys and queries",
    fixed="pilot",
    cases=(
        {"suffix": "", "spread": 0.0, "words": "white covariance"},
        {"suffix": "-wide", "spread": 0.6, "words": "eigenvalues from .1 to .4"},
    ),
)
def abrupt(table: Table, spread: float) -> Estimate:
    """Time from 1/2 to 1/100 of the excess loss over t_half, s = 0.01, median; highest cell."""
    rows = drawn(table).where(spread=spread)
    near = np.abs(rows["model.scale"] / SMALL - 1) < 1e-6
    found = []
    for words, part in cells_of(over(rows.rows(near))):
        found.append((words, median((part["settled"] - part["half"]) / part["half"])))
    return highest(found)


def draw(table: Table) -> Picture:
    """Courses of the loss over time, and the time of the drop over the scale of the start."""
    table = drawn(table)
    H = int(table.values("model.heads")[-1])
    table = table.where(model__heads=H)
    N = 31 if 31 in table.values("examples") else table.values("examples")[0]
    panels = []
    for g in (0.0, 0.6):
        rows = table.where(spread=g, examples=N)
        law = one_covariance(linear_spectrum(int(rows.setting("dimension")), g), N)
        marks: list = lines_at(law.levels, (1, 1e3))
        for s in rows.values("model.scale")[::-1]:
            exponent = np.log10(s)
            if abs((exponent + 1) / 2 - round((exponent + 1) / 2)) < 1e-6:  # 0.1, 0.001, ...
                label = f"$s = 10^{{{round(exponent)}}}$"
                one = rows.where(model__scale=s, trial=0)
                marks.append(Guide(label, *course(one, law.levels[-1])))
        across = Axis("time", log=True, limits=(1, 1e3))
        panels.append(Panel(f"$g = {g:g}$, $N = {N:g}$", marks, Axis("loss"), across))
    marks = []
    spreads = table.values("spread")
    some = np.delete(spreads, 1) if len(spreads) > 4 else spreads  # four lines in a panel
    for at, rows in table.rows(np.isin(table["spread"], some)).where(examples=N).cells("spread"):
        s, times = by_scale(rows, lambda part: part["half"])
        label = f"$g = {at['spread']:g}$"
        middle = np.median(times, axis=0)
        marks.append(Points(label, 1 / s, middle, size=3))
        marks.append(Guide(label, 1 / s, middle[-1] + np.log(s[-1] / s) / strength(rows)))
    up, across = Axis("$t_{1/2}$"), Axis("$1/s$", log=True)
    panels.append(Panel("lines: slope $1/|\\Lambda^2|$", marks, up, across))
    return Picture(panels, width=TWO_COLUMNS, height=2.9, note=f"H = {H}, one seed per course")


def summary(table: Table) -> list[str]:
    """Slopes and abruptness by cell."""
    tail = lambda rows: np.median((rows["settled"] - rows["half"]) / rows["half"])
    columns = {"slope times norm": rate, "drop over wait": tail, "levels seen": "count"}
    by = {"model.heads": "H", "spread": "g", "examples": "N"}
    return tabulate(drawn(table), by, columns, title="merged keys and queries")


figure = Figure(
    statement="with merged keys and queries the loss waits, then drops once",
    trial=PromptFlow(
        model=LinearAttention("merged", 8, 1, 0.1), tolerance=1e-8, looks=60, span=(1.0, 1e3)
    ),
    grid={
        MODEL: [(1, "gauss"), (8, "gauss"), (1, "aligned")],
        "spread": [0.0, 0.2, 0.4, 0.6, 0.9],
        "examples": [2, 5, 31, 500],
        "model.scale": [10 ** (-e / 2) for e in range(2, 13)],
    },
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={
                MODEL: [(2, "gauss")],
                "spread": [0.0],
                "examples": [31],
                "model.scale": [0.1, 0.01],
            },
            settings={"dimension": 3, "looks": 10},
        ),
        small=Scale(
            trials=5,
            grid={
                MODEL: [(8, "gauss"), (1, "aligned")],
                "spread": [0.0, 0.6],
                "examples": [5, 31, 500],
                "model.scale": [1e-1, 1e-2, 1e-3, 1e-4],
            },
        ),
    ),
    claims=(slope, closed, single, *abrupt),
    pictures={"drop": draw},
    findings={"drop": "drop.abrupt"},
    summary=summary,
    reference=f"{DYNAMICS}, merged keys and queries",
    departures="the flow of the exact population loss; the start is scaled by each array's size",
    shared=("model.scale",),
)
