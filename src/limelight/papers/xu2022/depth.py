r"""Stacking attention steps: depth helps above the one-step optimum and destroys below it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from limelight import plot
from limelight._core.gram import Number
from limelight.claims import AtMost, Estimate, Inside
from limelight.experiments import Study
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.measures import noise_path
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Finding, Scale, scales
from limelight.papers.xu2022.ratios import LARGE, claim, control, model_of, spread_out
from limelight.table import Table
from limelight.theory.xu2022 import limit
from limelight.worlds import Clusters

AXES = ("world.sigma", "world.dimension", "model.strength", "model.gain")
#: Steps after which the recursion was first compared; later ones are a claim of their own.
EARLY = 30

Path = tuple[dict[str, Any], Table, np.ndarray]
"""A cell, and the ratio after every step by the recursion."""


def paths(table: Table, residual: bool = False, **world: Number) -> list[Path]:
    """Cells of plain iteration, or of a residual stream, in some world, with their recursion."""

    def wanted(at: dict[str, Any]) -> bool:
        here = all(at[f"world.{name}"] == value for name, value in world.items())
        return here and (at["model.gain"] < 1) == residual

    every = table.cached("paths", lambda: list(_paths(table)))
    return [path for path in every if wanted(path[0])]


def _paths(table: Table) -> Iterator[Path]:
    laws: dict[tuple, np.ndarray] = {}  # the same at every dimension
    for at, rows in table.cells(*AXES):
        steps = rows["path.square"].shape[1] - 1
        key = at["world.sigma"], at["model.strength"], at["model.gain"]
        if key not in laws:
            laws[key] = limit.iterate_ratio(model_of(rows), key[1], steps, key[2])
        yield at, rows, laws[key]


def mean_path(rows: Table) -> np.ndarray:
    """The measured ratio after every step."""
    return np.sqrt(rows["path.square"].mean(axis=0))


def over_recursion(
    cells: list[Path], first: int, last: int, band: tuple[float, float], absent: str = ""
) -> Estimate:
    """Measured over recursion, a point per cell and step."""
    steps = [range(first, min(last, len(law) - 1) + 1) for _, _, law in cells]
    count = sum(map(len, steps))
    points = [
        families.root_point(
            f"sigma {at['world.sigma']:g}, lambda {at['model.strength']:g},"
            f" gain {at['model.gain']:g}, step {t}",
            rows["path.square"][:, t],
            count,
        ).over(float(law[t]))
        for (at, rows, law), many in zip(cells, steps, strict=True)
        for t in many
    ]
    return families.inside(points, *band, "" if points else absent)


@claim(
    "depth.recursion",
    "The recursion gives the ratio of the first 30 steps at d = 10^6 within 2 %.",
    Inside(0.98, 1.02),
)
def recursion(table: Table) -> Estimate:
    """Measured over recursion, steps 1 to 30, every noise level and logit scale."""
    return over_recursion(paths(table, dimension=LARGE), 1, EARLY, (0.98, 1.02))


@claim(
    "depth.late",
    "The recursion gives the ratio of all later steps at d = 10^6 within 2 %.",
    Inside(0.98, 1.02),
)
def late(table: Table) -> Estimate:
    """Measured over recursion, steps from 31 on, every noise level and logit scale, d = 10^6."""
    cells = paths(table, dimension=LARGE)
    return over_recursion(cells, EARLY + 1, 10**9, (0.98, 1.02), "no later step in this table")


@claim(
    "depth.residual",
    "With a residual stream the recursion gives the first 30 steps at d = 10^6 within 2 %.",
    Inside(0.98, 1.02),
)
def residual(table: Table) -> Estimate:
    """Measured over recursion, steps 1 to 30, gain below 1."""
    cells = paths(table, residual=True, dimension=LARGE)
    return over_recursion(cells, 1, EARLY, (0.98, 1.02), "no residual in this table")


@claim(
    "depth.finite",
    "At d = 1024 and sigma = 0.5 the recursion is within 4 % for nine steps.",
    Inside(0.96, 1.04),
)
def finite(table: Table) -> Estimate:
    """Measured over recursion, steps 1 to 9."""
    return over_recursion(paths(table, dimension=1024, sigma=0.5), 1, 9, (0.96, 1.04))


@control(
    "depth.not_a_prediction",
    "Control: at d = 1024, sigma = 1 and lambda >= 5 the recursion is within 10 % too.",
    AtMost(0.1),
    statistic="largest |log(measured / recursion)| over steps",
)
def breaks(table: Table) -> Estimate:
    """Largest relative distance to the recursion, and at which logit scale."""
    worst, where, n = np.nan, "", 0
    for at, rows, law in paths(table, dimension=1024, sigma=1):
        if at["model.strength"] < 5:
            continue
        off = np.abs(np.log(mean_path(rows)[1:] / law[1:]))
        n += len(rows)
        if not np.nanmax(off) <= worst:
            worst, where = float(off.max()), f"lambda {at['model.strength']:g}"
    note = f"factor {np.exp(worst):.2f} at {where}" if n else "not in this table"
    return Estimate(worst, None, n, note)


@claim(
    "depth.lifetime",
    "Steps until the ratio exceeds 1 are the recursion's at d = 10^6, within 1 at d = 1024.",
    AtMost(0.0),
)
def lifetimes(table: Table) -> Estimate:
    """Largest difference beyond that, every draw, sigma = 0.5."""
    worst, n, where = -np.inf, 0, ""
    for at, rows, law in paths(table, sigma=0.5):
        allowed = 0 if at["world.dimension"] == LARGE else 1
        for draw in np.sqrt(rows["path.square"]):
            n += 1
            off = abs(limit.lifetime(draw) - limit.lifetime(law)) - allowed
            if off > worst:
                worst, where = off, f"d {at['world.dimension']}, lambda {at['model.strength']:g}"
    return Estimate(float(worst) if n else float("nan"), None, n, f"closest at {where}")


def draw(table: Table) -> plot.Picture:
    """The ratio over steps, one panel per noise level and dimension."""
    return _picture(table, paths(table), "world.dimension", _dimension, "attention steps")


def draw_residual(table: Table) -> plot.Picture:
    """The ratio over steps times gain at the large dimension, by noise level and gain."""
    cells = [c for which in (False, True) for c in paths(table, which, dimension=LARGE)]
    across = "attention steps times gain"
    return _picture(table, cells, "model.gain", lambda gain: f"gain {gain:g}", across)


def _dimension(d: int) -> str:
    return "d = " + ("$10^6$" if d == LARGE else f"{d}")


def _drawn(at: dict, rows: Table, law: np.ndarray, colour: int) -> list[plot.Mark]:
    """The recursion as a line, and the measured path at some of its steps."""
    steps, gain = np.arange(1, len(law)), at["model.gain"]
    some = np.unique(np.round(np.geomspace(1, len(law) - 1, 12)).astype(int))
    name, path = rf"$\lambda$ = {at['model.strength']:g}", mean_path(rows)
    return [
        plot.Guide(name, gain * steps, law[1:], colour=colour, dash=0),
        plot.Points(name, gain * some, path[some], colour=colour, size=4),
    ]


def _picture(
    table: Table, cells: Sequence[Path], by: str, words: Callable[[Any], str], across: str
) -> plot.Picture:
    """One panel per noise level and value of `by`, four strengths in each."""
    shown = spread_out(table.values("model.strength"), 4)
    marks: dict[tuple[float, Any], list[plot.Mark]] = {}
    for at, rows, law in cells:
        if at["model.strength"] in shown:
            colour = shown.index(at["model.strength"])
            drawn = marks.setdefault((at["world.sigma"], at[by]), [])
            drawn += _drawn(at, rows, law, colour)
    floor = plot.Reference(r"floor $1/\sqrt{m_k}$", table.setting("world.size") ** -0.5)
    panels = [
        plot.Panel(
            rf"$\sigma$ = {sigma:g}, {words(value)}",
            [*marks[sigma, value], floor],
            y=plot.Axis(r"ratio  $|x_t-u|/\sigma$", True, (0.1, 2.3), (0.1, 0.2, 0.5, 1, 2)),
            x=plot.Axis(across, log=True, ticks=(1, 10, 100)),
        )
        for sigma, value in sorted(marks)
    ]
    columns = len(panels) if len(panels) <= 4 else len({value for _, value in marks})
    world = f"C = {table.setting('world.clusters')}, $m_k$ = {table.setting('world.size')}"
    return plot.Picture(
        panels,
        columns,
        width=plot.TWO_COLUMNS if len(panels) > 1 else 4.6,
        height=2.7 if columns == len(panels) else 4.6,
        note=(
            world,
            "lines: recursion; marks: measured",
            "where marks leave their line the recursion does not hold",
        ),
        share="y",
    )


def summary(table: Table) -> list[str]:
    """Best step, its ratio, the lifetime, and where the recursion is furthest off."""
    cells = [(at, (mean_path(rows), law)) for at, rows, law in paths(table)]

    def furthest(both: tuple[np.ndarray, np.ndarray]) -> int:
        path, law = both
        return 1 + int(np.abs(np.log(path[1:] / law[1:])).argmax())

    columns = {
        "best": lambda both: both[0][1:].min(),
        "at step": lambda both: 1 + both[0][1:].argmin(),
        "recursion's best": lambda both: both[1][1:].min(),
        "lifetime": lambda both: limit.lifetime(both[0]),
        "recursion's": lambda both: limit.lifetime(both[1]),
        "steps": lambda both: len(both[1]) - 1,
        "furthest off at step": furthest,
        "times the recursion": lambda both: np.divide(*both)[furthest(both)],
    }
    heads = {"world.sigma": "sigma", "world.dimension": "d", "model.strength": "lambda"}
    return tabulate(cells, heads, columns)


figure = Figure(
    statement="every layer of attention removes more noise",
    trial=Study(Clusters(clusters=10, size=50), Smoother(steps=200), None, (noise_path,)),
    grid={
        "world.sigma": [0.5, 1.0],
        "world.dimension": [1024, LARGE],
        "model.strength": [2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0],
        "model.gain": [0.25, 0.5, 1.0],
    },
    trials=32,
    scales=scales(
        smoke=Scale(
            trials=4,
            grid={
                "world.sigma": [0.5],
                "world.dimension": [LARGE],
                "model.strength": [4.0, 8.0],
                "model.gain": [1.0],
            },
            settings={"world.clusters": 4, "world.size": 16, "model.steps": 8},
        ),
        small=Scale(
            grid={"model.strength": [2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0], "model.gain": [1.0]},
            settings={"model.steps": 30},
        ),
    ),
    claims=(recursion, late, residual, finite, breaks, lifetimes),
    pictures={"depth": draw, "residual": draw_residual},
    findings={
        "depth": Finding(
            "depth.recursion",
            fails="Within 30 steps the ratio comes to {value:.2f} times what the recursion gives",
        ),
        "residual": Finding(
            "depth.residual",
            open="With a residual stream the ratio is up to {value:.2f} times the recursion's",
        ),
    },
    summary=summary,
    reference="Section 3.2, stacked",
    departures="the paper has one step; a residual stream has model.gain = 0.5",
)
