"""Figure 7 on Fashion-MNIST: attention from positions alone against vanilla attention."""

from limelight.papers.jelassi2022 import images
from limelight.papers.jelassi2022.fig7_cifar10 import DEPARTURES, all_images, compare
from limelight.papers.recipe import Scale

figure = compare(
    "fashion-mnist",
    all_images("fashion-mnist", 60_000),
    trials=5,
    small=Scale(trials=2, settings=images.small("fashion-mnist")),
    reference="limelight, in place of SVHN in jelassi2022, Figure 7",
    departures=f"{DEPARTURES}; the paper has SVHN, which is not read here",
    data="Fashion-MNIST",
)
