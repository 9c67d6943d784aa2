r"""The phase diagram of one attention step over logit scale and noise level, regions named."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight import plot
from limelight.claims import AtLeast, AtMost, Estimate
from limelight.experiments import Study
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.measures import noise_parts
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Finding, Scale, scales
from limelight.papers.xu2022.ratios import claim, model_of, named, spaced
from limelight.table import Table
from limelight.theory.xu2022 import limit, optimum, prediction
from limelight.theory.xu2022.setting import Setting
from limelight.worlds import Clusters

COLUMN = ("world.dimension", "world.sigma")
SQUARE = "parts.square"
PARTS = ("parts.itself", "parts.averaging", "parts.leak")
NAMES = (*limit.PART_NAMES, "frozen")
FROZEN = NAMES.index("frozen")
#: A cell is judged only if its two largest predicted parts differ by this factor.
CLEAR = 1.25
#: How well a best logit scale must be known, as a share of itself, to name its place on the grid.
CLOSE = 1e-2


@dataclass(frozen=True)
class Column:
    """All logit scales of one noise level and dimension.

    Args:
        at: Its coordinates.
        model: Its cluster model.
        strengths: Logit scales, rising.
        squares: The squared ratio of every draw, at each.
        predicted: Squared parts in units of sigma^2 by the limit law, logit scales by parts.
        measured: The same, mean over draws.
        frozen: Where a few extreme weights dominate.
    """

    at: dict[str, Any]
    model: Setting
    strengths: np.ndarray
    squares: list[np.ndarray]
    predicted: np.ndarray
    measured: np.ndarray
    frozen: np.ndarray

    @property
    def region(self) -> np.ndarray:
        """What dominates at each logit scale, as an index into `NAMES`."""
        return np.where(self.frozen, FROZEN, np.argmax(self.measured, axis=1))

    @property
    def ratio(self) -> np.ndarray:
        """Measured ratio at each logit scale."""
        return np.sqrt([draws.mean() for draws in self.squares])


def columns(table: Table) -> list[Column]:
    """The plane, column by column."""
    return table.cached("columns", lambda: list(_columns(table)))


def _columns(table: Table) -> Iterator[Column]:
    for at, part in table.cells(*(path for path in COLUMN if path in table.columns)):
        part = part.rows(np.argsort(part["model.strength"], kind="stable"))
        strengths, first = np.unique(part["model.strength"], return_index=True)
        draws = {name: np.split(part[name], first[1:]) for name in (SQUARE, *PARTS)}
        model = model_of(part)
        parts = limit.softmax_parts(model, strengths).stacked  # logit scales, clusters, parts
        yield Column(
            at,
            model,
            strengths,
            draws[SQUARE],
            predicted=model.token_mean(np.swapaxes(parts, 1, 2)) / model.sigma**2,
            measured=np.array([[d.mean() for d in draws[name]] for name in PARTS]).T,
            frozen=prediction.logit_spread(model, strengths) > prediction.spread_limit(model),
        )


def planes(table: Table) -> dict[float, list[Column]]:
    """Columns by dimension."""
    found: dict[float, list[Column]] = {}
    for column in columns(table):
        found.setdefault(float(column.model.dimension), []).append(column)
    return found


@claim(
    "phase.regions",
    "The limit law names the part that dominates the error in 95 % of the clear cells.",
    AtLeast(0.95),
)
def dominated(table: Table) -> Estimate:
    """Share of clear cells, not frozen, whose largest measured part is the predicted one."""
    right = judged = 0
    for column in columns(table):
        second, first = np.sort(column.predicted, axis=1)[:, -2:].T
        clear = ~column.frozen & (first >= CLEAR * second)
        same = np.argmax(column.predicted, axis=1) == np.argmax(column.measured, axis=1)
        judged, right = judged + int(clear.sum()), right + int((clear & same).sum())
    return families.rate(right, judged, f"{judged} of {len(table.values('cell'))} cells judged")


@claim(
    "phase.ridge",
    "The predicted best logit scale costs at most 5 % (15 % on a coarse grid), sigma <= 1.1.",
    AtMost(0.0),
    statistic="measured ratio at the grid point nearest the predicted optimum, over that factor"
    " times the best of the column, minus 1",
)
def ridge(table: Table) -> Estimate:
    """Measured at the predicted best logit scale against the best of its column."""
    factor = 1.15 if len(table.values("model.strength")) < 20 else 1.05
    judged = [column for column in columns(table) if column.model.sigma <= 1.1]
    points = []
    for column in judged:
        best, _ = prediction.optimal_strength(column.model, close=CLOSE)
        if not np.isfinite(best):
            continue
        near = int(np.argmin(np.abs(np.log(column.strengths / best))))
        lowest = int(np.argmin(column.ratio))
        name = named(column.at)
        here, there = (column.squares[i] for i in (near, lowest))
        if near == lowest:
            same = 1 / factor - 1  # the very same draws: no spread
            points.append(families.Point(name, same, same, same, len(here)))
        else:
            points.append(families.difference_point(name, here, there, factor, len(judged)))
    return families.below(points)


def draw(table: Table) -> plot.Picture:
    """Measured ratio as colour; what dominates as named regions; the theory's lines over it."""
    found = planes(table)
    model = columns(table)[0].model
    many = len(found) > 1
    return plot.Picture(
        [_plane(d, plane) for d, plane in found.items()],
        width=plot.TWO_COLUMNS if many else 4.8,
        height=3.1 if many else 3.9,
        note=(
            f"C = {model.clusters}, $m_k$ = {model.sizes[0]:.0f}",
            "white: borders between what dominates the error",
        ),
        share="y",
    )


def _plane(d: float, plane: list[Column]) -> plot.Panel:
    sigmas, lams = np.array([c.model.sigma for c in plane]), plane[0].strengths
    ratio, region = (np.stack([getattr(c, n) for c in plane], 1) for n in ("ratio", "region"))
    colours = plot.Map(
        ratio,
        r"measured ratio  $|x'-u|/\sigma$",
        x=sigmas,
        y=lams,
        low=0.05,
        high=5,
        scale="log",
        bar_ticks=(0.05, 0.1, 0.2, 0.5, 1, 2, 5),
    )
    return plot.Panel(
        f"d = {d:.0f}",
        [colours, *_lines(plane[0].model, sigmas), *plot.regions(sigmas, lams, region, NAMES)],
        y=plot.Axis(r"logit scale $\lambda$", log=True, ticks=(0.5, 1, 2, 5, 10, 20, 50)),
        x=plot.Axis(r"noise level $\sigma$", log=True, ticks=(0.1, 0.2, 0.5, 1, 2)),
    )


def _lines(model: Setting, sigmas: np.ndarray) -> list[plot.Guide]:
    fine = np.geomspace(sigmas.min(), sigmas.max(), 60)
    models = [model.at(sigma=float(s)) for s in fine]
    n, D = model.sizes[0] - 1, model.nearest**2 / 2
    lines = {
        r"best $\lambda^*$ (limit)": [optimum.optimal_strength(m)[0] for m in models],
        r"self-lock $\log(n)/\sigma^2$": np.log(n) / fine**2,
        r"leak $\log(m/(m_k\sigma))/D$": np.log(model.tokens / model.sizes[0] / fine) / D,
        "freeze $s^2 = \\log(n)/2$": [prediction.frozen_strength(m) for m in models],
    }
    return [
        plot.Guide(name, fine, y, colour=i or "ink", dash=i, width=1.3)
        for i, (name, y) in enumerate(lines.items())
    ]


def summary(table: Table) -> list[str]:
    """How many cells each region has, and the best ratio."""

    def smallest(plane: list[Column]) -> str:
        best = min(plane, key=lambda column: column.ratio.min())
        strength = best.strengths[np.argmin(best.ratio)]
        return f"{best.ratio.min():.4f} at sigma {best.model.sigma:.4g}, lambda {strength:.4g}"

    cells = [({"d": int(dimension)}, plane) for dimension, plane in planes(table).items()]
    counted = {
        name: lambda plane, i=i: sum((column.region == i).sum() for column in plane)
        for i, name in enumerate(NAMES)
    }
    return tabulate(cells, "d", counted | {"smallest measured ratio": smallest})


figure = Figure(
    statement="attention distils noise whenever lambda lies in the theorem's window",
    trial=Study(Clusters(clusters=10, size=50, dimension=1024), Smoother(), None, (noise_parts,)),
    grid={
        "world.dimension": [64, 1024, 65536],
        "world.sigma": spaced(0.1, 2, 80),
        "model.strength": spaced(0.5, 64, 80),
    },
    trials=12,
    scales=scales(
        smoke=Scale(
            grid={
                "world.dimension": None,
                "world.sigma": spaced(0.1, 2, 12),
                "model.strength": spaced(0.5, 64, 12),
            },
            settings={"world.clusters": 4, "world.size": 16, "world.dimension": 128},
        ),
        small=Scale(
            trials=8,
            grid={
                "world.dimension": None,
                "world.sigma": spaced(0.1, 2, 40),
                "model.strength": spaced(0.5, 64, 40),
            },
        ),
    ),
    claims=(dominated, ridge),
    pictures={"phase": draw},
    findings={
        "phase": Finding(
            "phase.regions",
            holds="The limit law names what stops attention, in {value:.1%} of the clear cells",
        )
    },
    summary=summary,
    reference="Theorem 2",
    departures="the paper has no experiment; small scale is at d = 1024 alone, unless"
    " world.dimension is set",
    shared=("model.strength",),
)
