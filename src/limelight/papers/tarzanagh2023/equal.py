r"""Equal scores: no finite stationary point, and the best tokens from a moderate start."""

import numpy as np

from limelight.claims import Above, AtLeast, Estimate
from limelight.experiments.token_selection import TokenSelection
from limelight.fit import tabulate
from limelight.fit.estimates import lowest, together
from limelight.papers.recipe import Figure, Finding, Scale, claim, scales
from limelight.papers.tarzanagh2023.reading import PAPER, share, yes
from limelight.plot import WIDE, Axis, Panel, Picture, Points
from limelight.table import Table
from limelight.worlds.selections import Selections

SIZE = ("line", "samples", "world.tokens", "world.dimension")
#: The share of worlds that `equal.global` asks for.
LEVEL = 0.98
SIZES = [("many tokens", 6, 8, 10), ("two tokens", 6, 2, 10), ("narrow", 6, 2, 4)]


@claim(
    "equal.global",
    "With equal scores descent from a moderate start finds the best tokens.",
    AtLeast(LEVEL),
    at=f"{PAPER}, global convergence with equal scores",
    fixed="pilot",
)
def from_moderate(table: Table) -> Estimate:
    """Share that ends with the best tokens among separable worlds, d = 10, scale 1; lowest."""
    cells = []
    for name in ("many tokens", "two tokens"):
        rows = table.where(line=name, model__scale=1.0)
        cells.append((name, yes(rows, "global")[yes(rows, "feasible")]))
    return lowest(together(cells, share))


@claim(
    "equal.not-any-start",
    "With equal scores descent does not find the best tokens from every start: a large one can keep"
    " others for ever.",
    Above(0.05),
    at="limelight, on tarzanagh2023, global convergence with equal scores",
    fixed="pilot",
)
def not_any_start(table: Table) -> Estimate:
    """Share that ends locally optimal and not with the best tokens, (6, 2, 4), scale 30."""
    rows = table.where(line="narrow", model__scale=30.0)
    return share(yes(rows, "local") & yes(rows, "settled") & ~yes(rows, "global"))


def draw(table: Table) -> Picture:
    """Where runs end, by world and start."""
    names, marks = [], []
    kinds = {
        "all best tokens": lambda rows: yes(rows, "global"),
        "others, locally optimal": lambda rows: (
            ~yes(rows, "global") & yes(rows, "local") & yes(rows, "settled")
        ),
    }
    cells = [(where, rows) for where, rows in table.cells(*SIZE, "model.scale")]
    for where, _ in cells:
        n, T, d = (where[name] for name in SIZE[1:])
        names.append(f"({n}, {T}, {d}), scale {where['model.scale']:g}")
    for i, (label, read) in enumerate(kinds.items()):
        found = [share(read(rows)) for _, rows in cells]
        ends = np.array([e.interval for e in found])
        places = np.arange(len(cells)) + 0.12 * (i - 0.5)
        marks.append(
            Points(label, [e.value for e in found], places, x_low=ends[:, 0], x_high=ends[:, 1])
        )
    across = Axis("share of worlds", limits=(-0.02, 1.02))
    return Picture(
        [Panel("", marks, Axis(categories=names), across)],
        width=WIDE,
        height=3.0,
        note="(n, T, d); scale of the start; bars: 95 % intervals",
    )


def summary(table: Table) -> list[str]:
    """Shares by cell."""
    columns = {
        "global": "global",
        "local": "local",
        "settled": "settled",
        "feasible": "feasible",
        "cosine": lambda rows: np.median(rows["cosine"]),
    }
    by = {"samples": "n", "world.tokens": "T", "world.dimension": "d", "model.scale": "scale"}
    return tabulate(table, by, columns, title="one token scores 1, the others 1/2")


figure = Figure(
    statement="with equal scores of the other tokens descent converges to the best ones",
    trial=TokenSelection(world=Selections("levels"), steps=20_000),
    grid={SIZE: SIZES, "model.scale": [1.0, 30.0]},
    trials=500,
    scales=scales(
        smoke=Scale(trials=2, grid={SIZE: SIZES[2:]}, settings={"steps": 100}),
        small=Scale(trials=100, settings={"steps": 5_000}),
    ),
    claims=(not_any_start,),
    pictures={"equal": draw},
    findings={
        "equal": Finding(
            "equal.not-any-start",
            holds="With equal scores a large start can keep other tokens for ever",
        )
    },
    summary=summary,
    reference="global convergence, equal scores",
    departures="scores are given as a table; starts thirty times the usual one are ours",
    shared=("model.scale",),
)
