r"""Lemma 2 against draws: products of noise with noise, and of noise with centres."""

import numpy as np

from limelight import plot
from limelight.claims import AtLeast, Estimate, Undecided
from limelight.experiments import Study
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.measures import noise_products
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Finding, Scale, claims, scales
from limelight.papers.xu2022.ratios import Cell, model_of
from limelight.table import Table
from limelight.theory.xu2022 import printed
from limelight.worlds import Clusters

AXIS = ("world.clusters", "world.size", "world.sigma", "world.dimension")
DELTA = 0.05
#: What a draw is asked for, in words.
PARTS = {
    "printed": "every two tokens, a token with itself included",
    "pairs": "every two different tokens",
    "centres": "every token with every centre",
}


def bounds(rows: Table) -> tuple[float, float]:
    """The printed bounds of a cell in units of sigma^2 and of sigma; undecided outside Lemma 2."""
    model = model_of(rows)
    m, sigma, d = model.tokens, model.sigma, model.dimension
    if not (np.log(m / DELTA) <= d and np.log(m / (2 * DELTA * sigma**2)) <= d / 2):
        raise Undecided("a row breaks a condition of Lemma 2", n=len(rows))
    bound = printed.noise_products(m, sigma, d, DELTA)
    return bound.value / sigma**2, bound.quantities["|<h_i, u_k>|"] / sigma


def obeyed(rows: Table, part: str) -> np.ndarray:
    """Whether each draw of a cell obeys its bound."""
    pair, centre = bounds(rows)
    if part == "centres":
        return rows["products.centres"] <= centre
    pairs = rows["products.pairs"] <= pair
    return pairs & (rows["products.itself"] <= pair) if part == "printed" else pairs


def cells_of(table: Table) -> list[Cell]:
    """Every setting of the figure."""
    return list(table.cells(*AXIS))


@claims(
    "lemma2.{part}",
    "With probability 1 - 3 delta = 0.85 Lemma 2's bound holds for {words}.",
    AtLeast(1 - 3 * DELTA),
    at="xu2022, Lemma 2",
    cases=[{"part": part, "words": words} for part, words in PARTS.items()],
)
def kept(table: Table, part: str) -> Estimate:
    """Share of draws that obey it, the setting with the fewest."""
    found = [(int(obeyed(rows, part).sum()), len(rows), at) for at, rows in cells_of(table)]
    good, n, at = min(found, key=lambda f: f[0] / f[1])
    where = ", ".join(f"{name.rpartition('.')[2]} {value:g}" for name, value in at.items())
    return families.rate(good, n, f"{len(found)} settings, fewest at {where}")


def draw(table: Table) -> plot.Picture:
    """Largest products over their printed bounds, by dimension, one panel per kind of product."""
    columns = {"pairs": 0, "itself": 0, "centres": 1}
    titles = {"pairs": "two tokens", "itself": "a token with itself", "centres": "with a centre"}
    panels = []
    for part, bound in columns.items():
        marks: list[plot.Mark] = []
        for i, (sigma, parts) in enumerate(_by_sigma(table)):
            x = [at["world.dimension"] for at, _ in parts]
            share = [rows[f"products.{part}"] / bounds(rows)[bound] for _, rows in parts]
            low, middle, high = ([np.quantile(s, q) for s in share] for q in (0.025, 0.5, 0.975))
            marks.append(plot.Points(rf"$\sigma$ = {sigma:g}", x, middle, low, high, colour=i))
        marks.append(plot.Reference("the bound", 1.0))
        y = plot.Axis("largest product / bound", log=True)
        panels.append(plot.Panel(titles[part], marks, y, plot.Axis("dimension d", log=True)))
    note = "median and 95 % of the draws"
    return plot.Picture(panels, width=plot.TWO_COLUMNS, height=2.4, note=note)


def _by_sigma(table: Table) -> list[tuple[float, list[Cell]]]:
    return [
        (float(at["world.sigma"]), list(rows.cells("world.dimension")))
        for at, rows in table.cells("world.sigma")
    ]


def summary(table: Table) -> list[str]:
    """The share of draws that obey each bound, in every setting."""
    columns = {part: lambda rows, part=part: float(obeyed(rows, part).mean()) for part in PARTS}
    heads = {name: name.rpartition(".")[2] for name in AXIS}
    return tabulate(table, heads, columns, title="share of draws within Lemma 2's bounds")


ROWS = [(4, 50, sigma, d) for sigma in (0.3, 1.0) for d in (30, 100, 1000, 10_000)]
figure = Figure(
    statement="products of noise are of order 1/sqrt(d), whatever the tokens",
    trial=Study(Clusters(), Smoother(), None, (noise_products,)),
    grid={AXIS: ROWS},
    trials=1000,
    scales=scales(smoke=Scale(trials=20, grid={AXIS: ROWS[2:4]}), small=Scale(trials=200)),
    claims=kept,
    pictures={"products": draw},
    findings={
        "products": (
            Finding(
                "lemma2.printed", holds="Lemma 2 holds as printed", fails="Lemma 2 fails as printed"
            ),
            Finding("lemma2.pairs", holds="but for two different tokens it holds"),
        )
    },
    summary=summary,
    reference="Lemma 2",
    departures="the paper has no experiment; delta is 0.05",
)
