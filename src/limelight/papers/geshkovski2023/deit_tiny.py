r"""The same on a real network: DeiT-tiny, or any ViT in a file.

    limelight run geshkovski2023 deit-tiny --scale paper \
        --set checkpoint=deit_tiny.safetensors --set source=cifar10_mini

Without a file a small ViT is trained on digits, which decides nothing of DeiT.
"""

from limelight.experiments.oversmoothing import Oversmoothing
from limelight.papers.geshkovski2023.oversmoothing import DIGITS, SMOKE, recipe
from limelight.papers.recipe import Scale, scales

figure = recipe(
    "deit",
    "DeiT-tiny",
    statement="does DeiT-tiny make its patches alike, and what keeps them apart?",
    trial=Oversmoothing(study=DIGITS, images=1000),
    grid={"images": [1000]},
    trials=1,
    scales=scales(
        smoke=Scale(trials=1, grid={"images": [4]}, settings=SMOKE),
        small=Scale(trials=1, grid={"images": [32]}),
    ),
    departures="ours; parts are left out of a trained network, nothing is trained again; biases"
    " stay. 1,000 CIFAR-10 images enlarged to 224 x 224 pixels have smooth patches: levels of"
    " native images may differ. With other weights the claims speak of those. DeiT-small and"
    " ViT-B/32 were meant too; no file of either was at hand",
    sizes="ours: one checkpoint that is read from a file, and 1,000 images",
)
