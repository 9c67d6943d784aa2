r"""The phase diagram of one attention step over logit scale and noise level, regions named."""

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from limelight.claims import AtLeast, AtMost, Claim
from limelight.fit import families
from limelight.measures import noise_parts
from limelight.models import Smoother
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.curves import spaced
from limelight.papers.xu2022.reading import facts, named, panel, setting
from limelight.plot import caption, new_figure
from limelight.plot.style import COLOURS, DASHES, INK, WEIGHT, dress_bar, halo, legend_above
from limelight.study import Study
from limelight.study.grid import Axes
from limelight.table import Table
from limelight.theory.xu2022 import limit, optimum, prediction
from limelight.worlds import Clusters

AXES = ("world.sigma", "model.strength")
PARTS = ("parts.itself", "parts.averaging", "parts.leak")
#: A cell is judged only if its two largest predicted parts differ by this factor.
CLEAR = 1.25


def setup(points: int, trials: int, world: Clusters) -> Setup:
    """One study over the plane; draws are shared along the logit scale."""
    axes: Axes = {"world.sigma": spaced(0.1, 2, points), "model.strength": spaced(0.5, 64, points)}
    study = Study(world, Smoother(), None, (noise_parts,))
    return Setup(study, axes, trials, shared=("model.strength",))


# --- what is read off a table -----------------------------------------------------------------


def regions(table: Table):
    """Each cell: predicted and measured shares of the three parts, and whether it is frozen."""
    for at, rows in table.cells(*AXES):
        model = setting(table, at)
        lam = at["model.strength"]
        parts = limit.softmax_parts(model, lam).stacked
        predicted = model.token_mean(parts.T) / model.sigma**2
        measured = np.array([rows[name].mean() for name in PARTS])
        spread = float(prediction.logit_spread(model, lam))
        yield at, rows, predicted, measured, spread > prediction.spread_limit(model)


def dominated(table: Table):
    """Share of the clear cells, not frozen, whose largest part is the predicted one."""
    right = judged = 0
    for _, _, predicted, measured, frozen in regions(table):
        second, first = np.sort(predicted)[-2:]
        if frozen or first < CLEAR * second:
            continue
        judged += 1
        right += int(np.argmax(predicted) == np.argmax(measured))
    return families.rate(right, judged, f"{judged} of {len(table.values('cell'))} cells judged")


def ridge(table: Table):
    """Measured at the predicted best logit scale against the best of its column."""
    coarse = len(table.values("model.strength")) < 20
    factor = 1.15 if coarse else 1.05
    columns = [s for s in table.values("world.sigma") if s <= 1.1]
    points = []
    for sigma in columns:
        column = table.rows(table["world.sigma"] == sigma)
        cells = {at["model.strength"]: rows for at, rows in column.cells("model.strength")}
        model = setting(table, {"world.sigma": float(sigma)})
        lams = np.array(sorted(cells))
        found = prediction.softmax(model, lams)
        if not found.valid.any():
            continue
        best, _ = prediction.optimal_strength(model)
        near = lams[np.argmin(np.abs(np.log(lams / best)))]
        lowest = min(lams, key=lambda v: cells[v]["parts.square"].mean())
        if near == lowest:
            same = 1 / factor - 1  # the very same draws: no spread
            points.append(families.Point(f"sigma {sigma:.3g}", same, same, same, len(cells[near])))
            continue
        points.append(
            families.difference_point(
                f"sigma {sigma:.3g}",
                cells[near]["parts.square"],
                cells[lowest]["parts.square"],
                factor,
                len(columns),
            )
        )
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
    sigmas, lams = table.values("world.sigma"), table.values("model.strength")
    ratio = np.full((len(lams), len(sigmas)), np.nan)
    part = np.full_like(ratio, np.nan)
    for at, rows, _, measured, frozen in regions(table):
        i = np.searchsorted(lams, at["model.strength"])
        j = np.searchsorted(sigmas, at["world.sigma"])
        ratio[i, j] = np.sqrt(rows["parts.square"].mean())
        part[i, j] = 3 if frozen else int(np.argmax(measured))
    figure = new_figure(4.8, 3.9)
    axes = figure.axes[0]
    panel(axes, r"noise level $\sigma$", r"logit scale $\lambda$")
    norm = LogNorm(0.05, 5)
    mesh = axes.pcolormesh(sigmas, lams, ratio, cmap=WEIGHT.reversed(), norm=norm, zorder=1)
    levels = np.arange(4) + 0.5
    look = {"colors": "white", "linewidths": 0.9, "linestyles": "-"}
    for level in levels[:3]:
        above = (part > level).astype(float)
        if above.any() and not above.all():
            axes.contour(sigmas, lams, above, levels=[0.5], **look, zorder=2)
    _name_regions(axes, sigmas, lams, part)
    handles = _lines(axes, table, sigmas, lams)
    bar = figure.colorbar(mesh, ax=axes, pad=0.025, aspect=28, ticks=[0.05, 0.1, 0.2, 0.5, 1, 2, 5])
    bar.ax.set_yticklabels(["0.05", "0.1", "0.2", "0.5", "1", "2", "5"])
    bar.ax.minorticks_off()
    dress_bar(bar, r"measured ratio  $|x'-u|/\sigma$")
    axes.set_xlim(sigmas.min(), sigmas.max())
    axes.set_ylim(lams.min(), lams.max())
    axes.set_xticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
    axes.set_yticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
    axes.minorticks_off()
    legend_above(axes, handles, room=4.0)
    model = setting(table, {"world.sigma": 0.5})
    note = f"C = {model.clusters}, $m_k$ = {model.sizes[0]:.0f}, d = {model.dimension:.0f}"
    caption(figure, *facts(table, note), "white: borders between what dominates the error")
    return figure


def _name_regions(axes, sigmas, lams, part) -> None:
    for number, text in enumerate((*limit.PART_NAMES, "frozen")):
        i, j = np.nonzero(part == number)
        if len(i) < 0.02 * part.size:
            continue
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
            fontsize=7,
            color=INK,
            ha="center",
            va="center",
            weight="bold",
            path_effects=halo(2.0),
            zorder=5,
        )


def _lines(axes, table: Table, sigmas, lams):
    fine = np.geomspace(sigmas.min(), sigmas.max(), 60)
    models = [setting(table, {"world.sigma": float(s)}) for s in fine]
    n, D = models[0].sizes[0] - 1, models[0].nearest ** 2 / 2
    curves = {
        r"best $\lambda^*$ (limit)": [optimum.optimal_strength(m)[0] for m in models],
        r"self-lock $\log(n)/\sigma^2$": np.log(n) / fine**2,
        r"leak $\log(m/m_k\sigma)/D$": np.log(models[0].tokens / models[0].sizes[0] / fine) / D,
        "freeze $s^2 = \\log(n)/2$": [prediction.frozen_strength(m) for m in models],
    }
    handles = []
    for i, (name, y) in enumerate(curves.items()):
        look = {"color": (INK, *COLOURS[1:])[i], "linestyle": DASHES[i], "linewidth": 1.3}
        axes.plot(fine, y, path_effects=halo(2.2), zorder=3, **look)
        handles.append(Line2D([], [], label=name, **look))
    return handles


def summary(table: Table) -> list[str]:
    """How many cells each region has."""
    names = (*limit.PART_NAMES, "frozen")
    counts = dict.fromkeys(names, 0)
    for _, _, _, measured, frozen in regions(table):
        counts[names[3 if frozen else int(np.argmax(measured))]] += 1
    best = min(
        (
            (np.sqrt(rows["parts.square"].mean()), named(at, *AXES))
            for at, rows in table.cells(*AXES)
        )
    )
    return [
        "cells by what dominates: " + ", ".join(f"{k} {v}" for k, v in counts.items()),
        f"smallest measured ratio {best[0]:.4f} at {best[1]}",
    ]


BASE = Clusters(clusters=10, size=50, dimension=1024)
figure = Figure(
    name="phase",
    title="where attention removes noise, and what stops it elsewhere",
    statement="attention distils noise whenever lambda lies in the theorem's window",
    setups={
        "smoke": setup(12, 12, Clusters(clusters=4, size=16, dimension=128)),
        "small": setup(40, 8, BASE),
        "paper": Setup(
            Study(BASE, Smoother(), None, (noise_parts,)),
            {"world.sigma": spaced(0.1, 2, 160), "model.strength": spaced(0.5, 64, 160)},
            64,
            shared=("model.strength",),
        ),
    },
    claims=CLAIMS,
    draws={"phase": draw},
    summary=summary,
    reference="Theorem 2",
    departures="the paper has no experiment; other dimensions: --set world.dimension=64",
)
