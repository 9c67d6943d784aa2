"""Models read data: a recipe makes one, and it is called on one example.

`base` the contract; `attention` heads as pure functions; `shallow` the one-layer ViT of li2023,
`extended` with heads, a skip connection, layer norm, or two outputs; `smoother` attention as
averaging (xu2022); `positional` attention from positions alone (jelassi2022); `heads` those that
capacity bounds speak of; `sequence` bounded-norm attention over bits; `construct` sparse functions
as weights, `constructed` those as models; `decoder` the one-block network of edelman2022's
experiments; `vit` real ViTs, made of `layers`, `pretrained` their files,
`flops` what they cost; `cnn` convolutional
networks beside them; `checkpoint` attention blocks of real networks, found by `layouts` and read
with `weights` from safetensors.
"""

from limelight.models.base import Model, Recipe
from limelight.models.checkpoint import Checkpoint
from limelight.models.cnn import ConvNet, Convolutional
from limelight.models.constructed import Constructed, Loaded, load_construction, save_sequence
from limelight.models.extended import Extended, ExtendedViT, FourWay, FourWayViT
from limelight.models.positional import Positional, PositionalNet
from limelight.models.pretrained import load_vit, save_vit
from limelight.models.sequence import Sequence, SequenceNet
from limelight.models.shallow import GroupedViT, Shallow, ShallowViT
from limelight.models.smoother import Smoother, Smoothing
from limelight.models.vit import Reading, Vision, ViT

__all__ = [
    "Checkpoint",
    "Constructed",
    "ConvNet",
    "Convolutional",
    "Extended",
    "ExtendedViT",
    "FourWay",
    "FourWayViT",
    "GroupedViT",
    "Loaded",
    "Model",
    "Positional",
    "PositionalNet",
    "Reading",
    "Recipe",
    "Sequence",
    "SequenceNet",
    "Shallow",
    "ShallowViT",
    "Smoother",
    "Smoothing",
    "ViT",
    "Vision",
    "load_construction",
    "load_vit",
    "save_sequence",
    "save_vit",
]
