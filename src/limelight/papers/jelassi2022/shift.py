r"""Theorem 3.2: small error without association, by attending to another set than one's own."""

import numpy as np

from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.experiments.set_shift import SetShift
from limelight.papers.base import Figure, Setup
from limelight.papers.jelassi2022.reading import told
from limelight.plot import caption, new_figure
from limelight.plot.style import (
    COLOURS,
    INK,
    MARKERS,
    TICK,
    WEIGHT,
    label,
    legend_above,
    open_frame,
)
from limelight.table import Table
from limelight.theory.jelassi2022.linear import linear_error
from limelight.theory.jelassi2022.shift import same_logits, shifted_logits
from limelight.worlds.partitions import grid

WORLD = ("tokens", "density", "value")
WORLDS = ((16, 0.5, 0.1), (36, 0.35, 0.06), (64, 0.22, 0.035))


def setup(worlds, strengths, trials: int, draws: int, grams: int) -> Setup:
    """Worlds by logits of the set that is attended to."""
    experiment = SetShift(draws=draws, grams=grams)
    axes = {WORLD: list(worlds), "strength": list(strengths)}
    return Setup(experiment, axes, trials, shared=("strength",))


# --- what is read off a table -----------------------------------------------------------------


def difference(table: Table) -> Estimate:
    """Largest difference of the two networks, over all images, trials and settings."""
    note = f"outputs up to {table['largest'].max():.3g}"
    return Estimate(float(table["difference"].max()), None, len(table), note)


def overlap(table: Table) -> Estimate:
    """Largest overlap of the shifted attention with the sets."""
    value = float(max(table["overlap"].max(), table["overlap_offdiag"].max()))
    kept = float(table["kept.overlap_offdiag"].max())
    return Estimate(value, None, len(table), f"off the diagonal, with it at 1: {kept:g}")


def small_error(table: Table) -> Estimate:
    """Largest ratio of the shifted network's error to the linear rule's, sharpest attention."""
    found = []
    for at, rows in table.cells(*WORLD, "strength"):
        if at["strength"] == table["strength"].max():
            linear = linear_error(at["tokens"], 4, at["density"])
            found.append((float(rows["error.shifted"].mean()) / linear, at["tokens"]))
    note = ", ".join(f"D {D}: {ratio:.3f}" for ratio, D in found)
    return Estimate(max(ratio for ratio, _ in found), None, len(table), note)


def missed(table: Table) -> Estimate:
    """Random Gram matrices whose longest encoding misses itself; a proof, so no interval."""
    grams = int(table.manifest["configuration"]["experiment"]["grams"])
    first = table.where(strength=table.values("strength")[0])
    count, total = int(first["missed"].sum()), grams * len(first)
    return Estimate(float(count), None, total, "0 by Cauchy and Schwarz, for distinct encodings")


CLAIMS = (
    Claim(
        "thm3.2-free",
        "Theorem 3.2, free attention: attending to the next set is the same function.",
        "largest difference of outputs between the shifted and the unshifted network, float64",
        difference,
        AtMost(1e-10),
        "jelassi2022, Theorem 3.2",
    ),
    Claim(
        "thm3.2-overlap",
        "Theorem 3.2, free attention: the shifted network has no patch association at all.",
        "largest overlap of top attention with the own set, with and without the diagonal",
        overlap,
        AtMost(0.0),
        "jelassi2022, Theorem 3.2",
    ),
    Claim(
        "thm3.2-error",
        "Theorem 3.2, free attention: the shifted network's error is small.",
        "its error over that of the linear rule, sharpest attention, largest of worlds",
        small_error,
        AtMost(0.2),
        "limelight; jelassi2022, Theorem 3.2",
    ),
    Claim(
        "thm3.2-gram",
        "Theorem 3.2 as stated: the same with inner products of encodings, over all j.",
        "random Gram matrices whose longest encoding is missing from its own top C",
        missed,
        AtLeast(1.0),
        "jelassi2022, Theorem 3.2",
    ),
)


# --- picture ----------------------------------------------------------------------------------


def draw(table: Table):
    """Attention inside sets and shifted to the next, and the errors of both networks."""
    figure = new_figure(7.0, 2.5, columns=3)
    left, middle, right = figure.axes
    sets = grid(4, 2)
    for axes, logits, title in (
        (left, same_logits(sets, 1.0), "attention inside sets"),
        (middle, shifted_logits(sets, 4, 1.0), "attention to the next set"),
    ):
        axes.imshow(np.asarray(logits), cmap=WEIGHT, vmin=0, vmax=1.3)
        axes.set_title(title, fontsize=TICK + 1, color=INK, loc="left")
        label(axes, "patch attended to", "patch")
    open_frame(right)
    label(right, "logit $h$ of the attended set", "test error")
    handles = []
    for i, D in enumerate(table.values("tokens")):
        rows = table.where(tokens=D)
        x = rows.values("strength")
        at = lambda name, rows=rows, x=x: [rows.where(strength=h)[name].mean() for h in x]
        look = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 4}
        handles += right.plot(
            x, at("error.same"), "-", linewidth=1.2, label=f"D = {D}, inside", **look
        )
        look |= {"markerfacecolor": "none", "linestyle": "none", "markersize": 7}
        handles += right.plot(x, at("error.shifted"), label="next set", **look)
    right.set_yscale("log")
    legend_above(right, handles, room=2.4)
    caption(
        figure,
        *told(table),
        "left: 16 patches in blocks of four; right: both networks on the same images; overlap of "
        f"the shifted attention with the sets {table['overlap'].max():g}",
    )
    return figure


def summary(table: Table) -> list[str]:
    """Errors, differences and association by setting."""
    lines = []
    for at, rows in table.cells(*WORLD, "strength"):
        lines.append(
            f"D {at['tokens']}, q {at['density']:g}, h {at['strength']:g}: error inside"
            f" {rows['error.same'].mean():.4f}, shifted {rows['error.shifted'].mean():.4f}, shifted"
            f" with diagonal 1 {rows['error.kept'].mean():.4f}; largest difference"
            f" {rows['difference'].max():.2g} of {rows['largest'].max():.3g}; overlap"
            f" {rows['overlap'].max():g}"
        )
    return lines


figure = Figure(
    name="shift",
    title="small error without association",
    statement="there are networks with small error that have not learned patch association",
    setups={
        "smoke": setup(WORLDS[:1], (2.0, 8.0), 2, 500, 50),
        "small": setup(WORLDS, (2.0, 4.0, 8.0), 20, 2000, 500),
        "paper": setup(WORLDS, (1.0, 2.0, 3.0, 4.0, 6.0, 8.0), 20, 20_000, 500),
    },
    claims=CLAIMS,
    draws={"shift": draw},
    summary=summary,
    reference="Theorem 3.2",
    cost={"smoke": "10 s of CPU time", "paper": "3 minutes on 2 busy cores"},
    departures="the paper states existence; the construction is ours. For inner products over all "
    "j the statement is impossible, so logits are free",
)
