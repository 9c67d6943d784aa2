"""Theorem 4.5 on more prompts: what a hundred thousand leave open.

How much of the signal random covariances cost is asked here alone, by the rule of `shift` and on
other prompts.
"""

from dataclasses import replace

import numpy as np

from limelight.experiments.prompt_errors import PromptErrors
from limelight.papers.recipe import Finding, Scale, scales
from limelight.papers.zhang2024 import shift
from limelight.papers.zhang2024.prompt import measured
from limelight.papers.zhang2024.shift import LAW, LENGTH
from limelight.plot import WIDE, Axis, Panel, Picture, Points, Reference
from limelight.table import Table
from limelight.worlds.prompts import Prompts

PROMPTS = 400_000


def draw(table: Table) -> Picture:
    """The part that is lost at each length, by dimension, with its intervals."""
    marks: list = []
    for _, rows in table.cells():
        d = int(rows.setting("world.dimension"))
        found = {M: e for (_, M), e in measured(rows).items()}
        ends = np.array([e.interval for e in found.values()]).T / d
        marks.append(
            Points(
                f"$d = {d}$",
                np.array(list(found)),
                np.array([e.value for e in found.values()]) / d,
                *ends,
            )
        )
    marks.append(Reference("1/3", 1 / 3))
    across = Axis("$N = M$, examples in a prompt", log=True, ticks=table.setting("lengths"))
    return Picture(
        [Panel("", marks, Axis("error, of the signal"), across)],
        width=WIDE,
        height=3.0,
        note=(f"{table.setting('prompts'):,} prompts", "bars: 95 % intervals"),
    )


figure = replace(
    shift.figure,
    statement="a layer trained on random covariances loses a third of the signal",
    trial=PromptErrors(Prompts(spread=0.6), lengths=(100, LENGTH), prompts=PROMPTS),
    grid={"world.dimension": [4, 10], LAW: [("random", 1.0)]},
    scales=scales(
        smoke=Scale(
            grid={"world.dimension": [4], LAW: [("random", 1.0)]},
            settings={"lengths": (50,), "prompts": 1000},
        ),
        small=Scale(settings={"prompts": 20_000}),
    ),
    claims=(shift.random,),
    pictures={"shift-random": draw},
    findings={
        "shift-random": Finding(
            "shift.random", holds="Random covariances cost a third of the signal"
        )
    },
    reference="Theorem 4.5",
    departures=f"{shift.figure.departures}; random covariances alone, on other and more prompts",
)
