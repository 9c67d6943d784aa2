"""Models read data: a recipe makes one, and it is called on one example.

`base` the contract; `attention` heads as pure functions; `shallow` the one-layer ViT of li2023;
`extended` the same with heads, a skip connection, layer norm, or two outputs.
"""

from limelight.models.base import Model, Recipe
from limelight.models.extended import Extended, ExtendedViT, FourWay, FourWayViT
from limelight.models.shallow import GroupedViT, Shallow, ShallowViT

__all__ = [
    "Extended",
    "ExtendedViT",
    "FourWay",
    "FourWayViT",
    "GroupedViT",
    "Model",
    "Recipe",
    "Shallow",
    "ShallowViT",
]
