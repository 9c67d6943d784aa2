"""Models read data: a recipe makes one, and it is called on one example.

`base` the contract; `attention` heads as pure functions; `shallow` the one-layer ViT of li2023,
`extended` with heads, a skip connection, layer norm, or two outputs; `smoother` attention as
averaging (xu2022); `heads` those that capacity bounds speak of; `sequence` bounded-norm attention
over bits; `construct` sparse functions as weights; `vit` real ViTs, made of `layers`;
`pretrained` their files; `cnn` convolutional networks beside them; `checkpoint` attention blocks of
real networks, read with `weights` from safetensors files.
"""

from limelight.models.base import Model, Recipe
from limelight.models.checkpoint import Checkpoint
from limelight.models.cnn import ConvNet, Convolutional
from limelight.models.extended import Extended, ExtendedViT, FourWay, FourWayViT
from limelight.models.pretrained import load_vit, save_vit
from limelight.models.sequence import Constructed, Loaded, Sequence, SequenceNet, load_construction
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
    "save_vit",
]
