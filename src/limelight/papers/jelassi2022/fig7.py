r"""Figure 7: attention from positions alone against vanilla attention, on small images.

The paper's third data set is SVHN. Here it is the bundled 8 x 8 digits, which need no file;
Fashion-MNIST is for who has its files.
"""

import dataclasses

import numpy as np
from matplotlib.lines import Line2D

from limelight.claims import AtMost, Claim, Estimate
from limelight.experiments.classify import Classify
from limelight.fit.estimates import mean
from limelight.models.vit import Vision
from limelight.papers.base import Figure, Setup
from limelight.papers.jelassi2022 import fig5
from limelight.plot import ONE_COLUMN, caption, new_figure
from limelight.plot.style import COLOURS, MARKERS, TICK, label, open_frame
from limelight.table import Table
from limelight.train.images import Course
from limelight.worlds.images import Images

ARMS = {"vit": "vanilla", "positional": "positional"}
#: The data sets and their training images.
DATA = {"cifar10": 50_000, "cifar100": 50_000, "fashion-mnist": 60_000}
EPOCHS = 15


def small(source: str) -> Classify:
    """5,000 images, patches of 4, ten epochs; CIFAR-100 with its coarse labels."""
    world = Images(source, patch=4, training=5000, testing=2000, augment="flip")
    base = fig5.small()
    return dataclasses.replace(base, world=dataclasses.replace(world, coarse=source == "cifar100"))


def paper(source: str) -> Classify:
    """The paper's depth at half its width, all images."""
    epoch = DATA[source] // 256
    return Classify(
        Images(source, patch=4, augment="crop"),
        vit=Vision(width=192, depth=7, heads=6, hidden=192, drop_path=0.1),
        course=Course(
            EPOCHS * epoch,
            256,
            1e-3,
            decay=0.05,
            warmup=epoch,
            floor=0.01,
            clip=1.0,
            smoothing=0.1,
            precision="bfloat16",
            numbers="bfloat16",
        ),
    )


def digits(patch: int, vit: Vision, steps: int, batch: int) -> Classify:
    """1,400 digits for training, split afresh for each seed; nothing is mirrored or moved."""
    course = Course(steps, batch, 1e-3, decay=0.05, warmup=steps // 15, floor=0.01, clip=1.0)
    return Classify(Images(patch=patch, unit=False), vit=vit, course=course)


def arms(base: Classify, seeds: int) -> Setup:
    """Both kinds of attention on common images, batches and starts."""
    return Setup(base, {"network": list(ARMS)}, seeds, shared=("network",))


# --- what is read off a table -----------------------------------------------------------------


def accuracies(table: Table, network: str) -> np.ndarray:
    """Accuracy of one kind of attention, seed by seed."""
    found = table.where(network=network)
    return found["accuracy"][np.argsort(found["trial"])].astype(float)


def gap(table: Table) -> Estimate:
    """Vanilla less positional, points, paired by seed."""
    return mean(100 * (accuracies(table, "vit") - accuracies(table, "positional")))


def summary(table: Table) -> list[str]:
    """Accuracy of both."""
    lines = []
    for network, name in ARMS.items():
        found = accuracies(table, network)
        ends = f"{found.min():.3f} to {found.max():.3f}"
        lines.append(f"{name}: accuracy {found.mean():.3f} ({ends}), {len(found)} seeds")
    return lines


def draw(table: Table):
    """A mark a seed, the two of a seed joined."""
    figure = new_figure(ONE_COLUMN, 2.0)
    axes = figure.axes[0]
    open_frame(axes)
    label(axes, "", "test accuracy, %")
    pairs = 100 * np.stack([accuracies(table, network) for network in ARMS])
    axes.plot([0, 1], pairs, color="0.75", linewidth=0.6, zorder=1)
    for i, values in enumerate(pairs):
        look = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 4.0}
        look |= {"markeredgecolor": "white", "markeredgewidth": 0.5}  # tells close ones apart
        axes.add_line(Line2D(np.full(len(values), i), values, linestyle="none", **look))
        side = i + 0.12 * (2 * i - 1)
        axes.plot([side - 0.06, side + 0.06], [values.mean()] * 2, color=COLOURS[i], linewidth=1.4)
    axes.set_xticks([0, 1], list(ARMS.values()), fontsize=TICK)
    axes.set_xlim(-0.5, 1.5)
    caption(figure, *fig5.facts(table, "one mark each, bars their means"))
    return figure


#: Measured at paper scale: seconds in all, and of it waiting for programs.
PAPER = {"cifar10": (255, 107), "cifar100": (185, 121), "digits": (164, 74)}


def one(source: str, small: Setup, paper: Setup, departures: str) -> Figure:
    """The figure's panel for one data set."""
    return Figure(
        name=f"fig7-{source}",
        title=f"positional against vanilla attention on {source}",
        statement="attention that does not look at the data competes with one that does",
        setups={"smoke": arms(fig5.smoke(), 2), "small": small, "paper": paper},
        claims=(
            Claim(
                f"fig7.{source}",
                f"Positional attention competes with vanilla attention on {source}.",
                "accuracy of vanilla less positional, points, paired by seed",
                gap,
                AtMost(5.0),
                "jelassi2022, Figure 7",
            ),
        ),
        draws={"gap": draw},
        summary=summary,
        reference="Figure 7",
        cost={"paper": fig5.sharing(*PAPER[source])} if source in PAPER else {},
        departures=departures + "; mean pool in both arms; ImageNet (Figure 6) is not run",
    )


WIDTH = (
    f"; width 192 and 6 heads where the paper has 384 and 12; {EPOCHS} epochs at batch 256 where it"
    " has 300 at 128"
)
OTHER = "; the paper has SVHN, which is not read here"

figures = (
    *(
        one(
            source,
            arms(small(source), 2),
            arms(paper(source), 5),
            fig5.DEPARTURES + WIDTH + ("" if source.startswith("cifar") else OTHER),
        )
        for source in DATA
    ),
    one(
        "digits",
        arms(digits(2, Vision(width=32, depth=2, heads=4, hidden=64), 1000, 64), 5),
        arms(digits(1, Vision(width=64, depth=7, heads=4, hidden=64), 1500, 128), 10),
        "1,400 digits of 8 x 8 pixels where the paper has SVHN; at paper scale a pixel a token,"
        " 7 blocks of width 64 with 4 heads, 1,500 steps of 128 in float32; at small scale patches"
        " of 2 and 2 blocks of width 32",
    ),
)
