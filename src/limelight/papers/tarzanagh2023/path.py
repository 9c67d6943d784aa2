r"""The regularisation path tends to the max-margin direction: how fast."""

import numpy as np

from limelight.claims import Estimate, Inside, Undecided
from limelight.experiments.selection_path import SelectionPath
from limelight.fit import tabulate
from limelight.papers.recipe import Figure, Finding, Scale, claim, scales
from limelight.papers.tarzanagh2023.reading import median, yes
from limelight.plot import WIDE, Axis, Guide, Panel, Picture, Series
from limelight.table import Table

RADII = (5.0, 10.0, 20.0, 50.0, 100.0, 300.0)


def losses(table: Table, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Radii, and what is missing to 1, worlds by radii."""
    radii = table.values("radius")
    parts = [table.where(radius=c) for c in radii]
    parts = [part.rows(np.argsort(part["trial"])) for part in parts]
    missing = np.array([1 - part[column] for part in parts]).T
    return radii, missing[yes(parts[0], "feasible")]


def slopes(table: Table, column: str) -> Estimate:
    """The median log-log slope over worlds, radii of at least 20."""
    radii, missing = losses(table, column)
    far = radii >= 20
    if far.sum() < 3 or (missing[:, far] <= 0).any():
        raise Undecided("fewer than three radii, or nothing missing", len(missing))
    return median([np.polyfit(np.log(radii[far]), np.log(row[far]), 1)[0] for row in missing])


@claim(
    "path.rate",
    "On the path of constrained minimisers the margin ratio is short of 1 by about 1/c.",
    Inside(-1.15, -0.85),
    at="limelight, on tarzanagh2023, regularisation path",
    fixed="pilot",
)
def rate(table: Table) -> Estimate:
    """Log-log slope of 1 - rho in c, c at least 20, median over worlds."""
    return slopes(table, "rho")


@claim(
    "path.rate-cosine",
    "On the path of constrained minimisers the cosine is short of 1 by about 1/c².",
    Inside(-2.3, -1.6),
    at="limelight, on tarzanagh2023, regularisation path",
    fixed="pilot",
)
def rate_cosine(table: Table) -> Estimate:
    """Log-log slope of 1 - cosine in c, c at least 20, median over worlds."""
    return slopes(table, "cosine")


def draw(table: Table) -> Picture:
    """What is missing to 1, over the radius."""
    return over_radii(table, ("rho", "1 - margin ratio", 1), ("cosine", "1 - cosine", 2))


def over_radii(table: Table, *parts: tuple[str, str, int]) -> Picture:
    """What columns miss to 1, with their names and the powers of the radius beside them."""
    marks: list = []
    for column, label, power in parts:
        radii, missing = losses(table, column)
        low, middle, high = np.percentile(missing, [25, 50, 75], axis=0)
        marks.append(Series(label, radii, middle, low, high))
        name = "slope -1" if power == 1 else "slope -2"
        marks.append(
            Guide(name, radii, middle[-1] * (radii[-1] / radii) ** power, colour="ink", dash=power)
        )
    return Picture(
        [
            Panel(
                "",
                marks,
                Axis("missing to 1", log=True),
                Axis("scaled radius $c$", log=True, ticks=table.values("radius")),
            )
        ],
        width=WIDE,
        height=3.0,
        note="medians, bands: quartiles of worlds",
    )


def summary(table: Table) -> list[str]:
    """What is missing, times its power of c."""
    c = lambda rows: float(rows.setting("radius"))
    columns = {
        "c (1 - rho)": lambda rows: c(rows) * np.median(1 - rows["rho"]),
        "c² (1 - cosine)": lambda rows: c(rows) ** 2 * np.median(1 - rows["cosine"]),
        "not stationary by": lambda rows: np.median(rows["left"]),
    }
    return tabulate(table, {"radius": "c"}, columns, title="medians over worlds")


figure = Figure(
    statement="the path of constrained minimisers converges to the max-margin direction",
    trial=SelectionPath(),
    grid={"radius": list(RADII)},
    trials=200,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={"radius": [5.0, 20.0]},
            settings={"steps": 100, "samples": 3, "world.tokens": 4, "world.dimension": 4},
        ),
        small=Scale(trials=24),
    ),
    claims=(rate, rate_cosine),
    pictures={"path": draw},
    findings={
        "path": (
            "path.rate",
            Finding("path.rate-cosine", holds="and the cosine about its square"),
        )
    },
    summary=summary,
    reference="regularisation path",
    departures="the rates are derived here",
    shared=("radius",),
)
