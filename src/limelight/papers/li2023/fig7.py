r"""Figure 7: attention with 10, 15 and 20 patterns in 20 dimensions."""

from itertools import chain

from limelight import plot
from limelight.claims import AtLeast, AtMost, Estimate, Undecided
from limelight.papers.li2023 import concentration
from limelight.papers.li2023.concentration import (
    SHORT,
    ceilings,
    logged_steps,
    until_settled,
    without_noise,
)
from limelight.papers.recipe import Figure, Finding, Scale, claim, claims, scales
from limelight.table import Table

PATTERNS = "world.patterns"
CASES = [{"patterns": patterns} for patterns in (10, 15, 20)]


def with_patterns(table: Table, patterns: int) -> Table:
    """The rows with one number of patterns."""
    rows = table.where(world__patterns=patterns)
    if not len(rows):
        raise Undecided("not in this table")
    return rows


@claims(
    "7.rise.m{patterns}",
    "Attention on the label-relevant tokens rises by 0.12 or more during training (M ="
    " {patterns}).",
    AtLeast(0.12),
    at="li2023, Figure 7",
    cases=CASES,
)
def rise(table: Table, patterns: int) -> Estimate:
    """Final minus initial mass on S_*, averaged over queries and trials."""
    return concentration.rise(with_patterns(table, patterns))


@claims(
    "7.one.m{patterns}",
    "Attention rises close to the most that any weights can reach: to 95 % of it or more"
    " (M = {patterns}).",
    AtLeast(0.95),
    at="li2023, Figure 7; the ceiling is ours",
    cases=CASES,
    fixed="after",
)
def final(table: Table, patterns: int) -> Estimate:
    """Final mass on S_* over the largest that any weights can reach, averaged over queries."""
    return concentration.of_ceiling(with_patterns(table, patterns))


ceiling = claim(
    "7.ceiling",
    "Attention never passes the ceiling that confusion tokens set.",
    AtMost(0.0),
    statistic=concentration.EXCESS,
    kind="identity",
    fixed="after",
)(concentration.excess)


def draw_mass(table: Table) -> plot.Picture:
    """Mass on the relevant tokens over steps, all queries, one line for each number of patterns."""
    cells = list(table.cells(PATTERNS))
    top = ceilings(table, cells[0][0])["all"]  # the same for every number of patterns
    logs = [rows["trace.mass.all"].astype(float) for _, rows in cells]
    steps = logged_steps(table, cells[0][1])
    shown = until_settled(steps, *logs)
    return plot.lines(
        [
            plot.band(f"$M$ = {at[PATTERNS]}", steps[:shown], log[:, :shown])
            for (at, _), log in zip(cells, logs, strict=True)
        ],
        x_label="training step",
        y_label=r"attention mass on $\mathcal{S}_*$, all queries",
        references=[plot.Reference("ceiling", top)],
        limits=(0, 1),
        note="" if shown == len(steps) else f"nothing moves from there to step {steps[-1]}",
    )


figure = Figure(
    statement="the attention on label-relevant tokens rises close to 1 for 10, 15 and 20 patterns",
    trial=concentration.trial(dimension=20),
    grid={PATTERNS: [10, 15, 20]},
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={PATTERNS: [10]},
            settings={"model.width": 50, **SHORT, **without_noise()},
        ),
        small=Scale(trials=3, settings={"model.width": 300, **without_noise()}),
    ),
    claims=(*chain.from_iterable(zip(rise, final, strict=True)), ceiling),
    pictures={"mass": draw_mass, "roles": concentration.draw_roles},
    findings={
        "mass": (
            Finding(
                "7.rise.m20",
                holds="With more patterns attention on the label-relevant tokens still rises",
            ),
            Finding(
                "7.one.m20",
                holds="and comes to {value:.0%} of what any weights can reach",
                fails="but stops at {value:.0%} of what any weights can reach",
            ),
        ),
        "roles": Finding(
            "7.one.m10",
            holds="Over all queries attention comes to {value:.0%} of what any weights can reach",
            fails="Over all queries attention stops at {value:.0%} of what any weights can reach",
        ),
    },
    summary=concentration.summary,
    reference="Figure 7",
    sizes="the paper's sizes; rate, batch and steps are ours",
    departures="as fig4 in 20 dimensions; with 20 patterns M equals m_a, m_b and d, which the "
    "paper's model excludes (M < m_a, m_b) and its figure uses",
    shared=(PATTERNS,),
)
