r"""Figure 1(a), all protocols in one study: which function of both fractions is the boundary?"""

from dataclasses import replace
from functools import partial

import numpy as np

from limelight import fit, plot
from limelight._engine.grid import assign
from limelight.claims import AtMost, Estimate, Undecided
from limelight.fit import Candidate, Edge
from limelight.papers.li2023 import boundary, fig1a
from limelight.papers.li2023.boundary import LOOSE, STRICT, gap, n50, relevant, usable
from limelight.papers.li2023.protocols import (
    GAP_FRACTIONS,
    MORE_EXAMPLES,
    PAIR,
    RATIO_FRACTIONS,
    SUM_FRACTIONS,
    fixed_gap,
    fixed_ratio,
    fixed_sum,
)
from limelight.papers.recipe import Finding, Scale, claims, scales
from limelight.table import Table

FREE = "free powers of all three"


def candidates(edge: Edge) -> dict[str, np.ndarray]:
    """Columns of logarithms, one set per candidate law."""
    a, b, g = relevant(edge), edge.x("world.confusing"), gap(edge)
    with np.errstate(divide="ignore"):
        log_b = np.where(b > 0, np.log(b), np.nan)  # no such law without confusion tokens
    return {
        "alpha_*": np.log(a),
        "gap": np.log(g),
        "(alpha_* + alpha_#) / gap^2": np.log((a + b) / g**2),
        FREE: np.stack([np.log(a), log_b, np.log(g)], axis=1),
    }


def ranking(table: Table, level: float, free: bool = True) -> list[Candidate]:
    """Candidates by how well they predict a point that they have not seen."""
    edge = n50(table, level)
    use = usable(edge)
    if use.sum() < 8:
        raise Undecided("too few boundary points", n=len(table))
    values, known = boundary.drawn(edge)
    columns = {
        name: column[use] for name, column in candidates(edge).items() if free or name != FREE
    }
    samples = np.where(known, np.log(values), np.nan)[:, use]
    return fit.compare_predictors(columns, np.log(edge.values[use]), samples=samples)


def powers(table: Table, level: float) -> np.ndarray:
    r"""Free powers of $\alpha_*$, $\alpha_\#$ and the gap by least squares on logarithms."""
    edge = n50(table, level)
    columns = candidates(edge)[FREE]
    use = usable(edge) & np.isfinite(columns).all(axis=1)
    if use.sum() < 6:
        return np.full(3, np.nan)
    design = np.concatenate([np.ones((use.sum(), 1)), columns[use]], axis=1)
    return np.linalg.lstsq(design, np.log(edge.values[use]), rcond=None)[0][1:]


@claims(
    "1a.{name}{suffix}",
    "{words} gives every boundary point of all protocols within a quarter.",
    AtMost(1.25),
    at="limelight; li2023, Theorem 1 (10), read as a law, says alpha_*^-2",
    cases=[
        {"name": name, "words": words, "free": free, **level}
        for name, words, free in (
            ("pool", "A product of powers of alpha_*, alpha_# and their gap", True),
            ("single", "A power of one variable", False),
        )
        for level in boundary.LEVELS
    ],
    statistic="largest factor between N50 and the candidate that predicts unseen points best, test"
    " loss below {level:g}",
    fixed="after",
)
def best_law(table: Table, level: float, free: bool) -> Estimate:
    """Largest factor by which the best candidate misses a point, whole trials drawn."""
    best = ranking(table, level, free)[0]
    edge = n50(table, level)
    columns = candidates(edge)[best.name].reshape(len(edge), -1)
    use = usable(edge) & np.isfinite(columns).all(axis=1)
    values, known = boundary.drawn(edge)
    whole = known[:, use].all(axis=1)
    logs = np.log(np.concatenate([edge.values[None], values[whole]])[:, use])
    design = np.concatenate([np.ones((use.sum(), 1)), columns[use]], axis=1)
    off = logs - (design @ np.linalg.lstsq(design, logs.T, rcond=None)[0]).T
    factor = np.exp(np.abs(off).max(axis=1))
    low, high = fit.percentile_interval(factor[1:])
    note = (
        f"best of {use.sum()} points: {best.name}, first in {best.share:.0%} of draws,"
        f" R^2 {best.r_squared:.3f}"
    )
    return Estimate(
        float(factor[0]), (float(low), float(high)), boundary.trials_of(edge, use), note
    )


PROTOCOLS = {
    r"$\alpha_*+\alpha_\#$ = 0.5": lambda a, b: np.isclose(a + b, 0.5),
    r"$\alpha_\#$ = $\alpha_*/4$": lambda a, b: np.isclose(b, a / 4),
    r"$\alpha_*-\alpha_\#$ = 0.24": lambda a, b: np.isclose(a - b, 0.24),
}


def draw_fraction(table: Table) -> plot.Picture:
    """N50 of all protocols against one over the relevant fraction: they do not collapse."""
    return draw_against(table, 1 / relevant(n50(table)), r"$1/\alpha_*$")


def draw_gap(table: Table) -> plot.Picture:
    """N50 of all protocols against one over the gap."""
    return draw_against(table, 1 / gap(n50(table)), r"$1/(\alpha_*-\alpha_\#)$")


def draw_collapse(table: Table) -> plot.Picture:
    """N50 of all protocols against the best product of free powers."""
    a, b, g = powers(table, STRICT)
    if not np.isfinite([a, b, g]).all():
        return draw_fraction(table)
    columns = np.nan_to_num(candidates(n50(table))[FREE], nan=np.log(0.01))
    words = rf"$\alpha_*^{{{a:.2f}}}\,\alpha_\#^{{{b:.2f}}}\,(\alpha_*-\alpha_\#)^{{{g:.2f}}}$"
    return draw_against(table, np.exp(columns @ np.array([a, b, g])), words)


def draw_against(table: Table, x: np.ndarray, x_label: str) -> plot.Picture:
    """N50 of every protocol against one variable, with the power law through all of them."""
    edge = n50(table)
    a, b = relevant(edge), edge.x("world.confusing")
    found, upright = [], False
    for name, holds in PROTOCOLS.items():
        if not (only := holds(a, b)).any():
            continue
        line = boundary.line(name, edge, x, only=only, bounds=False)
        if np.ptp(x[only]) < 1e-9:  # the variable does not move: no line, and none through all
            upright = True
            line = plot.Points(f"{name}: one place, many N50", *line.arrays())
        found.append(line)
    guides = []
    use = usable(edge)
    if use.sum() >= 3 and not upright:
        law = fit.fit_law("power", x[use], edge.values[use])
        at = np.geomspace(x[use].min(), x[use].max(), 50)
        guides.append((f"slope {law.slope:.2f}, $R^2$ = {law.r_squared:.2f}", at, law.predict(at)))
    return boundary.logarithmic(found, x_label, guides=guides)


#: The same boundary under the three protocols, one after another.
EXPLORER = replace(
    boundary.EXPLORER,
    parts={
        name: partial(
            lambda table, holds: holds(table["world.relevant"], table["world.confusing"]),
            holds=holds,
        )
        for name, holds in PROTOCOLS.items()
    },
)


def summary(table: Table) -> list[str]:
    """Every candidate with its error, at both criteria."""
    return [*ranked(table, STRICT), *ranked(table, LOOSE)]


def ranked(table: Table, level: float) -> list[str]:
    """Every candidate with its error at one criterion, and the powers of the free one."""
    title = f"candidate laws for N50, test loss below {level:g}:"
    try:
        found = ranking(table, level)
    except Undecided as why:
        return [title, f"  {why.message}"]
    a, b, g = powers(table, level)
    return [
        *fit.tabulate(
            [({"law": candidate.name}, candidate) for candidate in found],
            "law",
            {
                "leave-one-out error": lambda candidate: candidate.error,
                "R^2": lambda candidate: candidate.r_squared,
                "first in draws": lambda candidate: f"{candidate.share:.0%}",
            },
            title=title,
        ),
        f"  N50 ~ alpha_*^{a:.2f} alpha_#^{b:.2f} gap^{g:.2f}",
    ]


def pooled(*protocols: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Every pair of fractions of several protocols, once."""
    return list(dict.fromkeys(pair for pairs in protocols for pair in pairs))


figure = replace(
    fig1a.figure,
    remark="",
    statement="the sample complexity is of order alpha_*^-2 whatever the confusion tokens do",
    trial=assign(fig1a.figure.trial, {"train.steps": 2000}),
    grid={
        PAIR: pooled(
            fixed_sum(SUM_FRACTIONS), fixed_ratio(RATIO_FRACTIONS), fixed_gap(GAP_FRACTIONS)
        ),
        "train.examples": MORE_EXAMPLES,
    },
    scales=scales(
        smoke=Scale(
            trials=4,
            grid={
                PAIR: pooled(
                    fixed_sum((0.36, 0.42)), fixed_ratio((0.32, 0.48)), fixed_gap((0.32, 0.5))
                ),
                "train.examples": [2, 8, 32],
            },
            settings=fig1a.SMOKE | {"train.steps": 200},
        ),
        small=Scale(
            trials=12,
            grid={
                PAIR: pooled(
                    fixed_sum((0.32, 0.36, 0.39, 0.43)),
                    fixed_ratio((0.08, 0.12, 0.16, 0.24, 0.36, 0.52)),
                    fixed_gap((0.26, 0.32, 0.4, 0.5)),
                ),
                "train.examples": [2, 4, 8, 16, 32, 64],
            },
            settings=fig1a.SMALL | {"train.steps": 800},
        ),
    ),
    claims=best_law,
    charts={"fraction": EXPLORER.chart},
    pictures={"fraction": draw_fraction, "gap": draw_gap, "collapse": draw_collapse},
    findings={
        "fraction": Finding(
            "1a.single",
            fails="No power of one variable fits all protocols: points are missed by up to"
            " {value:.1f} times",
        ),
        "gap": Finding(
            "1a.single", fails="No power of one variable fits all protocols, the gap's among them"
        ),
        "collapse": Finding(
            "1a.pool",
            fails="The best product of powers still misses points by up to {value:.1f} times",
        ),
    },
    summary=summary,
    reference="Figure 1(a), all protocols",
    sizes="the sizes of fig1a, in three protocols of which the paper has one",
    departures=f"{fig1a.figure.departures}; one number of steps for all protocols",
)
