r"""Synthetic patches: attention against local averaging, clean and corrupted patches apart."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from limelight import plot
from limelight._core.gram import Number
from limelight.claims import AtLeast, AtMost, Estimate, Inside, Undecided
from limelight.experiments import Study
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.measures import filter_errors
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Finding, Scale, scales
from limelight.papers.xu2022.ratios import claim, claims
from limelight.table import Table
from limelight.worlds import Regions

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
LAYOUTS = ("scattered", "regions")
POPULATIONS = ("clean", "corrupted")
#: Noise on every patch; on a "corrupted" patch it is no corruption.
QUIET = 0.5


def tenth(table: Table) -> Table:
    """The draws with a tenth of the patches corrupted, where several shares were run."""
    swept = "world.share" in table.columns
    return table.rows(np.isclose(table["world.share"], 0.1)) if swept else table


def cell(table: Table, layout: str, loud: Number) -> Table:
    """The draws of one layout and corruption."""
    rows = tenth(table).where(world__layout=layout)
    rows = rows.rows(np.isclose(rows["world.loud"], loud))
    if not len(rows):
        raise Undecided(f"{layout} at noise {loud:g}, a tenth of the patches: not in this table")
    return rows


def left(rows: Table, name: str, part: str = "clean") -> np.ndarray:
    """Mean square error of one filter and population, a number per draw."""
    return rows[f"left.{name}.{part}"]


def less(table: Table, pairs: Sequence[tuple[str, Number, str, str, str]]) -> Estimate:
    """Order of filters: each pair is (layout, loud, better, worse, population)."""
    points = []
    for layout, loud, better, worse, part in pairs:
        rows, name = cell(table, layout, loud), f"{layout}, {part}, noise {loud:g}"
        squares = left(rows, better, part), left(rows, worse, part)
        points.append(families.difference_point(name, *squares, 1.0, len(pairs)))
    return families.below(points)


@claims(
    "patches.{part}",
    "Attention {helps} patches better than a 3 x 3 average.",
    AtMost(0.0),
    at="xu2022, Section 1",
    cases=(
        {"part": "clean", "helps": "protects clean"},
        {"part": "corrupted", "helps": "repairs the perturbed"},
    ),
)
def printed(table: Table, part: str) -> Estimate:
    """Attention over average, minus 1; lambda 6, {part} patches, noise 1.5, regions, paired."""
    return less(table, [("regions", 1.5, "att6", "conv3", part)])


@claim(
    "patches.stuck",
    "Dot-product attention leaves a corrupted patch as it is: ratio 1 within 3 %.",
    Inside(0.97, 1.03),
)
def stuck(table: Table) -> Estimate:
    """Ratio on corrupted patches, lambda 6, noise 1.5 and 3, regions."""
    squares = {loud: left(cell(table, "regions", loud), "att6", "corrupted") for loud in (1.5, 3.0)}
    points = [families.root_point(f"noise {loud:g}", s, 2) for loud, s in squares.items()]
    band = (0.97, 1.03) if table.setting("world.side") >= 14 else (0.94, 1.06)
    return families.inside(points, *band)


@claim(
    "patches.cosine",
    "Cosine attention without the diagonal beats the average on both populations.",
    AtMost(0.0),
)
def cosine(table: Table) -> Estimate:
    """Cosine over average, minus 1; clean and corrupted, noise 1.5 and 3, regions, paired."""
    arms = ("cos10_masked", "conv3")
    return less(table, [("regions", x, *arms, part) for x in (1.5, 3.0) for part in POPULATIONS])


@claim(
    "patches.leak",
    "Strong outliers leak: corruption more than doubles the error of clean patches.",
    AtMost(0.0),
)
def leak(table: Table) -> Estimate:
    """Clean error without over half the one with corruption 3, minus 1; lambda 8, paired."""
    quiet, loud = (left(cell(table, "regions", loud), "att8") for loud in (QUIET, 3.0))
    return families.below([families.difference_point("regions, clean", quiet, loud, 0.5, 1)])


def across_layouts(table: Table, name: str) -> Estimate:
    """Scattered over regions error without corruption (independent draws)."""
    a, b = (left(cell(table, layout, QUIET), name) for layout in ("scattered", "regions"))
    one, two = families.root_point("", a, 2), families.root_point("", b, 2)
    ends = (one.low / two.high, one.high / two.low)
    return Estimate(one.value / two.value, ends, len(a) + len(b))


layout_local = claim(
    "patches.layout_local",
    "Local averaging depends on the layout: scattered over regions above 1.5.",
    AtLeast(1.5),
    statistic="ratio of errors of the 3 x 3 average without corruption",
)(partial(across_layouts, name="conv3"))

layout_attention = claim(
    "patches.layout_attention",
    "Attention does not depend on the layout: scattered over regions is 1 within 10 %.",
    Inside(0.9, 1.1),
    statistic="ratio of errors of attention at lambda 6 without corruption",
)(partial(across_layouts, name="att6"))


def draw(table: Table) -> plot.Picture:
    """Every filter on both populations, one panel per corruption."""
    louds = [float(v) for v in table.values("world.loud")]
    louds = louds if len(louds) <= 3 else [QUIET, 1.5, 3.0]
    world = {name: table.setting(f"world.{name}") for name in ("side", "clusters", "dimension")}
    return plot.Picture(
        [_panel(table, loud) for loud in louds],
        width=plot.TWO_COLUMNS,
        height=3.0,
        note="{side} x {side} patches, C = {clusters}, d = {dimension}".format(**world),
        share="y",
    )


def _panel(table: Table, loud: float) -> plot.Panel:
    known = set(table["world.layout"])
    marks: list[plot.Mark] = [
        _filters(cell(table, layout, loud), part, layout, i)
        for i, part in enumerate(POPULATIONS)
        for layout in LAYOUTS
        if layout in known and (part == "clean" or loud != QUIET)
    ]
    corruption = rf"a tenth corrupted, $\sigma_c$ = {loud:g}"
    return plot.Panel(
        "no corruption" if loud == QUIET else corruption,
        [*marks, plot.Reference("as noisy as before", 1.0, vertical=True)],
        y=plot.Axis(categories=list(NAMES.values())[::-1]),
        x=plot.Axis("error / noise put in", True, (0.05, 3), (0.1, 0.3, 1, 3)),
    )


def _filters(rows: Table, part: str, layout: str, look: int) -> plot.Points:
    """One population in one layout: filled for regions, open for scattered patches."""
    found = [families.root_point("", left(rows, name, part), 1) for name in reversed(NAMES)]
    return plot.Points(
        f"{part}, {layout}",
        [p.value for p in found],
        np.arange(len(found)) + (0.16, -0.16)[look],
        x_low=[p.low for p in found],
        x_high=[p.high for p in found],
        colour=look,
        marker=look,
        hollow=layout == "scattered",
    )


def summary(table: Table) -> list[str]:
    """Both populations of every filter, in every cell."""

    def both(rows: Table, name: str) -> str:
        return "/".join(f"{np.sqrt(left(rows, name, part).mean()):.3f}" for part in POPULATIONS)

    heads = {"world.layout": "layout", "world.loud": "noise"}
    columns = {name: partial(both, name=name) for name in NAMES}
    title = "error over the noise put in, on clean/corrupted patches"
    return tabulate(tenth(table), heads, columns, title=title)


figure = Figure(
    statement="transformers are more resilient than CNNs to perturbation of individual patches",
    trial=Study(Regions(), Smoother(), None, (filter_errors,)),
    grid={
        "world.layout": ["regions", "fragmented", "scattered"],
        "world.loud": [QUIET, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0],
        "world.share": [0.05, 0.1, 0.3],
    },
    trials=64,
    scales=scales(
        smoke=Scale(
            trials=24,
            grid={
                "world.layout": ["regions", "scattered"],
                "world.loud": [QUIET, 1.5, 3.0],
                "world.share": None,
            },
            settings={"world.side": 8, "world.clusters": 4, "world.dimension": 64},
        ),
        small=Scale(trials=16, grid={"world.loud": [QUIET, 1.5, 3.0], "world.share": None}),
    ),
    claims=(*printed, stuck, cosine, leak, layout_local, layout_attention),
    pictures={"patches": draw},
    findings={
        "patches": (
            "patches.clean",
            Finding(
                "patches.corrupted",
                holds="and it repairs the perturbed ones better too",
                fails="but it repairs the perturbed ones worse",
            ),
        )
    },
    summary=summary,
    reference="Section 1",
    departures="the paper claims this in words; grid, layouts and corruption are ours; noise 0.5 on"
    " a 'corrupted' patch is no corruption",
    shared=("world.loud",),
)
