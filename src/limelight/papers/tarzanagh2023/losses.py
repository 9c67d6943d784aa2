r"""Two samples and three losses: the direction is the same, what stays off it is not."""

import numpy as np

from limelight.claims import AtMost, Estimate, Undecided
from limelight.experiments.token_selection import TokenSelection
from limelight.fit import tabulate
from limelight.models.token_selector import TokenSelector
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import WIDE, Axis, Guide, Panel, Picture, Points
from limelight.table import Table
from limelight.theory.tarzanagh2023.rates import pair_offset
from limelight.worlds.selections import Arrangements

LEVELS = (1.0, 2.0, 5.0, 10.0, 100.0)


@claim(
    "losses.offset",
    "The prompt stays off its direction by a closed form of the loss.",
    AtMost(0.01),
    at="limelight, on the released notebooks",
    fixed="pilot",
    kind="deterministic",
)
def offset(table: Table) -> Estimate:
    """Largest distance of p2 from its closed form, C at most 10, all losses."""
    found = {}
    for at, rows in table.cells("loss", "world.level"):
        if at["world.level"] <= 10:
            name = f"{at['loss']}, C = {at['world.level']:g}"
            found[name] = abs(float(rows["y"][0]) - pair_offset(at["world.level"], at["loss"]))
    if not found:
        raise Undecided("not in this table")
    worst = [*found][np.argmax([*found.values()])]
    return Estimate(found[worst], None, len(found), f"at {worst}")


def draw(table: Table) -> Picture:
    """p2 at the end and its closed form, over C."""
    fine, marks = np.geomspace(1, 100, 60), []
    for loss in ("linear", "logistic", "exp"):
        rows = table.where(loss=loss)
        if len(rows):
            marks.append(Points(loss, rows["world.level"], rows["y"]))
            marks.append(Guide(loss, fine, [pair_offset(c, loss) for c in fine]))
    across = Axis("score $C$ of the first sample's token", log=True, ticks=LEVELS)
    return Picture(
        [Panel("", marks, "$p_2$ at the end", across)],
        width=WIDE,
        height=3.0,
        note="lines: closed form",
    )


def summary(table: Table) -> list[str]:
    """p2 and its closed form."""
    form = lambda rows: pair_offset(float(rows.setting("world.level")), rows["loss"].tolist()[0])
    columns = {"p1": "x", "p2": "y", "closed form": form, "cosine": "cosine"}
    return tabulate(table, {"loss": "loss", "world.level": "C"}, columns, title="at the end")


figure = Figure(
    statement="what does the loss leave in the direction of the prompt?",
    trial=TokenSelection(
        world=Arrangements("pair"), samples=0, model=TokenSelector(start="point"), steps=20_000
    ),
    grid={"loss": ["linear", "logistic", "exp"], "world.level": list(LEVELS)},
    trials=1,
    scales=scales(
        smoke=Scale(grid={"loss": ["linear"], "world.level": [1.0, 2.0]}, settings={"steps": 200}),
        small=Scale(settings={"steps": 5_000}),
    ),
    claims=(offset,),
    pictures={"losses": draw},
    findings={"losses": "losses.offset"},
    summary=summary,
    reference="limelight, on the figure with two samples",
    departures="ours: the closed form is derived here",
)
