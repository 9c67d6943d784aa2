r"""Three tokens in the plane: the basins of two tokens; and arrangements beyond the statements."""

import numpy as np

from limelight.claims import AtMost, Estimate
from limelight.experiments.token_selection import TokenSelection
from limelight.fit import tabulate
from limelight.models.token_selector import TokenSelector
from limelight.papers.recipe import Figure, Finding, Scale, claim, scales
from limelight.papers.tarzanagh2023.reading import PAPER
from limelight.plot import TWO_COLUMNS, Axis, Guide, Panel, Picture, Reference
from limelight.table import Table
from limelight.theory.tarzanagh2023.svm import max_margin
from limelight.worlds.selections import Arrangements

RUN = ("world.name", "model.x", "model.y", "first")
HEIGHTS = (1.0, 0.5, 0.0, -0.5, -1.0, -1.5)
STARTS = [(name, 0.0, y, 0.0) for name in ("uneven", "equal") for y in HEIGHTS]
#: Where the token of the first sample, or of the last one, must end.
BEYOND = {
    ("x1", 0.0, 0.0, 0.0): 1,
    ("x1", 0.0, 5.0, 0.0): 0,
    ("x2", 10.0, 0.0, 0.0): 0,
    ("x2", 30.0, 0.0, 0.0): 1,
    ("x3", 0.0, 0.0, 0.0): 3,
    ("x3", 0.0, 0.0, 0.5): 0,
    ("x4", 3.0, 0.5, 0.0): 0,
    ("x4", 10.0, 1.0, 0.0): 0,
    ("x4", 30.0, -3.0, 0.0): 0,
}


#: What a picture says of its lines.
NOTE = (
    f"a line per start: $x$ = 0, $y$ = {', '.join(f'{y:g}' for y in HEIGHTS)}",
    "normalised steps of 0.1",
)


def astray(table: Table, names: tuple[str, ...], wanted) -> Estimate:
    """Runs of some arrangements that end elsewhere than they should."""
    wrong, n = [], 0
    for where, rows in table.cells(*RUN):
        if where["world.name"] in names:
            n += 1
            key = tuple(where[name] for name in RUN)
            if int(rows["last_token"][0]) != wanted(key):
                wrong.append(str(key))
    return Estimate(float(len(wrong)), None, n, ", ".join(wrong))


@claim(
    "planar.starts",
    "With uneven scores a low start keeps a worse token for ever; with equal ones every start"
    " finds the best.",
    AtMost(0.0),
    at=f"{PAPER}, local convergence",
    kind="identity",
)
def starts(table: Table) -> Estimate:
    """Runs of twelve that end elsewhere: token 1 for uneven scores from y at most -1, else 0."""
    return astray(table, ("uneven", "equal"), lambda key: int(key[0] == "uneven" and key[2] <= -1))


@claim(
    "planar.beyond",
    "What the recalled statements leave out: other ends than the best tokens, and one better"
    " support token that is never chosen.",
    AtMost(0.0),
    at="limelight, on tarzanagh2023",
    kind="identity",
)
def beyond(table: Table) -> Estimate:
    """Runs of the arrangements x1 to x4 that end elsewhere than derived."""
    return astray(table, ("x1", "x2", "x3", "x4"), lambda key: BEYOND[key])


def draw(table: Table) -> Picture:
    """The direction of the prompt over the steps, from six starts, for both tables of scores."""
    panels = []
    for name in ("uneven", "equal"):
        rows = table.where(world__name=name)
        if not len(rows):
            continue
        marks: list = []
        for y in HEIGHTS:
            part = rows.where(model__y=y)
            if not len(part):
                continue
            angle = np.degrees(np.arctan2(part["trace.y"][0], part["trace.x"][0]))
            steps = np.arange(1, len(angle) + 1) * int(table.setting("steps")) / len(angle)
            end = "the best token" if int(part["last_token"][0]) == 0 else "a worse token"
            marks.append(Guide(f"ends at {end}", steps, angle, width=1.4))
        tokens, scores, _ = Arrangements(name).arrays()
        for token in (0, 1):
            p = max_margin(tokens, np.ones((1, 1)), [token]).weights[:, 0]
            place = float(np.degrees(np.arctan2(p[1], p[0])))
            marks.append(Reference("SVMs of the first two tokens", place))
        title = f"scores {', '.join(f'{s:g}' for s in scores[0])}"
        panels.append(Panel(title, marks, "direction of $p$, degrees", Axis("steps", log=True)))
    return Picture(panels, width=TWO_COLUMNS, height=3.2, share="y", note=NOTE)


def summary(table: Table) -> list[str]:
    """Where each run ends."""
    columns = {
        "token": "token",
        "last sample's": "last_token",
        "p1": "x",
        "p2": "y",
        "cosine": "cosine",
    }
    by = {"world.name": "world", "model.x": "x", "model.y": "y", "first": "first step"}
    return tabulate(table, by, columns, title="at the end")


figure = Figure(
    statement="descent converges to a locally optimal token that depends on the start",
    trial=TokenSelection(
        world=Arrangements("uneven"),
        samples=0,
        model=TokenSelector(start="point"),
        steps=20_000,
        looks=400,
    ),
    grid={RUN: [*STARTS, *BEYOND]},
    trials=1,
    scales=scales(
        smoke=Scale(grid={RUN: STARTS[:6]}, settings={"steps": 200, "looks": 20}),
        small=Scale(settings={"steps": 2_000}),
    ),
    claims=(starts, beyond),
    pictures={"planar": draw},
    findings={
        "planar": Finding(
            "planar.starts", holds="With uneven scores low starts keep a worse token for ever"
        )
    },
    summary=summary,
    reference="the figure with three tokens in the plane",
    departures="the arrangements x1 to x4 are ours; the edge of the basin is not bisected",
)
