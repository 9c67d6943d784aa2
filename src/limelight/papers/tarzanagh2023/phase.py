r"""How often every sample selects its best token, over $d$, $n$ and $T$."""

import numpy as np

from limelight.claims import Above, AtLeast, AtMost, Below, Estimate, Undecided
from limelight.experiments.token_selection import TokenSelection
from limelight.fit import tabulate
from limelight.fit.estimates import lowest, share_gap, together
from limelight.papers.recipe import Figure, Finding, Scale, claim, claims, scales
from limelight.papers.tarzanagh2023.reading import PAPER, USABLE, share, yes
from limelight.plot import TWO_COLUMNS, Axis, Map, Panel, Picture, Points
from limelight.table import Table

SIZE = ("line", "samples", "world.tokens", "world.dimension")
START = ("model.scale", "first")
#: From zero, from a random start, and from zero with a long first step.
ZERO, RANDOM, LONG = (0.0, 0.0), (1.0, 0.0), (0.0, 100.0)
AXES = {"d": "world.dimension", "n": "samples", "T": "world.tokens"}


def line(name: str, values: tuple[int, ...]) -> list[tuple]:
    """Cells along one size, the others at (6, 8, 10)."""
    place = "nTd".index(name)
    return [(name, *((6, 8, 10)[:place]), v, *((6, 8, 10)[place + 1 :])) for v in values]


LINES = [
    *line("d", (2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48)),
    *line("n", (1, 2, 3, 4, 6, 8, 10, 12, 16)),
    *line("T", (2, 3, 4, 6, 8, 12, 16, 24)),
]
PLANE = [("plane", n, 8, d) for n in (2, 4, 8, 16) for d in (4, 8, 16, 32, 64)]


def at(table: Table, start: tuple[float, float] = ZERO) -> Table:
    """The rows of a start."""
    rows = table.where(model__scale=start[0], first=start[1])
    if not len(rows):
        raise Undecided("not in this table")
    return rows


def along(table: Table, name: str) -> list[tuple[int, Table]]:
    """Cells of a line, from the smallest size."""
    rows = at(table).where(line=name)
    return [
        (int(v), rows.where(**{AXES[name].replace(".", "__"): v})) for v in rows.values(AXES[name])
    ]


@claim(
    "phase.not-sure",
    "Descent need not find the best tokens, though they can be separated.",
    AtMost(0.8),
    fixed="pilot",
)
def not_sure(table: Table) -> Estimate:
    """Share of worlds that end with the best tokens, n = 6, T = 8, d = 10, from zero."""
    return share(dict((v, yes(rows, "global")) for v, rows in along(table, "d"))[10])


@claims(
    "phase.{name}",
    "More {what} {moves} the share of worlds that end with the best tokens.",
    Above(0.3),
    at=f"{PAPER}, over-parameterisation",
    fixed="pilot",
    cases=({"name": "d", "what": "dimensions", "moves": "raise", "sign": 1.0},),
)
def rises(table: Table, name: str, sign: float) -> Estimate:
    """Share at the last value of the line less that at the first, from zero, Newcombe's interval;
    all of {name}.
    """
    return _ends(table, name)


@claims(
    "phase.{name}",
    "More {what} lower the share of worlds that end with the best tokens.",
    Below(-0.3),
    at=f"{PAPER}, over-parameterisation",
    fixed="pilot",
    cases=({"name": "n", "what": "samples"}, {"name": "T", "what": "tokens"}),
)
def falls(table: Table, name: str) -> Estimate:
    """Share at the last value of the line less that at the first, from zero, Newcombe's interval;
    all of {name}.
    """
    return _ends(table, name)


def _ends(table: Table, name: str) -> Estimate:
    (low, one), *_, (high, other) = along(table, name)
    first, last = yes(one, "global"), yes(other, "global")
    note = f"{name} = {low}: {first.mean():.3g}, {high}: {last.mean():.3g}"
    return share_gap(last, first, least=USABLE, note=note)


@claim(
    "phase.monotone",
    "From one dimension of the grid to the next, the share of worlds that end with the best tokens"
    " falls by at most 0.1.",
    AtLeast(-0.1),
    at=f"{PAPER}, over-parameterisation",
    fixed="pilot",
)
def monotone(table: Table) -> Estimate:
    """Smallest difference of neighbours along d, Newcombe's intervals at a tenth of the error."""
    cells = [(d, yes(rows, "global")) for d, rows in along(table, "d")]
    steps = [
        (f"{low} to {high}", (more, less))
        for (low, less), (high, more) in zip(cells[:-1], cells[1:], strict=True)
    ]
    return lowest(together(steps, lambda pair, level: share_gap(*pair, level=level, least=USABLE)))


@claims(
    "phase.first-step{suffix}",
    "Where the first gradient raises every gap, {what} finds the best tokens.",
    AtLeast(0.98),
    at="{source}",
    cases=(
        {
            "suffix": "",
            "what": "descent with short steps",
            "start": ZERO,
            "source": "limelight, on tarzanagh2023, global convergence",
            "fixed": "pilot",
        },
        {
            "suffix": ".long",
            "what": "descent with a long first step",
            "start": LONG,
            "source": f"{PAPER}, global convergence",
            "fixed": "before",
        },
    ),
)
def first_step(table: Table, start: tuple[float, float]) -> Estimate:
    """Share that ends with the best tokens among worlds whose first gradient raises every gap."""
    rows = at(table, start)
    good = yes(rows, "first_step") & yes(rows, "feasible")
    return share(yes(rows, "global")[good])


@claim(
    "phase.feasible",
    "With no more samples than dimensions the best tokens can be separated, whatever T.",
    AtLeast(0.99),
    at=f"{PAPER}, over-parameterisation; T is limelight's",
    kind="identity",
)
def feasible(table: Table) -> Estimate:
    """Smallest share of worlds whose best tokens can be separated, cells with n at most d."""
    return _separable(table, lambda n, T, d: n <= d)


@claim(
    "phase.overparameterised",
    "The printed condition d >= max(n, T - 1) is not necessary.",
    AtLeast(0.99),
    at="limelight, on tarzanagh2023, over-parameterisation",
    kind="identity",
)
def overparameterised(table: Table) -> Estimate:
    """Smallest share of worlds whose best tokens can be separated, n at most d below T - 1."""
    return _separable(table, lambda n, T, d: n <= d < T - 1)


def _separable(table: Table, wanted) -> Estimate:
    cells = []
    for where, rows in at(table).cells(*SIZE):
        n, T, d = (int(where[name]) for name in SIZE[1:])
        if wanted(n, T, d):
            cells.append((f"({n}, {T}, {d})", float(yes(rows, "feasible").mean()), len(rows)))
    if not cells:
        raise Undecided("not in this table")
    name, value, _ = min(cells, key=lambda cell: cell[1])
    total = sum(cell[2] for cell in cells)
    return Estimate(value, None, total, f"{len(cells)} cells, lowest at {name}")


def draw(table: Table) -> Picture:
    """Shares over the three lines, from zero: global, locally optimal, separable."""
    panels = []
    words = {
        "global": "all best tokens",
        "local": "locally optimal",
        "feasible": "best tokens separable",
    }
    titles = {"d": "$n = 6$, $T = 8$", "n": "$T = 8$, $d = 10$", "T": "$n = 6$, $d = 10$"}
    for name, title in titles.items():
        cells = along(table, name)
        if not cells:
            continue
        x = [v for v, _ in cells]
        marks = []
        for column, label in words.items():
            found = [share(yes(rows, column)) for _, rows in cells]
            ends = np.array([e.interval for e in found])
            marks.append(Points(label, x, [e.value for e in found], *ends.T))
        panels.append(
            Panel(
                title,
                marks,
                Axis("share of worlds", limits=(-0.03, 1.03)),
                Axis(f"${name}$", log=True, ticks=x[:: max(1, len(x) // 5)]),
            )
        )
    note = "from zero; bars: 95 % intervals"
    return Picture(panels, width=TWO_COLUMNS, height=2.8, share="y", note=note)


def plane(table: Table) -> Picture:
    """The share of worlds that end with the best tokens, over n and d."""
    rows = at(table).where(line="plane")
    if not len(rows):
        rows = at(table)
    n, d = rows.values("samples")[::-1], rows.values("world.dimension")
    mean = lambda part: yes(part, "global").mean() if len(part) else np.nan
    values = [[mean(rows.where(samples=a, world__dimension=b)) for b in d] for a in n]
    ticks = lambda entries: {i + 0.5: f"{value:g}" for i, value in enumerate(entries)}
    marks = [
        Map(
            values,
            "share with all best tokens",
            low=0,
            high=1,
            numbers=len(d) < 8,
            square=False,
            missing="hatched",
        )
    ]
    return Picture(
        [
            Panel(
                "$T = 8$",
                marks,
                Axis("samples $n$", ticks=ticks(n)),
                Axis("dimension $d$", ticks=ticks(d)),
            )
        ],
        height=2.8,
        note="from zero",
    )


def summary(table: Table) -> list[str]:
    """Shares by cell."""
    columns = {
        "global": "global",
        "local": "local",
        "settled": "settled",
        "feasible": "feasible",
        "first step": "first_step",
        "late switch": "switched",
    }
    by = {
        "line": "line",
        "samples": "n",
        "world.tokens": "T",
        "world.dimension": "d",
        "model.scale": "start",
        "first": "first step",
    }
    return tabulate(table, by, columns, title="shares of worlds", most=40)


figure = Figure(
    statement="over-parameterisation makes convergence to the best tokens likely",
    trial=TokenSelection(steps=5_000),
    grid={SIZE: [*LINES, *PLANE], START: [ZERO, RANDOM, LONG]},
    trials=500,
    scales=scales(
        smoke=Scale(
            trials=2, grid={SIZE: [*line("d", (2, 4)), *line("n", (2,))]}, settings={"steps": 100}
        ),
        small=Scale(trials=100, grid={SIZE: LINES}, settings={"steps": 2_000}),
    ),
    claims=(not_sure, *rises, *falls, monotone, *first_step, feasible, overparameterised),
    pictures={"phase": draw, "plane": plane},
    findings={
        "phase": "phase.not-sure",
        "plane": (
            Finding("phase.d", holds="Dimensions help descent to find the best tokens"),
            Finding("phase.n", holds="while samples hinder it"),
        ),
    },
    summary=summary,
    reference="the figures on over-parameterisation",
    departures="the papers vary d; n and T, the plane, and the long first step are ours. The share"
    " depends on the horizon: some worlds switch tokens late",
    sizes="ours: 500 worlds per cell, 5,000 steps; the papers draw 100 or so",
    shared=START,
)
