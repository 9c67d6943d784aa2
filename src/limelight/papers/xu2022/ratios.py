"""The ratio of a cell, measured and by the limit law: what the figures of xu2022 share.

The rows of a cell have one cluster model, which `model_of` reads back from them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from limelight._core import gram as grams
from limelight._core.gram import Number
from limelight.fit import _families as families
from limelight.papers import recipe
from limelight.table import Table
from limelight.theory.xu2022 import limit
from limelight.theory.xu2022.setting import Setting
from limelight.worlds.clusters import parse_sizes

#: What a point of a figure without a product of axes is given by.
POINT = (
    "world.clusters",
    "world.size",
    "world.sigma",
    "world.dimension",
    "model.operator",
    "model.strength",
    "model.neighbours",
)
#: What tells points of one operator apart, by the paper's symbols.
SYMBOLS = {
    "world.clusters": "C",
    "world.size": "m_k",
    "world.sigma": "sigma",
    "world.dimension": "d",
    "model.strength": "lambda",
}
#: The dimension that stands for the limit.
LARGE = 1_000_000

#: Rules of this paper were set after runs of small scale; paper scale has other draws.
claim = partial(recipe.claim, fixed="pilot")
claims = partial(recipe.claims, fixed="pilot")
#: A control is there to fail: the claim without a condition that it needs.
control = partial(claim, kind="control")

Cell = tuple[dict[str, Any], Table]
"""Coordinates, and the rows that have them."""


def model_of(rows: Table) -> Setting:
    """The cluster model of a cell."""
    clusters, sizes, gram, size, cosine, sigma, dimension = (
        rows.setting(f"world.{name}")
        for name in ("clusters", "sizes", "gram", "size", "cosine", "sigma", "dimension")
    )
    differ = sizes not in (None, "", "equal")
    many = parse_sizes(sizes) if differ else (size,) * clusters
    matrix = np.array(gram) if gram else grams.equiangular(clusters, float(cosine))
    return Setting(matrix, np.array(many, float), float(sigma), float(dimension))


def measured(rows: Table, column: str = "noise.square", points: int = 1) -> families.Point:
    """The ratio of a cell: the root mean square over its draws, with an interval."""
    return families.root_point("", rows[column], points)


def limit_ratio(rows: Table) -> float:
    """The ratio of a cell by the limit law."""
    return float(limit.softmax_ratio(model_of(rows), rows.setting("model.strength")))


def over(
    cells: Sequence[Cell],
    law: Callable[[Table], Number],
    name: Callable[[dict[str, Any]], str],
    column: str = "noise.square",
) -> list[families.Point]:
    """The measured ratio over what a law says, a point per cell; one family of intervals."""
    return [
        families.root_point(name(at), rows[column], len(cells)).over(law(rows))
        for at, rows in cells
    ]


def named(at: Mapping[str, Any]) -> str:
    """Coordinates of a cell in words."""
    return ", ".join(f"{p.rpartition('.')[2]} {v:.4g}" for p, v in at.items() if p in SYMBOLS)


def spaced(low: Number, high: Number, points: int) -> list[float]:
    """A logarithmic axis of short numbers."""
    return [float(f"{v:.4g}") for v in np.geomspace(low, high, points)]


def spread_out(values: Iterable[Any], most: int) -> list[float]:
    """At most so many of the values, from the first to the last.

    Example:
        >>> spread_out([1, 2, 3, 4, 5], 3)
        [1.0, 3.0, 5.0]
    """
    known = list(values)
    places = np.linspace(0, len(known) - 1, min(most, len(known)))
    return [float(known[round(p)]) for p in places]
