r"""Figure 1(a), all protocols in one study: which function of both fractions is the boundary?

One sweep over every pair $(\alpha_*, \alpha_\#)$ of the protocols `nd`, `ratio` and `gap`, one
table.
"""

import numpy as np

from limelight import fit
from limelight.claims import Bands, Claim, Estimate
from limelight.fit import Comparison, Edge
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.boundary import (
    FLOOR,
    LOOSE,
    PAIR,
    STRICT,
    boundary,
    drawn,
    gap,
    relevant,
)
from limelight.papers.li2023.fig1a import (
    DEPARTURES,
    EXAMPLES,
    facts,
    fixed_gap,
    nd,
    ratio,
    setup,
    steps_of,
)
from limelight.plot import Series, caption, curves
from limelight.table import Table

FREE = "free powers of all three"


def candidates(edge: Edge) -> dict[str, np.ndarray]:
    """Columns of logarithms, one set a candidate law."""
    a, b, g = relevant(edge), edge.x("world.confusing"), gap(edge)
    with np.errstate(divide="ignore"):
        log_b = np.where(b > 0, np.log(b), np.nan)  # no such law without confusion tokens
    return {
        "alpha_*": np.log(a),
        "gap": np.log(g),
        "(alpha_* + alpha_#) / gap^2": np.log((a + b) / g**2),
        FREE: np.stack([np.log(a), log_b, np.log(g)], axis=1),
    }


def usable(edge: Edge) -> np.ndarray:
    """Boundary points that count: resolved and off the floor."""
    return edge.resolved & (edge.values >= FLOOR)


def ranking(table: Table, level: float, free: bool = True) -> Comparison | None:
    """Candidates by how well they foretell a point they have not seen; `None` with few points."""
    edge = boundary(table, level)
    use = usable(edge)
    if use.sum() < 8:
        return None
    values, known = drawn(edge)
    samples = np.where(known, np.log(values), np.nan)[:, use]
    columns = {
        name: column[use] for name, column in candidates(edge).items() if free or name != FREE
    }
    return fit.compare_predictors(columns, np.log(edge.values[use]), samples=samples)


def pooled(level: float, free: bool = True):
    """R squared of the best candidate; it decides only when one candidate is clearly the best.

    Without `free`, of the best among the candidates of one variable.
    """

    def estimate(table: Table) -> Estimate:
        ranked = ranking(table, level, free)
        if ranked is None:
            return Estimate(np.nan, None, len(table), "too few boundary points")
        best = ranked.best
        points = int(usable(boundary(table, level)).sum())
        note = f"best of {points} points: {best.name}, first in {best.share:.0%} of draws"
        sure = best.share >= 0.95 or best.r_squared < 0.8
        ends = (best.r_squared, best.r_squared) if sure else (np.nan, np.nan)
        return Estimate(best.r_squared, ends, len(table), note)

    return estimate


def powers(table: Table, level: float) -> np.ndarray:
    r"""Free powers of $\alpha_*$, $\alpha_\#$ and the gap by least squares on logarithms."""
    edge = boundary(table, level)
    columns = candidates(edge)[FREE]
    use = usable(edge) & np.isfinite(columns).all(axis=1)
    if use.sum() < 6:
        return np.full(3, np.nan)
    design = np.concatenate([np.ones((use.sum(), 1)), columns[use]], axis=1)
    return np.linalg.lstsq(design, np.log(edge.values[use]), rcond=None)[0][1:]


def summary(table: Table) -> list[str]:
    """Every candidate with its error, at both criteria."""
    lines = []
    for level in (STRICT, LOOSE):
        ranked = ranking(table, level)
        lines.append(f"candidate laws for N50, test loss below {level:g}:")
        if ranked is None:
            lines.append("  too few boundary points")
            continue
        lines += [
            f"  {c.name:28} leave-one-out error {c.error:.3f}, R^2 {c.r_squared:.2f},"
            f" first in {c.share:.0%} of draws"
            for c in ranked
        ]
        a, b, g = powers(table, level)
        lines.append(f"  N50 ~ alpha_*^{a:.2f} alpha_#^{b:.2f} gap^{g:.2f}")
    return lines


PROTOCOLS = {
    r"$\alpha_*+\alpha_\#$ = 0.5": lambda a, b: np.isclose(a + b, 0.5),
    r"$\alpha_\#$ = $\alpha_*/4$": lambda a, b: np.isclose(b, a / 4),
    r"$\alpha_*-\alpha_\#$ = 0.24": lambda a, b: np.isclose(a - b, 0.24),
}


def draw_against(x_of, x_label: str, table: Table):
    """N50 of every protocol against one variable, with the power law through all of them."""
    edge = boundary(table)
    a, b, x = relevant(edge), edge.x("world.confusing"), x_of(edge)
    low, high = (np.where(edge.resolved, ends, np.nan) for ends in (edge.low, edge.high))
    middle = np.where(edge.resolved, edge.values, np.nan)
    series = [
        Series(name, x[mine], middle[mine], low[mine], high[mine])
        for name, of in PROTOCOLS.items()
        if (mine := of(a, b)).any()
    ]
    use = usable(edge)
    guides = []
    if use.sum() >= 3:
        law = fit.power(x[use], edge.values[use])
        at = np.geomspace(x[use].min(), x[use].max(), 50)
        label = f"slope {law.slope:.2f}, $R^2$ = {law.r_squared:.2f}"
        guides.append(Series(label, at, law.predict(at)))
    figure = curves(
        series,
        guides=guides,
        x_label=x_label,
        y_label="N50, training examples",
        log_x=True,
        log_y=True,
        width=4.6,
    )
    caption(figure, *facts(table, series))
    return figure


def draw_fraction(table: Table):
    """N50 of all protocols against one over the relevant fraction: they do not collapse."""
    return draw_against(lambda edge: 1 / relevant(edge), r"$1/\alpha_*$", table)


def draw_gap(table: Table):
    """N50 of all protocols against one over the gap."""
    return draw_against(lambda edge: 1 / gap(edge), r"$1/(\alpha_*-\alpha_\#)$", table)


def draw_collapse(table: Table):
    """N50 of all protocols against the best product of free powers."""
    a, b, g = powers(table, STRICT)
    if not np.isfinite([a, b, g]).all():
        return draw_fraction(table)
    columns = lambda edge: np.nan_to_num(candidates(edge)[FREE], nan=np.log(0.01))
    x_of = lambda edge: np.exp(columns(edge) @ np.array([a, b, g]))
    words = rf"$\alpha_*^{{{a:.2f}}}\,\alpha_\#^{{{b:.2f}}}\,(\alpha_*-\alpha_\#)^{{{g:.2f}}}$"
    return draw_against(x_of, words, table)


def pairs(*protocols) -> list[tuple[float, float]]:
    """Every pair of fractions of the protocols, once."""
    found = [(a, round(confusing(a), 6)) for fractions, confusing in protocols for a in fractions]
    return list(dict.fromkeys(found))


def pool_setup(scale: str, steps: int, points, examples, trials: int) -> Setup:
    """One grid over every pair and the number of examples."""
    base = setup(scale, steps, (), nd, examples, trials)
    return Setup(base.experiment, {PAIR: points, "train.examples": list(examples)}, trials)


figure = Figure(
    name="fig1a-pool",
    title="examples needed, all protocols together: which law?",
    statement="the sample complexity is of order alpha_*^-2 whatever the confusion tokens do",
    setups={
        "smoke": pool_setup(
            "smoke",
            200,
            pairs(((0.36, 0.42), nd), ((0.32, 0.48), ratio), ((0.32, 0.5), fixed_gap)),
            (2, 8, 32),
            4,
        ),
        "small": pool_setup(
            "small",
            800,
            pairs(
                ((0.32, 0.36, 0.39, 0.43), nd),
                ((0.08, 0.12, 0.16, 0.24, 0.36, 0.52), ratio),
                ((0.26, 0.32, 0.4, 0.5), fixed_gap),
            ),
            (2, 4, 8, 16, 32, 64),
            12,
        ),
        "paper": pool_setup(
            "paper",
            2000,
            pairs(
                (steps_of(0.32, 0.5, 0.02), nd),
                ((0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.36, 0.44, 0.52, 0.6), ratio),
                ((0.26, 0.28, 0.3, 0.34, 0.38, 0.42, 0.46, 0.5, 0.54, 0.58), fixed_gap),
            ),
            (*EXAMPLES, 128, 192),
            50,
        ),
    },
    claims=tuple(
        Claim(
            f"1a.{name}{suffix}",
            f"{words} describes the boundary in all protocols.",
            f"pooled R^2 (log) of the best candidate law, test loss below {level:g}; open "
            "unless it is best in 95 % of bootstrap draws",
            pooled(level, free),
            Bands(0.8, 0.9),
            "limelight; li2023, Theorem 1 (10) says alpha_*^-2",
        )
        for name, words, free in (
            ("pool", "A product of powers of alpha_*, alpha_# and their gap", True),
            ("single", "A power of one variable", False),
        )
        for suffix, level in (("", STRICT), (".loose", LOOSE))
    ),
    draws={"fraction": draw_fraction, "gap": draw_gap, "collapse": draw_collapse},
    summary=summary,
    reference="Figure 1(a), all protocols",
    departures=DEPARTURES + "; one number of steps for all protocols",
)
