"""Lemmas 3 and 4: how many neurons are lucky at the start, and whether they stay so."""

from dataclasses import replace
from functools import partial

import numpy as np

from limelight import plot
from limelight._core.errors import InputError
from limelight.claims import AtLeast, Estimate, NotApplicable
from limelight.fit import estimates
from limelight.measures.neurons import VARIANTS
from limelight.papers.li2023.concentration import average, average_share
from limelight.papers.li2023.traces import over_steps, rows_of, trace
from limelight.papers.recipe import claim, claims
from limelight.table import Table
from limelight.theory.li2023 import lucky_share

#: When a neuron is called lucky, in the words of claims.
READ = {
    "literal": "lucky as in Definition 2",
    "argmax": "lucky: aligned best",
    "margin": "lucky: aligned best by a margin",
}


def slack_of(table: Table) -> float:
    r"""$\sigma + \tau$ of the run."""
    for tracker in table.setting("traces"):
        if "slack" in tracker:
            return float(tracker["slack"])
    raise InputError("the experiment of this table has no trace of lucky neurons")


def bound_of(table: Table) -> float:
    """Lemma 3's share without its epsilon, at the settings of the run."""
    return lucky_share(int(table.setting("world.patterns")), slack_of(table))


@claims(
    "L3.{variant}",
    "Lemma 3: there are at least as many lucky neurons at the start as the lemma says ({read}).",
    AtLeast(0.0),
    at="li2023, Definition 2 and Lemma 3",
    cases=[{"variant": variant, "read": READ[variant]} for variant in VARIANTS],
)
def excess_share(table: Table, variant: str) -> Estimate:
    """Share of neurons in W(0) and U(0), each, minus (1/M)(1 - (sigma + tau) M/pi)."""
    bound, share = bound_of(table), trace(rows_of(table), f"lucky.{variant}.share")[:, 0]
    note = f"share {share.mean():.4f}, bound {bound:.4f}"
    found = average(share)
    if not share.any():  # rows are independent at the start: so many draws, none of them lucky
        rows = len(share) * int(table.setting("model.width"))
        found = replace(estimates.share(0, rows, method="exact"), n=len(share))
        note = f"0 of {rows} independent rows, bound {bound:.4f}"
    low, high = estimates.ends_of(found)
    ends = (low - bound, high - bound)
    return replace(found, value=found.value - bound, interval=ends, note=note)


def retention(table: Table, variant: str, which: str, readout: str = "position") -> Estimate:
    """Share of W(0) and U(0) still in W(T) and U(T)."""
    last = trace(rows_of(table, readout), f"lucky.{variant}.{which}")[:, -1]
    if np.isnan(last).any():
        raise NotApplicable("the set is empty at the start", n=len(last))
    return average_share(last)


kept = claims(
    "L4.{variant}{suffix}",
    "Lemma 4: at least 95 % of lucky neurons stay lucky ({read}, {words}).",
    AtLeast(0.95),
    at="li2023, Lemma 4",
    cases=[
        {
            "variant": variant,
            "read": READ[variant],
            "suffix": suffix,
            "which": which,
            "words": words,
        }
        for variant in VARIANTS
        for suffix, which, words in (
            ("", "kept", "whatever their output sign"),
            (".signed", "kept_signed", "with the right output sign"),
        )
    ],
)(retention)


shared = claim(
    "L4.shared",
    "Lemma 4 with one sign per neuron, as in the proofs: at least 95 % of lucky neurons stay lucky"
    " (lucky: aligned best, with the right output sign).",
    AtLeast(0.95),
    at="li2023, Lemma 4",
    statistic="share of W(0) and U(0) still in W(T) and U(T), shared_scaled readout",
)(partial(retention, variant="argmax", which="kept_signed", readout="shared_scaled"))

CLAIMS = (*excess_share, *kept, shared)


def draw_lucky(table: Table) -> plot.Picture:
    """Share of lucky neurons over training, by variant, with Lemma 3's line."""
    words = {"literal": "as defined", "argmax": "by the largest product", "margin": "by a margin"}
    logs = {words[variant]: f"lucky.{variant}.share" for variant in VARIANTS}
    return over_steps(
        table,
        logs | {"by the largest product, right output sign": "lucky.argmax.signed"},
        "share of neurons that are lucky",
        references=[plot.Reference("at least, by Lemma 3", bound_of(table))],
    )


def draw_kept(table: Table) -> plot.Picture:
    """Share of the first lucky neurons that are still lucky, by output sign (argmax variant)."""
    return over_steps(
        table,
        {
            "right output sign": "lucky.argmax.kept_signed",
            "any output sign": "lucky.argmax.kept",
            "wrong output sign": "lucky.argmax.kept_wrong",
        },
        "share of lucky neurons that stay so",
        references=[plot.Reference("Lemma 4", 1.0)],
        limits=(0, 1.02),
    )
