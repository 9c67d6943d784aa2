"""Definition 1 through training: does its envelope hold the attention that is measured?"""

from functools import partial

import numpy as np

from limelight import plot
from limelight.claims import AtLeast, AtMost, Estimate
from limelight.papers.li2023.traces import (
    READOUT,
    over_steps,
    rows_of,
    share_of_looks,
    steps_of,
    trace,
)
from limelight.papers.recipe import claim
from limelight.table import Table
from limelight.theory.li2023 import Envelopes, attention_envelopes

#: The error of keys and queries at the start.
KEY_ERROR = 0.2
#: Rounding of single precision.
SMALL = 1e-6


def envelopes(table: Table, rows: Table) -> tuple[Envelopes, dict[str, np.ndarray]]:
    """Definition 1 at every look of every trial, and what it is made from.

    The mass is that of tokens without noise, so that the slack is the key error alone.
    """
    names = ("logit", "largest", "smallest", "mass", "tokens")
    own = {name: trace(rows, f"own.{name}") for name in names}
    tokens = table.setting("world.tokens")
    return attention_envelopes(own["logit"], own["tokens"], tokens, KEY_ERROR), own


def above_low(table: Table, rows: Table) -> np.ndarray:
    """Where the mass is at least $p_n$."""
    found, own = envelopes(table, rows)
    return own["mass"] >= found.low - SMALL


def inside(table: Table, rows: Table) -> np.ndarray:
    """Where the mass lies between both envelopes."""
    found, own = envelopes(table, rows)
    return above_low(table, rows) & (own["mass"] <= found.high + SMALL)


def little_leaks(table: Table, rows: Table) -> np.ndarray:
    r"""Where no token of another pattern has more than $\nu_n$."""
    found, _ = envelopes(table, rows)
    return trace(rows, "value.leak") <= found.nu + SMALL


@claim(
    "D1.certain",
    "The mass of a pattern-1 query on pattern 1 never leaves the corrected bracket.",
    AtMost(1e-5),
    at="limelight; correction of li2023, Definition 1",
    kind="identity",
)
def outside(table: Table) -> Estimate:
    """Largest distance outside the bracket of extreme logits, all trials and looks."""
    worst = 0.0
    for readout in table.values(READOUT):
        found, own = envelopes(table, rows_of(table, readout))
        low, high = found.certain(own["largest"]), found.certain(own["smallest"])
        worst = float(np.max([worst, np.max(low - own["mass"]), np.max(own["mass"] - high)]))
    return Estimate(worst, None, len(table))


CLAIMS = (
    outside,
    claim(
        "D1.lower",
        "Definition 1's lower envelope lies below the mass of a pattern-1 query on pattern 1 at 95"
        " % of the looks (q from the own-pattern logit).",
        AtLeast(0.95),
        at="li2023, Definition 1",
        statistic="share of looks before settling with mass >= p_n",
        fixed="after",
    )(partial(share_of_looks, holds=above_low)),
    claim(
        "D1.envelope",
        "Definition 1 brackets the mass of a pattern-1 query on pattern 1 at 95 % of the looks in"
        " training (q from the own-pattern logit).",
        AtLeast(0.95),
        at="li2023, Definition 1",
        statistic="share of looks before settling with mass inside [p_n, 1 - (S - s) phi_n]",
        fixed="after",
    )(partial(share_of_looks, holds=inside)),
    claim(
        "L2.leak",
        "No token of another pattern gets more than nu_n from a pattern-1 query, at 95 % of the"
        " looks (Lemma 2).",
        AtLeast(0.95),
        at="li2023, Lemma 2",
        statistic="share of looks before settling with the largest such weight at most nu_n",
    )(partial(share_of_looks, holds=little_leaks)),
)


def draw_envelope(table: Table) -> plot.Picture:
    """Attention of a pattern-1 query on pattern 1, with the envelopes, in the first trial."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    found, own = envelopes(table, rows)
    sides = (
        ("Definition 1", found.low),
        ("Definition 1", found.high),
        ("corrected", found.certain(own["largest"])),
        ("corrected", found.certain(own["smallest"])),
    )
    first = [(name, steps, log[0, : len(steps)]) for name, log in sides]
    least = min(float(log.min()) for *_, log in first)
    return plot.lines(
        [("measured mass", steps, own["mass"][0, : len(steps)])],
        guides=first,
        limits=(np.floor(10 * least) / 10, 1),
        x_label="training step",
        y_label="attention of a pattern-1 query on pattern 1",
        note="first trial; envelopes below and above",
    )


def draw_leak(table: Table) -> plot.Picture:
    r"""Largest weight of a pattern-1 query on one token of another pattern, with $\nu_n$."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    nu = envelopes(table, rows)[0].nu.mean(axis=0)[: len(steps)]
    top = max(float(trace(rows, "value.leak").mean(axis=0).max()), float(nu.max()))
    return over_steps(
        table,
        {"largest weight on another token": "value.leak"},
        "attention weight of one token",
        guides=[plot.Guide("at most, by Lemma 2", steps, nu)],
        limits=(0.0, 1.1 * top),
    )
