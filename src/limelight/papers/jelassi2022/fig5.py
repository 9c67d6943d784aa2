r"""Figure 5: CIFAR-100 with its cells shuffled. A ViT does not mind, a CNN does.

Every image is cut into cells of $s \times s$ pixels, and one permutation of the cells, the same for
all images, is drawn for each seed; $s = 32$ is the plain image.
"""

import numpy as np

from limelight._engine.grid import Axes
from limelight.claims import AtLeast, Estimate, Inside
from limelight.experiments.classify import Classify
from limelight.fit.estimates import mean
from limelight.models.cnn import Convolutional
from limelight.models.vit import Vision
from limelight.papers.jelassi2022 import images
from limelight.papers.jelassi2022.images import ARM, seeds
from limelight.papers.recipe import Figure, Finding, Scale, claim, scales
from limelight.plot import Picture, lines, over_cells, similarity_maps
from limelight.table import Table
from limelight.worlds.images import Images

NETWORKS = {"vit": "ViT", "cnn": "CNN"}
EPOCH = 50_000 // 256

trial = Classify(
    Images("cifar100", patch=4, augment="crop"),
    vit=Vision(width=128, depth=5, heads=4, hidden=256, drop_path=0.1),
    cnn=Convolutional((32, 64, 128), (1, 2, 2), blocks=1, norm="group"),
    course=images.half_precision(10, EPOCH, 1e-3, decay=0.05, floor=0.01, clip=1.0),
    cnn_course=images.half_precision(10, EPOCH, 0.1, optimizer="sgd", decay=5e-4),
)


def both(*cells: int) -> Axes:
    """Both networks on every size of cell."""
    return {ARM: [(network, cell, False) for network in NETWORKS for cell in cells]}


def cells(table: Table) -> list[int]:
    """Sizes of cells, from small to large; the largest is the plain image."""
    return [int(cell) for cell in table.values("world.cell")]


def rows(table: Table, network: str, cell: int) -> Table:
    """The seeds of one network at one size of cell."""
    return seeds(table, network=network, world__cell=cell)


def change(table: Table, network: str, of: list[int], against: int) -> Estimate:
    """Mean accuracy over some sizes less that at another, in points, paired by seed."""
    base = rows(table, network, against)["accuracy"].astype(float)
    chosen = [rows(table, network, cell)["accuracy"] for cell in of]
    return mean(100 * (np.mean(chosen, axis=0) - base))


@claim(
    "fig5.vit",
    "The accuracy of a ViT depends on the size of the shuffled cells by at most 2 points (whole"
    " patches: the same training in law).",
    Inside(-2.0, 2.0),
    at="jelassi2022, Figure 5",
    kind="identity",
)
def vit_stays(table: Table) -> Estimate:
    """Accuracy, mean over shuffled sizes less plain, points, paired by seed."""
    *shuffled, plain = cells(table)
    return change(table, "vit", shuffled, plain)


@claim(
    "fig5.cnn-falls",
    "A CNN loses 5 points of accuracy or more on small shuffled cells.",
    AtLeast(5.0),
    at="jelassi2022, Figure 5",
)
def cnn_falls(table: Table) -> Estimate:
    """Accuracy of the plain image less smallest cells, points, paired by seed."""
    smallest, *_, plain = cells(table)
    return change(table, "cnn", [plain], smallest)


@claim(
    "fig5.cnn-recovers",
    "A CNN recovers 3 points or more as the cells grow.",
    AtLeast(3.0),
    at="jelassi2022, Figure 5",
)
def cnn_recovers(table: Table) -> Estimate:
    """Accuracy of the largest shuffled cells less smallest, points, paired by seed."""
    smallest, *_, largest, _ = cells(table)
    return change(table, "cnn", [largest], smallest)


@claim(
    "fig5.similarity",
    "Positions learned from shuffled images are more local after the inverse shuffle, by 0.1 or"
    " more.",
    AtLeast(0.1),
    at="jelassi2022, Figure 5",
)
def regained(table: Table) -> Estimate:
    """Locality after the inverse less before it, smallest cells, mean over seeds."""
    return images.regained(rows(table, "vit", cells(table)[0]))


def summary(table: Table) -> list[str]:
    """Accuracy by network and cell, with locality for the ViT."""
    name = lambda at: f"{NETWORKS[at['network']]}, cells of {at['world.cell']}"
    return images.summary({name(at): part for at, part in table.cells(*ARM)})


def draw(table: Table) -> Picture:
    """Accuracy against the size of the cells; the band holds every seed."""

    def spread(part: Table) -> tuple[float, float, float]:
        points = 100 * part["accuracy"]
        return float(points.mean()), float(points.min()), float(points.max())

    *shuffled, plain = cells(table)
    return lines(
        over_cells(table, "world.cell", spread, "network", name=NETWORKS.__getitem__),
        x_label="side of a shuffled cell, pixels",
        y_label="test accuracy, %",
        log_x=True,
        x_ticks={**{side: str(side) for side in shuffled}, plain: f"{plain}\nplain"},
        note=("mean and range over seeds", images.trained_on(table)),
    )


def draw_similarity(table: Table) -> Picture:
    """How alike learned positions are: as they stand, after the inverse, and of plain images."""
    side, *_, whole = cells(table)
    few, plain = (rows(table, "vit", cell) for cell in (side, whole))
    panels = [
        ("learned from shuffled images", few["trace.similarity"][0]),
        ("the same after the inverse shuffle", few["trace.inverse"][0]),
        ("learned from plain images", plain["trace.similarity"][0]),
    ]
    note = (
        f"the first seed, shuffled cells of {side} x {side} pixels",
        "one map per patch: its similarity to all patches",
        images.trained_on(table),
    )
    return similarity_maps(panels, images.LIGHTEST, "similarity of positions", note=note)


SIZES = (
    "; patches of 4 where the paper has 2, so cells of 4 and more; a ViT of width 128 with 5 blocks"
    " and one CNN, a ResNet of three stages with group norm; 10 epochs"
)

figure = Figure(
    statement="a ViT does not depend on where the patches are, a CNN does",
    trial=trial,
    grid=both(4, 8, 16, 32),
    trials=5,
    scales=scales(
        smoke=Scale(trials=2, grid=both(1, 4, 8), settings=images.SMOKE),
        small=Scale(trials=1, grid=both(4, 8, 32), settings=images.small("cifar100")),
    ),
    claims=(vit_stays, cnn_falls, cnn_recovers, regained),
    pictures={"accuracy": draw, "similarity": draw_similarity},
    findings={
        "accuracy": (
            Finding("fig5.vit", holds="Shuffled cells move a ViT by at most 2 points"),
            Finding("fig5.cnn-falls", holds="while a CNN loses {value:.0f} points"),
        ),
        "similarity": "fig5.similarity",
    },
    summary=summary,
    reference="Figure 5",
    sizes="smaller than the paper's: patches of 4 for 2, narrower networks, 10 epochs "
    "(fig5-patch2 has patches of 2)",
    departures=images.DEPARTURES + SIZES,
    shared=ARM,
)
