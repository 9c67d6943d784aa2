"""Figure 5 with the paper's patches of 2 pixels, cells of 2 pixels, and a ResNet.

`fig5` has patches of 4, so that its smallest cells are four times as large as the paper's and its
positions a quarter as many. Here are the paper's. Shuffled and plain images are the same training
of a ViT in law, whatever the patch (`fig5-exact` shows it step by step), so that the ViT is trained
on the smallest cells alone, for its positions. The rules are those of Figure 5, fixed before the
table.
"""

from dataclasses import replace

from limelight._engine.grid import Axes
from limelight.experiments.classify import Classify
from limelight.models.cnn import Convolutional
from limelight.models.vit import Vision
from limelight.papers.jelassi2022 import fig5, images
from limelight.papers.jelassi2022.fig5 import EPOCH
from limelight.papers.jelassi2022.images import ARM
from limelight.papers.recipe import Finding, Scale, scales
from limelight.plot import Picture, similarity_maps
from limelight.table import Table
from limelight.worlds.images import Images

EPOCHS = 5


def arms(*cells: int) -> Axes:
    """The CNN on every size of cell, the ViT on the smallest."""
    return {ARM: [("vit", cells[0], False), *(("cnn", cell, False) for cell in cells)]}


def draw_similarity(table: Table) -> Picture:
    """How alike learned positions are: as they stand, and after the inverse shuffle."""
    side = fig5.cells(table)[0]
    rows = fig5.rows(table, "vit", side)
    panels = [
        ("learned from shuffled images", rows["trace.similarity"][0]),
        ("the same after the inverse shuffle", rows["trace.inverse"][0]),
    ]
    note = (
        f"the first seed, shuffled cells of {side} x {side} pixels",
        "one map per patch: its similarity to all patches",
        images.trained_on(table),
    )
    return similarity_maps(panels, images.LIGHTEST, "similarity of positions", note=note)


figure = replace(
    fig5.figure,
    trial=Classify(
        Images("cifar100", patch=2, augment="crop"),
        vit=Vision(width=192, depth=6, heads=3, hidden=384, drop_path=0.1),
        cnn=Convolutional((32, 64, 128, 256), (1, 2, 2, 2), blocks=2, norm="group"),
        course=images.half_precision(EPOCHS, EPOCH, 1e-3, decay=0.05, floor=0.01, clip=1.0),
        cnn_course=images.half_precision(EPOCHS, EPOCH, 0.1, optimizer="sgd", decay=5e-4),
    ),
    grid=arms(2, 16, 32),
    scales=scales(
        smoke=Scale(trials=2, grid=arms(1, 4, 8), settings=images.SMOKE),
        small=Scale(trials=1, grid=arms(4, 8, 32), settings=images.small("cifar100")),
    ),
    claims=tuple(
        claim.again(claim.name.replace("fig5", "fig5.patch2"), " (patches of 2 pixels)")
        for claim in (fig5.cnn_falls, fig5.cnn_recovers, fig5.regained)
    ),
    pictures={"similarity": draw_similarity, "accuracy": fig5.draw},
    findings={
        "similarity": "fig5.patch2.similarity",
        "accuracy": Finding(
            "fig5.patch2.cnn-falls",
            holds="A CNN loses {value:.0f} points on the smallest shuffled cells",
        ),
    },
    sizes="the paper's patches and cells; a narrower ResNet, 5 epochs",
    departures=f"{images.DEPARTURES}; a ViT of width 192 with 6 blocks; ResNet-18 at half its"
    f" width, with group norm; {EPOCHS} epochs; no VGG; cells of 2, 16 and 32 pixels",
)
