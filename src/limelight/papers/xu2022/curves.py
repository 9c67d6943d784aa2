r"""Ratio curves: what one attention step leaves of the noise, beside every law and bound."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limelight import plot
from limelight.claims import Estimate, Inside
from limelight.experiments import Study
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.measures import noise_left, purity
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Scale, scales
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
    named,
    over,
    spaced,
)
from limelight.table import Table
from limelight.theory.xu2022 import certificates, limit, prediction, printed
from limelight.worlds import Clusters

#: The point through which every axis is swept.
BASE = {
    "world.clusters": 10,
    "world.size": 50,
    "world.sigma": 0.5,
    "world.dimension": 1024,
    "model.strength": 6.0,
}


def sweeps(strengths: int, sigmas: int) -> list[tuple]:
    """A sweep along each axis through the base point, the logit scale at six settings."""
    points = [
        (10, 50, sigma, d, "softmax", lam, 10)
        for sigma in (0.3, 0.5, 1.0)
        for d in (1024, LARGE)
        for lam in spaced(0.25, 64, strengths)
    ]
    points += [(10, 50, s, 1024, "softmax", 6.0, 10) for s in spaced(0.1, 2, sigmas)]
    points += [(10, m, 0.5, 1024, "softmax", 6.0, 10) for m in (5, 10, 20, 50, 100, 200)]
    points += [(c, 50, 0.5, 1024, "softmax", 6.0, 10) for c in (2, 4, 10, 20)]
    points += [(10, 50, 0.5, d, "softmax", 6.0, 10) for d in (64, 256, 1024, 4096, LARGE)]
    points += [(10, 50, 0.5, 1024, "knn-l2", 6.0, k) for k in (2, 5, 10, 25, 50)]
    # Without the diagonal the flag is stricter: one point inside, two beyond.
    points += [(10, 50, 1.0, 256, "masked", lam, 10) for lam in (6.0, 10.0, 12.0)]
    return list(dict.fromkeys(points))


def cells_of(table: Table, *operators: str) -> list[Cell]:
    """The cells of some operators."""
    every = table.cached("points", lambda: list(table.cells(*POINT)))
    return [cell for cell in every if cell[0]["model.operator"] in operators]


@claim(
    "curves.limit",
    "The limit law is exact: measured / law = 1 within 1 % at d = 10^6.",
    Inside(0.99, 1.01),
    at="limelight, repairing xu2022, Theorem 2",
)
def against_limit(table: Table) -> Estimate:
    """Measured ratio over the limit law, all points of that dimension."""
    cells = [c for c in cells_of(table, "softmax") if c[0]["world.dimension"] >= LARGE]
    return families.inside(over(cells, limit_ratio, named), 0.99, 1.01)


@control(
    "curves.limit_beyond",
    "Control: without a large dimension, at d = 64, the limit law is within 1 % too.",
    Inside(0.99, 1.01),
    at="limelight, repairing xu2022, Theorem 2",
)
def beyond_limit(table: Table) -> Estimate:
    """Measured ratio over the limit law at d = 64."""
    cells = [c for c in cells_of(table, "softmax") if c[0]["world.dimension"] <= 64]
    return families.inside(over(cells, limit_ratio, named), 0.99, 1.01)


def predicted(rows: Table) -> prediction.Prediction:
    """The finite-d prediction for a cell."""
    operator, strength = rows.setting("model.operator"), rows.setting("model.strength")
    make = lambda: prediction.softmax(model_of(rows), strength, masked=operator == "masked")
    return rows.cached("prediction", make)


def predicted_ratio(rows: Table) -> float:
    """The ratio of a cell by the finite-d prediction."""
    return float(predicted(rows).ratio)


@claim(
    "curves.finite",
    "The finite-d prediction is within 3 % wherever its flag says valid.",
    Inside(0.97, 1.03),
)
def against_prediction(table: Table) -> Estimate:
    """Measured ratio over the prediction, all valid points."""
    cells = cells_of(table, "softmax", "masked")
    valid = [cell for cell in cells if predicted(cell[1]).valid]
    note = f"{len(cells) - len(valid)} of {len(cells)} points left out: flag says not valid"
    points = over(valid, predicted_ratio, named) if 2 * len(valid) >= len(cells) else []
    return families.inside(points, 0.97, 1.03, note)


@control(
    "curves.finite_beyond",
    "Control: at twice the spread that its flag allows the prediction is within 3 % too.",
    Inside(0.97, 1.03),
)
def beyond_prediction(table: Table) -> Estimate:
    """Measured ratio over the prediction, diagonal masked."""
    far = lambda found: found.spread >= 2 * found.limit
    cells = [cell for cell in cells_of(table, "masked") if far(predicted(cell[1]))]
    return families.inside(over(cells, predicted_ratio, named), 0.97, 1.03)


@claim(
    "curves.neighbours",
    "The kNN formula with selection bias is within 3 % while clusters are pure.",
    Inside(0.97, 1.03),
    at="limelight, repairing xu2022, Theorem 1",
)
def against_neighbours(table: Table) -> Estimate:
    """Measured ratio over the formula, K up to the cluster size."""
    pure = lambda rows: rows["purity"].min() > 1 - 1e-6
    cells = [cell for cell in cells_of(table, "knn-l2") if pure(cell[1])]
    names = ("world.size", "model.neighbours", "world.dimension")
    law = lambda rows: float(prediction.nearest_neighbours(*map(rows.setting, names)))
    points = over(cells, law, lambda at: f"K {at['model.neighbours']}")
    return families.inside(points, 0.97, 1.03)


LOOKS = {
    "limit law": {"colour": "ink"},
    "prediction": {"colour": 1, "dash": 1},
    "T2′": {"colour": 2, "dash": 3},
    "T2″": {"colour": 3, "dash": 4},
}
RATIO = r"ratio  $|x'-u|/\sigma$"


def law(name: str, x: ArrayLike, y: ArrayLike) -> plot.Guide:
    """A law in the look that it has in both pictures."""
    return plot.Guide(name, x, y, **LOOKS[name])


def marks(table: Table, path: str) -> plot.Series:
    """Measured ratios along an axis."""
    form = partial(plot.Points, colour=0, size=2.6)
    return plot.over_cells(table, path, measured, name="measured", form=form)[0]


def draw_strength(table: Table) -> plot.Picture:
    """The ratio over the logit scale, one panel per noise level, at the smaller dimension."""
    soft = table.where(model__operator="softmax")
    swept = ("world.clusters", "world.size", "world.dimension")
    small = [at for at, _ in soft.cells(*POINT) if at["world.dimension"] < LARGE]
    [(base, _)] = Counter(tuple(at[p] for p in swept) for at in small).most_common(1)
    soft = soft.rows(np.all([soft[p] == v for p, v in zip(swept, base, strict=True)], axis=0))
    swept = [r for _, r in soft.cells("world.sigma") if len(r.values("model.strength")) > 3]
    panels = [_over_strength(rows, bounds) for bounds in (False, True) for rows in swept]
    world = "C = {}, $m_k$ = {}, d = {}".format(*base)
    note = (world, r"T2′, T2″: certificates at $\delta$ = 0.05")
    size: dict[str, Any] = {"width": plot.TWO_COLUMNS, "height": 4.6, "columns": len(swept)}
    return plot.Picture(panels, note=note, share="both", **size)


def _over_strength(rows: Table, bounds: bool) -> plot.Panel:
    """What is measured with its laws, or with its certificates."""
    lam = rows.values("model.strength")
    first = rows.where(model__strength=lam[0])
    model = model_of(first)
    fine = np.geomspace(lam.min(), lam.max(), 160)
    sharp = prediction.softmax(model, fine)
    forms: Sequence[tuple[str, certificates.Form]] = (("T2′", "triangle"), ("T2″", "quadrature"))
    low, _, smallest = printed.softmax_window(model.tokens, model.sizes[0], model.sigma, 1e9)
    laws = (
        law("limit law", fine, limit.softmax_ratio(model, fine)),
        law("prediction", fine, np.where(sharp.valid, sharp.ratio, np.nan)),
    )
    digits, exponent = f"{smallest:.1e}".split("e")
    ask = rf"printed: $d \geq {digits} \cdot 10^{{{int(exponent)}}}$"
    return plot.Panel(
        "" if bounds else f"$\\sigma$ = {model.sigma:g}",
        [
            marks(rows, "model.strength"),
            *(
                law(name, fine, certificates.softmax_ratio(model, fine, form=form))
                for name, form in forms
                if bounds
            ),
            *(() if bounds else laws),
            plot.Reference("printed bound, 1/2", 0.5),
            plot.Span(r"$\lambda$ allowed as printed", low, np.inf),
            *([plot.Text(ask, "upper right")] if bounds else ()),
        ],
        y=plot.Axis(RATIO, log=True, limits=(0.09, 9), ticks=(0.1, 0.2, 0.5, 1, 2, 5)),
        x=plot.Axis(r"logit scale $\lambda$", log=True, ticks=(1, 10)),
    )


SWEEPS = {
    "world.sigma": (r"noise level $\sigma$", (0.1, 0.3, 1)),
    "world.size": (r"cluster size $m_k$", (5, 20, 100)),
    "world.clusters": ("clusters C", (2, 5, 10, 20)),
    "world.dimension": ("dimension d", {100: "100", 1e4: "$10^4$", 1e6: "$10^6$"}),
    "model.neighbours": ("kNN, K", (2, 5, 10, 25, 50)),
}


def draw_sweeps(table: Table) -> plot.Picture:
    """The ratio along every other axis through the base point."""
    panels = []
    for path, (label, ticks) in SWEEPS.items():
        rows = _along(table, path)
        if len(rows) and len(rows.values(path)) > 1:
            y = plot.Axis(RATIO, log=True, limits=(0.07, 1.3), ticks=(0.1, 0.2, 0.5, 1))
            content = [marks(rows, path), *_laws_along(rows, path)]
            panels.append(plot.Panel("", content, y, plot.Axis(label, log=True, ticks=ticks)))
    if not panels:
        return draw_strength(table)
    note = r"base point C = 10, $m_k$ = 50, $\sigma$ = 0.5, d = 1024, $\lambda$ = 6"
    return plot.Picture(panels, width=plot.TWO_COLUMNS, height=1.9, note=note, share="y")


def _along(table: Table, path: str) -> Table:
    operator = "knn-l2" if path == "model.neighbours" else "softmax"
    rest = {k: v for k, v in BASE.items() if k != path} | {"model.operator": operator}
    return table.rows(np.all([table[k] == v for k, v in rest.items()], axis=0))


def _laws_along(rows: Table, path: str) -> list[plot.Guide]:
    cells = list(rows.cells(path))
    x = [at[path] for at, _ in cells]
    if path == "model.neighbours":
        fine = np.geomspace(min(x), max(x), 60)
        size, dimension = rows.setting("world.size"), rows.setting("world.dimension")
        bias = prediction.nearest_neighbours(size, fine, dimension)
        plain = plot.Guide(
            r"$1/\sqrt{K}$ (printed proof)", fine, fine**-0.5, colour="muted", dash=2
        )
        return [law("prediction", fine, bias), plain]
    sharp = [predicted(part) for _, part in cells]
    ratio = [float(found.ratio) if found.valid else np.nan for found in sharp]
    known = [limit_ratio(part) for _, part in cells]
    return [law("limit law", x, known), law("prediction", x, ratio)]


def summary(table: Table) -> list[str]:
    """Measured, limit and prediction at the points nearest the base logit scale."""
    near = [c for c in cells_of(table, "softmax") if 5.5 < c[0]["model.strength"] < 7]
    columns = {
        "measured": measured,
        "draws": len,
        "limit law": limit_ratio,
        "prediction": predicted_ratio,
        "valid": lambda rows: bool(predicted(rows).valid),
    }
    return tabulate(near, SYMBOLS, columns, most=12)


SMOKE = [
    *((4, 20, 0.5, d, "softmax", lam, 10) for d in (256, LARGE) for lam in spaced(0.5, 40, 8)),
    *((4, 20, 0.5, 256, "knn-l2", 6.0, k) for k in (2, 10, 20)),
]
figure = Figure(
    statement="averaging over similar tokens removes noise: the error falls to half of sigma",
    trial=Study(Clusters(), Smoother(), None, (noise_left, purity)),
    grid={POINT: sweeps(64, 24)},
    trials=128,
    scales=scales(
        smoke=Scale(trials=16, grid={POINT: SMOKE}),
        small=Scale(trials=16, grid={POINT: sweeps(24, 12)}),
    ),
    claims=(against_limit, against_prediction, beyond_limit, beyond_prediction, against_neighbours),
    pictures={"strength": draw_strength, "sweeps": draw_sweeps},
    findings={
        "strength": "curves.limit",
        "sweeps": "curves.finite",
    },
    summary=summary,
    reference="Theorems 1 and 2",
    departures="the paper has no experiment; 16 draws a point at small scale",
    shared=("model.strength",),
)
