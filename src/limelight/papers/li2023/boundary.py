r"""Figure 1(a): how many examples a shallow ViT needs, against the fraction of relevant tokens.

The paper moves $\alpha_\#$ with $\alpha_*$ (`nd`: their sum is fixed), which confounds the two; the
protocols `ratio` ($\alpha_\# = \alpha_*/4$) and `gap` ($\alpha_* - \alpha_\# = 0.24$) do not.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from limelight import fit
from limelight.claims import AtLeast, Bands, Claim, Estimate, Inside
from limelight.fit import Edge, Threshold, curves
from limelight.fit.curves import Part
from limelight.fit.laws import LawName
from limelight.table import Table

#: A trial succeeds when its test hinge loss is below the first, as in the paper; the second shows
#: how much hangs on that choice.
STRICT, LOOSE = 1e-3, 1e-2
#: A cell whose mean training loss is at least this is unconverged: shown, not fitted; a boundary
#: that passes beside it is not resolved.
CONVERGED = 1e-3
#: Two examples are one of each label: a boundary below this is the floor of the grid, not a law.
FLOOR = 4.0
#: Points an exponent needs.
POINTS = 5
DRAWS = 1000

PAIR = ("world.relevant", "world.confusing")


# --- what is read off a table -----------------------------------------------------------------


def setting(table: Table, path: str) -> Any:
    """What a dotted path of the experiment was set to, where it was not swept."""
    return table.setting(path)


def converged(table: Table) -> Table:
    """The cells that count in fits: mean training loss below `CONVERGED`."""
    _, place = np.unique(table["cell"], return_inverse=True)
    loss = np.bincount(place, table["training_loss"]) / np.bincount(place)
    return table.rows((loss < CONVERGED)[place])


def boundary(table: Table, level: float = STRICT) -> Edge:
    """N50 for every fraction: the number of examples at which half of the trials succeed."""
    return table.cached(("boundary", level), lambda: _boundary(table, level))


def drawn(edge: Edge, common: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Bootstrap boundaries over trials, and whether each point was resolved."""
    return edge.draws(DRAWS, common=common)


def _boundary(table: Table, level: float) -> Edge:
    rows = converged(table)
    if not len(rows):  # nothing counts: a boundary without points
        others = {name: rows[name] for name in rows.axes if name != "train.examples"}
        return Edge("train.examples", "test_loss", level, True, others, (), rows)
    edge = fit.threshold(
        rows,
        along="train.examples",
        measure="test_loss",
        level=level,
        below=True,
        slopes=(0.5, 20.0),
        reach=2.0,
    )
    return replace(edge, thresholds=tuple(_beside(table, *point) for point in edge))


def _beside(table: Table, at: dict[str, Any], found: Threshold) -> Threshold:
    """A point with an unconverged cell between itself and its neighbours is not resolved.

    Leaving such a cell out would move the point to wherever the curve passes the hole.
    """
    curve = np.logical_and.reduce([table[name] == value for name, value in at.items()])
    gone = np.setdiff1d(table["train.examples"][curve], found.x)
    low = found.x[found.x <= found.value].max(initial=0.0)
    high = found.x[found.x >= found.value].min(initial=np.inf)
    hole = bool(((low < gone) & (gone < high)).any())
    return replace(found, resolved=found.resolved and not hole)


def gap(edge: Edge) -> np.ndarray:
    r"""$\alpha_* - \alpha_\#$ of every point of a boundary."""
    return edge.x("world.relevant") - edge.x("world.confusing")


def relevant(edge: Edge) -> np.ndarray:
    r"""$\alpha_*$ of every point of a boundary."""
    return edge.x("world.relevant")


def law_of(
    edge: Edge, law: LawName, part: Part, x: np.ndarray, use: np.ndarray, common: bool = False
) -> Estimate:
    """One number of a law fitted to the boundary, with its bootstrap over trials."""
    n = sum(found.n for found in edge.thresholds)
    values, known = drawn(edge, common) if use.sum() >= POINTS else (np.zeros((1, len(use))),) * 2
    return curves.law(
        x,
        np.where(use, edge.values, np.nan),
        np.where(known, values, np.nan),
        n,
        name=law,
        part=part,
        points=POINTS,
        of="boundary points",
    )


def exponent(level: float, x_of: Callable[[Edge], np.ndarray]) -> Callable[[Table], Estimate]:
    """Slope of log N50 on log(1/x), points that are resolved and off the floor."""

    def estimate(table: Table) -> Estimate:
        edge = boundary(table, level)
        use = edge.resolved & (edge.values >= FLOOR)
        return law_of(edge, "power", "slope", 1 / x_of(edge), use)

    return estimate


def straightness(x_of: Callable[[Edge], np.ndarray]) -> Callable[[Table], Estimate]:
    """R squared of a straight line of N50 in x to the power -2, all resolved points."""

    def estimate(table: Table) -> Estimate:
        edge = boundary(table)
        return law_of(edge, "linear", "r_squared", x_of(edge) ** -2.0, edge.resolved)

    return estimate


def transition(table: Table) -> Estimate:
    """Share of fractions with success at most 0.1 at the smallest N and 0.9 at the largest."""
    good = []
    for _, rows in table.cells(*PAIR):
        sizes = rows.values("train.examples")
        first, last = (
            fit.successes(rows.where(train__examples=size), "test_loss", STRICT, below=True).mean()
            for size in sizes[[0, -1]]
        )
        good.append(first <= 0.1 and last >= 0.9)
    return Estimate(float(np.mean(good)), None, len(table), f"{sum(good)} of {len(good)} fractions")


# --- claims -----------------------------------------------------------------------------------


def laws(prefix: str, where: str) -> tuple[Claim, ...]:
    """The exponent in one over the relevant fraction, at both criteria."""
    return tuple(
        Claim(
            name=f"{prefix}{suffix}",
            statement=f"Examples needed grow as the relevant fraction to the power -2 ({where}).",
            statistic=f"log-log slope of N50 in 1/alpha_*, test loss below {level:g}",
            estimate=exponent(level, relevant),
            rule=Inside(1.5, 2.5),
            reference="li2023, Theorem 1 (10)",
        )
        for suffix, level in (("", STRICT), (".loose", LOOSE))
    )


ND_CLAIMS = (
    Claim(
        "1a.transition",
        "Success goes from rare to sure as examples are added.",
        "share of alpha_* with success at most 0.1 at the smallest N, at least 0.9 at the largest",
        transition,
        Bands(0.2, 0.8),
        "li2023, Figure 1(a)",
    ),
    Claim(
        "1a.line",
        "The boundary is almost a straight line in alpha_*^-2.",
        "R^2 of N50 on alpha_*^-2",
        straightness(relevant),
        AtLeast(0.8),
        "li2023, Figure 1(a)",
    ),
    *laws("1a.law", "the paper's protocol, where alpha_# moves too"),
    *(
        Claim(
            f"1a.gap{suffix}",
            "Examples needed grow as the gap alpha_* - alpha_# to the power -2.",
            f"log-log slope of N50 in 1/(alpha_* - alpha_#), test loss below {level:g}",
            exponent(level, gap),
            Inside(1.5, 2.5),
            "limelight; suggested by li2023, condition (8)",
        )
        for suffix, level in (("", STRICT), (".loose", LOOSE))
    ),
)
