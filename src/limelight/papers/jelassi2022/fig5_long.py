"""Figure 5's CNN, the ResNet of `fig5-patch2`, trained longer: does its loss of accuracy last?

A CNN that is trained for five epochs might only be slow to learn what a shuffle hides. The rule is
that of Figure 5, fixed before the table. The ViT is left out: its training does not depend on the
cells.
"""

from dataclasses import replace

from limelight._engine.grid import Axes
from limelight.papers.jelassi2022 import fig5, fig5_patch2, images
from limelight.papers.jelassi2022.fig5 import EPOCH
from limelight.papers.jelassi2022.images import ARM
from limelight.papers.recipe import Finding, Scale, scales

EPOCHS = 40


def arms(smallest: int, plain: int) -> Axes:
    """The CNN on the smallest cells and on plain images."""
    return {ARM: [("cnn", cell, False) for cell in (smallest, plain)]}


figure = replace(
    fig5_patch2.figure,
    trial=replace(
        fig5_patch2.figure.trial,
        cnn_course=images.half_precision(EPOCHS, EPOCH, 0.1, optimizer="sgd", decay=5e-4),
    ),
    grid=arms(2, 32),
    trials=3,
    scales=scales(
        smoke=Scale(trials=2, grid=arms(1, 8), settings=images.SMOKE),
        small=Scale(trials=2, grid=arms(4, 32), settings=images.small("cifar100")),
    ),
    claims=(fig5.cnn_falls.again("fig5.long.cnn-falls", " (a ResNet, trained longer)"),),
    pictures={"accuracy": fig5.draw},
    findings={
        "accuracy": Finding(
            "fig5.long.cnn-falls",
            holds="Trained longer, a CNN still loses {value:.0f} points on shuffled cells",
            open="{n} seeds do not decide whether a CNN trained longer loses 5 points on shuffled"
            " cells: it loses {value:.0f}",
        ),
    },
    sizes=f"the paper's cells; a narrower ResNet, {EPOCHS} epochs",
    departures=f"{images.DEPARTURES}; ResNet-18 at half its width, with group norm; {EPOCHS}"
    " epochs; no VGG; cells of 2 pixels and plain images",
)
