"""Figure 2 in two precisions: whether token vectors of 8 bits of mantissa change what is learned.

At paper scale training rounds token vectors, and what meets them in the attention, to bfloat16.
Here the same trials, with the same draws, are run both ways.
"""

from limelight.claims import Claim, Estimate, Inside
from limelight.engine.grid import Axes
from limelight.fit.estimates import paired_shares
from limelight.papers.base import Figure, Setup
from limelight.papers.edelman2022.critical import LENGTH, SIZE
from limelight.papers.edelman2022.fig2 import experiment, setting
from limelight.plot import Panel, Picture, over_cells, panels
from limelight.table import Table

NUMBERS = "numbers"
KINDS = ["float32", "bfloat16"]


def difference(table: Table) -> Estimate:
    """Success with bfloat16 less success with float32, mean over pairs of trials."""
    plain, rounded = (table.rows(table[NUMBERS] == kind)["success"].astype(bool) for kind in KINDS)
    note = f"the two disagree in {(plain != rounded).sum()} of {len(plain)} pairs"
    return paired_shares(plain, rounded, least=1, note=note)


def summary(table: Table) -> list[str]:
    """The difference, in words."""
    found = difference(table)
    assert found.interval is not None
    low, high = found.interval
    return [f"success, bfloat16 less float32: {found.value:+.3f} [{low:+.3f}, {high:+.3f}]"]


def draw(table: Table) -> Picture:
    """Success against examples, both ways."""
    parts = [
        Panel(
            f"T = {at[LENGTH]}",
            over_cells(rows, SIZE, "success", by=NUMBERS, name="{}"),
            "share above 99 %",
        )
        for at, rows in table.cells(LENGTH)
    ]
    return panels(
        parts,
        x_label="training examples $m$",
        columns=2,
        share=True,
        height=2.2,
        note=(
            f"{setting(table, 'iterations')} iterations",
            "bands: exact 95 % intervals; the same draws both ways",
        ),
    )


def setup(lengths: list[int], sizes: list[int], trials: int, **settings) -> Setup:
    """One study over precisions, trials paired."""
    axes: Axes = {LENGTH: lengths, NUMBERS: KINDS, SIZE: sizes}
    return Setup(experiment(lengths[0], share=0.0, **settings), axes, trials, shared=(NUMBERS,))


figure = Figure(
    name="fig2-precision",
    title="success with token vectors in float32 and in bfloat16",
    statement="does rounding token vectors in training change the share of successes?",
    setups={
        "smoke": setup([16], [20, 60], 2, iterations=40, holdout=500, first=250),
        "small": setup([50], [40, 60, 80], 10, iterations=200),
        "paper": setup([100, 200], [50, 75, 100, 125, 150, 175, 200], 40),
    },
    claims=(
        Claim(
            "precision.same",
            "Token vectors in bfloat16 leave the share of successes where float32 has it.",
            "success with bfloat16 less success with float32, mean over paired trials",
            difference,
            Inside(-0.05, 0.05),
            "limelight",
        ),
    ),
    draws={"success": draw},
    summary=summary,
    reference="limelight; the protocol of Figure 2",
    cost={"paper": "91 s on one H200 that another figure shared"},
    departures="not in the paper; otherwise as fig2, every trial ending at its first success",
)
