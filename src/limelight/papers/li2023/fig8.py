"""Figure 8: Figure 5 with 10, 15 and 20 patterns in 20 dimensions."""

from dataclasses import replace

from limelight import plot
from limelight.papers.li2023 import fig5
from limelight.papers.li2023.removal import (
    CUT,
    PATTERNS,
    cuts,
    draw_loss,
    draw_loss_at,
    loss_claims,
    settings,
    small,
    smoke,
    trial,
)
from limelight.papers.recipe import Finding, Scale, scales
from limelight.table import Table


def draw_most(table: Table) -> plot.Picture:
    """Test loss against removed tokens with the most patterns in the table."""
    return draw_loss_at(table, settings(table)[-1])


figure = replace(
    fig5.figure,
    statement="removing random tokens does not help; removing label-irrelevant or noisy ones "
    "lowers the loss, with 10, 15 and 20 patterns",
    trial=trial(steps=70, every=10, dimension=20, patterns=10),
    grid={PATTERNS: [10, 15, 20], CUT: cuts((45, 40, 35, 30))},
    scales=scales(
        smoke=Scale(trials=2, grid={PATTERNS: None, CUT: cuts((35,))}, settings=smoke(steps=40)),
        small=Scale(
            trials=8,
            grid={PATTERNS: [10, 20], CUT: cuts((42, 35))},
            settings=small(steps=70, every=10),
        ),
    ),
    trials=50,
    claims=tuple(
        found
        for patterns in (10, 15, 20)
        for found in loss_claims(
            "8",
            f".m{patterns}",
            f"M = {patterns}, noise 0.5 on noisy tokens",
            {PATTERNS: patterns},
            "li2023, Figure 8",
        )
    ),
    pictures={"loss": draw_loss, "most": draw_most},
    findings={
        name: (
            Finding(
                f"8.attention.m{patterns}",
                holds="Removing the least attended tokens lowers the loss",
            ),
            Finding(
                f"8.random.m{patterns}",
                holds="while removing at random moves it by {value:+.0%}, within a quarter",
                fails="while removing at random moves it by {value:+.0%}",
            ),
        )
        for name, patterns in (("loss", 10), ("most", 20))
    },
    reference="Figure 8",
    sizes="the paper's dimensions at fractions of ours: the text of Figure 5 is not at hand",
    departures=f"{fig5.DEPARTURES}; 70 steps",
    shared=(PATTERNS, *CUT),
)
