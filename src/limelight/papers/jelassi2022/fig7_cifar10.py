"""Figure 7: attention from positions alone against vanilla attention, on small images.

The paper's third data set is SVHN. Here it is the bundled 8 x 8 digits, which need no file;
Fashion-MNIST is for who has its files. This module holds what all four have in common.
"""

import numpy as np

from limelight.claims import AtMost, Estimate
from limelight.experiments.classify import Classify
from limelight.models.vit import Vision
from limelight.papers.jelassi2022 import images
from limelight.papers.jelassi2022.images import seeds
from limelight.papers.recipe import Figure, Finding, Scale, claim, scales
from limelight.plot import Axis, Bundle, Panel, Picture, Points
from limelight.table import Table
from limelight.worlds.images import Images

ARMS = {"vit": "vanilla", "positional": "positional"}
EPOCHS = 15
DEPARTURES = (
    f"{images.DEPARTURES}; width 192 and 6 heads where the paper has 384 and 12; {EPOCHS} epochs at"
    " batch 256 where it has 300 at 128"
)

HALF = (
    "smaller than the paper's: half its width and heads, 15 epochs for 300 (fig7-wide has its"
    " width)"
)


def all_images(source: str, training: int) -> Classify:
    """The paper's depth at half its width, on all training images of a data set."""
    course = images.half_precision(EPOCHS, training // 256, 1e-3, decay=0.05, floor=0.01, clip=1.0)
    vit = Vision(width=192, depth=7, heads=6, hidden=192, drop_path=0.1)
    return Classify(Images(source, patch=4, augment="crop"), vit=vit, course=course)


def gap(table: Table) -> Estimate:
    """Accuracy of vanilla less positional, points, paired by seed."""
    return images.gap(*(seeds(table, network=network) for network in ARMS))


def summary(table: Table) -> list[str]:
    """Accuracy and locality of both."""
    return images.summary({ARMS[at["network"]]: rows for at, rows in table.cells("network")})


def draw(table: Table) -> Picture:
    """One mark per seed, the two of a seed joined, and the means beside them."""
    pairs = 100 * np.stack([seeds(table, network=n)["accuracy"].astype(float) for n in ARMS])
    marks: list = [Bundle("", [0, 1], pairs.T, colour="faint", width=0.6)]
    for place, values in enumerate(pairs):
        beside = place + 0.12 * (2 * place - 1)
        marks += [
            Points("", np.full(len(values), place), values, colour=place, marker=place, size=4.5),
            Points("", [beside], [values.mean()], colour=place, marker="_", size=9),
        ]
    across = Axis("", categories=list(ARMS.values()))
    note = ("one mark per seed; bars: their means", images.trained_on(table))
    return Picture([Panel("", marks, "test accuracy, %", across)], height=2.2, note=note)


def compare(
    source: str,
    trial: Classify,
    *,
    trials: int,
    small: Scale,
    departures: str,
    data: str,
    reference: str = "jelassi2022, Figure 7",
    sizes: str = HALF,
) -> Figure:
    """The figure's panel for one data set; both kinds share images, batches and starts.

    Args:
        source: What the claim is called.
        trial: One network on its images.
        trials: Seeds.
        small: The scale between smoke and paper.
        departures: What differs from the paper's protocol.
        data: The images, in words.
        reference: Whose claim it is.
        sizes: Whose sizes these are.
    """
    return Figure(
        statement="attention that does not look at the data competes with one that does",
        trial=trial,
        grid={"network": list(ARMS)},
        trials=trials,
        scales=scales(smoke=Scale(trials=2, settings=images.SMOKE), small=small),
        claims=(
            claim(
                f"fig7.{source}",
                f"Positional attention competes with vanilla attention on {data}: at most 5 points"
                " behind.",
                AtMost(5.0),
                at=reference,
            )(gap),
        ),
        pictures={"gap": draw},
        findings={
            "gap": Finding(
                f"fig7.{source}",
                holds=f"Positional attention competes with vanilla on {data}:"
                " {minus:+.1f} points of accuracy",
                open="{n} seeds do not decide whether positional attention competes with vanilla on"
                f" {data}:"
                " {minus:+.1f} points of accuracy",
            )
        },
        summary=summary,
        reference="Figure 7",
        sizes=sizes,
        departures=f"{departures}; mean pool in both arms; ImageNet (Figure 6) is not run",
        shared=("network",),
    )


figure = compare(
    "cifar10",
    all_images("cifar10", 50_000),
    trials=5,
    small=Scale(trials=2, settings=images.small("cifar10")),
    departures=DEPARTURES,
    data="CIFAR-10",
)
