r"""Head and prompt trained together: all samples support the head, or one does not."""

from limelight.claims import Above, AtLeast, Estimate, Undecided
from limelight.experiments.joint_selection import JointSelection
from limelight.fit import tabulate
from limelight.papers.recipe import Figure, Finding, Scale, claim, scales
from limelight.papers.tarzanagh2023.reading import PAPER
from limelight.plot import WIDE, Axis, Panel, Picture, Points
from limelight.table import Table


def one(table: Table, name: str) -> Table:
    """The run of an arrangement."""
    rows = table.where(world__name=name)
    if not len(rows):
        raise Undecided("not in this table")
    return rows


@claim(
    "joint.tight",
    "Where every sample supports the head, the prompt follows the SVM of all samples.",
    AtLeast(0.999),
    at=f"{PAPER}, joint optimisation",
    kind="identity",
    fixed="pilot",
)
def tight(table: Table) -> Estimate:
    """Cosine of p to the SVM of all samples, `tight`, at the end."""
    return Estimate(float(one(table, "tight")["cosine.margin"][0]), None, 1)


@claim(
    "joint.loose",
    "Where a sample does not support the head, the prompt follows the relaxed SVM.",
    Above(0.01),
    at=f"{PAPER}, joint optimisation",
    kind="identity",
    fixed="pilot",
)
def loose(table: Table) -> Estimate:
    """Cosine of p to the relaxed SVM less that to the SVM of all samples, `loose`."""
    rows = one(table, "loose")
    value = float(rows["cosine.relaxed"][0] - rows["cosine.margin"][0])
    note = f"relaxed {rows['cosine.relaxed'][0]:.6f}, all {rows['cosine.margin'][0]:.4f}"
    return Estimate(value, None, 1, note)


COLUMNS = {
    "cosine.margin": "SVM of all samples",
    "cosine.relaxed": "relaxed SVM",
    "cosine.interpolated": "interpolated SVM",
}


def draw(table: Table) -> Picture:
    """Cosines of the prompt to the three SVMs."""
    names = list(table.values("world.name"))
    marks = [
        Points(
            label,
            [1 - one(table, name)[column][0] + 1e-12 for name in names],
            [i + 0.12 * (k - 1) for i in range(len(names))],
        )
        for k, (column, label) in enumerate(COLUMNS.items())
    ]
    across = Axis("1 - cosine of $p$, at the end", log=True)
    return Picture(
        [Panel("", marks, Axis(categories=names), across)],
        width=WIDE,
        height=2.2,
        note="no less than 1e-12 is drawn",
    )


def summary(table: Table) -> list[str]:
    """Cosines by arrangement."""
    columns = {
        **{label: column for column, label in COLUMNS.items()},
        "head": "cosine.head",
        "kappa": "kappa",
    }
    return tabulate(table, {"world.name": "world"}, columns, title="cosines at the end")


figure = Figure(
    statement="trained together, the head tends to its own SVM and the prompt to that of the"
    " samples that support it",
    trial=JointSelection(steps=20_000),
    grid={"world.name": ["tight", "loose"]},
    trials=1,
    scales=scales(
        smoke=Scale(settings={"steps": 100, "halvings": 4}), small=Scale(settings={"steps": 5_000})
    ),
    claims=(tight, loose),
    pictures={"joint": draw},
    findings={
        "joint": Finding(
            "joint.loose",
            holds="Where a sample does not support the head, the prompt follows the relaxed SVM",
        )
    },
    summary=summary,
    reference="joint optimisation of head and prompt",
    departures="descent with equal steps; the statement is on paths with bounds r and R",
)
