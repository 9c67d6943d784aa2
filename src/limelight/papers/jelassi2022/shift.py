"""Theorem 3.2: small error without association, by attending to another set than one's own."""

import numpy as np

from limelight.claims import AtLeast, AtMost, Estimate
from limelight.experiments.set_shift import SetShift
from limelight.fit import estimates, tabulate
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Axis, Map, Panel, Picture, Points, over_cells
from limelight.table import Table
from limelight.theory.jelassi2022.linear import linear_error
from limelight.theory.jelassi2022.shift import same_logits, shifted_logits
from limelight.worlds._partitions import grid

WORLD = ("tokens", "density", "value")
WORLDS = [(16, 0.5, 0.1), (36, 0.35, 0.06), (64, 0.22, 0.035)]


@claim(
    "thm3.2-free",
    "Theorem 3.2, free attention: attending to the next set is the same function.",
    AtMost(1e-10),
    at="limelight, jelassi2022, Theorem 3.2 for free attention",
    kind="identity",
    fixed="pilot",
)
def difference(table: Table) -> Estimate:
    """Largest difference of outputs between the shifted and the unshifted network, float64."""
    note = f"outputs up to {table['largest'].max():.3g}"
    return Estimate(float(table["difference"].max()), None, len(table), note)


@claim(
    "thm3.2-overlap",
    "Theorem 3.2, free attention: the shifted network has no patch association at all.",
    AtMost(0.0),
    at="limelight, jelassi2022, Theorem 3.2 for free attention",
    kind="identity",
    fixed="pilot",
)
def overlap(table: Table) -> Estimate:
    """Largest overlap of top attention with the own set, with and without the diagonal."""
    value = float(max(table["overlap"].max(), table["overlap_offdiag"].max()))
    kept = float(table["kept.overlap_offdiag"].max())
    return Estimate(value, None, len(table), f"off the diagonal, with it at 1: {kept:g}")


@claim(
    "thm3.2-error",
    "Theorem 3.2, free attention: the shifted network's error is a fifth of the linear rule's or"
    " less.",
    AtMost(0.2),
    at="limelight, jelassi2022, Theorem 3.2 for free attention",
    fixed="pilot",
)
def small_error(table: Table) -> Estimate:
    """Its error over that of the linear rule, sharpest attention, largest of worlds."""
    sharpest = table.where(strength=table["strength"].max())
    return estimates.highest(
        (
            f"D {at['tokens']}",
            estimates.mean(
                rows["error.shifted"].astype(float) / linear_error(at["tokens"], 4, at["density"])
            ),
        )
        for at, rows in sharpest.cells(*WORLD)
    )


@claim(
    "thm3.2-gram",
    "Theorem 3.2 as stated, with inner products of encodings over all j: some network misses its"
    " own set everywhere (impossible by Cauchy and Schwarz: this can only fail).",
    AtLeast(1.0),
    at="jelassi2022, Theorem 3.2",
    kind="identity",
    fixed="pilot",
)
def missed(table: Table) -> Estimate:
    """Random Gram matrices whose longest encoding is missing from its own top C."""
    first = table.where(strength=table["strength"].min())
    count, total = int(first["missed"].sum()), int(table.setting("grams")) * len(first)
    return Estimate(float(count), None, total, "0 by Cauchy and Schwarz, for distinct encodings")


def summary(table: Table) -> list[str]:
    """Errors, differences and association by setting."""
    columns = {
        "error inside": "error.same",
        "shifted": "error.shifted",
        "shifted with diagonal 1": "error.kept",
        "largest difference": lambda rows: rows["difference"].max(),
        "largest output": lambda rows: rows["largest"].max(),
        "overlap": lambda rows: rows["overlap"].max(),
    }
    return tabulate(table, {"tokens": "D", "density": "q", "strength": "h"}, columns)


def draw(table: Table) -> Picture:
    """Attention inside sets and shifted to the next, and the errors of both networks."""
    sets = grid(4, 2)
    squares = (
        Panel(title, [Map(np.asarray(logits), low=0, high=1.3)], "patch", "patch attended to")
        for title, logits in (
            ("attention inside sets", same_logits(sets, 1.0)),
            ("attention to the next set", shifted_logits(sets, 4, 1.0)),
        )
    )
    lines = lambda y, name: over_cells(table, "strength", y, "tokens", name=name)
    inside = lines("error.same", "$D = {}$")
    shifted = lines("error.shifted", "$D = {}$")
    hollow = [
        Points("", s.x, s.y, colour=i, marker=i, size=7, hollow=True) for i, s in enumerate(shifted)
    ]
    strength = "logit $h$ of the attended set"
    return Picture(
        [
            *squares,
            Panel(
                "inside sets (lines) and shifted (hollow)",
                [*inside, *hollow],
                Axis("test error", log=True),
                strength,
            ),
        ],
        width=TWO_COLUMNS,
        height=2.9,
        note=(
            "left: 16 patches in blocks of four",
            "right: both networks on the same images",
            f"overlap of the shifted attention with the sets: {table['overlap'].max():g}",
        ),
    )


figure = Figure(
    statement="there are networks with small error that have not learned patch association",
    trial=SetShift(draws=20_000, grams=500),
    grid={WORLD: WORLDS, "strength": [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]},
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={WORLD: WORLDS[:1], "strength": [2.0, 8.0]},
            settings={"draws": 500, "grams": 50},
        ),
        small=Scale(grid={"strength": [2.0, 4.0, 8.0]}, settings={"draws": 2000}),
    ),
    claims=(difference, overlap, small_error, missed),
    pictures={"shift": draw},
    findings={"shift": "thm3.2-free"},
    summary=summary,
    reference="Theorem 3.2",
    departures="the paper states existence; the construction is ours. For inner products over all "
    "j the statement is impossible, so logits are free",
    shared=("strength",),
)
