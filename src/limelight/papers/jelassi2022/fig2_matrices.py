"""Figure 2, right: the matrices of students that reach a small error, beside their sets.

`fig2` measures many students and keeps numbers. Here are fewer, with their matrices.
"""

from dataclasses import replace

import numpy as np

from limelight.claims import Estimate, Inside
from limelight.experiments.students import StudentMatrices
from limelight.fit import tabulate
from limelight.fit.estimates import mean, missing
from limelight.papers.jelassi2022 import fig2
from limelight.papers.jelassi2022.fig2 import NAMES
from limelight.papers.jelassi2022.fig4 import logits, mask
from limelight.papers.recipe import Finding, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Picture
from limelight.table import Table

STUDENT = "lesson.student"
MATRICES = {"free": "$A$ of (T), free", "gram": "$A = P^T P$ of (T)", "vit": "$P^T P$ of the ViT"}


def matrices(rows: Table) -> np.ndarray:
    """What association is read off, one matrix per seed, its diagonal left out."""
    patches = rows["trace.sets"].shape[1]
    found = rows["trace.scores"].reshape(-1, patches, patches).astype(float)
    found[:, np.arange(patches), np.arange(patches)] = np.nan
    return found


def told_apart(rows: Table) -> np.ndarray:
    """How often an entry of two patches of one set is above one of two sets, by seed.

    Ties count half: 1 where the sets are seen at a glance, a half where they are not.
    """
    found = []
    for scores, sets in zip(matrices(rows), rows["trace.sets"], strict=True):
        same = sets[:, None] == sets[None, :]
        off = ~np.eye(len(sets), dtype=bool)
        within, across = scores[same & off][:, None], scores[~same][None, :]
        found.append(np.mean((within > across) + 0.5 * (within == across)))
    return np.array(found)


@claim(
    "fig2.random",
    "The learned P^T P of a ViT looks random: an entry of two patches of one set is above one of"
    " two sets as often as below, within a tenth.",
    Inside(0.4, 0.6),
    at="jelassi2022, Figure 2 (lower right); the level is ours",
    fixed="pilot",
)
def random(table: Table) -> Estimate:
    """Share of pairs of entries, one inside a set and one across, of which the first is larger,
    diagonal left out, mean over seeds of the ViT.
    """
    rows = table.rows(table[STUDENT] == "vit")
    return mean(told_apart(rows)) if len(rows) else missing("no ViT in this table")


def summary(table: Table) -> list[str]:
    """What the matrices tell of the sets, beside the errors."""
    columns = {
        "seeds": len,
        "error": lambda rows: np.median(rows["error"]),
        "linear": lambda rows: np.median(rows["linear"]),
        "inside above across": lambda rows: mean(told_apart(rows)),
    }
    cells = [({"student": NAMES[at[STUDENT]]}, rows) for at, rows in table.cells(STUDENT)]
    return tabulate(cells, "student", columns, title="medians, and means with intervals")


def draw(table: Table) -> Picture:
    """The matrix of one student of each kind beside the mask of the sets, in place and sorted."""
    first = table.where(trial=table["trial"].min())
    cells = [(at[STUDENT], matrices(rows)[0]) for at, rows in first.cells(STUDENT)]
    sets = first["trace.sets"][0]
    panels = []
    for order, words in (
        (np.arange(len(sets)), "in place"),
        (np.argsort(sets, kind="stable"), "sorted by set"),
    ):
        top = not panels
        panels.append(mask(sets, order, "same set" if top else "", words))
        panels += [logits(A, order, MATRICES[name] if top else "") for name, A in cells]
    return Picture(
        panels,
        len(cells) + 1,
        TWO_COLUMNS,
        3.6,
        note=(
            "the first seed; light: large, each square on its own scale; grey: the diagonal",
            "entries inside a set above those across, mean over seeds: "
            + ", ".join(
                f"{NAMES[at[STUDENT]]} {np.mean(told_apart(rows)):.2f}"
                for at, rows in table.cells(STUDENT)
            ),
        ),
    )


figure = replace(
    fig2.figure,
    statement="the learned P^T P looks random compared to the sets",
    trial=StudentMatrices(fig2.TRIAL),
    grid={STUDENT: list(NAMES)},
    trials=10,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={STUDENT: ["gram"]},
            settings={"lesson.steps": 300, "lesson.examples": 4000, "lesson.tests": 4000},
        ),
        small=Scale(
            trials=5, grid={STUDENT: ["free", "gram"]}, settings={"lesson.examples": 20_000}
        ),
    ),
    claims=(random,),
    pictures={"matrices": draw},
    findings={
        "matrices": Finding(
            "fig2.random",
            holds="The learned matrix of the ViT does not show the sets",
            fails="The learned matrix of a ViT is not random: entries inside a set are above others"
            " in {value:.0%} of pairs",
        )
    },
    summary=summary,
    reference="Figure 2, right",
)
