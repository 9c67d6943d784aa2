r"""The printed theorems at their own dimension and logit scale: where they break."""

from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.experiments import Study
from limelight.fit import families
from limelight.measures import noise_left
from limelight.models import Smoother
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.reading import facts, power, setting
from limelight.plot import caption, new_figure
from limelight.plot.style import (
    COLOURS,
    INK,
    MUTED,
    TICK,
    WEIGHT,
    dress_bar,
    label,
    legend_above,
    open_frame,
)
from limelight.table import Table
from limelight.theory.xu2022 import limit, optimum, printed
from limelight.theory.xu2022.setting import Number, Setting
from limelight.worlds import Clusters

AXIS = (
    "world.clusters",
    "world.size",
    "world.sigma",
    "world.dimension",
    "model.operator",
    "model.strength",
    "model.neighbours",
)
DELTA = 0.05
#: Settings that meet every printed condition of Theorem 2: (clusters, size, sigma).
BROKEN = ((2, 50, 1.0), (10, 100, 1.0), (10, 20, 0.7), (50, 3, 0.1), (10, 2, 0.1))
#: A setting that meets every printed condition of Theorem 1, with K above the cluster size.
OVERFLOW = (50, 10, 0.3, 74, "knn-l2", 1.0, 83)
#: The repaired window, inside and beyond: (clusters, size, sigma).
WINDOW = (10, 100, 0.7)
LARGE = 1_000_000


def own_point(clusters: int, size: int, sigma: Number):
    """The printed theorem's smallest logit scale and the dimension it then asks for."""
    m = clusters * size
    low, _, _ = printed.softmax_window(m, size, sigma, 1e9, DELTA)
    lam = np.ceil(low * 1e3) / 1e3
    d = int(np.ceil((80 * lam) ** 2 * np.log(2 * m / (DELTA * sigma)) * (1 + 1e-6)))
    return (clusters, size, sigma, d, "softmax", float(lam), 1)


def window_points():
    """Both ends of the repaired window, and well beyond both."""
    found = optimum.window(Setting.equal(*WINDOW))
    low, high = (np.round(found.quantities[k], 4) for k in ("lambda from", "lambda to"))
    return [(*WINDOW, LARGE, "softmax", float(v), 1) for v in (low + 1e-4, high, low / 2, 2 * high)]


def setup(rows, trials: int) -> Setup:
    """One study over a list of rows."""
    return Setup(Study(Clusters(), Smoother(), None, (noise_left,)), {AXIS: list(rows)}, trials)


# --- what is read off a table -----------------------------------------------------------------


def theorem2_rows(table: Table):
    """Rows that meet every printed condition of Theorem 2, checked again here."""
    for at, rows in table.cells(*AXIS):
        model = setting(table, at)
        if at["model.operator"] != "softmax" or _is_window(at):
            continue
        claim = printed.softmax(
            model.tokens,
            at["world.size"],
            model.sigma,
            model.dimension,
            at["model.strength"],
            DELTA,
            model.nearest,
        )
        if claim.applies:
            yield at, rows


def theorem2(table: Table) -> Estimate:
    """Share of draws in which every token obeys the printed bound, in the worst row."""
    found = [
        (int((rows["noise.worst"] <= 0.5).sum()), len(rows), at)
        for at, rows in theorem2_rows(table)
    ]
    if not found:
        return Estimate(float("nan"), None, 0, "no row meets the printed conditions")
    good, n, at = min(found, key=lambda f: f[0] / f[1])
    failing = sum(f[0] / f[1] < 0.8 for f in found)
    row = f"C {at['world.clusters']}, m_k {at['world.size']}, sigma {at['world.sigma']:g}"
    return families.rate(good, n, f"{failing} of {len(found)} rows fall short; worst {row}")


def theorem1(table: Table) -> Estimate:
    """Share of draws in which averaging K neighbours improves every token."""
    for at, rows in table.cells(*AXIS):
        if at["model.operator"] == "knn-l2":
            model = setting(table, at)
            claim = printed.nearest_neighbours(
                model.nearest, model.sigma, model.dimension, at["model.neighbours"], model.tokens
            )
            if not claim.applies:
                return Estimate(float("nan"), None, 0, "the row does not meet the conditions")
            note = f"mean of |x'-u|/|x-u| {rows['noise.mean_ratio'].mean():.2f}"
            good = int((rows["noise.worst_ratio"] < 1).sum())
            return families.rate(good, len(rows), note)
    return Estimate(float("nan"), None, 0, "no row of nearest neighbours")


def band(table: Table) -> Estimate:
    """Exact escape probability of the printed band; needs no draws."""
    found = printed.norm_band(1000, 80, DELTA)
    return Estimate(found.value, None, 1, "m = 1000, d = 80, exact chi-square law, no sampling")


def lemma1(table: Table) -> Estimate:
    """Largest excess of the exact |cosine| over the printed bound; needs no draws."""
    gaps = {}
    for gamma in (0.3, 0.5, 1.0, 1.2, float(np.sqrt(2)), 2.0):
        found = printed.centre_cosine(gamma)
        gaps[gamma] = abs(found.quantities["exact cosine"]) - found.value
    worst = max(gaps, key=lambda g: gaps[g])
    false = ", ".join(f"{g:.3g}" for g, gap in gaps.items() if gap > 1e-9)
    return Estimate(gaps[worst], None, len(gaps), f"false at separations {false}; no sampling")


def _is_window(at) -> bool:
    here = (at["world.clusters"], at["world.size"], at["world.sigma"])
    return here == WINDOW and at["world.dimension"] == LARGE


def _window(table: Table, inside: bool):
    bound = optimum.window(Setting.equal(*WINDOW))
    low, high = bound.quantities["lambda from"], bound.quantities["lambda to"]
    return [
        (at, rows)
        for at, rows in table.cells(*AXIS)
        if _is_window(at) and (low <= at["model.strength"] <= high) == inside
    ]


def window_inside(table: Table) -> Estimate:
    """Largest error over sigma of any token, both ends of the window."""
    cells = _window(table, True)
    points = [
        families.mean_point(f"lambda {at['model.strength']:g}", rows["noise.worst"], len(cells))
        for at, rows in cells
    ]
    return families.below(points, 0.48)


def window_outside(table: Table) -> Estimate:
    """Smallest error over sigma of any token, half and twice the window's ends."""
    cells = _window(table, False)
    points = [
        families.mean_point(f"lambda {at['model.strength']:g}", -rows["noise.best"], len(cells))
        for at, rows in cells
    ]
    found = families.below(points, -0.48)
    ends = None if found.interval is None else (-found.interval[1], -found.interval[0])
    return Estimate(-found.value, ends, found.n, found.note)


CLAIMS = (
    Claim(
        "autopsy.theorem2",
        "Printed Theorem 2: every token ends within sigma/2 with probability 1 - 4 delta = 0.8.",
        "share of draws that obey it, worst row that meets all printed conditions",
        theorem2,
        AtLeast(0.8),
        "xu2022, Theorem 2",
    ),
    Claim(
        "autopsy.theorem1",
        "Printed Theorem 1: averaging K neighbours improves every token, probability 0.85.",
        "share of draws that obey it where all printed conditions hold and K > m_k",
        theorem1,
        AtLeast(0.85),
        "xu2022, Theorem 1",
    ),
    Claim(
        "autopsy.band",
        "Printed norm band: all noise norms lie in it with probability 1 - delta.",
        "exact probability that some token escapes",
        band,
        AtMost(DELTA),
        "xu2022, proof of Theorem 1",
    ),
    Claim(
        "autopsy.lemma1",
        "Printed Lemma 1: |cosine| of centres at most |sqrt2 - separation|.",
        "largest excess of the exact |cosine| over the printed bound, six separations",
        lemma1,
        AtMost(1e-9),
        "xu2022, Lemma 1",
    ),
    Claim(
        "autopsy.window_inside",
        "Repaired Theorem 2, limit form: inside the window every token ends within 0.48 sigma.",
        "largest error over sigma, mean over draws, at both ends of the window, d = 10^6",
        window_inside,
        AtMost(0.48),
        "limelight, repairing xu2022, Theorem 2",
    ),
    Claim(
        "autopsy.window_outside",
        "Half the lower and twice the upper end of that window, no token ends within 0.48 sigma.",
        "smallest error over sigma, mean over draws, d = 10^6",
        window_outside,
        AtLeast(0.48),
        "limelight, repairing xu2022, Theorem 2",
    ),
)


# --- picture ----------------------------------------------------------------------------------


def draw(table: Table):
    """Claimed, measured and limit ratio of every row that meets all printed conditions."""
    cells = list(theorem2_rows(table))
    figure = new_figure(4.6, 1.5 + 0.36 * len(cells))
    axes = figure.axes[0]
    open_frame(axes)
    label(axes, r"largest  $|x'_i-u|/\sigma$  at the printed $d$ and $\lambda$", "")
    names = []
    for i, (at, rows) in enumerate(cells):
        model = setting(table, at)
        law = float(limit.softmax_ratio(model, at["model.strength"]))
        measured = float(rows["noise.worst"].mean())
        axes.plot([0.5, measured], [i, i], color="#d9d9d9", linewidth=3, zorder=1)
        axes.plot([0.5], [i], marker="|", color=MUTED, markersize=11, markeredgewidth=1.6)
        axes.plot([measured], [i], marker="o", color=COLOURS[0], markersize=5)
        axes.plot([law], [i], marker="x", color=INK, markersize=5, markeredgewidth=1.2)
        names.append(
            f"C = {at['world.clusters']}, $m_k$ = {at['world.size']},"
            f" $\\sigma$ = {at['world.sigma']:g}\n"
            f"d = {power(at['world.dimension'])}, $\\lambda$ = {at['model.strength']:.2f}"
        )
    axes.set_yticks(range(len(names)), names, fontsize=TICK)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlim(0.4, 1.1)
    axes.grid(axis="y", visible=False)
    marks: tuple[tuple[str, dict[str, Any]], ...] = (
        ("printed bound 1/2", {"marker": "|", "color": MUTED, "markeredgewidth": 1.6}),
        ("measured, worst token", {"marker": "o", "color": COLOURS[0]}),
        ("limit law", {"marker": "x", "color": INK, "markeredgewidth": 1.2}),
    )
    handles = [Line2D([], [], linestyle="none", label=n, **look) for n, look in marks]
    legend_above(axes, handles, room=2.9)
    caption(figure, *facts(table), "every printed condition of Theorem 2 holds in every row")
    return figure


def draw_map(table: Table):
    """The limit ratio at the printed logit scale, over noise level and cluster size."""
    sigmas, sizes = np.geomspace(0.05, 1, 40), np.unique(np.round(np.geomspace(2, 1000, 40)))
    ratio = np.empty((len(sizes), len(sigmas)))
    for i, m in enumerate(sizes):
        for j, s in enumerate(sigmas):
            low, _, _ = printed.softmax_window(10 * m, m, s, 1e9, DELTA)
            ratio[i, j] = limit.softmax_ratio(Setting.equal(10, m, float(s)), low)
    figure = new_figure(4.0, 3.2)
    axes = figure.axes[0]
    open_frame(axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    label(axes, r"noise level $\sigma$", r"cluster size $m_k$")
    mesh = axes.pcolormesh(sigmas, sizes, ratio, cmap=WEIGHT, vmin=0, vmax=1, zorder=1)
    axes.contour(sigmas, sizes, ratio, levels=[0.5], colors=COLOURS[1], linewidths=1.4, zorder=3)
    axes.set_xticks([0.05, 0.1, 0.2, 0.5, 1], ["0.05", "0.1", "0.2", "0.5", "1"])
    axes.set_yticks([2, 10, 100, 1000], ["2", "10", "100", "1000"])
    axes.minorticks_off()
    bar = figure.colorbar(mesh, ax=axes, pad=0.025, aspect=28)
    dress_bar(bar, "limit ratio at the printed $\\lambda$")
    handles = axes.plot([], [], color=COLOURS[1], linewidth=1.4, label="the printed bound, 1/2")
    legend_above(axes, handles, room=3.0)
    caption(
        figure,
        "C = 10 orthonormal centres, exact in the limit, no sampling",
        "below and right of the line, where it is darker, the printed theorem is false",
    )
    return figure


def summary(table: Table) -> list[str]:
    """The counterexamples in numbers."""
    lines = []
    for at, rows in theorem2_rows(table):
        law = float(limit.softmax_ratio(setting(table, at), at["model.strength"]))
        lines.append(
            f"C {at['world.clusters']}, m_k {at['world.size']}, sigma {at['world.sigma']:g},"
            f" d {at['world.dimension']}, lambda {at['model.strength']:.3f}: claimed 0.5, measured"
            f" {np.sqrt(rows['noise.square'].mean()):.4f} (smallest token"
            f" {rows['noise.best'].min():.4f}, n = {len(rows)}), limit {law:.4f}"
        )
    return lines


ROWS = [own_point(*row) for row in BROKEN]
figure = Figure(
    name="autopsy",
    title="the printed theorems at their own dimension and logit scale",
    statement="with high probability every token ends within sigma/2 of its centre",
    setups={
        "smoke": setup([ROWS[0], ROWS[-1], OVERFLOW], 4),
        "small": setup([*ROWS, OVERFLOW, *window_points()], 20),
        "paper": setup([*ROWS, OVERFLOW, *window_points()], 200),
    },
    claims=CLAIMS,
    draws={"autopsy": draw, "map": draw_map},
    summary=summary,
    reference="Theorems 1 and 2, Lemma 1",
    departures="logit scales are the printed lower limit rounded up to 1/1000, dimensions follow"
    " from them",
)
