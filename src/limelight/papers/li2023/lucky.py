"""Lemmas 3 and 4: how many neurons are lucky at the start, and whether they stay so."""

import numpy as np

from limelight.claims import AtLeast, Claim, Estimate
from limelight.measures.neurons import VARIANTS
from limelight.papers.li2023.boundary import setting
from limelight.papers.li2023.concentration import average
from limelight.papers.li2023.fig1a import facts
from limelight.papers.li2023.traces import band, rows_of, slack_of, steps_of, trace
from limelight.plot import Reference, caption, curves
from limelight.table import Table
from limelight.theory.li2023 import lucky_share


def bound_of(table: Table) -> float:
    """Lemma 3's share without its epsilon, at the settings of the run."""
    return lucky_share(int(setting(table, "world.patterns")), slack_of(table))


def excess_share(variant: str):
    """Share of lucky neurons at the start minus Lemma 3's bound without its epsilon."""

    def estimate(table: Table) -> Estimate:
        bound, share = bound_of(table), trace(rows_of(table), f"lucky.{variant}.share")[:, 0]
        found = average(share - bound)
        note = f"share {share.mean():.4f}, bound {bound:.4f}"
        return Estimate(found.value, found.interval, found.n, note)

    return estimate


def retention(variant: str, which: str, readout: str = "position"):
    """Share of the lucky neurons at the start that are lucky at the end."""

    def estimate(table: Table) -> Estimate:
        rows = rows_of(table, readout)
        if not len(rows):
            return Estimate(np.nan, None, 0, "not in this table")
        last = trace(rows, f"lucky.{variant}.{which}")[:, -1]
        if np.isnan(last).any():
            return Estimate(np.nan, None, len(last), "the set is empty at the start")
        return average(last)

    return estimate


def draw_lucky(table: Table):
    """Share of lucky neurons over training, by variant, with Lemma 3's line."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    series = [band(f"{v}, all", steps, trace(rows, f"lucky.{v}.share")) for v in VARIANTS]
    series.append(band("argmax, right output sign", steps, trace(rows, "lucky.argmax.signed")))
    figure = curves(
        series,
        x_label="training step",
        y_label="share of neurons, each set",
        references=[Reference("Lemma 3", bound_of(table))],
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_kept(table: Table):
    """Share of the first lucky neurons that are still lucky, by output sign (argmax variant)."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    words = {"kept_signed": "right output sign", "kept": "all", "kept_wrong": "wrong output sign"}
    figure = curves(
        [band(word, steps, trace(rows, f"lucky.argmax.{name}")) for name, word in words.items()],
        x_label="training step",
        y_label=r"share of $\mathcal{W}(0), \mathcal{U}(0)$ kept",
        references=[Reference("Lemma 4", 1.0)],
        limits=(0, 1.02),
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


CLAIMS = (
    *(
        Claim(
            f"L3.{variant}",
            f"Lemma 3: there are many lucky neurons at the start ({variant}).",
            "share of neurons in W(0) and U(0), each, minus (1/M)(1 - (sigma + tau) M/pi)",
            excess_share(variant),
            AtLeast(0.0),
            "li2023, Definition 2 and Lemma 3",
        )
        for variant in VARIANTS
    ),
    *(
        Claim(
            f"L4.{variant}{suffix}",
            f"Lemma 4: lucky neurons stay lucky ({variant}, {words}).",
            "share of W(0) and U(0) still in W(T) and U(T)",
            retention(variant, which),
            AtLeast(0.95),
            "li2023, Lemma 4",
        )
        for variant in VARIANTS
        for suffix, which, words in (
            ("", "kept", "whatever their output sign"),
            (".signed", "kept_signed", "with the right output sign"),
        )
    ),
    Claim(
        "L4.shared",
        "Lemma 4 with one sign a neuron, as in the proofs (argmax, right output sign).",
        "share of W(0) and U(0) still in W(T) and U(T), shared_scaled readout",
        retention("argmax", "kept_signed", "shared_scaled"),
        AtLeast(0.95),
        "li2023, Lemma 4",
    ),
)
