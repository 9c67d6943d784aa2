r"""Figure 4: attention moves to the label-relevant tokens, as far as any weights can make it."""

import numpy as np

from limelight import plot
from limelight.claims import AtLeast, AtMost
from limelight.papers.li2023 import concentration
from limelight.papers.li2023.concentration import LABELS
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.table import Table

TOKENS = ("world.tokens", "world.confusing")


def draw_mass(table: Table) -> plot.Picture:
    """Mass on the relevant tokens over steps, by query role, with the ceilings."""
    at, rows = concentration.main_cell(table)
    ceiling = concentration.ceilings(table, at)
    steps = concentration.logged_steps(table, rows)
    logs = {role: rows[f"trace.mass.{role}"].astype(float) for role in LABELS}
    found = [
        plot.band(LABELS[role], steps, log) for role, log in logs.items() if not np.isnan(log).all()
    ]
    rest = plot.Series("all queries, on other tokens", steps, 1 - logs["all"].mean(axis=0))
    return plot.lines(
        [*found, rest],
        x_label="training step",
        y_label=r"attention mass on $\mathcal{S}_*$",
        references=[
            plot.Reference("ceiling, all", ceiling["all"], LABELS["all"]),
            plot.Reference("ceiling, non-disc.", ceiling["idle"], LABELS["idle"]),
        ],
        limits=(0, 1),
        note=concentration.in_words(at),
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
            "Attention on the label-relevant tokens rises during training.",
            AtLeast(0.25),
            at="li2023, Figure 4",
        )(concentration.rise),
        claim(
            "4.one", "It rises close to 1.", AtLeast(0.95), at="li2023, Figure 4 and Proposition 2"
        )(concentration.final),
        claim(
            "4.ceiling",
            "It never passes the ceiling that confusion tokens set (erratum to Proposition 2).",
            AtMost(0.0),
            at="limelight",
            statistic=concentration.EXCESS,
        )(concentration.excess),
    ),
    pictures={"mass": draw_mass, "roles": concentration.draw_roles},
    summary=concentration.summary,
    reference="Figure 4",
    departures="step size 2, batch 20 and steps are ours; the printed alpha_# = 0.05 of 50 tokens "
    "is 2.5 tokens, taken as 2; at smoke and small scale tokens carry no noise",
    shared=TOKENS,
)
