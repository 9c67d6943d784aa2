r"""Figure 4: attention moves to the label-relevant tokens, as far as any weights can make it."""

import numpy as np

from limelight import plot
from limelight.claims import AtLeast, AtMost, Estimate, Undecided
from limelight.fit import curves
from limelight.papers.li2023 import concentration
from limelight.papers.li2023.concentration import LABELS, average_share
from limelight.papers.recipe import Figure, Finding, Scale, claim, claims, scales
from limelight.table import Table

TOKENS = ("world.tokens", "world.confusing")


def without_confusion(table: Table, tokens: int) -> Table:
    """The cell of so many tokens, none of which confuses."""
    rows = table.where(world__tokens=tokens, world__confusing=0.0)
    if not len(rows):
        raise Undecided("not in this table")
    return rows


@claims(
    "4.alone.{tokens}",
    "Without confusion tokens attention on the relevant ones rises close to 1: to 0.95 or more"
    " (L = {tokens}).",
    AtLeast(0.95),
    at="li2023, Proposition 2; the level is ours",
    cases=({"tokens": 50}, {"tokens": 200}),
    fixed="after",
)
def alone(table: Table, tokens: int) -> Estimate:
    """Final mass on S_*, averaged over queries and trials, alpha_# = 0."""
    return average_share(without_confusion(table, tokens)["trace.mass.all"][:, -1])


@claim(
    "4.rate",
    "Without confusion tokens the rest of the attention falls at least as fast as 1/t, until it"
    " settles.",
    AtMost(-1.0),
    at="li2023, Proposition 2 (15)",
    fixed="after",
)
def rate(table: Table) -> Estimate:
    """Log-log slope in t of 1 minus the mass on S_*, second half of the steps before settling."""
    rows = without_confusion(table, 200)
    steps = concentration.logged_steps(table, rows).astype(float)
    rest = 1 - rows["trace.mass.all"].astype(float)
    found = []
    for log, last in zip(rest, rows["steps"], strict=True):
        late = (steps >= last / 2) & (steps <= last)
        found.append(float(curves.slopes(np.log(steps[late]), np.log(log[late]))))
    return concentration.average(np.array(found))


def draw_mass(table: Table) -> plot.Picture:
    """Mass on the relevant tokens over steps, by query role, with the ceilings."""
    at, rows = concentration.main_cell(table)
    ceiling = concentration.ceilings(table, at)
    steps = concentration.logged_steps(table, rows)
    logs = {role: rows[f"trace.mass.{role}"].astype(float) for role in LABELS}
    logs = {role: log for role, log in logs.items() if not np.isnan(log).all()}
    shown = concentration.until_settled(steps, *logs.values())
    found = [plot.band(LABELS[role], steps[:shown], log[:, :shown]) for role, log in logs.items()]
    return plot.lines(
        found,
        x_label="training step",
        y_label=r"attention mass on $\mathcal{S}_*$",
        references=[
            plot.Reference("ceiling, all", ceiling["all"], LABELS["all"]),
            plot.Reference("ceiling, non-disc.", ceiling["idle"], LABELS["idle"]),
        ],
        limits=(0, 1),
        note=(
            concentration.in_words(at),
            "" if shown == len(steps) else f"nothing moves from there to step {steps[-1]}",
        ),
    )


figure = Figure(
    statement="the attention on label-relevant tokens rises close to 1, on the others it falls "
    "close to 0",
    trial=concentration.trial(),
    grid={TOKENS: [(50, 0.04), (50, 0.06), (50, 0.0), (100, 0.04), (200, 0.04), (200, 0.0)]},
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={TOKENS: [(50, 0.04)]},
            settings={"model.width": 50, **concentration.SHORT, **concentration.without_noise()},
        ),
        small=Scale(
            trials=10,
            grid={TOKENS: [(50, 0.04)]},
            settings={"model.width": 300, **concentration.without_noise()},
        ),
    ),
    claims=(
        claim(
            "4.rise",
            "Attention on the label-relevant tokens rises by a quarter or more during training.",
            AtLeast(0.25),
            at="li2023, Figure 4",
        )(concentration.rise),
        claim(
            "4.one",
            "Attention rises close to the most that any weights can reach: to 95 % of it or more.",
            AtLeast(0.95),
            at="li2023, Figure 4 and Proposition 2; the ceiling is ours",
            fixed="after",
        )(concentration.of_ceiling),
        *alone,
        rate,
        claim(
            "4.ceiling",
            "Attention never passes the ceiling that confusion tokens set (erratum to Proposition"
            " 2).",
            AtMost(0.0),
            statistic=concentration.EXCESS,
            kind="identity",
            fixed="after",
        )(concentration.excess),
    ),
    pictures={"mass": draw_mass, "roles": concentration.draw_roles},
    findings={
        "mass": (
            Finding("4.rise", holds="Attention on the label-relevant tokens rises by {value:.2f}"),
            Finding(
                "4.one",
                holds="and comes to {value:.0%} of what any weights can reach",
                fails="but stops at {value:.0%} of what any weights can reach",
            ),
        ),
        "roles": Finding(
            "4.one",
            holds="Over all queries attention comes to {value:.0%} of what any weights can reach",
            fails="Over all queries attention stops at {value:.0%} of what any weights can reach",
        ),
    },
    charts={"mass": concentration.play},
    summary=concentration.summary,
    reference="Figure 4",
    sizes="the paper's sizes (width 1,000, 50 tokens, 200 examples), and other numbers of "
    "tokens beside them; rate, batch and steps are ours",
    departures="step size 2, batch 20 and steps are ours; the printed alpha_# = 0.05 of 50 tokens "
    "is 2.5 tokens, taken as 2; at smoke and small scale tokens carry no noise",
    shared=TOKENS,
)
