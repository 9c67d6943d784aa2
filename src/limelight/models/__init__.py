"""Models read data: a recipe makes one, and it is called on one example.

`base` the contract; `attention` heads as pure functions; `shallow` the one-layer ViT of li2023;
`smoother` attention as averaging (xu2022).
"""

from limelight.models.base import Model, Recipe
from limelight.models.shallow import GroupedViT, Shallow, ShallowViT
from limelight.models.smoother import Smoother, Smoothing

__all__ = ["GroupedViT", "Model", "Recipe", "Shallow", "ShallowViT", "Smoother", "Smoothing"]
