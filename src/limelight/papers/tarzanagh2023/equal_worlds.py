"""Equal scores from a moderate start, in more worlds: what five hundred leave open.

Whether descent finds the best tokens is asked here alone, by the rule of `equal` and in other
worlds.
"""

from dataclasses import replace

import numpy as np

from limelight.fit.estimates import together
from limelight.papers.recipe import Scale, scales
from limelight.papers.tarzanagh2023 import equal
from limelight.papers.tarzanagh2023.equal import SIZE, SIZES
from limelight.papers.tarzanagh2023.reading import share, yes
from limelight.plot import ONE_COLUMN, Axis, Panel, Picture, Points, Reference
from limelight.table import Table

SMOKE, SMALL = (equal.figure.scales[name] for name in ("smoke", "small"))


def draw(table: Table) -> Picture:
    """The share of separable worlds that end with the best tokens, beside the level."""
    words = lambda where: "$n = {}$, $T = {}$, $d = {}$".format(*(where[n] for n in SIZE[1:]))
    cells = (
        (words(where), yes(rows, "global")[yes(rows, "feasible")])
        for where, rows in table.cells(*SIZE)
    )
    names, found = zip(*together(cells, share), strict=True)
    ends = np.array([e.interval or (np.nan, np.nan) for e in found])
    marks = [
        Points("worlds", np.arange(len(found)), [e.value for e in found], *ends.T),
        Reference("level of the claim", equal.LEVEL),
    ]
    across = Axis(categories=list(names), limits=(-0.6, len(names) - 0.4))
    return Picture(
        [Panel("", marks, "share that ends with all best tokens", across)],
        width=ONE_COLUMN,
        height=3.0,
        note="bars: 95 % intervals, both together",
    )


figure = replace(
    equal.figure,
    statement=equal.figure.statement,
    grid={SIZE: SIZES[:2], "model.scale": [1.0]},
    trials=2000,
    scales=scales(
        smoke=Scale(trials=2, settings=SMOKE.settings),
        small=Scale(trials=SMALL.trials, settings=SMALL.settings),
    ),
    claims=(equal.from_moderate,),
    pictures={"worlds": draw},
    findings={"worlds": "equal.global"},
    departures=f"{equal.figure.departures}; two cells, in other and more worlds",
)
