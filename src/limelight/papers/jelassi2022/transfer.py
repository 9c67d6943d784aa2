r"""Section 5: attention learned on one feature serves the next, from a handful of images."""

import numpy as np

from limelight.experiments.transfer import Transfer
from limelight.papers.base import Figure, Setup
from limelight.papers.jelassi2022.transfer_claims import (
    ARMS,
    CLAIMS,
    EXAMPLES,
    LEVEL,
    MARKS,
    SOURCE,
    TOKENS,
    by_size,
    diverged,
    rule_of,
    seen_by,
    slope,
)
from limelight.papers.jelassi2022.transfer_pictures import draw
from limelight.table import Table
from limelight.train.descent import Descent
from limelight.worlds import Spatial

#: What the summary tells of each arm, where it saw that many images.
TOLD = (*ARMS, "finetune.best", "scratch.end", "finetune.cosine")
AXIS = (TOKENS, "world.density", SOURCE, "pretraining")


def setup(sizes, learned, examples, seeds: int, **settings) -> Setup:
    """Every size with idealized attention, some with learned; samples of a seed are nested."""
    points = [(D, MARKS / D, "idealized", 1) for D in sizes]
    points += [(D, MARKS / D, "learned", 16 * D * D) for D in learned]
    experiment = Transfer(Spatial(dimension=64), **settings)
    axes = {AXIS: points, EXAMPLES: list(examples)}
    return Setup(experiment, axes, seeds, shared=(EXAMPLES,))


def summary(table: Table) -> list[str]:
    """Every size and sample: medians of the arms, and what the tuning chose."""
    lines = [rule_of(table), diverged(table)]
    for source in ("idealized", "learned"):
        for D, rows in by_size(table, source):
            for at, part in rows.cells(EXAMPLES):
                here = [a for a in TOLD if len(seen_by(table, a, np.array([at[EXAMPLES]])))]
                arms = ", ".join(f"{a} {np.median(part[a]):.4f}" for a in here)
                lines.append(
                    f"D {D}, {source}, {at[EXAMPLES]} images: {arms}; scratch association"
                    f" {np.median(part['scratch.exact']):.2f} at step"
                    f" {np.median(part['scratch.step']):.0f}"
                )
    found = slope(table)
    return [*lines, f"N(error <= {LEVEL}): {found.note}; slope {found.value:.2f}"]


QUICK = {
    "tuning": Descent(steps=100, every=10),
    "descent": Descent(steps=100, every=10),
    "tests": 4000,
}
POWERS = [2**k for k in range(13)]

figure = Figure(
    name="transfer",
    title="transferred attention against training from scratch",
    statement="with transferred attention a number of samples that does not grow with the patches"
    " suffices; without it the samples grow as a power of their number",
    setups={
        "smoke": setup((16,), (), (2, 8, 64), 2, **QUICK),
        "small": setup((16, 36, 64), (16,), (2, 8, 32, 128, 512), 5, **QUICK),
        "paper": setup(
            (16, 36, 64, 100, 144),
            (16, 36),
            POWERS,
            20,
            tuning=Descent(steps=300, every=10),
            descent=Descent(steps=400, every=10),
        ),
    },
    claims=CLAIMS,
    draws={"transfer": draw},
    summary=summary,
    reference="Section 5",
    cost={"smoke": "21 s of CPU time", "paper": "11 minutes on one H200"},
    departures="Theorem 5.2 is about every algorithm, here one is run; sizes and steps are ours;"
    " idealized attention has the logits 3.3 inside a set and -0.4 across; the density is 8/D; the"
    " scratch arm has its step cap chosen among three and its step by a validation set of 2,000"
    " images, at most 400 steps and 4,096 images; learned attention at D = 16 and 36 only",
)
