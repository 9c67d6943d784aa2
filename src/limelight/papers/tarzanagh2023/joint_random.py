r"""Head and prompt in random worlds: which SVM the prompt follows depends on the clocks."""

import numpy as np

from limelight.claims import AtLeast, AtMost, Estimate
from limelight.experiments.joint_selection import JointSelection
from limelight.fit import tabulate
from limelight.fit.estimates import lowest, together
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.papers.tarzanagh2023.joint import COLUMNS
from limelight.papers.tarzanagh2023.reading import share, yes
from limelight.plot import WIDE, Axis, Panel, Picture, Series
from limelight.table import Table
from limelight.worlds.selections import Selections


def usable(rows: Table) -> Table:
    """Settled worlds with a sample that does not support the head."""
    return rows.rows(yes(rows, "settled") & (rows["loose"] > 0))


@claim(
    "joint-random.interpolated",
    "The prompt follows the interpolated SVM, whatever the steps.",
    AtLeast(0.9),
    at="limelight, on tarzanagh2023, joint optimisation",
    fixed="pilot",
)
def interpolated(table: Table) -> Estimate:
    """Share with cosine of at least .99 to the interpolated SVM, usable worlds; lowest step."""
    cells = (
        (f"head step {at['head_rate']:g}", usable(rows)["cosine.interpolated"] >= 0.99)
        for at, rows in table.cells("head_rate")
    )
    return lowest(together(cells, share))


@claim(
    "joint-random.relaxed",
    "Equal steps do not follow the relaxed SVM.",
    AtMost(0.6),
    at="limelight, on tarzanagh2023, joint optimisation",
    fixed="pilot",
)
def relaxed(table: Table) -> Estimate:
    """Share with cosine of at least .99 to the relaxed SVM, usable worlds, equal steps."""
    return share(usable(table.where(head_rate=0.1))["cosine.relaxed"] >= 0.99)


def draw(table: Table) -> Picture:
    """Shares of worlds near each SVM, over the head's step."""
    rates, marks = table.values("head_rate"), []
    for column, label in COLUMNS.items():
        shares = [share(usable(table.where(head_rate=r))[column] >= 0.99) for r in rates]
        ends = np.array([e.interval or (np.nan, np.nan) for e in shares])
        marks.append(Series(label, rates, [e.value for e in shares], *ends.T))
    across = Axis("step of the head (of the prompt: 0.1)", log=True, ticks=rates)
    return Picture(
        [Panel("", marks, Axis("share with cosine ≥ 0.99", limits=(-0.03, 1.03)), across)],
        width=WIDE,
        height=3.0,
        note="settled worlds with a sample that does not support the head",
    )


def summary(table: Table) -> list[str]:
    """Usable worlds and shares by step."""
    near = lambda column: lambda rows: share(usable(rows)[column] >= 0.99)
    columns = {
        "settled": "settled",
        "usable": lambda rows: len(usable(rows)),
        **{label: near(column) for column, label in COLUMNS.items()},
    }
    return tabulate(table, {"head_rate": "head step"}, columns, title="share with cosine >= .99")


figure = Figure(
    statement="which SVM does the prompt follow where a sample does not support the head?",
    trial=JointSelection(world=Selections(tokens=3, dimension=4), samples=3, steps=20_000),
    grid={"head_rate": [0.1, 0.5, 3.0]},
    trials=200,
    scales=scales(
        smoke=Scale(trials=2, grid={"head_rate": [0.1]}, settings={"steps": 100, "halvings": 4}),
        small=Scale(settings={"steps": 5_000}),
    ),
    claims=(interpolated, relaxed),
    pictures={"joint-random": draw},
    findings={"joint-random": "joint-random.interpolated"},
    summary=summary,
    reference="limelight, on joint optimisation",
    departures="ours: the papers' statement is on paths; the interpolated SVM is derived here",
    shared=("head_rate",),
)
