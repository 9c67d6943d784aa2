r"""Lemmas 2 to 4 and Definition 1 through training, in one study with every tracker."""

import numpy as np

from limelight import fit
from limelight.measures import (
    FeatureNorms,
    FeatureTurns,
    Invariants,
    LuckyNeurons,
    Margins,
    OutputProjections,
    OwnAttention,
    ValueParts,
    ValuePull,
)
from limelight.papers.li2023 import envelope, lemma2, lucky
from limelight.papers.li2023.concentration import SHORT, trial, without_noise
from limelight.papers.li2023.traces import READOUT
from limelight.papers.recipe import Figure, Finding, Scale, scales
from limelight.table import Table

#: The error of the value map at the start, the paper's $\sigma$.
VALUE_ERROR = 0.1
#: Mean length of the noise of a normalised token with c_0 = 0.01 in 10 dimensions.
NOISE = 0.0292


def trackers(slack: float) -> tuple:
    r"""Everything that the lemmas speak of; `slack` is $\sigma + \tau$."""
    return (
        LuckyNeurons(slack),
        OutputProjections(lemma2.SCALE),
        FeatureNorms(),
        FeatureTurns(),
        OwnAttention(),
        ValuePull(),
        ValueParts(),
        Margins(),
        Invariants(),
    )


def summary(table: Table) -> list[str]:
    """Every tracker before and after, mean over trials."""
    logs = [
        ({READOUT: at[READOUT], "trace": name.removeprefix("trace.")}, rows[name].astype(float))
        for at, rows in table.cells(READOUT)
        for name in sorted(rows.columns)
        if name.startswith("trace.") and not name.startswith(("trace.mass.", "trace.roles."))
    ]
    return fit.tabulate(
        [cell for cell in logs if not np.isnan(cell[1]).all()],
        [READOUT, "trace"],
        {"start": lambda log: log[:, 0].mean(), "end": lambda log: log[:, -1].mean()},
    )


figure = Figure(
    statement="lucky neurons are many at the start and stay lucky; they pull the values of their "
    "pattern; features of the discriminative patterns grow; attention follows its envelope",
    trial=trial(traces=trackers(VALUE_ERROR + NOISE)),
    grid={READOUT: ["position", "shared_scaled"]},
    trials=80,  # where all agree, so many put the lower end of a share above 0.95
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={READOUT: ["position"]},
            settings={"model.width": 200, **SHORT, **without_noise(trackers(VALUE_ERROR))},
        ),
        small=Scale(trials=3, settings=without_noise(trackers(VALUE_ERROR))),
    ),
    claims=(*lucky.CLAIMS, *envelope.CLAIMS, *lemma2.CLAIMS),
    pictures={
        "lucky": lucky.draw_lucky,
        "kept": lucky.draw_kept,
        "envelope": envelope.draw_envelope,
        "leak": envelope.draw_leak,
        "features": lemma2.draw_features,
        "rows": lemma2.draw_rows,
        "pull": lemma2.draw_pull,
        "value": lemma2.draw_value,
        "margin": lemma2.draw_margin,
        "drift": lemma2.draw_drift,
    },
    findings={
        "lucky": (
            Finding("L3.literal", fails="Read literally, Lemma 3 finds too few lucky neurons"),
            Finding("L3.argmax", holds="but by the largest product there are enough"),
        ),
        "kept": (
            Finding(
                "L4.argmax",
                holds="At least 95 % of lucky neurons stay lucky",
                fails="{value:.0%} of lucky neurons stay lucky",
            ),
            Finding("L4.argmax.signed", holds="but with the right output sign 95 % do"),
        ),
        "envelope": Finding(
            "D1.envelope",
            fails="Definition 1 brackets the attention at {value:.0%} of the looks, not at 95 %",
        ),
        "leak": Finding(
            "L2.leak",
            fails="Lemma 2's bound on one weight holds at {value:.0%} of the looks, not at 95 %",
        ),
        "features": Finding(
            "L2.keys", holds="Key features of the discriminative patterns grow {value:.1f}-fold"
        ),
        "rows": Finding(
            "L2.rows", holds="Lucky output rows grow {value:.0f}-fold along their own feature"
        ),
        "pull": Finding("L2.pull", fails="Lucky neurons pull less than Lemma 2 prints"),
        "value": "L2.values",
        "margin": Finding(
            "L2.margin", holds="The margin grows as the steps to the power {value:.1f}"
        ),
    },
    summary=summary,
    reference="Definitions 1 and 2, Lemmas 2 to 4",
    departures="the settings of fig4; three readings of Definition 2, because the literal set is "
    "empty; q is the root of the own-pattern logit, because with the paper's q = 1 the envelope is "
    "not a bound; the bound on V_i counts the examples whose margin has not reached 1",
    shared=(READOUT,),
)
