"""Figure 7 on CIFAR-100: attention from positions alone against vanilla attention."""

from limelight.papers.jelassi2022 import images
from limelight.papers.jelassi2022.fig7_cifar10 import DEPARTURES, all_images, compare
from limelight.papers.recipe import Scale

figure = compare(
    "cifar100",
    all_images("cifar100", 50_000),
    trials=5,
    small=Scale(trials=2, settings=images.small("cifar100")),
    departures=DEPARTURES,
    data="CIFAR-100",
)
