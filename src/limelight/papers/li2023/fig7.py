r"""Figure 7: attention with 10, 15 and 20 patterns in 20 dimensions."""

from collections.abc import Callable

import numpy as np

from limelight import fit
from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.concentration import (
    EXCESS,
    draw_roles,
    excess,
    final,
    fractions,
    logged_steps,
    rise,
    study,
    summary,
)
from limelight.papers.li2023.fig1a import facts
from limelight.plot import Reference, Series, caption, curves
from limelight.table import Table
from limelight.theory.li2023 import mass_ceiling

PATTERNS = "world.patterns"


def setup(scale: str, trials: int, patterns, **options) -> Setup:
    """Figure 4 in 20 dimensions, one program for each number of patterns."""
    experiment = study(scale, dimension=20, **options)
    return Setup(experiment, {PATTERNS: list(patterns)}, trials, shared=(PATTERNS,))


def at(patterns: int, estimate: Callable[[Table], Estimate]) -> Callable[[Table], Estimate]:
    """An estimate of Figure 4 for one number of patterns."""

    def found(table: Table) -> Estimate:
        rows = table.where(world__patterns=patterns)
        return estimate(rows) if len(rows) else Estimate(np.nan, None, 0, "not in this table")

    return found


def draw_mass(table: Table):
    """Mass on the relevant tokens over steps, all queries, one line for each number of patterns."""
    series, ceiling = [], np.nan
    for where, rows in table.cells(PATTERNS):
        log = rows["trace.mass.all"].astype(float)
        low, high = (log[0], log[0]) if len(log) < 2 else fit.mean_interval(log, level=0.95)
        steps = logged_steps(table, rows)
        series.append(Series(f"$M$ = {where[PATTERNS]}", steps, log.mean(axis=0), low, high))
        ceiling = mass_ceiling(*fractions(table, where))["all"]
    figure = curves(
        series,
        x_label="training step",
        y_label=r"attention mass on $\mathcal{S}_*$, all queries",
        references=[Reference("ceiling", ceiling)],
        limits=(0, 1),
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


figure = Figure(
    name="fig7",
    title="attention mass on the label-relevant tokens with more patterns",
    statement="the attention on label-relevant tokens rises close to 1 for 10, 15 and 20 patterns",
    setups={
        "smoke": setup("smoke", 2, [10], width=50, examples=50, steps=60),
        "small": setup("small", 3, [10, 15, 20], width=300, examples=200, steps=300),
        "paper": setup("paper", 20, [10, 15, 20], width=1000, examples=200, steps=300, noise=0.01),
    },
    claims=(
        *(
            Claim(
                f"7.{name}.m{patterns}",
                statement.format(patterns),
                statistic,
                at(patterns, estimate),
                AtLeast(level),
                "li2023, Figure 7",
            )
            for patterns in (10, 15, 20)
            for name, statement, statistic, estimate, level in (
                (
                    "rise",
                    "Attention on the label-relevant tokens rises during training (M = {}).",
                    "final minus initial mass on S_*, averaged over queries and trials",
                    rise,
                    0.12,
                ),
                (
                    "one",
                    "It rises close to 1 (M = {}).",
                    "final mass on S_*, averaged over queries and trials",
                    final,
                    0.95,
                ),
            )
        ),
        Claim(
            "7.ceiling",
            "It never passes the ceiling that confusion tokens set.",
            EXCESS,
            excess,
            AtMost(0.0),
            "limelight",
        ),
    ),
    draws={"mass": draw_mass, "roles": draw_roles},
    summary=summary,
    reference="Figure 7",
    departures="as fig4 in 20 dimensions; with 20 patterns M equals m_a, m_b and d, which the "
    "paper's model excludes (M < m_a, m_b) and its figure uses",
)
