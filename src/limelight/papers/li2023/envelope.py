"""Definition 1 through training: does its envelope hold the attention that is measured?"""

import numpy as np

from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.papers.li2023.boundary import setting
from limelight.papers.li2023.fig1a import facts
from limelight.papers.li2023.traces import (
    KEY_ERROR,
    READOUT,
    band,
    rows_of,
    share_of_looks,
    steps_of,
    trace,
)
from limelight.plot import Series, caption, curves
from limelight.table import Table
from limelight.theory.li2023 import Envelopes, attention_envelopes

OWN = ("logit", "largest", "smallest", "mass", "tokens")
#: Rounding of single precision.
SMALL = 1e-6


def envelopes(table: Table, rows: Table) -> tuple[Envelopes, dict[str, np.ndarray]]:
    """Definition 1 at every look of every trial, and what it is made from.

    The mass is that of tokens without noise, so that the slack is the key error alone.
    """
    own = {name: trace(rows, f"own.{name}") for name in OWN}
    tokens = setting(table, "world.tokens")
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


def outside(table: Table) -> Estimate:
    """Largest amount by which the mass leaves the bracket that always holds, all trials, looks."""
    worst = 0.0
    for readout in table.values(READOUT):
        found, own = envelopes(table, rows_of(table, readout))
        low, high = found.certain(own["largest"]), found.certain(own["smallest"])
        worst = max(worst, float(np.max(low - own["mass"])), float(np.max(own["mass"] - high)))
    return Estimate(worst, None, len(table))


def draw_envelope(table: Table):
    """Attention of a pattern-1 query on pattern 1, with the envelopes, in the first trial."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    first = lambda log: log[0, : len(steps)]
    found, own = envelopes(table, rows)
    sides = {
        "Definition 1, lower": first(found.low),
        "Definition 1, upper": first(found.high),
        "always valid, lower": first(found.certain(own["largest"])),
        "always valid, upper": first(found.certain(own["smallest"])),
    }
    figure = curves(
        [Series("measured mass", steps, first(own["mass"]))],
        guides=[Series(name, steps, side) for name, side in sides.items()],
        limits=(np.floor(10 * min(map(np.min, sides.values()))) / 10, 1),
        x_label="training step",
        y_label=r"mass of a $\mu_1$ query on $\mu_1$",
        width=4.6,
    )
    caption(figure, *facts(table), "first trial")
    return figure


def draw_leak(table: Table):
    r"""Largest weight of a pattern-1 query on one token of another pattern, with $\nu_n$."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    nu = envelopes(table, rows)[0].nu.mean(axis=0)[: len(steps)]
    leak = band("largest weight on another token", steps, trace(rows, "value.leak"))
    top = max(np.nanmax(leak.arrays()[3]), nu.max())
    figure = curves(
        [leak],
        guides=[Series(r"Lemma 2, at most $\nu_n$", steps, nu)],
        x_label="training step",
        y_label="attention weight of one token",
        limits=(0.0, 1.05 * top),
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


CLAIMS = (
    Claim(
        "D1.certain",
        "The mass of a pattern-1 query on pattern 1 never leaves the corrected bracket.",
        "largest distance outside the bracket of extreme logits, all trials and looks",
        outside,
        AtMost(1e-5),
        "limelight; correction of li2023, Definition 1",
    ),
    Claim(
        "D1.lower",
        "Definition 1's lower envelope lies below that mass (q from the own-pattern logit).",
        "share of looks before settling with mass >= p_n",
        share_of_looks("position", above_low),
        AtLeast(0.95),
        "li2023, Definition 1",
    ),
    Claim(
        "D1.envelope",
        "Definition 1 brackets that mass through training (q from the own-pattern logit).",
        "share of looks before settling with mass inside [p_n, 1 - (S - s) phi_n]",
        share_of_looks("position", inside),
        AtLeast(0.95),
        "li2023, Definition 1",
    ),
    Claim(
        "L2.leak",
        "No token of another pattern gets more than nu_n from a pattern-1 query (Lemma 2).",
        "share of looks before settling with the largest such weight at most nu_n",
        share_of_looks("position", little_leaks),
        AtLeast(0.95),
        "li2023, Lemma 2",
    ),
)
