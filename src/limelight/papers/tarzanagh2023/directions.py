r"""Where gradient descent sends $W$ and $(K, Q)$, beside what the released notebooks can see."""

import numpy as np

from limelight.claims import Above, AtLeast, Estimate, Inside, Undecided
from limelight.experiments.token_selection import TokenSelection
from limelight.fit import tabulate
from limelight.fit.estimates import paired
from limelight.papers.recipe import Figure, Finding, Scale, claim, scales
from limelight.papers.tarzanagh2023.reading import PAPER, USABLE, mean, median, share, yes
from limelight.plot import TWO_COLUMNS, Axis, Panel, Picture, Series
from limelight.table import Table

ARM = ("model.form", "rule", "steps")
ARMS = {
    "$W$, exact direction": ("merged", "normalised"),
    "$(K, Q)$, exact direction": ("separate", "normalised"),
    "$W$, notebook": ("merged", "notebook"),
}


def arms(steps: int, stop: int) -> list[tuple]:
    """The three arms; the notebook's stops earlier."""
    return [
        ("merged", "normalised", steps),
        ("separate", "normalised", steps),
        ("merged", "notebook", stop),
    ]


def arm(table: Table, form: str, rule: str = "normalised") -> Table:
    """The rows of an arm, in the order of their worlds."""
    rows = table.where(model__form=form, rule=rule)
    if not len(rows):
        raise Undecided("not in this table")
    return rows.rows(np.argsort(rows["trial"]))


@claim(
    "directions.frobenius",
    "Descent on W reaches the largest margin of the Frobenius norm.",
    AtLeast(0.98),
    at=f"{PAPER}, global and local convergence of W",
    fixed="pilot",
)
def frobenius(table: Table) -> Estimate:
    """Mean margin ratio of W to the SVM of the selected tokens, at the end."""
    return mean(arm(table, "merged")["rho"])


@claim(
    "directions.cosine",
    "The direction of W is that of the Frobenius-norm SVM.",
    AtLeast(0.95),
    at=f"{PAPER}, global and local convergence of W",
    fixed="pilot",
)
def frobenius_cosine(table: Table) -> Estimate:
    """Share of worlds with a cosine of at least .999 to the SVM, W arm, at the end."""
    return share(arm(table, "merged")["cosine"] >= 0.999)


def _certified(rows: Table) -> np.ndarray:
    return rows["nuclear.gap"] <= 1e-4


@claim(
    "directions.nuclear",
    "Keys and queries reach the largest margin of the nuclear norm.",
    AtLeast(0.97),
    at=f"{PAPER}, separate keys and queries",
    fixed="pilot",
)
def nuclear(table: Table) -> Estimate:
    """Mean nuclear margin ratio, (K, Q) arm, certified solves."""
    rows = arm(table, "separate")
    known = _certified(rows)
    left = int((~known).sum())
    return mean(rows["nuclear.rho"][known], f"{left} solves uncertified" if left else "")


@claim(
    "directions.not-frobenius",
    "Keys and queries come nearer to the largest margin of the nuclear norm than W does, by 0.05"
    " or more: the two parameterisations differ.",
    Above(0.05),
    at=f"{PAPER}, W against (K, Q)",
    fixed="pilot",
)
def not_frobenius(table: Table) -> Estimate:
    """Nuclear margin ratio of (K, Q) less that of W, same worlds, mean; certified solves."""
    one, other = arm(table, "separate"), arm(table, "merged")
    known = _certified(one) & _certified(other)
    return paired(one["nuclear.rho"][known], other["nuclear.rho"][known], least=USABLE)


@claim(
    "directions.nuclear-cosine",
    "Read by the cosine, as the papers do, keys and queries have converged too.",
    AtLeast(0.9),
    at="limelight, on the papers' own statistic",
    fixed="pilot",
)
def nuclear_cosine(table: Table) -> Estimate:
    """Share of worlds with a cosine of at least .99 to the nuclear solution, (K, Q) arm."""
    return share(arm(table, "separate")["nuclear.cosine"] >= 0.99)


@claim(
    "directions.local",
    "What is selected is locally optimal.",
    AtLeast(0.98),
    at=f"{PAPER}, local convergence",
    fixed="pilot",
)
def local(table: Table) -> Estimate:
    """Share of locally optimal choices among settled worlds, W arm."""
    rows = arm(table, "merged")
    return share(yes(rows, "local")[yes(rows, "settled")])


@claim(
    "directions.floor",
    "The notebooks' steps stop at a rounding floor, log 2^53 = 36.7.",
    Inside(30.0, 45.0),
    at="limelight, on the released notebooks",
    fixed="pilot",
)
def floor(table: Table) -> Estimate:
    """Median scaled radius of the notebook's arm at its end."""
    return median(arm(table, "merged", "notebook")["radius"])


def draw(table: Table) -> Picture:
    """One less the margin ratio and the scaled radius over the steps, medians and quartiles."""
    left, right = [], []
    for label, (form, rule) in ARMS.items():
        rows = table.where(model__form=form, rule=rule)
        looks = rows["trace.rho"].shape[1]
        steps = np.arange(1, looks + 1) * int(rows.setting("steps")) / looks
        for marks, values in ((left, 1 - rows["trace.rho"]), (right, rows["trace.radius"])):
            low, middle, high = np.percentile(values, [25, 50, 75], axis=0)
            marks.append(Series(label, steps, middle, low, high))
    across = Axis("steps", log=True)
    return Picture(
        [
            Panel("to the Frobenius SVM", left, Axis("1 - margin ratio", log=True), across),
            Panel("how far out", right, Axis("scaled radius $c$", log=True), across),
        ],
        width=TWO_COLUMNS,
        height=3.0,
        note="medians, bands: quartiles of worlds; (K, Q) has another norm's margin",
    )


def summary(table: Table) -> list[str]:
    """Shares and medians by arm."""
    columns = {
        "margin ratio": "rho",
        "cosine": lambda rows: np.median(rows["cosine"]),
        "nuclear ratio": lambda rows: np.nanmedian(rows["nuclear.rho"]),
        "c": lambda rows: np.median(rows["radius"]),
        "settled": "settled",
        "local": "local",
        "global": "global",
        "worst error": lambda rows: rows["error"].max(),
    }
    by = {"model.form": "form", "rule": "rule", "steps": "steps"}
    return tabulate(table, by, columns, title="at the end; means, but medians of cosine and c")


figure = Figure(
    statement="descent on W converges in direction to the Frobenius-norm SVM of the tokens that it"
    " selects, on (K, Q) to the nuclear-norm one",
    trial=TokenSelection(nuclear=True, looks=20),
    grid={ARM: arms(20_000, 2_000)},
    trials=1000,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={ARM: arms(200, 200)},
            settings={"looks": 4, "samples": 3, "world.tokens": 4, "world.dimension": 4},
        ),
        small=Scale(trials=100, grid={ARM: arms(5_000, 2_000)}),
    ),
    claims=(frobenius, frobenius_cosine, nuclear, not_frobenius, nuclear_cosine, local, floor),
    pictures={"directions": draw},
    findings={
        "directions": (
            "directions.frobenius",
            Finding("directions.floor", holds="but the notebooks' steps stop on the way"),
        )
    },
    summary=summary,
    reference="the figures on the direction of W and of (K, Q)",
    departures="gradients whose direction is exact at any radius; the notebook's rule is an arm of"
    " its own. (K, Q) is judged by its margin ratio, since nuclear solutions are nearly not unique",
    remark="the nuclear solution is nearly not unique: a full margin goes with many directions, so"
    " that (K, Q) can pass by its margin and fail by its cosine",
    sizes="ours: n = 6, T = 8, d = 10, as in the released notebooks; 1,000 worlds, looked at"
    " 20 times, where 50 were meant",
    shared=ARM,
)
