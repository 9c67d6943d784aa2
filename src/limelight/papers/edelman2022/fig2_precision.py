"""Figure 2 in two precisions: whether token vectors of 8 bits of mantissa change what is learned.

At paper scale training rounds token vectors, and what meets them in the attention, to bfloat16.
Here the same trials, with the same draws, are run both ways.
"""

from functools import partial

from limelight import fit
from limelight._engine.grid import assign
from limelight.claims import Estimate, Inside
from limelight.fit.estimates import paired_shares
from limelight.papers.edelman2022 import variants
from limelight.papers.edelman2022.critical import BANDS, LENGTH, SIZE, smaller
from limelight.papers.recipe import Figure, claim, scales
from limelight.table import Table

NUMBERS = "numbers"
KINDS = ["float32", "bfloat16"]


@claim(
    "precision.same",
    "Token vectors in bfloat16 leave the share of successes within 0.05 of where float32 has it.",
    Inside(-0.05, 0.05),
    at="limelight, the protocol of edelman2022, Figure 2",
)
def same(table: Table) -> Estimate:
    """Success with bfloat16 less success with float32, mean over paired trials."""
    plain, rounded = (table.where(numbers=kind)["success"].astype(bool) for kind in KINDS)
    note = f"the two disagree in {(plain != rounded).sum()} of {len(plain)} pairs"
    return paired_shares(plain, rounded, least=1, note=note)


def summary(table: Table) -> list[str]:
    """Both shares of success, and the difference."""
    shares = {kind: table.where(numbers=kind)["success"].mean() for kind in KINDS}
    return fit.tabulate([(shares, table)], KINDS, {"bfloat16 less float32": same.estimate})


figure = Figure(
    statement="does rounding token vectors in training change the share of successes?",
    trial=assign(variants.trial, {NUMBERS: "float32"}),
    grid={LENGTH: [100, 200], NUMBERS: KINDS, SIZE: [50, 75, 100, 125, 150, 175, 200]},
    trials=40,
    scales=scales(
        smoke=smaller(2, [16], [20, 60], iterations=40, holdout=500, first=250),
        small=smaller(10, [50], [40, 60, 80], iterations=200),
    ),
    shared=(NUMBERS,),
    claims=(same,),
    pictures={
        "success": partial(variants.draw, axis=NUMBERS, note=f"{BANDS}; the same draws both ways")
    },
    summary=summary,
    reference=variants.REFERENCE,
    departures=variants.DEPARTURES,
)
