"""Figure 5, step by step: shuffled images with positions shuffled alike train like plain ones."""

from dataclasses import replace

import numpy as np

from limelight._engine.grid import Axes, assign
from limelight.claims import AtMost, Estimate
from limelight.papers.jelassi2022 import fig5, images
from limelight.papers.jelassi2022.images import ARM, TOLERANCE, seeds
from limelight.papers.recipe import Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Guide, Panel, Picture, Points
from limelight.table import Table


def twins(cell: int) -> Axes:
    """The ViT on plain images, and on shuffled ones with its positions shuffled alike."""
    return {ARM: [("vit", 0, False), ("vit", cell, True)]}


@claim(
    "fig5.exact",
    "Training on shuffled images with positions shuffled alike is training on plain ones.",
    AtMost(TOLERANCE),
    at="limelight, on jelassi2022, Figure 5",
    kind="identity",
)
def same_training(table: Table) -> Estimate:
    """Largest difference of loss over 50 steps, float32."""
    return images.disagreement(seeds(table, aligned=False), seeds(table, aligned=True))


def draw(table: Table) -> Picture:
    """The losses of both twins, first seed, and how far apart those of any seed are."""
    plain, shuffled = (
        seeds(table, aligned=alike)["trace.loss"].astype(float) for alike in (False, True)
    )
    step = np.arange(plain.shape[1])
    # The plain line is broad, so that it shows under the other where both are the same.
    both = [
        Guide("plain", step, plain[0], colour=5, dash=0, width=3.0),
        Guide("shuffled, positions alike", step, shuffled[0], colour="ink", dash=1, width=0.9),
    ]
    apart = Points("", step, 1e6 * np.abs(shuffled - plain).max(axis=0), colour=0, size=2.6)
    return Picture(
        [
            Panel("the first seed", both, "training loss", "step"),
            Panel("all seeds", [apart], "largest difference, $10^{-6}$", "step"),
        ],
        width=TWO_COLUMNS,
        height=2.2,
        note=(f"the claim allows a difference of {TOLERANCE:g}", images.trained_on(table)),
    )


figure = replace(
    fig5.figure,
    statement="shuffling patches and positions alike changes nothing",
    trial=assign(
        fig5.trial,
        {
            "course.steps": 50,
            "course.warmup": 25,
            "course.numbers": "float32",
            "course.precision": "highest",
        },
    ),
    grid=twins(4),
    scales=scales(
        smoke=Scale(trials=1, grid=twins(1), settings=images.SMOKE),
        small=Scale(trials=2, settings=images.small("cifar100")),
    ),
    claims=(same_training,),
    pictures={"losses": draw},
    sizes="the network of fig5, for 50 steps in full precision",
    departures=f"{fig5.figure.departures}; at paper scale 50 steps in full float32",
)
