"""Figure 7 on CIFAR-100 at the paper's own network: 7 layers, width 384, 12 heads.

`fig7-cifar100` has half the width. If the gap between the two kinds of attention opened with width,
it would show here. The rule is that of Figure 7, fixed before the table.
"""

from limelight.experiments.classify import Classify
from limelight.models.vit import Vision
from limelight.papers.jelassi2022 import images
from limelight.papers.jelassi2022.fig7_cifar10 import compare
from limelight.papers.recipe import Figure, Scale
from limelight.worlds.images import Images

EPOCH = 50_000 // 256


def at_the_paper_s_width(source: str, epochs: int, trials: int, data: str) -> Figure:
    """Both kinds of attention in the paper's network, for so many epochs."""
    course = images.half_precision(epochs, EPOCH, 5e-4, decay=0.05, floor=0.01, clip=1.0)
    return compare(
        source,
        Classify(
            Images("cifar100", patch=4, augment="crop"),
            vit=Vision(width=384, depth=7, heads=12, hidden=384, drop_path=0.1),
            course=course,
        ),
        trials=trials,
        small=Scale(trials=2, settings=images.small("cifar100")),
        departures=f"{images.DEPARTURES}; {epochs} epochs at batch 256 where the paper has 300 at"
        " 128",
        sizes=f"the paper's network, {epochs} epochs for 300",
        data=data,
    )


figure = at_the_paper_s_width("wide", 10, 5, "CIFAR-100, at the paper's width")
