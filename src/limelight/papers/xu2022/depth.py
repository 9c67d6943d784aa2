r"""Stacking attention steps: depth helps above the one-step optimum and destroys below it."""

from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from limelight.claims import AtMost, Claim, Estimate, Inside
from limelight.engine.grid import Axes
from limelight.experiments import Study
from limelight.fit import families
from limelight.measures import noise_path
from limelight.models import Smoother
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.reading import (
    fact,
    facts,
    legend_over,
    panel,
    setting,
    spread_out,
    tag,
)
from limelight.plot import TWO_COLUMNS, caption, new_figure
from limelight.plot.style import COLOURS, DASHES, INK, LABEL, MARKERS, MUTED
from limelight.table import Table
from limelight.theory.xu2022 import limit
from limelight.theory.xu2022.setting import Number
from limelight.worlds import Clusters

AXES = ("world.sigma", "world.dimension", "model.strength", "model.gain")
LARGE = 1_000_000
#: Steps after which the recursion was first compared; later ones are a claim of their own.
EARLY = 30


def setup(world: Clusters, sigmas, dimensions, strengths, steps: int, trials: int, gains=(1.0,)):
    """One study: the whole path of every draw is kept."""
    study = Study(world, Smoother(steps=steps), None, (noise_path,))
    axes: Axes = {
        "world.sigma": list(sigmas),
        "world.dimension": list(dimensions),
        "model.strength": list(strengths),
        "model.gain": list(gains),
    }
    return Setup(study, axes, trials)


# --- what is read off a table -----------------------------------------------------------------


def paths(table: Table, residual: bool = False):
    """Cells of plain iteration, or of a residual stream, each with the recursion's path."""
    return table.cached(("paths", residual), lambda: list(_paths(table, residual)))


def _paths(table: Table, residual: bool):
    laws: dict[tuple, np.ndarray] = {}  # the same at every dimension
    for at, rows in table.cells(*AXES):
        if (at["model.gain"] < 1) == residual:
            steps = rows["path.square"].shape[1] - 1
            law = at["model.strength"], steps, at["model.gain"]
            key = (at["world.sigma"], *law)
            if key not in laws:
                laws[key] = limit.iterate_ratio(setting(table, at), *law)
            yield at, rows, laws[key]


def against_recursion(table: Table, chosen, first: int, last: int, residual: bool = False):
    """Measured over recursion, a point a cell and step."""
    cells = [(at, rows, law) for at, rows, law in paths(table, residual) if chosen(at)]
    steps = [range(first, min(last, len(law) - 1) + 1) for _, _, law in cells]
    count = sum(map(len, steps))
    return [
        families.root_point(
            f"sigma {at['world.sigma']:g}, lambda {at['model.strength']:g},"
            f" gain {at['model.gain']:g}, step {t}",
            rows["path.square"][:, t],
            count,
        ).over(float(law[t]))
        for (at, rows, law), many in zip(cells, steps, strict=True)
        for t in many
    ]


def large(at) -> bool:
    """Whether a cell is at the dimension where the limit is tested."""
    return at["world.dimension"] == LARGE


def recursion(table: Table) -> Estimate:
    """Measured over recursion at the large dimension, the first steps."""
    return families.inside(against_recursion(table, large, 1, EARLY), 0.98, 1.02)


def recursion_late(table: Table) -> Estimate:
    """The same for all later steps."""
    points = against_recursion(table, large, EARLY + 1, 10**9)
    return families.inside(points, 0.98, 1.02, "" if points else "no later step in this table")


def recursion_residual(table: Table) -> Estimate:
    """The same for the first steps of a residual stream."""
    points = against_recursion(table, large, 1, EARLY, residual=True)
    return families.inside(points, 0.98, 1.02, "" if points else "no residual in this table")


def recursion_finite(table: Table) -> Estimate:
    """Measured over recursion at d = 1024, sigma = 0.5, the first nine steps."""
    chosen = lambda at: at["world.dimension"] == 1024 and at["world.sigma"] == 0.5
    return families.inside(against_recursion(table, chosen, 1, 9), 0.96, 1.04)


def recursion_breaks(table: Table) -> Estimate:
    """Largest relative distance to the recursion at d = 1024, sigma = 1, lambda at least 5."""
    worst, where, n = np.nan, "", 0
    for at, rows, law in paths(table):
        if at["world.dimension"] == 1024 and at["world.sigma"] == 1 and at["model.strength"] >= 5:
            path = np.sqrt(rows["path.square"].mean(axis=0))[1:]
            off = np.abs(np.log(path / law[1:]))
            n += len(rows)
            if not np.nanmax(off) <= worst:
                worst, where = float(off.max()), f"lambda {at['model.strength']:g}"
    note = f"factor {np.exp(worst):.2f} at {where}" if n else "not in this table"
    return Estimate(worst, None, n, note)


def lifetimes(table: Table) -> Estimate:
    """Largest difference of lifetimes beyond what is allowed, draw by draw, sigma = 0.5."""
    worst, n, where = -np.inf, 0, ""
    for at, rows, law in paths(table):
        if at["world.sigma"] != 0.5:
            continue
        allowed = 0 if at["world.dimension"] == LARGE else 1
        for draw in np.sqrt(rows["path.square"]):
            n += 1
            off = abs(limit.lifetime(draw) - limit.lifetime(law)) - allowed
            if off > worst:
                worst, where = off, f"d {at['world.dimension']}, lambda {at['model.strength']:g}"
    return Estimate(float(worst) if n else float("nan"), None, n, f"closest at {where}")


CLAIMS = (
    Claim(
        "depth.recursion",
        "The recursion gives the ratio of the first 30 steps at d = 10^6 within 2 %.",
        "measured over recursion, steps 1 to 30, every noise level and logit scale",
        recursion,
        Inside(0.98, 1.02),
        "limelight",
    ),
    Claim(
        "depth.late",
        "It still does in all later steps.",
        "measured over recursion, steps from 31 on, every noise level and logit scale, d = 10^6",
        recursion_late,
        Inside(0.98, 1.02),
        "limelight",
    ),
    Claim(
        "depth.residual",
        "With a residual stream the recursion gives the first 30 steps at d = 10^6 within 2 %.",
        "measured over recursion, steps 1 to 30, gain below 1",
        recursion_residual,
        Inside(0.98, 1.02),
        "limelight",
    ),
    Claim(
        "depth.finite",
        "At d = 1024 and sigma = 0.5 it is within 4 % for nine steps.",
        "measured over recursion, steps 1 to 9",
        recursion_finite,
        Inside(0.96, 1.04),
        "limelight",
    ),
    Claim(
        "depth.not_a_prediction",
        "At d = 1024, sigma = 1 and lambda >= 5 the recursion is a prediction within 10 %.",
        "largest |log(measured / recursion)| over steps (expected to fail: a finite-d path leaves"
        " the limit path)",
        recursion_breaks,
        AtMost(0.1),
        "limelight",
    ),
    Claim(
        "depth.lifetime",
        "Steps until the ratio exceeds 1 are the recursion's at d = 10^6, within 1 at d = 1024.",
        "largest difference beyond that, every draw, sigma = 0.5",
        lifetimes,
        AtMost(0.0),
        "limelight",
    ),
)


# --- picture ----------------------------------------------------------------------------------


def draw(table: Table):
    """The ratio over steps, one panel a noise level and dimension."""
    keys = sorted({(at["world.sigma"], at["world.dimension"]) for at, _, _ in paths(table)})
    shown = spread_out(table.values("model.strength"), 6)
    figure = new_figure(TWO_COLUMNS, 2.7, columns=len(keys))
    for axes, key in zip(list(figure.axes), keys, strict=True):
        _frame(axes, table, *key)
        for at, rows, law in paths(table):
            if (at["world.sigma"], at["world.dimension"]) == key and at["model.strength"] in shown:
                i = shown.index(at["model.strength"])
                _line(axes, rows, law, COLOURS[i], MARKERS[i])
    handles = [
        Line2D(
            [], [], label=f"$\\lambda$ = {v:g}", color=c, marker=m, linewidth=0.9, markersize=2.8
        )
        for v, c, m in zip(shown, COLOURS, MARKERS, strict=False)
    ]
    return _finished(figure, table, handles)


def draw_residual(table: Table):
    """The ratio over steps times gain at the large dimension, one panel a noise level."""
    cells = [cell for kind in (False, True) for cell in paths(table, kind) if large(cell[0])]
    sigmas = sorted({at["world.sigma"] for at, _, _ in cells})
    shown = spread_out(table.values("model.strength"), 4)
    gains = sorted({at["model.gain"] for at, _, _ in cells}, reverse=True)
    figure = new_figure(TWO_COLUMNS if len(sigmas) > 1 else 4.6, 2.7, columns=len(sigmas))
    for axes, sigma in zip(list(figure.axes), sigmas, strict=True):
        _frame(axes, table, sigma, LARGE)
        axes.set_xlabel("attention steps times gain", fontsize=LABEL)
        for at, rows, law in cells:
            if at["world.sigma"] == sigma and at["model.strength"] in shown:
                i, g = shown.index(at["model.strength"]), at["model.gain"]
                mark = MARKERS[gains.index(g)]
                _line(axes, rows, law, COLOURS[i], mark, g, DASHES[gains.index(g)])
    handles = [
        Line2D([], [], label=f"$\\lambda$ = {v:g}", color=c, linewidth=1.2)
        for v, c in zip(shown, COLOURS, strict=False)
    ]
    handles += [
        Line2D([], [], label=f"gain {g:g}", color=INK, linestyle=d, marker=m, markersize=2.8)
        for g, d, m in zip(gains, DASHES, MARKERS, strict=False)
    ]
    return _finished(figure, table, handles)


def _frame(axes, table: Table, sigma: Number, d: int) -> None:
    panel(axes, "attention steps", "")
    tag(axes, f"$\\sigma$ = {sigma:g}, d = " + ("$10^6$" if d == LARGE else f"{d}"))
    size = int(fact(table, {}, "world.size"))
    axes.axhline(size**-0.5, color=MUTED, linewidth=0.8, linestyle=(0, (1, 1.5)))
    axes.set_ylim(0.1, 2.3)
    axes.set_yticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
    axes.set_xticks([1, 10, 100], ["1", "10", "100"])
    axes.minorticks_off()


def _line(axes, rows, law, colour: str, marker: str, gain=1.0, dash: Any = "-") -> None:
    steps = np.arange(1, len(law))
    some = np.unique(np.round(np.geomspace(1, len(law) - 1, 12)).astype(int))
    path = np.sqrt(rows["path.square"].mean(axis=0))
    axes.plot(gain * steps, law[1:], color=colour, linewidth=0.9, linestyle=dash)
    axes.plot(
        gain * some, path[some], color=colour, marker=marker, markersize=2.8, linestyle="none"
    )


def _finished(figure, table: Table, handles):
    figure.axes[0].set_ylabel(r"ratio  $|x_t-u|/\sigma$", fontsize=LABEL)
    floor = {"color": MUTED, "linewidth": 0.8, "linestyle": (0, (1, 1.5))}
    handles.append(Line2D([], [], label=r"floor $1/\sqrt{m_k}$", **floor))
    legend_over(figure, handles, 8)
    world = f"C = {fact(table, {}, 'world.clusters')}, $m_k$ = {fact(table, {}, 'world.size')}"
    caption(figure, *facts(table, world), "lines: recursion, marks: measured")
    return figure


def summary(table: Table) -> list[str]:
    """Best step, its ratio, the lifetime, and where the recursion is furthest off."""
    lines = []
    for at, rows, law in paths(table):
        path = np.sqrt(rows["path.square"].mean(axis=0))
        far = 1 + int(np.abs(np.log(path[1:] / law[1:])).argmax())
        lines.append(
            f"sigma {at['world.sigma']:g}, d {at['world.dimension']},"
            f" lambda {at['model.strength']:g}: best {path[1:].min():.4f} at step"
            f" {1 + int(path[1:].argmin())} (recursion {law[1:].min():.4f}), lifetime"
            f" {limit.lifetime(path)} (recursion {limit.lifetime(law)}) of {len(law) - 1},"
            f" furthest off at step {far}: {path[far] / law[far]:.4f} times the recursion"
        )
    return lines


BASE = Clusters(clusters=10, size=50)
figure = Figure(
    name="depth",
    title="the ratio after many attention steps",
    statement="every layer of attention removes more noise",
    setups={
        "smoke": setup(Clusters(clusters=4, size=16), (0.5,), (LARGE,), (4.0, 8.0), 8, 4),
        "small": setup(
            BASE, (0.5, 1.0), (1024, LARGE), (2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0), 30, 32
        ),
        "paper": setup(
            BASE,
            (0.5, 1.0),
            (1024, LARGE),
            (2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0),
            200,
            32,
            (0.25, 0.5, 1.0),
        ),
    },
    claims=CLAIMS,
    draws={"depth": draw, "residual": draw_residual},
    summary=summary,
    reference="Section 3.2, stacked",
    departures="the paper has one step; a residual stream is --set model.gain=0.5",
)
