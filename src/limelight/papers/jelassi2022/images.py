"""What the figures on real images share: networks and images at each scale, seeds in order."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from limelight.claims import Estimate
from limelight.fit import tabulate
from limelight.fit.estimates import mean
from limelight.models.cnn import Convolutional
from limelight.models.vit import Vision
from limelight.table import Table
from limelight.train.images import ImageTraining
from limelight.worlds.images import Images

#: What is trained, on which cells, and whether positions start shuffled like the patches.
ARM = ("network", "world.cell", "aligned")
#: Steps over which two losses must agree, and by how much.
AGREEING, TOLERANCE = 50, 1e-4
#: When the locality of positions is read, and what that is called.
LOCALITY = {"start": "at the start", "raw": "trained", "inverse": "after the inverse shuffle"}
#: The similarity that the paper draws at the end of its colours.
LIGHTEST = 0.55

#: Smoke scale: digits, one pixel per token, a tiny ViT and a tiny CNN.
SMOKE: dict[str, Any] = {
    "world": Images(unit=False),
    "vit": Vision(width=16, heads=2, hidden=32),
    "cnn": Convolutional(widths=(8, 16), strides=(1, 2)),
    "course": ImageTraining(steps=60, batch=32),
    "cnn_course": None,
}

DEPARTURES = (
    "network sizes, optimizers and epochs are ours, the paper's appendix was not at hand; images"
    " are drawn with replacement, with crops and flips, and steps are computed in bfloat16 but for"
    " weights, norms and losses; at smoke scale digits; small scale has 20 coarse labels and 5,000"
    " images"
)


def half_precision(epochs: int, epoch: int, rate: float, **options: Any) -> ImageTraining:
    """Steps of 256 images in half precision, one epoch of warm-up, smoothed labels.

    Args:
        epochs: How often each image is drawn, on average.
        epoch: Steps of an epoch.
        rate: Peak step size.
        options: Of `ImageTraining`.
    """
    fast = {"precision": "bfloat16", "numbers": "bfloat16"}
    return ImageTraining(epochs * epoch, 256, rate, warmup=epoch, smoothing=0.1, **fast, **options)


def small(source: str) -> dict[str, Any]:
    """Small scale: 5,000 images, patches of 4, ten epochs; CIFAR-100 with its coarse labels."""
    steps = 10 * (5000 // 128)
    coarse = source == "cifar100"
    return {
        "world": Images(
            source, patch=4, training=5000, testing=2000, coarse=coarse, augment="flip"
        ),
        "vit": Vision(width=64, depth=2, heads=4, hidden=128),
        "cnn": Convolutional(widths=(32, 64, 128), strides=(1, 2, 2), norm="group"),
        "course": ImageTraining(
            steps, 128, 1e-3, decay=0.05, warmup=steps // 8, floor=0.01, clip=1.0
        ),
        "cnn_course": ImageTraining(
            steps, 128, 0.05, optimizer="sgd", decay=5e-4, warmup=steps // 20
        ),
    }


def seeds(table: Table, **equal: Any) -> Table:
    """The trials of one arm, in the order of their seeds; conditions as in `Table.where`."""
    found = table.where(**equal)
    return found.rows(np.argsort(found["trial"], kind="stable"))


def disagreement(plain: Table, shuffled: Table) -> Estimate:
    """The largest difference of loss between plain training and its shuffled copy."""
    difference = plain["trace.loss"].astype(float) - shuffled["trace.loss"]
    gap = np.abs(difference)[:, :AGREEING]
    return Estimate(float(gap.max()), None, len(gap), f"over {gap.shape[1]} steps of every seed")


def gap(first: Table, second: Table) -> Estimate:
    """Accuracy of one arm less that of another, in points, paired by seed."""
    return mean(100 * (first["accuracy"].astype(float) - second["accuracy"]))


def regained(rows: Table) -> Estimate:
    """How much more local positions are after the inverse shuffle than before it."""
    return mean(rows["locality.inverse"].astype(float) - rows["locality.raw"])


def summary(arms: Mapping[str, Table]) -> list[str]:
    """Accuracy of every arm and, where it has positions, their locality."""

    def local(rows: Table, part: str) -> float | str:
        values = rows[f"locality.{part}"]
        return float(values.mean()) if np.isfinite(values).all() else "none"

    columns = {
        "seeds": len,
        "accuracy": "accuracy",
        "lowest": lambda rows: rows["accuracy"].min(),
        "highest": lambda rows: rows["accuracy"].max(),
        **{f"locality {words}": partial(local, part=part) for part, words in LOCALITY.items()},
    }
    return tabulate([({"arm": name}, rows) for name, rows in arms.items()], "arm", columns)


#: Data sets as people write them.
NAMES = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "fashion-mnist": "Fashion-MNIST"}


def trained_on(table: Table) -> str:
    """The images and the steps, for a caption."""
    source = str(table.setting("world.source")).rpartition("/")[2]
    source = NAMES.get(source, source)
    alone = set(table["network"]) == {"cnn"} and table.setting("cnn_course") is not None
    return f"{source}, {table.setting('cnn_course.steps' if alone else 'course.steps'):,} steps"
