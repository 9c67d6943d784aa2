r"""Stacking attention steps: depth helps above the one-step optimum and destroys below it."""

import numpy as np
from matplotlib.lines import Line2D

from limelight.claims import AtMost, Claim, Estimate, Inside
from limelight.fit import families
from limelight.measures import noise_path
from limelight.models import Smoother
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.reading import fact, facts, legend_over, panel, setting, tag
from limelight.plot import TWO_COLUMNS, caption, new_figure
from limelight.plot.style import COLOURS, INK, MARKERS, MUTED
from limelight.study import Study
from limelight.study.grid import Axes
from limelight.table import Table
from limelight.theory.xu2022 import limit
from limelight.worlds import Clusters

AXES = ("world.sigma", "world.dimension", "model.strength", "model.gain")
LARGE = 1_000_000


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


def plain(table: Table):
    """Cells of plain iteration, each with the recursion's path."""
    for at, rows in table.cells(*AXES):
        if at["model.gain"] == 1.0:
            steps = rows["path.square"].shape[1] - 1
            yield at, rows, limit.iterate_ratio(setting(table, at), at["model.strength"], steps)


def _points(table: Table, chosen, steps: int | None):
    cells = [(at, rows, law) for at, rows, law in plain(table) if chosen(at)]
    last = lambda law: len(law) if steps is None else min(steps + 1, len(law))
    count = sum(last(law) - 1 for _, _, law in cells)
    return [
        families.root_point(
            f"sigma {at['world.sigma']:g}, lambda {at['model.strength']:g}, step {t}",
            rows["path.square"][:, t],
            count,
        ).over(float(law[t]))
        for at, rows, law in cells
        for t in range(1, last(law))
    ]


def recursion(table: Table) -> Estimate:
    """Measured over recursion at the large dimension, every step."""
    points = _points(table, lambda at: at["world.dimension"] == LARGE, None)
    return families.inside(points, 0.98, 1.02)


def recursion_finite(table: Table) -> Estimate:
    """Measured over recursion at d = 1024, sigma = 0.5, the first nine steps."""
    points = _points(
        table, lambda at: at["world.dimension"] == 1024 and at["world.sigma"] == 0.5, 9
    )
    return families.inside(points, 0.96, 1.04)


def recursion_breaks(table: Table) -> Estimate:
    """Largest relative distance to the recursion at d = 1024, sigma = 1, lambda at least 5."""
    worst, where, n = np.nan, "", 0
    for at, rows, law in plain(table):
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
    for at, rows, law in plain(table):
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
        "The recursion gives every step's ratio at d = 10^6 within 2 %.",
        "measured over recursion, every step, noise level and logit scale",
        recursion,
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
    keys = sorted({(at["world.sigma"], at["world.dimension"]) for at, _, _ in plain(table)})
    figure = new_figure(TWO_COLUMNS, 2.7, columns=len(keys))
    strengths = [float(v) for v in table.values("model.strength")]
    size = int(fact(table, {}, "world.size"))
    shown = strengths if len(strengths) <= 7 else strengths[:: -(-len(strengths) // 7)]
    for axes, (sigma, d) in zip(list(figure.axes), keys, strict=True):
        panel(axes, "attention steps", "", log_x=False)
        tag(axes, f"$\\sigma$ = {sigma:g}, d = " + ("$10^6$" if d == LARGE else f"{d}"))
        for at, rows, law in plain(table):
            if (at["world.sigma"], at["world.dimension"]) != (sigma, d):
                continue
            if at["model.strength"] not in shown:
                continue
            i = shown.index(at["model.strength"])
            steps = np.arange(len(law))
            axes.plot(steps, law, color=COLOURS[i], linewidth=0.9)
            path = np.sqrt(rows["path.square"].mean(axis=0))
            every = max(1, len(law) // 10)
            look = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 2.8}
            axes.plot(steps[::every], path[::every], linestyle="none", **look)
        axes.axhline(size**-0.5, color=MUTED, linewidth=0.8, linestyle=(0, (1, 1.5)))
        axes.set_ylim(0.1, 2.3)
        axes.set_yticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
        axes.minorticks_off()
    figure.axes[0].set_ylabel(r"ratio  $|x_t-u|/\sigma$", fontsize=7.5)
    handles = [
        Line2D(
            [],
            [],
            label=f"$\\lambda$ = {v:g}",
            color=COLOURS[i],
            marker=MARKERS[i],
            linewidth=0.9,
            markersize=2.8,
        )
        for i, v in enumerate(shown)
    ]
    handles.append(
        Line2D(
            [],
            [],
            label=r"floor $1/\sqrt{m_k}$",
            color=MUTED,
            linewidth=0.8,
            linestyle=(0, (1, 1.5)),
        )
    )
    handles.append(Line2D([], [], label="line: recursion, marks: measured", color=INK, linewidth=0))
    legend_over(figure, handles)
    caption(figure, *facts(table, f"C = {fact(table, {}, 'world.clusters')}, $m_k$ = {size}"))
    return figure


def summary(table: Table) -> list[str]:
    """Best step, its ratio and the lifetime, measured and by the recursion."""
    lines = []
    for at, rows, law in plain(table):
        path = np.sqrt(rows["path.square"].mean(axis=0))
        lines.append(
            f"sigma {at['world.sigma']:g}, d {at['world.dimension']},"
            f" lambda {at['model.strength']:g}: best {path[1:].min():.4f} at step"
            f" {1 + int(path[1:].argmin())} (recursion {law[1:].min():.4f}), lifetime"
            f" {limit.lifetime(path)} (recursion {limit.lifetime(law)}) of {len(law) - 1}"
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
            [round(float(v), 4) for v in np.geomspace(2, 12, 24)],
            1000,
            8,
            (0.25, 0.5, 1.0),
        ),
    },
    claims=CLAIMS,
    draws={"depth": draw},
    summary=summary,
    reference="Section 3.2, stacked",
    departures="the paper has one step; a residual stream is --set model.gain=0.5",
)
