r"""Local convergence and its converse: which choices of tokens are kept by starts near them."""

import numpy as np

from limelight.claims import Above, AtLeast, AtMost, Estimate, Undecided
from limelight.experiments.token_basins import TokenBasins
from limelight.fit import tabulate
from limelight.fit.estimates import paired_shares
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.papers.tarzanagh2023.reading import PAPER, USABLE, share, yes
from limelight.plot import WIDE, Axis, Panel, Picture, Series
from limelight.table import Table

WORDS = {
    "best": "the best tokens",
    "found": "found by descent, not the best",
    "local": "locally optimal, not the best",
    "other": "not locally optimal",
}


def kept(table: Table, which: str, radius: float) -> Estimate:
    """The share of usable trials that end with their choice."""
    rows = table.where(which=which, radius=radius)
    return share(yes(rows, "kept")[yes(rows, "usable")])


@claim(
    "basins.best",
    "Starts near the best tokens keep them.",
    AtLeast(0.95),
    at=f"{PAPER}, local convergence",
    fixed="pilot",
)
def best(table: Table) -> Estimate:
    """Share kept, the best tokens, c0 = 30."""
    return kept(table, "best", 30.0)


@claim(
    "basins.found",
    "Starts near the tokens that descent finds keep them.",
    AtLeast(0.85),
    at=f"{PAPER}, local convergence",
    fixed="pilot",
)
def found(table: Table) -> Estimate:
    """Share kept, choices found by descent that are not the best, c0 = 10."""
    return kept(table, "found", 10.0)


@claim(
    "basins.converse",
    "A choice that is not locally optimal is left.",
    AtMost(0.1),
    at=f"{PAPER}, converse for the path; limelight for descent",
    fixed="pilot",
)
def converse(table: Table) -> Estimate:
    """Share kept, choices that are not locally optimal, c0 = 10."""
    return kept(table, "other", 10.0)


@claim(
    "basins.radius",
    "How far out a start is matters: locally optimal choices are lost from starts near the origin.",
    Above(0.1),
    at="limelight, on tarzanagh2023, local convergence",
    fixed="pilot",
)
def radius(table: Table) -> Estimate:
    """Share kept at c0 = 100 less that at c0 = 1, same worlds, locally optimal, not the best."""
    away = kept(table, "other", 100.0)
    if not away.interval or not away.interval[1] <= 0.1:
        raise Undecided("choices that are not locally optimal are kept at c0 = 100 too", away.n)
    near, far = (table.where(which="local", radius=c) for c in (1.0, 100.0))
    near, far = (rows.rows(np.argsort(rows["trial"])) for rows in (near, far))
    good = yes(near, "usable")
    return paired_shares(yes(near, "kept")[good], yes(far, "kept")[good], least=USABLE)


def draw(table: Table) -> Picture:
    """Share kept over the radius of the start, by kind of choice."""
    marks = []
    radii = table.values("radius")
    for which, label in WORDS.items():
        if which not in table.values("which"):
            continue
        shares = [kept(table, which, c) for c in radii]
        ends = np.array([e.interval or (np.nan, np.nan) for e in shares])
        marks.append(Series(label, radii, [e.value for e in shares], *ends.T))
    across = Axis("scaled radius $c_0$ of the start", log=True, ticks=radii)
    return Picture(
        [Panel("", marks, Axis("share kept", limits=(-0.03, 1.03)), across)],
        width=WIDE,
        height=3.0,
        note="noise 0.3; bands: 95 % intervals of usable worlds",
    )


def summary(table: Table) -> list[str]:
    """Usable worlds, share kept and cosine by cell."""
    columns = {
        "usable": "usable",
        "kept": lambda rows: share(yes(rows, "kept")[yes(rows, "usable")]),
        "c at the end": lambda rows: np.nanmedian(rows["radius.end"]),
    }
    return tabulate(
        table, {"which": "choice", "radius": "c0"}, columns, title="starts near a choice"
    )


figure = Figure(
    statement="descent that starts near the direction of a locally optimal choice keeps it",
    trial=TokenBasins(steps=10_000),
    grid={"which": list(WORDS), "radius": [1.0, 3.0, 10.0, 30.0, 100.0]},
    trials=500,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={"which": ["best", "local"], "radius": [3.0]},
            settings={
                "steps": 50,
                "tries": 2,
                "samples": 3,
                "world.tokens": 4,
                "world.dimension": 4,
            },
        ),
        small=Scale(trials=60, settings={"steps": 3_000}),
    ),
    claims=(best, found, converse, radius),
    pictures={"basins": draw},
    findings={"basins": "basins.best"},
    summary=summary,
    reference="local convergence, and its converse",
    departures="the statement names no radius and no cone: both are swept or fixed here",
    shared=("radius", "which"),
)
