r"""How the best ratio scales with the cluster size: 1/sqrt(m_k) only while sigma^2 <= D."""

from collections.abc import Sequence

import numpy as np

from limelight import plot
from limelight._core.gram import Number
from limelight.claims import AtMost, Estimate, Inside, Undecided
from limelight.experiments import Study
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.measures import noise_left
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Finding, Scale, scales
from limelight.papers.xu2022.ratios import LARGE, Cell, claim, control, limit_ratio, measured, over
from limelight.table import Table
from limelight.theory.xu2022 import optimum
from limelight.theory.xu2022.setting import Setting
from limelight.worlds import Clusters

AXIS = (
    "world.clusters",
    "world.size",
    "world.sigma",
    "model.operator",
    "model.strength",
    "model.neighbours",
)
SIGMAS = (0.5, 0.9, 1.0, 1.2, 1.5, 2.0)
OTHERS = ("masked", "knn-l2")


def cells_of(
    clusters: int,
    sizes: Sequence[int],
    sigmas: Sequence[Number],
    operators: Sequence[str] = ("softmax",),
) -> list[tuple]:
    """Each size at its own best logit scale (closed form); three times that where masked."""
    found = []
    for sigma in sigmas:
        for m in sizes:
            lam = round(optimum.balanced_strength(Setting.equal(clusters, m, sigma)), 4)
            for operator in operators:
                strength = round(3 * lam + 6, 4) if operator == "masked" else lam
                found.append((clusters, m, sigma, operator, strength, m))
    return found


def series(table: Table, operator: str) -> dict[tuple[int, float], list[Cell]]:
    """Cells of an operator by (clusters, sigma), sizes rising."""
    found: dict[tuple[int, float], list[Cell]] = {}
    for at, rows in table.where(model__operator=operator).cells(*AXIS):
        found.setdefault((at["world.clusters"], at["world.sigma"]), []).append((at, rows))
    return found


@claim(
    "scaling.exponent",
    "The best ratio falls with m_k, to the power min(1/2, D/(D + sigma^2)) in the end.",
    AtMost(0.001),
    kind="formula",
    fixed="after",
)
def exponents(table: Table) -> Estimate:
    """Largest difference between the limit law's slope at m_k = 10^40 and the exponent.

    It needs no draws. Near sigma^2 = D the exponent is reached slowly: at 10^20 it is 0.005 off.
    """
    wrong = {
        sigma: abs(optimum.local_exponent(10, sigma, 1e40) - optimum.scaling_exponent(sigma))
        for sigma in SIGMAS
    }
    worst = max(wrong, key=lambda sigma: wrong[sigma])
    return Estimate(
        wrong[worst], None, 0, f"{len(SIGMAS)} noise levels, worst at sigma {worst:g}; no sampling"
    )


@claim("scaling.measured", "Measured slopes follow the limit law within 0.03.", Inside(-0.03, 0.03))
def slopes(table: Table) -> Estimate:
    """Log-log slope between neighbouring m_k, measured minus limit law."""
    pairs = [
        (key, a, b)
        for key, cells in series(table, "softmax").items()
        for a, b in zip(cells[:-1], cells[1:], strict=True)
    ]
    found = []
    for (clusters, sigma), *two in pairs:
        over_law = [
            measured(rows, points=2 * len(pairs)).over(limit_ratio(rows)) for _, rows in two
        ]
        found.append(slope(f"C {clusters}, sigma {sigma:g}, ", two, over_law))
    return families.inside(found, -0.03, 0.03)


def slope(where: str, cells: Sequence[Cell], points: Sequence[families.Point]) -> families.Point:
    """The log-log slope between two sizes, as steep and as flat as both intervals allow."""
    sizes, (one, two) = [at["world.size"] for at, _ in cells], points
    step = np.log(sizes[1] / sizes[0])
    pairs = ((two.value, one.value), (two.low, one.high), (two.high, one.low))
    value, low, high = (float(np.log(a / b) / step) for a, b in pairs)
    name = f"{where}m_k {sizes[0]} to {sizes[1]}"
    return families.Point(name, value, low, high, one.draws + two.draws)


@control(
    "scaling.early",
    "Control: beyond sigma^2 = D the exponent shows at these sizes already, within 0.03.",
    Inside(-0.03, 0.03),
    statistic="measured slope between the two largest m_k minus the exponent, C = 10, sigma = 1.5",
)
def early(table: Table) -> Estimate:
    """Minus the measured slope, less the exponent of the law."""
    cells = series(table, "softmax").get((10, 1.5), [])[-2:]
    if len(cells) < 2:
        raise Undecided("not in this table")
    found = slope("", cells, [measured(rows, points=2) for _, rows in cells])
    wanted = optimum.scaling_exponent(1.5)
    note = f"{found.name}, exponent {wanted:.3f}"
    ends = (-found.high - wanted, -found.low - wanted)
    return Estimate(-found.value - wanted, ends, found.draws, note)


@claim(
    "scaling.others",
    "Without the diagonal, and for kNN, the exponent stays 1/2 at every noise level: the ratio is"
    " 1/sqrt(m_k) within 5 %.",
    Inside(0.95, 1.05),
)
def others(table: Table) -> Estimate:
    """Measured ratio times sqrt(m_k) (masked: m_k - 1), d = 10^6."""
    cells = [cell for name in OTHERS for part in series(table, name).values() for cell in part]
    name = lambda at: f"{at['model.operator']}, sigma {at['world.sigma']:g}, m_k {at['world.size']}"
    return families.inside(over(cells, averaged, name), 0.95, 1.05)


def averaged(rows: Table) -> float:
    """What averaging the tokens that a token may see leaves of the noise."""
    masked = rows.setting("model.operator") == "masked"
    return (rows.setting("world.size") - masked) ** -0.5


def draw(table: Table) -> plot.Picture:
    """Best ratio over cluster size with the limit law, one panel per number of clusters."""
    softmax = series(table, "softmax")
    clusters = sorted({c for c, _ in softmax})
    sigmas = sorted({sigma for _, sigma in softmax})
    some = np.unique(np.linspace(0, len(sigmas) - 1, 4).round().astype(int))
    shown = [sigmas[place] for place in some]
    lowest = min(measured(rows).value for _, rows in table.cells(*AXIS))
    y = plot.Axis(
        r"best ratio  $|x'-u|/\sigma$",
        log=True,
        limits=(0.85 * lowest, 0.6),
        ticks=[v for v in (0.02, 0.05, 0.1, 0.2, 0.5) if v > 0.85 * lowest],
    )
    x = plot.Axis(r"cluster size $m_k$", log=True, ticks=table.values("world.size").tolist())
    panels = [
        plot.Panel(f"{c} clusters", _cluster(table, softmax, c, shown), y=y, x=x) for c in clusters
    ]
    note = (
        "d = $10^6$",
        r"lines: limit law; marks: measured, each size at its own $\tilde\lambda$",
        "crosses: without the diagonal (x) and with the nearest $m_k$ (+), on the same law",
        f"{len(shown)} of {len(sigmas)} noise levels",
    )
    return plot.Picture(panels, width=plot.TWO_COLUMNS, height=2.7, share="y", note=note)


def _cluster(table: Table, softmax: dict, c: int, shown: list[float]) -> list[plot.Series]:
    """Marks on their law, a colour for each noise level, and the other operators as crosses."""
    found: list[plot.Series] = []
    for colour, sigma in enumerate(shown):
        cells = softmax.get((c, sigma), [])
        at = [where["world.size"] for where, _ in cells]
        if not at:
            continue
        fine = np.geomspace(min(at), max(at), 25)
        law = [optimum.optimal_strength(Setting.equal(c, m, sigma))[1] for m in fine]
        name = rf"$\sigma$ = {sigma:g}"
        seen = [measured(rows).value for _, rows in cells]
        found.append(plot.Guide(name, fine, law, colour=colour, dash=0))
        found.append(plot.Points(name, at, seen, colour=colour))
    for operator, marker in zip(OTHERS, "x+", strict=True):
        others = {sigma: cells for (k, sigma), cells in series(table, operator).items() if k == c}
        others = {sigma: cells for sigma, cells in others.items() if sigma in shown}
        for sigma, cells in others.items():
            at = [where["world.size"] for where, _ in cells]
            seen = [measured(rows).value for _, rows in cells]
            found.append(plot.Points("", at, seen, colour=shown.index(sigma), marker=marker))
    return found


def draw_exponent(table: Table) -> plot.Picture:
    """The exponent of the best ratio over noise level: slopes of the limit law come to it late."""
    panel = plot.Panel(
        "",
        [*_slopes(), plot.Reference(r"$\sigma^2 = D$", 1.0, vertical=True)],
        y=plot.Axis("scaling exponent", limits=(0, 0.62)),
        x=r"noise level $\sigma$",
    )
    note = ("orthonormal centres", "slopes of the limit law, C = 10")
    return plot.Picture([panel], width=plot.WIDE, note=note)


def _slopes() -> list[plot.Series]:
    """The slope of the limit law at three sizes, on the exponent."""
    at, fine = np.linspace(0.2, 2.5, 12), np.linspace(0.1, 2.5, 200)
    found: list[plot.Series] = [
        plot.Series(
            f"slope at $m_k = 10^{{{power}}}$",
            at,
            [optimum.local_exponent(10, float(s), 10.0**power) for s in at],
            colour=i,
        )
        for i, power in enumerate((2, 4, 20))
    ]
    law = [optimum.scaling_exponent(s) for s in fine]
    return [*found, plot.Guide("exponent law", fine, law, colour="ink")]


def summary(table: Table) -> list[str]:
    """Measured ratio and the law at the largest size of each series."""
    largest = [cells[-1] for cells in series(table, "softmax").values()]
    columns = {
        "measured": measured,
        "limit law": limit_ratio,
        "1/sqrt(m_k)": averaged,
        "exponent": lambda rows: optimum.scaling_exponent(rows.setting("world.sigma")),
    }
    heads = {"world.clusters": "C", "world.sigma": "sigma", "world.size": "m_k"}
    return tabulate(largest, heads, columns)


EXPONENT = Finding(
    "scaling.exponent", holds="The limit law's exponent is min(1/2, D/(D + sigma^2)) in the end"
)

figure = Figure(
    statement="noise falls like one over the square root of the number of averaged tokens",
    trial=Study(Clusters(dimension=LARGE), Smoother(), None, (noise_left,)),
    grid={
        AXIS: [
            *cells_of(2, (10, 100, 1000, 5000), SIGMAS),
            *cells_of(2, (10, 1000), SIGMAS, OTHERS),
            *cells_of(10, (10, 100, 1000), SIGMAS),
        ]
    },
    trials=8,
    scales=scales(
        smoke=Scale(
            trials=4,
            grid={AXIS: cells_of(2, (10, 40), (0.5, 1.5)) + cells_of(2, (40,), (0.5,), OTHERS)},
        ),
        small=Scale(
            trials=16,
            grid={
                AXIS: [
                    *cells_of(2, (10, 30, 100, 300), (0.5, 1.0, 1.5), ("softmax", *OTHERS)),
                    *cells_of(10, (10, 30, 100), (0.5, 1.0, 1.5)),
                ]
            },
        ),
    ),
    claims=(exponents, slopes, early, others),
    pictures={"scaling": draw, "exponent": draw_exponent},
    findings={"scaling": "scaling.measured", "exponent": EXPONENT},
    summary=summary,
    reference="proof of Theorem 1",
    departures="the paper has no experiment; logit scales come from the closed form, within 6e-5 of"
    " the best ratio",
)
