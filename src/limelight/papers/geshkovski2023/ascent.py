r"""How tight the bound of rank collapse is: ascended towards it."""

import numpy as np

from limelight.claims import AtMost, Estimate
from limelight.experiments.bound_ascent import BoundAscent
from limelight.fit import tabulate
from limelight.papers.geshkovski2023.reading import COLLAPSE
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import Axis, Panel, Picture, Points, Reference
from limelight.table import Table
from limelight.theory.geshkovski2023.residuals import known_up_to
from limelight.worlds.sphere import Rows

N = "world.tokens"


@claim(
    "ascent.bound",
    "No weights and tokens that an ascent finds contradict the bound.",
    AtMost(1.0),
    at=f"{COLLAPSE}, the theorem for one head",
    fixed="pilot",
)
def bound(table: Table) -> Estimate:
    """Largest residual over its bound after one layer; ends: what its centre leaves open."""
    found = []
    for at, rows in table.cells(N):
        k, top = known_up_to(int(at[N])), float(rows["ratio"].max())
        found.append((top * k**3, top, top / k, f"n = {at[N]}: {top:.3g}"))
    high, value, low, _ = found[np.argmax([one[0] for one in found])]
    note = ", ".join(one[-1] for one in found)
    return Estimate(value, (low, high), len(table), note, level=None)


def draw(table: Table) -> Picture:
    """Ratios at the start and after the ascent, a mark per start."""
    marks: list = []
    for at, rows in table.cells(N):
        x = at[N] * np.exp(0.1 * np.linspace(-1, 1, len(rows)))
        marks.append(Points("drawn", x, rows["random"], opacity=0.4))
        marks.append(Points("ascended", x, rows["ratio"], opacity=0.4))
    marks.append(Reference("the bound", 1.0))
    across = Axis("tokens $n$", log=True, ticks=list(table.values(N)))
    upwards = Axis("residual over its bound", log=True)
    return Picture([Panel("", marks, upwards, across)], note="one layer, one head")


def summary(table: Table) -> list[str]:
    """The largest ratios."""
    columns = {
        "drawn": lambda rows: rows["random"].max(),
        "ascended": lambda rows: rows["ratio"].max(),
        "median": lambda rows: np.median(rows["ratio"]),
    }
    return tabulate(table, {N: "n"}, columns, title="residual over its bound, one layer")


figure = Figure(
    statement="how close can one layer come to the bound of rank collapse?",
    trial=BoundAscent(Rows(dimension=8)),
    grid={N: [4, 16, 40]},
    trials=64,
    scales=scales(
        smoke=Scale(trials=2, grid={N: [4]}, settings={"steps": 20}),
        small=Scale(trials=16, grid={N: [4, 16]}, settings={"steps": 1000}),
    ),
    claims=(bound,),
    pictures={"ascent": draw},
    summary=summary,
    reference=f"limelight, for {COLLAPSE}",
    departures="ours: Adam on tokens, W_QK and W_V of one head; width 8",
)
