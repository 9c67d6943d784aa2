r"""Lemmas 2 to 4 and Definition 1 through training, in one study with every tracker."""

import numpy as np

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
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023 import envelope, lemma2, lemma2_pictures, lucky
from limelight.papers.li2023.concentration import study
from limelight.papers.li2023.traces import ERROR, NOISE, READOUT, SCALE, rows_of, trace
from limelight.table import Table


def setup(scale: str, trials: int, readouts, noise=None, **options) -> Setup:
    """Figure 4's study with every tracker, for readouts by position and shared."""
    slack = ERROR + (NOISE if noise else 0.0)
    trackers = (
        LuckyNeurons(slack),
        OutputProjections(SCALE),
        FeatureNorms(),
        FeatureTurns(),
        OwnAttention(),
        ValuePull(),
        ValueParts(),
        Margins(),
        Invariants(),
    )
    experiment = study(scale, noise=noise, traces=trackers, **options)
    return Setup(experiment, {READOUT: list(readouts)}, trials, shared=(READOUT,))


def summary(table: Table) -> list[str]:
    """Every tracker before and after."""
    lines = []
    for readout in table.values(READOUT):
        rows = rows_of(table, readout)
        lines.append(f"{readout} readout, start -> end, mean over {len(rows)} trials")
        names = sorted(n.removeprefix("trace.") for n in rows.columns if n.startswith("trace."))
        for name in names:
            log = trace(rows, name)
            if name.split(".")[0] not in ("mass", "roles") and not np.isnan(log).all():
                lines.append(f"  {name:24} {log[:, 0].mean():.4g} -> {log[:, -1].mean():.4g}")
    return lines


figure = Figure(
    name="lemmas",
    title="lucky neurons, features, values and envelopes through training",
    statement="lucky neurons are many at the start and stay lucky; they pull the values of their "
    "pattern; features of the discriminative patterns grow; attention follows its envelope",
    setups={
        "smoke": setup("smoke", 2, ["position"], width=200, examples=50, steps=60),
        "small": setup(
            "small", 3, ["position", "shared_scaled"], width=1000, examples=200, steps=300
        ),
        "paper": setup(
            "paper",
            20,
            ["position", "shared_scaled"],
            width=1000,
            examples=200,
            steps=300,
            noise=0.01,
        ),
    },
    claims=(*lucky.CLAIMS, *envelope.CLAIMS, *lemma2.CLAIMS),
    draws={
        "lucky": lucky.draw_lucky,
        "kept": lucky.draw_kept,
        "envelope": envelope.draw_envelope,
        "leak": envelope.draw_leak,
        "features": lemma2_pictures.draw_features,
        "rows": lemma2_pictures.draw_rows,
        "pull": lemma2_pictures.draw_pull,
        "value": lemma2_pictures.draw_value,
        "margin": lemma2_pictures.draw_margin,
        "drift": lemma2_pictures.draw_drift,
    },
    summary=summary,
    reference="Definitions 1 and 2, Lemmas 2 to 4",
    departures="the settings of fig4; three readings of Definition 2, because the literal set is "
    "empty; q is the root of the own-pattern logit, because with the paper's q = 1 the envelope is "
    "not a bound; the bound on V_i counts the examples whose margin has not reached 1",
)
