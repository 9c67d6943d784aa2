"""Figure 7 on the bundled digits: attention from positions alone against vanilla attention.

1,400 digits for training, split afresh for each seed; nothing is mirrored or moved.
"""

from limelight.experiments.classify import Classify
from limelight.models.vit import Vision
from limelight.papers.jelassi2022.fig7_cifar10 import compare
from limelight.papers.recipe import Scale
from limelight.train.images import ImageTraining
from limelight.worlds.images import Images

figure = compare(
    "digits",
    Classify(
        Images(unit=False),
        vit=Vision(width=64, depth=7, heads=4, hidden=64),
        course=ImageTraining(1500, 128, 1e-3, decay=0.05, warmup=100, floor=0.01, clip=1.0),
    ),
    trials=10,
    small=Scale(
        trials=5,
        settings={
            "world.patch": 2,
            "vit.width": 32,
            "vit.depth": 2,
            "course.steps": 1000,
            "course.batch": 64,
            "course.warmup": 66,
        },
    ),
    reference="limelight, in place of SVHN in jelassi2022, Figure 7",
    data="digits",
    sizes="far smaller than the paper's: 8 x 8 digits",
    departures="1,400 digits of 8 x 8 pixels where the paper has SVHN; at paper scale one pixel"
    " per token, 7 blocks of width 64 with 4 heads, 1,500 steps of 128 in float32; at small scale"
    " patches of 2 and 2 blocks of width 32",
)
