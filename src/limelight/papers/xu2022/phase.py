r"""The phase diagram of one attention step over logit scale and noise level, regions named."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from limelight.claims import AtLeast, AtMost, Claim
from limelight.experiments import Study
from limelight.fit import families
from limelight.measures import noise_parts
from limelight.models import Smoother
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.curves import spaced
from limelight.papers.xu2022.reading import (
    facts,
    legend_over,
    named,
    panel,
    plain_ticks,
    setting,
    tag,
)
from limelight.plot import TWO_COLUMNS, caption, new_figure
from limelight.plot.style import COLOURS, DASHES, INK, WEIGHT, dress_bar, halo
from limelight.table import Table
from limelight.theory.xu2022 import limit, optimum, prediction
from limelight.theory.xu2022.setting import Setting
from limelight.worlds import Clusters

COLUMN = ("world.dimension", "world.sigma")
PARTS = ("parts.itself", "parts.averaging", "parts.leak")
NAMES = (*limit.PART_NAMES, "frozen")
FROZEN = NAMES.index("frozen")
#: A cell is judged only if its two largest predicted parts differ by this factor.
CLEAR = 1.25
#: How well a best logit scale must be known, as a share of itself, to name its place on the grid.
CLOSE = 1e-3
#: Ratios named beside the colours.
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5)


def setup(points: int, trials: int, world: Clusters, dimensions=()) -> Setup:
    """One study over the plane; draws are shared along the logit scale."""
    axes: dict[str | tuple[str, ...], Sequence[Any]] = {
        "world.sigma": spaced(0.1, 2, points),
        "model.strength": spaced(0.5, 64, points),
    }
    if dimensions:
        axes = {"world.dimension": list(dimensions), **axes}
    study = Study(world, Smoother(), None, (noise_parts,))
    return Setup(study, axes, trials, shared=("model.strength",))


# --- what is read off a table -----------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """All logit scales of one noise level and dimension.

    Args:
        at: Its coordinates.
        model: Its cluster model.
        strengths: Logit scales, rising.
        cells: The draws at each.
        predicted: Squared parts in units of sigma^2 by the limit law, logit scales by parts.
        measured: The same, mean over draws.
        frozen: Where a few extreme weights dominate.
    """

    at: dict[str, Any]
    model: Setting
    strengths: np.ndarray
    cells: list[Table]
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
        return np.sqrt([rows["parts.square"].mean() for rows in self.cells])


def columns(table: Table) -> list[Column]:
    """The plane, column by column."""
    return table.cached("columns", lambda: list(_columns(table)))


def _columns(table: Table) -> Iterator[Column]:
    for at, part in table.cells(*(path for path in COLUMN if path in table.columns)):
        found = list(part.cells("model.strength"))
        strengths = np.array([where["model.strength"] for where, _ in found])
        cells = [rows for _, rows in found]
        model = setting(table, at)
        parts = limit.softmax_parts(model, strengths).stacked  # logit scales, clusters, parts
        spread = prediction.logit_spread(model, strengths)
        yield Column(
            at,
            model,
            strengths,
            cells,
            model.token_mean(np.swapaxes(parts, 1, 2)) / model.sigma**2,
            np.array([[rows[name].mean() for name in PARTS] for rows in cells]),
            spread > prediction.spread_limit(model),
        )


def dominated(table: Table):
    """Share of the clear cells, not frozen, whose largest part is the predicted one."""
    right = judged = 0
    for column in columns(table):
        second, first = np.sort(column.predicted, axis=1)[:, -2:].T
        clear = ~column.frozen & (first >= CLEAR * second)
        same = np.argmax(column.predicted, axis=1) == np.argmax(column.measured, axis=1)
        judged, right = judged + int(clear.sum()), right + int((clear & same).sum())
    return families.rate(right, judged, f"{judged} of {len(table.values('cell'))} cells judged")


def ridge(table: Table):
    """Measured at the predicted best logit scale against the best of its column."""
    coarse = len(table.values("model.strength")) < 20
    factor = 1.15 if coarse else 1.05
    judged = [column for column in columns(table) if column.model.sigma <= 1.1]
    points = []
    for column in judged:
        best, _ = prediction.optimal_strength(column.model, close=CLOSE)
        if not np.isfinite(best):
            continue
        near = int(np.argmin(np.abs(np.log(column.strengths / best))))
        lowest = int(np.argmin(column.ratio))
        name, draws = named(column.at, *COLUMN), column.cells[near]["parts.square"]
        if near == lowest:
            same = 1 / factor - 1  # the very same draws: no spread
            points.append(families.Point(name, same, same, same, len(draws)))
            continue
        against = column.cells[lowest]["parts.square"]
        points.append(families.difference_point(name, draws, against, factor, len(judged)))
    return families.below(points)


CLAIMS = (
    Claim(
        "phase.regions",
        "The limit law names the part that dominates the error.",
        "share of clear cells, not frozen, whose largest measured part is the predicted one",
        dominated,
        AtLeast(0.95),
        "limelight",
    ),
    Claim(
        "phase.ridge",
        "The predicted best logit scale costs at most 5 % (15 % on a coarse grid), sigma <= 1.1.",
        "measured ratio at the grid point nearest the predicted optimum, over that factor times"
        " the best of the column, minus 1",
        ridge,
        AtMost(0.0),
        "limelight",
    ),
)


# --- picture ----------------------------------------------------------------------------------


def draw(table: Table):
    """Measured ratio as colour; what dominates as named regions; the theory's lines over it."""
    planes: dict[float, list[Column]] = {}
    for column in columns(table):
        planes.setdefault(float(column.model.dimension), []).append(column)
    many = len(planes) > 1
    figure = new_figure(TWO_COLUMNS if many else 4.8, 3.1 if many else 3.9, columns=len(planes))
    panels = list(figure.axes)
    drawn = []
    for axes, (d, plane) in zip(panels, planes.items(), strict=True):
        drawn.append(_draw_plane(axes, plane))
        tag(axes, f"d = {d:.0f}")
        if axes is not panels[0]:
            axes.set_ylabel("")
    mesh, handles = drawn[-1]
    bar = figure.colorbar(mesh, ax=panels, pad=0.02, aspect=28, ticks=TICKS)
    bar.ax.set_yticklabels([f"{tick:g}" for tick in TICKS])
    bar.ax.minorticks_off()
    dress_bar(bar, r"measured ratio  $|x'-u|/\sigma$")
    legend_over(figure, handles, 4 if many else 2)
    model = next(iter(planes.values()))[0].model
    note = f"C = {model.clusters}, $m_k$ = {model.sizes[0]:.0f}"
    caption(figure, *facts(table, note), "white: borders between what dominates the error")
    return figure


def _draw_plane(axes, plane: list[Column]):
    sigmas, lams = np.array([c.model.sigma for c in plane]), plane[0].strengths
    ratio, part = (np.stack([getattr(c, n) for c in plane], axis=1) for n in ("ratio", "region"))
    panel(axes, r"noise level $\sigma$", r"logit scale $\lambda$")
    norm = LogNorm(TICKS[0], TICKS[-1])
    mesh = axes.pcolormesh(sigmas, lams, ratio, cmap=WEIGHT.reversed(), norm=norm, zorder=1)
    look = {"colors": "white", "linewidths": 0.9, "linestyles": "-"}
    for level in np.arange(FROZEN) + 0.5:
        above = (part > level).astype(float)
        if above.any() and not above.all():
            axes.contour(sigmas, lams, above, levels=[0.5], **look, zorder=2)
    _name_regions(axes, sigmas, lams, part)
    handles = _lines(axes, plane[0].model, sigmas)
    axes.set_xlim(sigmas.min(), sigmas.max())
    axes.set_ylim(lams.min(), lams.max())
    plain_ticks(axes, (0.1, 0.2, 0.5, 1, 2), (0.5, 1, 2, 5, 10, 20, 50))
    return mesh, handles


def _name_regions(axes, sigmas, lams, part) -> None:
    for number, text in enumerate(NAMES):
        i, j = np.nonzero(part == number)
        if len(i) < 0.02 * part.size:
            continue
        # Away from the sides, where the region allows it, so that the name fits.
        middle = np.abs(j / len(sigmas) - 0.5) < 0.3
        i, j = (i[middle], j[middle]) if middle.any() else (i, j)
        # The cell of the region that is farthest, in grid steps, from its border and the frame.
        padded = np.pad(part == number, 1)
        depth = np.zeros(len(i))
        inside = padded
        while inside.any():
            depth += inside[i + 1, j + 1]
            inside = (
                inside
                & np.roll(inside, 1, 0)
                & np.roll(inside, -1, 0)
                & np.roll(inside, 1, 1)
                & np.roll(inside, -1, 1)
            )
        best = int(np.argmax(depth))
        axes.text(
            sigmas[j[best]],
            lams[i[best]],
            text,
            fontsize=6.5,
            color=INK,
            ha="center",
            va="center",
            weight="bold",
            path_effects=halo(2.0),
            zorder=5,
        )


def _lines(axes, model: Setting, sigmas):
    fine = np.geomspace(sigmas.min(), sigmas.max(), 60)
    models = [model.at(sigma=float(s)) for s in fine]
    n, D = model.sizes[0] - 1, model.nearest**2 / 2
    lines = {
        r"best $\lambda^*$ (limit)": [optimum.optimal_strength(m)[0] for m in models],
        r"self-lock $\log(n)/\sigma^2$": np.log(n) / fine**2,
        r"leak $\log(m/(m_k\sigma))/D$": np.log(model.tokens / model.sizes[0] / fine) / D,
        "freeze $s^2 = \\log(n)/2$": [prediction.frozen_strength(m) for m in models],
    }
    handles = []
    for i, (name, y) in enumerate(lines.items()):
        look = {"color": (INK, *COLOURS[1:])[i], "linestyle": DASHES[i], "linewidth": 1.3}
        axes.plot(fine, y, path_effects=halo(2.2), zorder=3, **look)
        handles.append(Line2D([], [], label=name, **look))
    return handles


def summary(table: Table) -> list[str]:
    """How many cells each region has, and the best ratio."""
    found = list(columns(table))
    counts = np.bincount(np.concatenate([c.region for c in found]), minlength=len(NAMES))
    best = min(found, key=lambda c: c.ratio.min())
    at = best.at | {"model.strength": best.strengths[np.argmin(best.ratio)]}
    return [
        "cells by what dominates: " + ", ".join(map("{} {}".format, NAMES, counts)),
        f"smallest measured ratio {best.ratio.min():.4f} at {named(at, *COLUMN, 'model.strength')}",
    ]


BASE = Clusters(clusters=10, size=50, dimension=1024)
figure = Figure(
    name="phase",
    title="where attention removes noise, and what stops it elsewhere",
    statement="attention distils noise whenever lambda lies in the theorem's window",
    setups={
        "smoke": setup(12, 12, Clusters(clusters=4, size=16, dimension=128)),
        "small": setup(40, 8, BASE),
        "paper": setup(80, 12, BASE, (64, 1024, 65536)),
    },
    claims=CLAIMS,
    draws={"phase": draw},
    summary=summary,
    reference="Theorem 2",
    departures="the paper has no experiment; small scale is at d = 1024 alone, another with --set"
    " world.dimension=64",
)
