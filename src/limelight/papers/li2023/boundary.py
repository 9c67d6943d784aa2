r"""N50, the number of examples at which half of the trials succeed: estimated, fitted, drawn."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from limelight import fit, plot
from limelight._core.maths import in_text
from limelight.chart import Explorer
from limelight.claims import Claim, Estimate, Inside
from limelight.fit import Edge, Threshold, curves
from limelight.fit.curves import Part
from limelight.fit.laws import LawName
from limelight.papers.recipe import claims
from limelight.plot.marks import Line
from limelight.table import Table
from limelight.theory.li2023 import learning

#: A trial succeeds when its test hinge loss is below the first, as in the paper; the second shows
#: how much hangs on that choice.
STRICT, LOOSE = 1e-3, 1e-2
#: The same as cases of a claim; its sentence names the second.
LEVELS = (
    {"suffix": "", "level": STRICT},
    {
        "suffix": ".loose",
        "level": LOOSE,
        "also": f", counting a test loss below {LOOSE:g} as success",
    },
)
#: A cell whose mean training loss is at least this is unconverged: shown, not fitted; a boundary
#: that passes beside it is not resolved.
CONVERGED = 1e-3
#: Two examples are one of each label: a boundary below this is the floor of the grid, not a law.
FLOOR = 4.0
#: Points an exponent needs.
POINTS = 5
DRAWS = 1000
NEEDED = "N50, training examples"
#: What a phase diagram is drawn over.
PLANE = ("world.relevant", "train.examples")
#: Axes in words, for a terminal.
SYMBOLS = {
    "world.relevant": "alpha_*",
    "world.confusing": "alpha_#",
    "world.noise": "c_0",
    "model.start": "start",
    "model.value_error": "sigma",
    "model.frozen": "frozen",
}


def n50(table: Table, level: float = STRICT) -> Edge:
    """N50 for every combination of the other axes, from the cells that converged."""
    return table.cached(("N50", level), lambda: _n50(table, level))


def drawn(edge: Edge, common: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Bootstrap boundaries over trials, and whether each point was resolved."""
    return edge.draws(DRAWS, common=common)


def unconverged(table: Table) -> np.ndarray:
    """Which rows are of a cell with a mean training loss of at least `CONVERGED`."""
    _, place = np.unique(table["cell"], return_inverse=True)
    loss = np.bincount(place, table["training_loss"]) / np.bincount(place)
    return (loss >= CONVERGED)[place]


def unconverged_cells(table: Table, x: str, y: str) -> np.ndarray:
    """The same over a plane of two axes, one row for each value of `y`."""
    columns, rows = table.values(x), table.values(y)
    cells = np.zeros((len(rows), len(columns)), dtype=bool)
    place = np.searchsorted(rows, table[y]), np.searchsorted(columns, table[x])
    cells[place] = unconverged(table)
    return cells


def _n50(table: Table, level: float) -> Edge:
    rows = table.rows(~unconverged(table))
    if not len(rows):  # nothing counts: a boundary without points
        others = {name: rows[name] for name in rows.axes if name != "train.examples"}
        return Edge("train.examples", "test_loss", level, True, others, (), rows)
    edge = fit.threshold(rows, along="train.examples", measure="test_loss", level=level, below=True)
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


def relevant(edge: Edge) -> np.ndarray:
    r"""$\alpha_*$ of every point of a boundary."""
    return edge.x("world.relevant")


def gap(edge: Edge) -> np.ndarray:
    r"""$\alpha_* - \alpha_\#$ of every point of a boundary."""
    return edge.x("world.relevant") - edge.x("world.confusing")


def usable(edge: Edge) -> np.ndarray:
    """Points that an exponent may rest on: resolved and off the floor."""
    return edge.resolved & (edge.values >= FLOOR)


def trials_of(edge: Edge, use: np.ndarray) -> int:
    """Trials behind the points of a boundary that are used."""
    return sum(found.n for found, used in zip(edge.thresholds, use, strict=True) if used)


#: A variable of every point of a boundary.
Variable = Callable[[Edge], np.ndarray]


def exponent(table: Table, level: float, x: Variable) -> Estimate:
    """Slope of log N50 on log(1/x), points that are resolved and off the floor."""
    edge = n50(table, level)
    return law_of(edge, "power", "slope", 1 / x(edge), usable(edge))


def straightness(table: Table, x: Variable) -> Estimate:
    """R squared of a straight line of N50 in x to the power -2, all resolved points."""
    edge = n50(table)
    return law_of(edge, "linear", "r_squared", x(edge) ** -2.0, edge.resolved)


def law_of(
    edge: Edge, law: LawName, part: Part, x: np.ndarray, use: np.ndarray, common: bool = False
) -> Estimate:
    """One number of a law fitted to the boundary, with its bootstrap over trials."""
    n = trials_of(edge, use if use.any() else np.full(len(edge), True))
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


def laws(prefix: str, where: str, at: str) -> tuple[Claim, ...]:
    """The exponent in one over the relevant fraction, at both criteria: is it 2?

    Equation (10) is a sufficient condition with an offset, so this tests the law that is read off
    the figure and off (10) without its offset, not the theorem.
    """
    statement = f"Examples needed grow as the relevant fraction to the power -2 ({where})."

    @claims(prefix + "{suffix}", statement, Inside(1.5, 2.5), at=at, cases=LEVELS)
    def law(table: Table, level: float) -> Estimate:
        """Log-log slope of N50 in 1/alpha_*, test loss below {level:g}."""
        return exponent(table, level, relevant)

    return law


def line(
    label: str, edge: Edge, x: np.ndarray, *, only: np.ndarray | None = None, bounds: bool = True
) -> plot.Series:
    """N50 over a variable; what the data do not bound is open.

    Args:
        label: Its name.
        edge: The boundary.
        x: The variable, one value for each point.
        only: Which points; all unless given.
        bounds: Whether a point that is not resolved, which has no mark, keeps its interval.
    """
    low, high = np.array([found.open_ends for found in edge.thresholds]).reshape(-1, 2).T
    middle = np.where(edge.resolved, edge.values, np.nan)
    if not bounds:
        low, high = np.where(edge.resolved, (low, high), np.nan)
    use = np.full(len(edge), True) if only is None else only
    return plot.Series(label, x[use], middle[use], low[use], high[use])


def slope_guide(
    label: str, x: np.ndarray, y: np.ndarray, power: float, at: np.ndarray | None = None
) -> list[plot.Guide]:
    """A power of x through the middle of the known points, drawn over `at`; none without points."""
    known = np.isfinite(y)
    if not known.any():
        return []
    middle = np.exp(np.mean(np.log(y[known]) - power * np.log(x[known])))
    return [plot.Guide(label, x if at is None else at, middle * x**power)]


def success_rates(table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fractions, sizes, and the share of trials that succeed; with the trials of each cell."""
    return plot.success_rates(table, *PLANE, "test_loss", STRICT, below=True)


def draw_phase(table: Table, validity: plot.Span | None = None) -> plot.Picture:
    """Where trials succeed, N50 with the power -2 through it, and where a theorem applies.

    Both axes are logarithmic, so that a power is a straight line.
    """
    edge = n50(table)
    x = relevant(edge) ** -2.0
    fractions, sizes, success, _ = success_rates(table)
    return plot.phase_diagram(
        fractions**-2.0,
        sizes,
        success,
        x_label=r"$\alpha_*^{-2}$",
        y_label="training examples $N$",
        edge=line("N50, 95 % interval", edge, x),
        theory=powers(table, STRICT),
        validity=validity,
        log_x=True,
        marked=("training not converged", unconverged_cells(table, *PLANE)),
        top=(r"$\alpha_*$", fractions),
    )


def powers(table: Table, level: float) -> list[plot.Guide]:
    """The power -2 of the fraction and of the gap, through the middle of a boundary.

    Over the power -2 of the fraction; on logarithmic axes the first is a straight line.
    """
    edge = n50(table, level)
    x, known = relevant(edge) ** -2.0, np.where(usable(edge), edge.values, np.nan)
    return [
        *slope_guide(r"$N \propto \alpha_*^{-2}$, as printed", x, known, 1.0),
        *slope_guide(r"$N \propto (\alpha_*-\alpha_\#)^{-2}$", gap(edge) ** -2.0, known, 1.0, at=x),
    ]


def slope(table: Table, level: float) -> str:
    """The exponent at a criterion, in words."""
    edge = n50(table, level)
    use = usable(edge)
    if use.sum() < POINTS:
        return f"{use.sum()} points resolved: no exponent"
    found = fit.fit_law("power", 1 / relevant(edge)[use], edge.values[use])
    return in_text(f"exponent of N50 in 1/alpha_*: {found.slope:.1f} (theorem: 2)")


def failing(table: Table, at: Any) -> list[str]:
    """The hypotheses of Theorem 1 that fail in a cell."""
    parts = {
        "world": ("tokens", "relevant", "confusing", "patterns", "dimension"),
        "train": ("examples", "batch", "steps", "rate"),
        "model": ("width", "value_error", "key_error", "frozen"),
    }
    given = {n: table.setting(f"{part}.{n}", at) for part, names in parts.items() for n in names}
    bound = learning(**given, noise=0.0)
    return [condition.name for condition in bound.conditions if not condition.holds]


#: The phase diagram with a criterion to move.
EXPLORER = Explorer(
    upwards="train.examples",
    measure="test_loss",
    edge=n50,
    across={
        r"$\alpha_*^{-2}$": lambda at: at["world.relevant"] ** -2.0,
        r"$1/(\alpha_*-\alpha_\#)$": lambda at: 1 / (at["world.relevant"] - at["world.confusing"]),
        r"$\alpha_*$": lambda at: at["world.relevant"],
    },
    label="training examples N",
    found="N50, where half of the trials succeed",
    theory=powers,
    fact=slope,
    conditions=failing,
    wide=True,  # powers are straight lines, as in the picture
    marked=("training not converged", unconverged),
)


def draw_law(table: Table) -> plot.Picture:
    """N50 against one over the relevant fraction, on logarithmic axes, with slopes of 2 beside."""
    edges = {level: n50(table, level) for level in (STRICT, LOOSE)}
    found = [
        line(f"N50, test loss < {level:g}", edge, 1 / relevant(edge))
        for level, edge in edges.items()
    ]
    strict = edges[STRICT]
    x, y = 1 / relevant(strict), np.where(usable(strict), strict.values, np.nan)
    guides = [
        *slope_guide(r"slope 2: $N \propto \alpha_*^{-2}$", x, y, 2.0),
        *slope_guide(r"$N \propto (\alpha_*-\alpha_\#)^{-2}$", 1 / gap(strict), y, 2.0, at=x),
    ]
    return logarithmic(found, r"$1/\alpha_*$", guides=guides)


def logarithmic(
    found: Sequence[plot.Series],
    x_label: str,
    y_label: str = NEEDED,
    *,
    guides: Sequence[Line] = (),
    log_x: bool = True,
) -> plot.Picture:
    """Boundaries, or their ratios, on logarithmic axes; whether marks are missing is said."""
    known = all(np.isfinite(one.arrays()[1]).all() for one in found)
    return plot.lines(
        found,
        guides=guides,
        x_label=x_label,
        y_label=y_label,
        log_x=log_x,
        log_y=True,
        note="" if known else "no mark: not resolved",
    )


def at_both(read: Callable[..., Any]) -> dict[str, Callable[[Any], Any]]:
    """Two columns of a summary: what is read at each criterion."""
    return {f"test loss < {level:g}": partial(read, level=level) for level in (STRICT, LOOSE)}


def n50_lines(table: Table) -> list[str]:
    """N50 of every curve, at both criteria."""
    edge = n50(table)
    return fit.tabulate(
        [(at, place) for place, (at, _) in enumerate(edge)],
        {name: SYMBOLS.get(name, name) for name in edge.coordinates},
        at_both(lambda place, level: n50(table, level).thresholds[place]),
        title="N50, the examples at which half of the trials succeed, 95 % interval:",
    )


def summary(table: Table) -> list[str]:
    """N50 for each fraction, and what it follows, in the fraction and in the gap."""
    if len(n50(table)) < POINTS:  # as in a smoke run: there is nothing to say of a law
        return n50_lines(table)
    laws = fit.tabulate(
        [({"x": "alpha_*"}, relevant), ({"x": "alpha_* - alpha_#"}, gap)],
        "x",
        {
            "R^2 of a line in x^-2": lambda x: straightness(table, x),
            "exponent in 1/x": lambda x: exponent(table, STRICT, x),
        },
    )
    return [*n50_lines(table), *laws]
