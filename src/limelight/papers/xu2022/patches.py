r"""Synthetic patches: attention against local averaging, clean and corrupted patches apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from limelight.claims import AtLeast, AtMost, Claim, Estimate, Inside
from limelight.experiments import Study
from limelight.fit import families
from limelight.measures import filter_errors
from limelight.models import Smoother
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.reading import facts, legend_over, tag
from limelight.plot import TWO_COLUMNS, caption, new_figure
from limelight.plot.style import COLOURS, MARKERS, MUTED, TICK, label, open_frame
from limelight.table import Table
from limelight.theory.xu2022.setting import Number
from limelight.worlds import Regions

AXES = ("world.layout", "world.loud")
NAMES = {
    "conv3": "3 x 3 average",
    "conv5": "5 x 5 average",
    "att4": r"attention, $\lambda$ = 4",
    "att6": r"attention, $\lambda$ = 6",
    "att8": r"attention, $\lambda$ = 8",
    "att6_masked": r"attention, $\lambda$ = 6, masked",
    "cos10": r"cosine, $\lambda$ = 10",
    "cos10_masked": r"cosine, $\lambda$ = 10, masked",
    "knn10": "kNN, K = 10",
}


def setup(world: Regions, layouts, louds, trials: int, shares=None) -> Setup:
    """One study; draws are shared over the strength of corruption."""
    axes: dict[str | tuple[str, ...], Sequence[Any]] = {
        "world.layout": list(layouts),
        "world.loud": list(louds),
    }
    if shares:
        axes["world.share"] = list(shares)
    study = Study(world, Smoother(), None, (filter_errors,))
    return Setup(study, axes, trials, shared=("world.loud",))


# --- what is read off a table -----------------------------------------------------------------


def cell(table: Table, layout: str, loud: Number) -> Table:
    """The draws of one layout and corruption, at the share of a tenth where several were run."""
    rows = table.rows((table["world.layout"] == layout) & np.isclose(table["world.loud"], loud))
    if "world.share" in table.columns:
        rows = rows.rows(np.isclose(rows["world.share"], 0.1))
    return rows


def left(rows: Table, name: str, part: str = "clean") -> np.ndarray:
    """Mean square error of one filter and population, a number a draw."""
    return rows[f"left.{name}.{part}"]


def less(table: Table, pairs, factor: Number = 1.0) -> Estimate:
    """Order of filters: each pair is (layout, loud, better, worse, population)."""
    points = []
    for layout, loud, better, worse, part in pairs:
        rows = cell(table, layout, loud)
        points.append(
            families.difference_point(
                f"{layout}, {part}, noise {loud:g}",
                left(rows, better, part),
                left(rows, worse, part),
                factor,
                len(pairs),
            )
        )
    return families.below(points)


def stuck(table: Table) -> Estimate:
    """Ratio of dot-product attention on corrupted patches."""
    points = [
        families.root_point(
            f"noise {loud:g}", left(cell(table, "regions", loud), "att6", "corrupted"), 2
        )
        for loud in (1.5, 3.0)
    ]
    return families.inside(points, *_stuck_band(table))


def _stuck_band(table: Table) -> tuple[float, float]:
    side = table.manifest["configuration"]["experiment"]["world"]["side"]
    return (0.97, 1.03) if side >= 14 else (0.94, 1.06)


def leak(table: Table) -> Estimate:
    """Twice the clean error without corruption against the clean error with strong corruption."""
    point = families.difference_point(
        "regions, clean",
        left(cell(table, "regions", 0.5), "att8"),
        left(cell(table, "regions", 3.0), "att8"),
        0.5,
        1,
    )
    return families.below([point])


def layouts(table: Table, name: str) -> Estimate:
    """Scattered over regions error without corruption (independent draws)."""
    a, b = (left(cell(table, where, 0.5), name) for where in ("scattered", "regions"))
    one, two = families.root_point("", a, 2), families.root_point("", b, 2)
    return Estimate(
        one.value / two.value, (one.low / two.high, one.high / two.low), len(a) + len(b)
    )


BOTH = [
    ("regions", loud, "cos10_masked", "conv3", p)
    for loud in (1.5, 3.0)
    for p in ("clean", "corrupted")
]
CLAIMS = (
    Claim(
        "patches.clean",
        "Attention protects clean patches better than a 3 x 3 average.",
        "attention over average, minus 1; lambda 6, clean patches, noise 1.5, regions, paired",
        lambda table: less(table, [("regions", 1.5, "att6", "conv3", "clean")]),
        AtMost(0.0),
        "xu2022, Section 1",
    ),
    Claim(
        "patches.corrupted",
        "Attention repairs the perturbed patches better than a 3 x 3 average.",
        "attention over average, minus 1; lambda 6, corrupted patches, noise 1.5, regions, paired",
        lambda table: less(table, [("regions", 1.5, "att6", "conv3", "corrupted")]),
        AtMost(0.0),
        "xu2022, Section 1",
    ),
    Claim(
        "patches.stuck",
        "Dot-product attention leaves a corrupted patch as it is: ratio 1 within 3 %.",
        "ratio on corrupted patches, lambda 6, noise 1.5 and 3, regions",
        stuck,
        Inside(0.97, 1.03),
        "limelight",
    ),
    Claim(
        "patches.cosine",
        "Cosine attention without the diagonal beats the average on both populations.",
        "cosine over average, minus 1; clean and corrupted, noise 1.5 and 3, regions, paired",
        lambda table: less(table, BOTH),
        AtMost(0.0),
        "limelight",
    ),
    Claim(
        "patches.leak",
        "Strong outliers leak: corruption more than doubles the error of clean patches.",
        "clean error without over half the one with corruption 3, minus 1; lambda 8, paired",
        leak,
        AtMost(0.0),
        "limelight",
    ),
    Claim(
        "patches.layout_local",
        "Local averaging depends on the layout: scattered over regions above 1.5.",
        "ratio of errors of the 3 x 3 average without corruption",
        lambda table: layouts(table, "conv3"),
        AtLeast(1.5),
        "limelight",
    ),
    Claim(
        "patches.layout_attention",
        "Attention does not: scattered over regions is 1 within 10 %.",
        "ratio of errors of attention at lambda 6 without corruption",
        lambda table: layouts(table, "att6"),
        Inside(0.9, 1.1),
        "limelight",
    ),
)


# --- picture ----------------------------------------------------------------------------------


def draw(table: Table):
    """Every filter on both populations, one panel a corruption; regions filled, scattered open."""
    louds = [float(v) for v in table.values("world.loud")]
    louds = louds if len(louds) <= 3 else [0.5, 1.5, 3.0]
    figure = new_figure(TWO_COLUMNS, 3.0, columns=len(louds))
    order = list(NAMES)[::-1]
    for axes, loud in zip(list(figure.axes), louds, strict=True):
        open_frame(axes)
        axes.set_xscale("log")
        label(axes, "error / noise put in", "")
        tag(axes, "no corruption" if loud == 0.5 else f"a tenth corrupted, $\\sigma_c$ = {loud:g}")
        axes.axvline(1.0, color=MUTED, linewidth=0.8, linestyle=(0, (1, 1.5)))
        for i, (layout, part) in enumerate(_shown(table, loud)):
            rows = cell(table, layout, loud)
            y = np.arange(len(order)) + (0.16 if part == "clean" else -0.16)
            points = [families.root_point("", left(rows, name, part), 1) for name in order]
            colour = COLOURS[0] if part == "clean" else COLOURS[1]
            face = colour if layout == "regions" else "white"
            ends = [[p.value - p.low for p in points], [p.high - p.value for p in points]]
            axes.errorbar(
                [p.value for p in points],
                y,
                xerr=np.clip(ends, 0, None),
                linestyle="none",
                color=colour,
                marker=MARKERS[0 if part == "clean" else 1],
                markersize=3.4,
                markerfacecolor=face,
                markeredgewidth=0.8,
                elinewidth=0.6,
                zorder=4 - 0.1 * i,
            )
        names = [NAMES[n] for n in order] if axes is figure.axes[0] else [""] * len(order)
        axes.set_yticks(range(len(order)), names, fontsize=TICK)
        axes.set_ylim(-0.6, len(order) - 0.4)
        axes.set_xlim(0.05, 3)
        axes.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
        axes.minorticks_off()
    handles = [
        Line2D(
            [],
            [],
            label=f"{part} patches, {layout}",
            linestyle="none",
            markersize=3.6,
            color=COLOURS[c],
            marker=MARKERS[c],
            markerfacecolor=COLOURS[c] if f else "white",
        )
        for c, part in enumerate(("clean", "corrupted"))
        for f, layout in ((1, "regions"), (0, "scattered"))
    ]
    legend_over(figure, handles)
    world = table.manifest["configuration"]["experiment"]["world"]
    grid = f"{world['side']} x {world['side']} patches"
    note = f"{grid}, C = {world['clusters']}, d = {world['dimension']}"
    caption(figure, *facts(table, note), "1: as noisy as before (dotted)")
    return figure


def _shown(table: Table, loud: Number):
    parts = ("clean",) if loud == 0.5 else ("clean", "corrupted")
    known = set(table["world.layout"])
    return [(w, p) for w in ("regions", "scattered") if w in known for p in parts]


def summary(table: Table) -> list[str]:
    """Both populations of every filter, in every cell."""
    lines = []
    for at, _ in table.cells(*AXES):
        rows = cell(table, at["world.layout"], at["world.loud"])
        values = "  ".join(f"{name} {_both(rows, name)}" for name in NAMES)
        lines.append(f"{at['world.layout']}, noise {at['world.loud']:g}: {values}")
    return lines


def _both(rows: Table, name: str) -> str:
    return "/".join(f"{np.sqrt(left(rows, name, p).mean()):.3f}" for p in ("clean", "corrupted"))


LOUDS = (0.5, 1.5, 3.0)
figure = Figure(
    name="patches",
    title="attention against local averaging on patches, both populations",
    statement="transformers are more resilient than CNNs to perturbation of individual patches",
    setups={
        "smoke": setup(
            Regions(side=8, clusters=4, dimension=64), ("regions", "scattered"), LOUDS, 24
        ),
        "small": setup(Regions(), ("regions", "fragmented", "scattered"), LOUDS, 16),
        "paper": setup(
            Regions(),
            ("regions", "fragmented", "scattered"),
            (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0),
            64,
            (0.05, 0.1, 0.3),
        ),
    },
    claims=CLAIMS,
    draws={"patches": draw},
    summary=summary,
    reference="Section 1",
    departures="the paper claims this in words; grid, layouts and corruption are ours; noise 0.5 on"
    " a 'corrupted' patch is no corruption",
)
