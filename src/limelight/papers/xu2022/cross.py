r"""Cross-attention: no weight on oneself, so no self-lock; and what wrong pairs cost."""

from functools import partial
from typing import Any

import numpy as np

from limelight import plot
from limelight._core.gram import Number
from limelight.claims import AtMost, Estimate, Inside, Undecided
from limelight.experiments import Study
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.measures import cross_errors
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Scale, scales
from limelight.papers.xu2022.ratios import Cell, claim, control, measured, over, spread_out
from limelight.table import Table
from limelight.theory.xu2022 import limit
from limelight.theory.xu2022.setting import Setting
from limelight.worlds import Pairs

AXES = ("world.alignment", "world.wrong", "model.strength")
#: plot.Points whose logit spread exceeds this are left out.
SPREAD = 0.02
#: A logit scale far beyond that.
BEYOND = 100.0


def law(rows: Table) -> tuple[np.ndarray, np.ndarray]:
    """Ratio and leaked mass of a cell in the limit, for the queries' cluster."""
    return rows.cached("law", lambda: law_at(rows, rows.setting("model.strength")))


def law_at(rows: Table, strength: Number | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same at other logit scales."""
    clusters, size, sigma, wrong, alignment = (
        rows.setting(f"world.{name}")
        for name in ("clusters", "size", "sigma_target", "wrong", "alignment")
    )
    sizes = np.array(Pairs(clusters=clusters, size=size, wrong=wrong).counts, float)
    target = Setting(np.eye(clusters), np.maximum(sizes, 1.0), sigma)
    seen = np.broadcast_to(sizes, (clusters, clusters))
    error, leaked = limit.cross_parts(np.eye(clusters) * alignment, target, strength, seen)
    return np.asarray(np.sqrt(error[..., 0]) / sigma), np.asarray(leaked[..., 0])


def spread(rows: Table) -> float:
    """The logit variance of one query over keys of a cluster."""
    target, source, d = (
        rows.setting(f"world.{name}") for name in ("sigma_target", "sigma_source", "dimension")
    )
    return rows.setting("model.strength") ** 2 * target**2 * (1 + source**2) / d


def usable(table: Table) -> list[Cell]:
    """Cells whose logit spread is small enough for the limit."""
    every = table.cached("cells", lambda: list(table.cells(*AXES)))
    return [cell for cell in every if spread(cell[1]) <= SPREAD]


def clean(table: Table) -> Table:
    """Nothing wrong, domains aligned."""
    return table.where(world__wrong=0, world__alignment=1)


def _name(at: dict[str, Any]) -> str:
    lam, near, wrong = (at[p] for p in ("model.strength", "world.alignment", "world.wrong"))
    return f"lambda {lam:g}, alignment {near:g}, wrong {wrong:g}"


def _over_limit(cells: list[Cell]) -> Estimate:
    points = over(cells, lambda rows: float(law(rows)[0]), _name, "cross.square")
    return families.inside(points, 0.98, 1.02)


@claim(
    "cross.limit",
    "Cross-attention follows its limit law within 2 %, wrong pairs included.",
    Inside(0.98, 1.02),
)
def errors(table: Table) -> Estimate:
    """Measured over limit ratio, points with logit spread at most 0.02."""
    return _over_limit(usable(table))


@control(
    "cross.beyond",
    "Control: cross-attention follows its limit law at ten times the logit spread too, where few"
    " keys count.",
    Inside(0.98, 1.02),
)
def beyond(table: Table) -> Estimate:
    """Measured over limit ratio, logit spread at least 0.2."""
    return _over_limit([c for c in clean(table).cells(*AXES) if spread(c[1]) >= 10 * SPREAD])


@claim("cross.leak", "The mass on wrong clusters is the law's within 0.01.", Inside(-0.01, 0.01))
def leaked(table: Table) -> Estimate:
    """Measured minus limit leaked mass."""
    cells = usable(table)
    points = [
        families.mean_point(_name(at), rows["cross.leaked"] - float(law(rows)[1]), len(cells))
        for at, rows in cells
    ]
    return families.inside(points, -0.01, 0.01)


@claim(
    "cross.unlocked",
    "Cross-attention does not lock on itself: below half the self-attention ratio.",
    AtMost(0.0),
    at="xu2022, Section 1, in our model",
)
def unlocked(table: Table) -> Estimate:
    """Cross ratio over half the self ratio, minus 1, lambda 8, sigma 1, paired draws."""
    lams = clean(table).values("model.strength")
    if not len(lams):
        raise Undecided("no cell without wrong pairs at alignment 1")
    lam = lams[np.argmin(np.abs(lams - 8))]
    rows = clean(table).where(model__strength=lam)
    squares = rows["cross.square"], rows["cross.itself"]
    point = families.difference_point(f"lambda {lam:g}", *squares, 0.5, 1)
    ratios = [float(np.sqrt(square.mean())) for square in squares]
    return families.below([point], 0.0, "cross {:.3f}, self {:.3f}".format(*ratios))


def draw(table: Table) -> plot.Picture:
    """Ratio and leaked mass over the logit scale, by share of wrong pairs."""
    wrongs = spread_out(table.values("world.wrong"), 3)
    shown = table.rows(np.isin(table["world.wrong"], wrongs))
    by_alignment = {at["world.alignment"]: rows for at, rows in shown.cells("world.alignment")}
    alignments = sorted(by_alignment, reverse=True)
    top = by_alignment[alignments[0]]
    x = plot.Axis(r"logit scale $\lambda$", log=True, ticks=(1, 10, 100))
    y = plot.Axis(r"ratio  $|x'-u'|/\sigma_t$", True, (0.1, 2), (0.1, 0.2, 0.5, 1, 2))
    itself = lambda rows: measured(rows, "cross.itself").value
    [alone] = plot.over_cells(clean(table), "model.strength", itself)
    dashed = {"colour": "ink", "dash": 2, "width": 1.2}
    extra = {1.0: [plot.Guide("self-attention", alone.x, alone.y, **dashed)]}
    panels = [
        plot.Panel(
            f"alignment {alignment:g}",
            [*_lines(by_alignment[alignment], "cross.square"), *extra.get(alignment, [])],
            y,
            x,
        )
        for alignment in alignments
    ]
    title = f"leaked mass, alignment {alignments[0]:g}"
    panels.append(plot.Panel(title, _lines(top, "cross.leaked"), "", x))
    world = f"C = {table.setting('world.clusters')}, $m_k$ = {table.setting('world.size')}"
    note = (world, "noise level 1 in both domains", "lines: limit law, marks: measured")
    return plot.Picture(panels, width=plot.TWO_COLUMNS, height=2.7, note=note)


def _lines(table: Table, column: str) -> list[plot.Mark]:
    """What was measured on its law, one colour for each share of wrong pairs."""
    lams = table.values("model.strength")
    fine = np.geomspace(lams.min(), lams.max(), 80)
    leak = column == "cross.leaked"
    read = (lambda rows: rows[column].mean()) if leak else (lambda rows: measured(rows, column))
    found: list[plot.Mark] = []
    for at, rows in table.cells("world.wrong"):
        name = f"{100 * at['world.wrong']:.0f} % wrong pairs"
        found += plot.over_cells(
            rows, "model.strength", read, name=name, form=partial(plot.Points, size=3.4)
        )
        found.append(plot.Guide(name, fine, law_at(rows, fine)[leak], dash=0))
    return found


def summary(table: Table) -> list[str]:
    """Ratio, leaked mass and self-attention, with none and with half of the pairs wrong."""
    half = table.rows(np.isin(table["world.wrong"], (0.0, 0.48, 0.5)))
    columns = {
        "cross": lambda rows: measured(rows, "cross.square"),
        "limit law": lambda rows: float(law(rows)[0]),
        "leaked mass": "cross.leaked",
        "its law": lambda rows: float(law(rows)[1]),
        "self-attention": lambda rows: measured(rows, "cross.itself"),
    }
    heads = {"world.wrong": "wrong pairs", "model.strength": "lambda"}
    return tabulate(half.where(world__alignment=1), heads, columns, title="alignment 1")


figure = Figure(
    statement="cross-attention tolerates noisy pseudo-label pairs",
    trial=Study(Pairs(), Smoother(), None, (cross_errors,)),
    grid={
        "world.alignment": [1.0, 0.7],
        "world.wrong": [round(0.06 * v, 2) for v in range(17)],
        "model.strength": [*(round(float(v), 3) for v in np.geomspace(1, 30, 32)), BEYOND],
    },
    trials=64,
    scales=scales(
        smoke=Scale(
            trials=4,
            grid={
                "world.alignment": [1.0],
                "world.wrong": [0.0, 0.5],
                "model.strength": [2.0, 4.0, 8.0],
            },
            settings={"world.clusters": 4, "world.size": 16},
        ),
        small=Scale(
            trials=16,
            grid={
                "world.wrong": [0.0, 0.25, 0.5, 0.75, 0.9],
                "model.strength": [1.0, 1.6, 2.6, 4.3, 8.0, 11.0, 18.0, 30.0, BEYOND],
            },
        ),
    ),
    claims=(errors, beyond, leaked, unlocked),
    pictures={"cross": draw},
    summary=summary,
    reference="Section 1",
    departures="the paper argues in words; the model of wrong pairs is ours",
    shared=("model.strength",),
)
