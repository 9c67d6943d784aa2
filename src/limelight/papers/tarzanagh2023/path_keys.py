"""The regularisation path of keys and queries tends to the solution of the nuclear norm."""

from dataclasses import replace

import numpy as np

from limelight.claims import AtLeast, Estimate, Inside
from limelight.experiments.selection_path import SelectionPath
from limelight.fit import tabulate
from limelight.papers.recipe import Finding, claim
from limelight.papers.tarzanagh2023 import path
from limelight.papers.tarzanagh2023.reading import mean, yes
from limelight.plot import Picture
from limelight.table import Table

#: A solve with a larger gap proves nothing.
CERTIFIED = 1e-4


def certified(table: Table) -> Table:
    """Worlds whose nuclear solution is proved; a world has the same one at every radius."""
    return table.rows(yes(table, "feasible") & (table["nuclear.gap"] <= CERTIFIED))


@claim(
    "path-keys.nuclear",
    "The path of keys and queries tends to the largest margin of the nuclear norm.",
    AtLeast(0.97),
    at="tarzanagh2023, regularisation path of (K, Q)",
    fixed="pilot",
)
def nuclear(table: Table) -> Estimate:
    """Mean nuclear margin ratio at the largest radius, certified solves."""
    rows = certified(table)
    rows = rows.where(radius=rows.values("radius")[-1])
    return mean(rows["nuclear.rho"], f"at c = {rows.setting('radius'):g}")


@claim(
    "path-keys.rate",
    "On the path of keys and queries the nuclear margin ratio is short of 1 by about 1/c.",
    Inside(-1.15, -0.85),
    at="limelight, on tarzanagh2023, regularisation path of (K, Q)",
    fixed="pilot",
)
def rate(table: Table) -> Estimate:
    """Log-log slope of 1 - rho in c, nuclear norm, c at least 20, median over worlds."""
    return path.slopes(certified(table), "nuclear.rho")


def draw(table: Table) -> Picture:
    """What is missing to 1, over the radius."""
    return path.over_radii(certified(table), ("nuclear.rho", "1 - nuclear margin ratio", 1))


def summary(table: Table) -> list[str]:
    """What is missing, times the radius."""
    c = lambda rows: float(rows.setting("radius"))
    columns = {
        "c (1 - rho)": lambda rows: c(rows) * np.nanmedian(1 - rows["nuclear.rho"]),
        "not stationary by": lambda rows: np.nanmedian(rows["left"]),
        "certified": lambda rows: (rows["nuclear.gap"] <= CERTIFIED).mean(),
    }
    return tabulate(table, {"radius": "c"}, columns, title="medians over worlds")


figure = replace(
    path.figure,
    statement="the path of keys and queries converges to the nuclear-norm solutions",
    trial=SelectionPath(ball="keys"),
    claims=(nuclear, rate),
    pictures={"path-keys": draw},
    findings={"path-keys": ("path-keys.nuclear", Finding("path-keys.rate", holds="by about 1/c"))},
    summary=summary,
    reference="regularisation path of (K, Q)",
    departures="judged by the margin ratio, since nuclear solutions are nearly not unique; keys and"
    " queries have as many columns as there are dimensions; the rate is ours",
)
