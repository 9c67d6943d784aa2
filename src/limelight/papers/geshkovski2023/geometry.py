r"""Where rescaled tokens go: one of two ends, the vertices of a polytope, parallel hyperplanes."""

from collections.abc import Callable

import numpy as np

from limelight.claims import AtLeast, AtMost, Estimate, Finding
from limelight.experiments.token_geometry import TokenGeometry
from limelight.fit import tabulate
from limelight.fit.estimates import largest, lowest, together
from limelight.papers.geshkovski2023.reading import over, rate
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Axis, Mark, Panel, Picture, Points, Reference
from limelight.table import Table

RUN = ("world.dimension", "model.value", "until")
#: Dimension, value matrix and last time of every case.
CASES = {
    "line": (1, "line", 8.0),
    "plane": (2, "plane", 10.0),
    "space": (3, "space", 10.0),
    "unequal": (2, "unequal", 10.0),
    "coupled": (2, "coupled", 10.0),
    "mixed": (3, "mixed", 10.0),
}
NAMES = {
    "line": "$d = 1$",
    "plane": "$V = I$, $d = 2$",
    "space": "$V = I$, $d = 3$",
    "unequal": "$V$ = diag(1, .3)",
    "coupled": "$V$ not symmetric",
    "mixed": "$V$ = diag(1, 1, -.5)",
}


def cells(table: Table, *values: str):
    """The cells of some value matrices, in words."""
    rows = over(table.rows(np.isin(table["model.value"], values)))
    for at, part in rows.cells("model.value", "world.tokens"):
        yield f"{at['model.value']}, n = {at['world.tokens']}", part


def share_of(good: Callable[[Table], np.ndarray], table: Table, *values: str) -> Estimate:
    """The share of draws that are good; lowest cell of some value matrices."""
    return lowest(together(((at, good(rows)) for at, rows in cells(table, *values)), rate))


@claim(
    "geometry.boolean",
    "In one dimension attention becomes a matrix of zeros and ones, but for one row, of rank one"
    " or two, in nine of ten draws or more.",
    AtLeast(0.9),
    at="geshkovski2023, the theorem for one dimension",
    fixed="pilot",
)
def boolean(table: Table) -> Estimate:
    """Share of draws with a second largest gap of at most .001 and rank at most 2; lowest n."""
    good = lambda rows: (rows["gap"] <= 1e-3) & (rows["rank"] <= 2)
    return share_of(good, table, "line")


@claim(
    "geometry.vertices",
    "With V = I tokens end at their leaders, and attention has one rank per leader, in nine of ten"
    " draws or more.",
    AtLeast(0.9),
    at="geshkovski2023, the theorem for V = I; that all end at vertices is observed",
    fixed="pilot",
)
def vertices(table: Table) -> Estimate:
    """Share of draws with a shell of at most .005 and as many ranks as leaders; lowest cell."""
    good = lambda rows: (rows["shell"] <= 0.005) & (rows["rank"] == rows["leaders"])
    return share_of(good, table, "plane", "space")


@claim(
    "geometry.leaders",
    "Leaders are vertices of the hull that the tokens had at the start, in nine of ten draws or"
    " more.",
    AtLeast(0.9),
    at="limelight, observed",
    fixed="pilot",
)
def leaders(table: Table) -> Estimate:
    """Share of draws in which every leader was a vertex; lowest cell."""
    return share_of(lambda rows: rows["vertices"], table, "plane", "space")


@claim(
    "geometry.hull",
    "With V = I the hull of the tokens shrinks.",
    AtMost(1e-6),
    at="geshkovski2023, the theorem for V = I",
    kind="identity",
    fixed="pilot",
)
def hull(table: Table) -> Estimate:
    """Largest increase of the hull's support in 128 directions, over the first diameter."""
    return largest({at: rows["growth"].max() for at, rows in cells(table, "plane", "space")})


@claim(
    "geometry.planes",
    "With one largest eigenvalue tokens end on at most three parallel hyperplanes, in nine of ten"
    " draws or more.",
    AtLeast(0.9),
    at="geshkovski2023, the theorem for a simple largest eigenvalue",
    fixed="pilot",
)
def planes(table: Table) -> Estimate:
    """Share of draws within .005 of the highest, the lowest or 0, over the range; lowest cell."""
    return share_of(lambda rows: rows["planes"] <= 0.005, table, "unequal", "coupled")


@claim(
    "geometry.mixed",
    "With V = diag(1, 1, -.5) two coordinates end as with V = I and the third spreads, in nine of"
    " ten draws or more.",
    AtLeast(0.9),
    at="geshkovski2023, the theorem for a mixed spectrum",
    fixed="pilot",
)
def mixed(table: Table) -> Estimate:
    """Share of draws with a shell of at most .01 and a spread that grows from T/2 to T."""
    good = lambda rows: (rows["shell"] <= 0.01) & (rows["spread"] > rows["spread.half"])
    return share_of(good, table, "mixed")


def draw(table: Table) -> Picture:
    """How far tokens are from where they should be, a mark per draw, and how many leaders."""
    n = table.values("world.tokens")[0]
    rows = table.where(world__tokens=n)
    names = [name for name in CASES if name in rows["model.value"]][::-1]
    left: list[Mark] = [Reference("", 0.005, vertical=True)]
    right: list[Mark] = []
    for place, name in enumerate(names):
        part = rows.where(model__value=name)
        off = {"line": "gap", "unequal": "planes", "coupled": "planes"}.get(name, "shell")
        jitter = place + 0.25 * np.linspace(-1, 1, len(part))
        left.append(Points("", np.maximum(part[off], 1e-12), jitter, colour=0, opacity=0.5))
        right.append(Points("", part["leaders"] + 0.0, jitter, colour=1, opacity=0.3))
    upwards = Axis(categories=[NAMES[name] for name in names])
    across = Axis("distance from the limit", log=True)
    return Picture(
        [
            Panel("", left, upwards, across),
            Panel("", right, upwards, "tokens that lead"),
        ],
        width=TWO_COLUMNS,
        height=1.2 + 0.3 * len(names),
        share="y",
        note=(f"n = {n}", "a mark per draw, 0 drawn at 1e-12", "line: .005"),
    )


def summary(table: Table) -> list[str]:
    """What is read of every case."""
    columns = {
        "gap": lambda rows: rows["gap"].max(),
        "shell": lambda rows: rows["shell"].max(),
        "planes": lambda rows: rows["planes"].max(),
        "leaders": "leaders",
        "rank": "rank",
        "vertices": lambda rows: rate(rows["vertices"]),
        "growth": lambda rows: rows["growth"].max(),
    }
    by = {"model.value": "V", "world.tokens": "n"}
    return tabulate(table, by, columns, title="tokens at the last time")


figure = Figure(
    statement="rescaled tokens end at one of two ends, at vertices of a polytope, or on at most"
    " three hyperplanes, by the value matrix",
    trial=TokenGeometry(),
    grid={RUN: list(CASES.values()), "world.tokens": [20, 40, 100]},
    trials=512,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={RUN: [(2, "plane", 8.0)], "world.tokens": [12]},
            settings={"looks": 4},
        ),
        small=Scale(trials=64, grid={"world.tokens": [20]}),
    ),
    claims=(boolean, vertices, leaders, hull, planes, mixed),
    pictures={"geometry": draw},
    findings={
        "geometry": (
            Finding("geometry.vertices", holds="With V = I tokens end at their leaders"),
            Finding("geometry.planes", holds="and with one largest eigenvalue on three planes"),
        )
    },
    summary=summary,
    reference="the theorems on limits, and the released code's settings",
    sizes="larger than the paper's: it shows single draws of 20 to 40 tokens, here are 512 of up to"
    " 100; the released code's other 3 x 3 matrices were not at hand",
    departures="Q and K are the identity; B = I. The theorem for V = I speaks of the boundary of a"
    " polytope or 0: that all tokens end at vertices is observed. The hull is watched through its"
    " support in 128 directions, which a larger hull could not hide from, instead of its volume",
)
