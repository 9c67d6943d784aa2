r"""The printed theorems at their own dimension and logit scale: where they break."""

from dataclasses import replace

import numpy as np

from limelight import plot
from limelight._core.gram import Number
from limelight.claims import AtLeast, AtMost, Estimate, Undecided
from limelight.experiments import Study
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.measures import noise_left
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Finding, Scale, scales
from limelight.papers.xu2022.ratios import (
    LARGE,
    POINT,
    SYMBOLS,
    Cell,
    claim,
    control,
    limit_ratio,
    measured,
    model_of,
)
from limelight.table import Table
from limelight.theory.xu2022 import limit, optimum, printed
from limelight.theory.xu2022.setting import Setting
from limelight.worlds import Clusters

DELTA = 0.05
#: Settings that meet every printed condition of Theorem 2: (clusters, size, sigma).
BROKEN = ((2, 50, 1.0), (10, 100, 1.0), (10, 20, 0.7), (50, 3, 0.1), (10, 2, 0.1))
#: A setting that meets every printed condition of Theorem 1, with K above the cluster size.
OVERFLOW = (50, 10, 0.3, 74, "knn-l2", 1.0, 83)
#: The repaired window, inside and beyond: (clusters, size, sigma).
WINDOW = (10, 100, 0.7)


def own_point(clusters: int, size: int, sigma: Number) -> tuple:
    """The printed theorem's smallest logit scale and the dimension it then asks for."""
    lam, d = printed.softmax_point(clusters * size, size, sigma, DELTA)
    return (clusters, size, sigma, d, "softmax", lam, 1)


def window() -> tuple[float, float]:
    """Both ends of the repaired window."""
    found = optimum.window(Setting.equal(*WINDOW)).quantities
    return found["lambda from"], found["lambda to"]


def theorem2_rows(table: Table) -> list[Cell]:
    """Cells that meet every printed condition of Theorem 2, checked again here."""
    found = []
    for at, rows in table.where(model__operator="softmax").cells(*POINT):
        model = model_of(rows)
        met = printed.softmax(
            model.tokens,
            at["world.size"],
            model.sigma,
            model.dimension,
            at["model.strength"],
            DELTA,
            model.nearest,
        ).applies
        if met and not _in_window_setting(at):
            found.append((at, rows))
    return found


@claim(
    "autopsy.theorem2",
    "Printed Theorem 2: every token ends within sigma/2 with probability 1 - 4 delta = 0.8.",
    AtLeast(0.8),
    at="xu2022, Theorem 2",
)
def theorem2(table: Table) -> Estimate:
    """Share of draws that obey it, worst row that meets all printed conditions."""
    found = [
        (int((rows["noise.worst"] <= 0.5).sum()), len(rows), at)
        for at, rows in theorem2_rows(table)
    ]
    if not found:
        raise Undecided("no row meets the printed conditions")
    good, n, at = min(found, key=lambda f: f[0] / f[1])
    failing = sum(f[0] / f[1] < 0.8 for f in found)
    row = f"C {at['world.clusters']}, m_k {at['world.size']}, sigma {at['world.sigma']:g}"
    return families.rate(good, n, f"{failing} of {len(found)} rows fall short; worst {row}")


@control(
    "autopsy.theorem1",
    "Control: Theorem 1 without Section 3.1's assumption that K is much smaller than m_k.",
    AtLeast(0.85),
    at="limelight; xu2022, Theorem 1 without an assumption of its text",
)
def theorem1(table: Table) -> Estimate:
    """Share of draws in which every token improves, all numbered conditions met, K = 83 > m_k."""
    cells = list(table.where(model__operator="knn-l2").cells(*POINT))
    if not cells:
        raise Undecided("no row of nearest neighbours")
    at, rows = cells[0]
    model = model_of(rows)
    if not printed.nearest_neighbours(
        model.nearest, model.sigma, model.dimension, at["model.neighbours"], model.tokens
    ).applies:
        raise Undecided("the row does not meet the conditions")
    note = f"mean of |x'-u|/|x-u| {rows['noise.mean_ratio'].mean():.2f}"
    return families.rate(int((rows["noise.worst_ratio"] < 1).sum()), len(rows), note)


@claim(
    "autopsy.band",
    "Printed norm band: all noise norms lie in it with probability 1 - delta.",
    AtMost(DELTA),
    at="xu2022, proof of Theorem 1",
    kind="formula",
)
def band(table: Table) -> Estimate:
    """Exact probability that some token escapes."""
    found = printed.norm_band(1000, 80, DELTA)
    return Estimate(found.value, None, 0, "m = 1000, d = 80, exact chi-square law, no sampling")


@claim(
    "autopsy.lemma1",
    "Printed Lemma 1: |cosine| of centres at most |sqrt2 - separation|.",
    AtMost(1e-9),
    at="xu2022, Lemma 1",
    kind="formula",
)
def lemma1(table: Table) -> Estimate:
    """Largest excess of the exact |cosine| over the printed bound, six separations."""
    gaps = {}
    for gamma in (0.3, 0.5, 1.0, 1.2, float(np.sqrt(2)), 2.0):
        found = printed.centre_cosine(gamma)
        gaps[gamma] = abs(found.quantities["exact cosine"]) - found.value
    false = ", ".join(f"{g:.3g}" for g, gap in gaps.items() if gap > 1e-9)
    note = f"false at separations {false}; no sampling"
    return Estimate(max(gaps.values()), None, 0, note)


def _in_window_setting(at: dict) -> bool:
    here = (at["world.clusters"], at["world.size"], at["world.sigma"])
    return here == WINDOW and at["world.dimension"] == LARGE


def _token_errors(table: Table, column: str, inside: bool, sign: int, level: float) -> Estimate:
    """The mean over draws of a token's error, at the worst logit scale in or out of the window."""
    low, high = window()
    cells = [
        (at, rows)
        for at, rows in table.cells(*POINT)
        if _in_window_setting(at) and (low <= at["model.strength"] <= high) == inside
    ]
    points = [
        families.mean_point(f"lambda {at['model.strength']:g}", sign * rows[column], len(cells))
        for at, rows in cells
    ]
    return families.below(points, sign * level)


@claim(
    "autopsy.window_inside",
    "Repaired Theorem 2, limit form: inside the window every token ends within 0.48 sigma.",
    AtMost(0.48),
    at="limelight, repairing xu2022, Theorem 2",
)
def window_inside(table: Table) -> Estimate:
    """Largest error over sigma, mean over draws, at both ends of the window, d = 10^6."""
    return _token_errors(table, "noise.worst", True, 1, 0.48)


@control(
    "autopsy.window_outside",
    "Control: at half the lower and twice the upper end of the window some token ends within"
    " 0.48 sigma too.",
    AtMost(0.48),
    at="limelight, repairing xu2022, Theorem 2",
    fixed="after",
)
def window_outside(table: Table) -> Estimate:
    """Smallest error over sigma, mean over draws, d = 10^6."""
    found = _token_errors(table, "noise.best", False, -1, 0.48)
    ends = None if found.interval is None else (-found.interval[1], -found.interval[0])
    return replace(found, value=-found.value, interval=ends)


def draw(table: Table) -> plot.Picture:
    """Claimed, measured and limit ratio of every row that meets all printed conditions."""
    cells = theorem2_rows(table)[::-1]
    places = np.arange(len(cells))
    worst = [float(rows["noise.worst"].mean()) for _, rows in cells]
    law = [limit_ratio(rows) for _, rows in cells]
    beyond = plot.Points(
        "", worst, places, x_low=np.full(len(cells), 0.5), x_high=worst,
        colour="faint", marker="", width=3,
    )  # fmt: skip
    panel = plot.Panel(
        "",
        [
            plot.Reference("printed bound, 1/2", 0.5, vertical=True),
            beyond,
            plot.Points("measured, worst token", worst, places, colour=0, size=5),
            plot.Points("limit law", law, places, colour="ink", marker="x", size=5),
        ],
        y=plot.Axis(categories=[_describe(at) for at, _ in cells]),
        x=plot.Axis(
            r"largest  $|x'_i-u|/\sigma$  at the printed $d$ and $\lambda$", limits=(0.4, 1.1)
        ),
    )
    note = "every printed condition of Theorem 2 holds in every row"
    return plot.Picture([panel], width=plot.WIDE, height=1.5 + 0.36 * len(cells), note=note)


def _describe(at: dict) -> str:
    digits, exponent = f"{at['world.dimension']:.2e}".split("e")
    return (
        f"C = {at['world.clusters']}, $m_k$ = {at['world.size']},"
        f" $\\sigma$ = {at['world.sigma']:g}\n"
        f"d = ${digits}\\cdot10^{{{int(exponent)}}}$, $\\lambda$ = {at['model.strength']:.2f}"
    )


def draw_map(table: Table) -> plot.Picture:
    """The limit ratio at the printed logit scale, over noise level and cluster size."""
    sigmas, sizes = np.geomspace(0.05, 1, 40), np.unique(np.round(np.geomspace(2, 1000, 40)))
    ratio = np.empty((len(sizes), len(sigmas)))
    for i, m in enumerate(sizes):
        for j, s in enumerate(sigmas):
            low, _, _ = printed.softmax_window(10 * m, m, s, 1e9, DELTA)
            ratio[i, j] = limit.softmax_ratio(Setting.equal(10, m, float(s)), low)
    colours = plot.Map(
        ratio, r"limit ratio at the printed $\lambda$", x=sigmas, y=sizes, low=0, high=1
    )
    bound = plot.Contour("the printed bound, 1/2", sigmas, sizes, ratio, 0.5, colour=1)
    panel = plot.Panel(
        "",
        [colours, bound],
        y=plot.Axis(r"cluster size $m_k$", log=True, ticks=(2, 10, 100, 1000)),
        x=plot.Axis(r"noise level $\sigma$", log=True, ticks=(0.05, 0.1, 0.2, 0.5, 1)),
    )
    facts = (
        "C = 10 orthonormal centres, exact in the limit, no sampling",
        "where it is lighter than on the line, the printed theorem is false",
    )
    return plot.Picture([panel], width=4.0, height=3.2, caption=facts)


def summary(table: Table) -> list[str]:
    """The counterexamples in numbers."""
    columns = {
        "claimed": lambda rows: 0.5,
        "measured": measured,
        "smallest token": lambda rows: rows["noise.best"].min(),
        "draws": len,
        "limit law": limit_ratio,
    }
    return tabulate(theorem2_rows(table), SYMBOLS, columns)


ROWS = [own_point(*row) for row in BROKEN]
LOW, HIGH = (float(np.round(end, 4)) for end in window())
#: Both ends of the repaired window, and well beyond both.
ENDS = [(*WINDOW, LARGE, "softmax", v, 1) for v in (LOW + 1e-4, HIGH, LOW / 2, 2 * HIGH)]
figure = Figure(
    statement="with high probability every token ends within sigma/2 of its centre",
    trial=Study(Clusters(), Smoother(), None, (noise_left,)),
    grid={POINT: [*ROWS, OVERFLOW, *ENDS]},
    trials=200,
    scales=scales(
        smoke=Scale(trials=4, grid={POINT: [ROWS[0], ROWS[-1], OVERFLOW]}), small=Scale(trials=20)
    ),
    claims=(theorem2, theorem1, band, lemma1, window_inside, window_outside),
    pictures={"autopsy": draw, "map": draw_map},
    findings={
        "autopsy": Finding(
            "autopsy.theorem2",
            fails="In its worst row printed Theorem 2 holds in {value:.0%} of the draws, not 80 %",
        ),
        "map": Finding(
            "autopsy.theorem2",
            fails="Printed Theorem 2 does not hold wherever its conditions do",
        ),
    },
    summary=summary,
    reference="Theorems 1 and 2, Lemma 1",
    departures="logit scales are the printed lower limit rounded up to 1/1000, dimensions follow"
    " from them",
)
