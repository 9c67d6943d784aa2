r"""A ViT and a CNN trained on the same real images, then shown noise on some patches of others.

Who loses more, and what has become of the noise where both see the image at one stride?
"""

import numpy as np

from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.experiments.classify import Classify
from limelight.experiments.tolerance import Tolerance
from limelight.fit import families
from limelight.models.cnn import Convolutional
from limelight.models.vit import Vision
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.reading import facts
from limelight.plot import Panel, Series, caption, panels
from limelight.table import Table
from limelight.train.images import Course
from limelight.worlds.images import Images

AXIS = "study.network"
NETWORKS = {"vit": "ViT", "cnn": "CNN"}
POPULATIONS = {"hit": "noisy patches", "spared": "spared patches"}
#: Accuracy on plain images below which a network counts as under-trained.
TRAINED = 0.85


def setup(depth: int, width: int, steps: int, looked: int, seeds: int) -> Setup:
    """Digits in patches of 2 pixels; the CNN has as many layers of that stride as the ViT blocks.

    Both share a seed's split, batches and noise.
    """
    study = Classify(
        Images(patch=2),
        vit=Vision(width=width, depth=depth, heads=4, hidden=2 * width),
        cnn=Convolutional((width,), (2,), blocks=depth, norm="group"),
        course=Course(steps, 64, 3e-3, decay=0.05, warmup=steps // 10, clip=1.0),
    )
    return Setup(Tolerance(study, looked=looked), {AXIS: list(NETWORKS)}, seeds, (AXIS,))


# --- what is read off a table -----------------------------------------------------------------


def seeds(table: Table, network: str) -> Table:
    """The seeds of one network, in order."""
    found = table.where(**{AXIS.replace(".", "__"): network})
    return found.rows(np.argsort(found["trial"]))


def under_trained(table: Table) -> Estimate | None:
    """What to say where a network has not learned its images."""
    for network, name in NETWORKS.items():
        found = seeds(table, network)["accuracy"].mean()
        if found < TRAINED:
            return Estimate(float("nan"), None, 0, f"the {name} is under-trained: {found:.1%}")
    return None


def trained(table: Table) -> Estimate:
    """Accuracy on plain images, of the worse network; no interval of it reaches past 1."""
    points = [
        families.mean_point(name, seeds(table, network)["accuracy"], len(NETWORKS))
        for network, name in NETWORKS.items()
    ]
    worst = min(points, key=lambda p: p.low)
    return Estimate(worst.value, (worst.low, min(worst.high, 1.0)), worst.draws, f"at {worst.name}")


def lost(table: Table) -> Estimate:
    """Points of accuracy that noise costs the ViT less those that it costs the CNN."""
    cost = [
        100 * (rows["accuracy"].astype(float) - rows["accuracy.noisy"])
        for rows in (seeds(table, network) for network in NETWORKS)
    ]
    point = families.mean_point("all test images looked at", cost[0] - cost[1], 1)
    return under_trained(table) or families.below([point])


def left(population: str):
    """Logarithm of the ViT's noise over signal, over the CNN's, behind the last stage."""

    def estimate(table: Table) -> Estimate:
        g = [seeds(table, network)[f"trace.{population}"][:, -1] for network in NETWORKS]
        point = families.mean_point("the last stage", np.log(g[0] / g[1]), 1)
        return under_trained(table) or families.below([point])

    return estimate


CLAIMS = (
    Claim(
        "networks.fair",
        "Both networks have learned the plain images.",
        "accuracy on plain images, the worse network (below, the other claims stay open)",
        trained,
        AtLeast(TRAINED),
        "limelight",
    ),
    Claim(
        "networks.accuracy",
        "A ViT loses less accuracy than a CNN to noise on some patches.",
        "accuracy lost by the ViT less that lost by the CNN, points, paired by seed",
        lost,
        AtMost(0.0),
        "xu2022, Section 1",
    ),
    *(
        Claim(
            f"networks.{population}",
            f"Behind a ViT less noise is left than behind a CNN: {words}.",
            f"log of noise over signal, ViT over CNN, last stage, {words}, paired by seed",
            left(population),
            AtMost(0.0),
            "xu2022, Section 1",
        )
        for population, words in POPULATIONS.items()
    ),
)


def summary(table: Table) -> list[str]:
    """Accuracy with and without noise, and what is left of it."""
    lines = []
    for network, name in NETWORKS.items():
        rows = seeds(table, network)
        g = {p: rows[f"trace.{p}"].mean(axis=0) for p in POPULATIONS}
        told = ", ".join(
            f"{words} {' '.join(f'{v:.2f}' for v in g[p])}" for p, words in POPULATIONS.items()
        )
        lines.append(
            f"{name}: accuracy {rows['accuracy'].mean():.1%}, with noise"
            f" {rows['accuracy.noisy'].mean():.1%}; noise over signal, {told}; {len(rows)} seeds"
        )
    return lines


def draw(table: Table):
    """Noise over signal at every stage, both networks, trained and at their start."""
    parts = []
    for population, words in POPULATIONS.items():
        lines = []
        for network, name in NETWORKS.items():
            for end, when in (("", ""), (".start", ", at its start")):
                g = seeds(table, network)[f"trace.{population}{end}"]
                stage = np.arange(1, g.shape[1] + 1)
                lines.append(Series(name + when, stage, g.mean(0), g.min(0), g.max(0)))
        parts.append(Panel(words, lines, "noise over signal, $g$"))
    x_label = "block, or layer of the same stride"
    figure = panels(parts, x_label=x_label, columns=2, share=True, height=2.0)
    caption(figure, *facts(table, "digits in patches of 2; mean and range over seeds"))
    return figure


figure = Figure(
    name="networks",
    title="noise on patches behind a trained ViT and a trained CNN",
    statement="transformers are more resilient than CNNs to perturbation of individual patches",
    setups={
        "smoke": setup(1, 8, 60, 40, 2),
        "small": setup(2, 32, 1000, 300, 5),
        "paper": setup(4, 64, 1500, 300, 20),
    },
    claims=CLAIMS,
    draws={"noise": draw},
    summary=summary,
    reference="Section 1",
    departures="the paper compares networks on domain adaptation; here both are trained on plain"
    " digits of 8 x 8 pixels by the same course (AdamW, no augmentation);"
    " noise of deviation 1, that of the data, is on a quarter of the patches; networks, measure and"
    " rules are ours",
)
