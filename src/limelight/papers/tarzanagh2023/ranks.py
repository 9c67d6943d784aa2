r"""Ranks of the Frobenius and the nuclear solution; infeasible draws are no ranks."""

import re
from dataclasses import replace

import numpy as np

from limelight.claims import Above, Estimate, Undecided
from limelight.experiments.margin_ranks import MarginRanks
from limelight.fit import tabulate
from limelight.fit.estimates import lowest, together
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.papers.tarzanagh2023.reading import PAPER, mean, share, yes
from limelight.plot import TWO_COLUMNS, Axis, Panel, Picture, Points, Series
from limelight.table import Table

SIZE = ("line", "samples", "world.tokens", "world.dimension")
D = "world.dimension"
PAIRS = ((5, 5), (10, 5), (15, 5), (5, 10), (5, 15))


def sizes(pairs, dimensions) -> list[tuple]:
    """Cells; those with the same samples and tokens share a program."""
    return [(f"({n}, {T})", n, T, d) for n, T in pairs for d in dimensions]


def named(at) -> str:
    """A cell in words."""
    return f"{at['line']}, d = {at[D]}"


@claim(
    "ranks.nuclear",
    "The nuclear solution has the lower rank.",
    Above(0.0),
    at=f"{PAPER}, W against (K, Q)",
    fixed="pilot",
)
def lower(table: Table) -> Estimate:
    """Mean rank, Frobenius less nuclear, certified solves; lowest cell with n at most d."""
    found = [(at, rows) for at, rows in table.cells(*SIZE) if at["samples"] <= at[D]]
    gaps = ((named(at), (rows["rank"] - rows["rank.nuclear"])) for at, rows in found)
    return lowest(together(((name, gap[np.isfinite(gap)]) for name, gap in gaps), mean))


@claim(
    "ranks.dropped",
    "Where the dimension is small most draws are infeasible, and the notebook counts them as"
    " rank 1.",
    Above(0.5),
    at="limelight, on the released notebooks",
    fixed="pilot",
)
def dropped(table: Table) -> Estimate:
    """Share of infeasible draws; the cell with most of them, d at least 2."""
    cells = [(named(at), ~yes(rows, "feasible")) for at, rows in table.cells(*SIZE) if at[D] >= 2]
    if not cells:
        raise Undecided("not in this table")
    name, worst = max(together(cells, share), key=lambda cell: cell[1].value)
    return replace(worst, note=f"the worst cell, (n, T) = {name}")


def draw(table: Table) -> Picture:
    """Ranks and shares of infeasible draws over d."""
    left, right = [], []
    for at, rows in table.cells("line"):
        left.append([])
        d = rows.values("world.dimension")
        parts = [rows.where(world__dimension=v) for v in d]
        with np.errstate(all="ignore"):
            for column, form in (("rank", Points), ("rank.nuclear", Series)):
                known = [p[column][np.isfinite(p[column])] for p in parts]
                y = [v.mean() if len(v) else np.nan for v in known]
                left[-1].append(form(f"$(n, T)$ = {at['line']}", d, y))
        shares = [share(~yes(p, "feasible")) for p in parts]
        right.append([Series(f"$(n, T)$ = {at['line']}", d, [e.value for e in shares])])
    across = Axis("dimension $d$", log=True, ticks=table.values("world.dimension"))
    ranks, share_of = (
        Axis("mean rank, feasible draws"),
        Axis("share of draws", limits=(-0.03, 1.03)),
    )
    lines = [tuple(map(int, re.findall(r"\d+", str(at["line"])))) for at, _ in table.cells("line")]
    parts = []
    for words, which in (("more samples", 0), ("more tokens", 1)):
        # The pairs in which only this number is not the smallest.
        here = [i for i, pair in enumerate(lines) if pair[1 - which] == lines[0][1 - which]]
        if len(here) > 1 or not parts:
            parts += [
                Panel(f"ranks, {words}", [m for i in here for m in left[i]], ranks, across),
                Panel(
                    f"infeasible, {words}", [m for i in here for m in right[i]], share_of, across
                ),
            ]
    size = {"columns": 2, "width": TWO_COLUMNS, "height": 0.2 + 1.45 * len(parts)}
    return Picture(parts, **size, note="left: marks Frobenius, lines nuclear")


def summary(table: Table) -> list[str]:
    """Ranks and shares by cell."""
    columns = {
        "feasible": "feasible",
        "certified": lambda rows: (
            yes(rows, "certified")[yes(rows, "feasible")].mean()
            if yes(rows, "feasible").any()
            else np.nan
        ),
        "Frobenius": lambda rows: (
            np.nanmean(rows["rank"]) if np.isfinite(rows["rank"]).any() else np.nan
        ),
        "nuclear": lambda rows: (
            np.nanmean(rows["rank.nuclear"]) if np.isfinite(rows["rank.nuclear"]).any() else np.nan
        ),
    }
    return tabulate(
        table, {"line": "(n, T)", "world.dimension": "d"}, columns, title="mean ranks", most=45
    )


figure = Figure(
    statement="the nuclear solution has a low rank, the Frobenius one that of its samples",
    trial=MarginRanks(),
    grid={SIZE: sizes(PAIRS, (1, 2, 3, 4, 5, 10, 15, 20))},
    trials=200,
    scales=scales(
        smoke=Scale(trials=2, grid={SIZE: sizes(((5, 5),), (2, 5))}, settings={"most": 50}),
        small=Scale(trials=50, grid={SIZE: sizes(((5, 5), (10, 5), (15, 5)), (2, 3, 4, 5, 10))}),
    ),
    claims=(lower, dropped),
    pictures={"ranks": draw},
    findings={"ranks": "ranks.nuclear"},
    summary=summary,
    reference="the figure on ranks",
    departures="an infeasible draw is a draw of its own kind; a nuclear solve whose duality gap"
    " stays"
    " above 1e-4, as most do where n > d, has no rank",
    sizes="the notebook's pairs and dimensions, 200 draws per cell",
)
