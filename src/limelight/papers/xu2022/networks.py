r"""A ViT and a CNN trained on the same real images, then shown noise on some patches of others.

Who loses more, and what has become of the noise where both see the image at one stride?
"""

from functools import partial

import numpy as np

from limelight import plot
from limelight.claims import AtLeast, AtMost, Estimate, Undecided
from limelight.experiments.classify import Classify
from limelight.experiments.tolerance import Tolerance
from limelight.fit import _families as families
from limelight.fit import tabulate
from limelight.models.cnn import Convolutional
from limelight.models.vit import Vision
from limelight.papers.recipe import Figure, Finding, Scale, claim, claims, scales
from limelight.table import Table
from limelight.train.images import ImageTraining
from limelight.worlds.images import Images

AXIS = "study.network"
NETWORKS = {"vit": "ViT", "cnn": "CNN"}
POPULATIONS = {"hit": "noisy patches", "spared": "spared patches"}
#: Accuracy on plain images below which a network counts as under-trained.
TRAINED = 0.85


def seeds(table: Table, network: str) -> Table:
    """The seeds of one network, in order."""
    found = table.where(study__network=network)
    return found.rows(np.argsort(found["trial"]))


@claim(
    "networks.fair",
    "Both networks have learned the plain images: accuracy 0.85 or more.",
    AtLeast(TRAINED),
)
def trained(table: Table) -> Estimate:
    """Accuracy on plain images, the worse network (below, the other claims stay open).

    No interval of it reaches past 1.
    """
    points = [
        families.mean_point(name, seeds(table, network)["accuracy"], len(NETWORKS))
        for network, name in NETWORKS.items()
    ]
    worst = min(points, key=lambda p: p.low)
    return Estimate(worst.value, (worst.low, min(worst.high, 1.0)), worst.draws, f"at {worst.name}")


def at_most_zero(table: Table, name: str, differences: np.ndarray) -> Estimate:
    """The mean of one number per seed; undecided where a network has not learned its images."""
    for network, words in NETWORKS.items():
        found = seeds(table, network)["accuracy"].mean()
        if found < TRAINED:
            raise Undecided(f"the {words} is under-trained: {found:.1%}")
    return families.below([families.mean_point(name, differences, 1)])


@claim(
    "networks.accuracy",
    "A ViT loses less accuracy than a CNN to noise on some patches.",
    AtMost(0.0),
    at="xu2022, Section 1",
)
def lost(table: Table) -> Estimate:
    """Accuracy lost by the ViT less that lost by the CNN, points, paired by seed."""
    vit, cnn = (
        100 * (rows["accuracy"].astype(float) - rows["accuracy.noisy"])
        for rows in (seeds(table, network) for network in NETWORKS)
    )
    return at_most_zero(table, "all test images looked at", vit - cnn)


@claims(
    "networks.{population}",
    "After a ViT less noise is left than after a CNN: {words}.",
    AtMost(0.0),
    at="xu2022, Section 1",
    cases=[{"population": name, "words": words} for name, words in POPULATIONS.items()],
)
def noise_left(table: Table, population: str) -> Estimate:
    """Log of noise over signal, ViT over CNN, last stage, {words}, paired by seed."""
    vit, cnn = (seeds(table, n)[f"trace.{population}"][:, -1] for n in NETWORKS)
    return at_most_zero(table, "the last stage", np.log(vit / cnn))


def draw(table: Table) -> plot.Picture:
    """Noise over signal at every stage, both networks, trained and at their start."""
    parts = []
    for population, words in POPULATIONS.items():
        lines = []
        for network, name in NETWORKS.items():
            for end, when in (("", ""), (".start", ", at its start")):
                g = seeds(table, network)[f"trace.{population}{end}"]
                stage = np.arange(1, g.shape[1] + 1)
                lines.append(plot.Series(name + when, stage, g.mean(0), g.min(0), g.max(0)))
        parts.append(plot.Panel(words, lines, "noise over signal, $g$"))
    return plot.panels(
        parts,
        x_label="block, or layer of the same stride",
        columns=2,
        share=True,
        height=2.0,
        note=("digits in patches of 2", "mean and range over seeds"),
    )


def summary(table: Table) -> list[str]:
    """Accuracy with and without noise, and what is left of it."""

    def noise(rows: Table, population: str) -> str:
        return " ".join(f"{g:.2f}" for g in rows[f"trace.{population}"].mean(axis=0))

    cells = [({"network": name}, seeds(table, n)) for n, name in NETWORKS.items()]
    columns = {"seeds": len, "accuracy": "accuracy", "with noise": "accuracy.noisy"}
    stages = {words: partial(noise, population=name) for name, words in POPULATIONS.items()}
    title = "noise over signal at every stage, on noisy and on spared patches"
    return tabulate(cells, "network", columns | stages, title=title)


def sized(depth: int, width: int, steps: int) -> dict[str, object]:
    """Settings for other networks: the CNN has as many layers of the stride as the ViT blocks."""
    return {
        "study.vit.depth": depth,
        "study.vit.width": width,
        "study.vit.hidden": 2 * width,
        "study.cnn.widths": (width,),
        "study.cnn.blocks": depth,
        "study.course.steps": steps,
        "study.course.warmup": steps // 10,
    }


figure = Figure(
    statement="transformers are more resilient than CNNs to perturbation of individual patches",
    trial=Tolerance(
        Classify(
            Images(patch=2),
            vit=Vision(width=64, depth=4, heads=4, hidden=128),
            cnn=Convolutional((64,), (2,), blocks=4, norm="group"),
            course=ImageTraining(1500, 64, 3e-3, decay=0.05, warmup=150, clip=1.0),
        ),
        looked=300,
    ),
    grid={AXIS: list(NETWORKS)},
    trials=20,
    scales=scales(
        smoke=Scale(trials=2, settings={**sized(1, 8, 60), "looked": 40}),
        small=Scale(trials=5, settings=sized(2, 32, 1000)),
    ),
    claims=(trained, lost, *noise_left),
    pictures={"noise": draw},
    findings={
        "noise": (
            Finding("networks.hit", fails="After a ViT more noise is left than after a CNN"),
            Finding("networks.accuracy", fails="and it costs {value:.1f} points more of accuracy"),
        )
    },
    summary=summary,
    reference="Section 1",
    departures="the paper compares networks on domain adaptation; here both are trained on plain"
    " digits of 8 x 8 pixels by the same course (AdamW, no augmentation);"
    " noise of deviation 1, that of the data, is on a quarter of the patches; networks, measure and"
    " rules are ours",
    shared=(AXIS,),
)
