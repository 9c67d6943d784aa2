"""Models read data: a recipe makes a model, and the model is called on one example.

A recipe (such as `Shallow`) knows sizes and starts. The model it makes (such as `ShallowViT`) holds
the weights, and may as well be built by hand from arrays; its docstring says their shapes.

`base` is the contract. Then:

- li2023: `shallow` the one-layer ViT; `extended` with heads, a skip connection, layer norm, or two
  outputs.
- edelman2022: `sequence` bounded-norm attention over bits; `construct` sparse functions as weights,
  `constructed` those as models; `decoder` the one-block network of the paper's experiments; `heads`
  what capacity bounds speak of.
- xu2022: `smoother` attention as averaging; `denoiser` small trained networks beside it.
- jelassi2022: `positional` attention from positions alone.
- zhang2024: `linear_attention` a layer without softmax, read at the query of a prompt.
- geshkovski2023: `sphere_attention` tokens moved by attention on a sphere and in space;
  `attention_stack` layers with skip connections and perceptrons that can be left out.
- tarzanagh2023: `token_selector` attention that selects one token, trained merged or separate.
- Real networks: `vit`, made of `layers`, `pretrained` its files; `cnn` beside it; `checkpoint`
  attention blocks of any file.

Names are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.models.attention_stack import AttentionStack, StackedAttention, StackLayer
    from limelight.models.base import Model, Recipe
    from limelight.models.checkpoint import AttentionBlock, Checkpoint
    from limelight.models.cnn import ConvNet, Convolution, Convolutional, Residual
    from limelight.models.constructed import Constructed, Loaded, load_construction, save_sequence
    from limelight.models.extended import Extended, ExtendedViT, FourWay, FourWayViT
    from limelight.models.heads import HeadWeights
    from limelight.models.layers import Affine, Attention, Block, Norm
    from limelight.models.linear_attention import (
        FullAttention,
        LinearAttention,
        MergedAttention,
        SeparateAttention,
    )
    from limelight.models.positional import Activation, Positional, PositionalNet
    from limelight.models.pretrained import Pixels, Pretrained, load, load_vit, save_vit
    from limelight.models.sequence import Sequence, SequenceNet
    from limelight.models.shallow import GroupedViT, Shallow, ShallowViT, ShallowWeights
    from limelight.models.smoother import Smoother, Smoothing
    from limelight.models.sphere_attention import (
        RescaledAttention,
        RescaledMoves,
        SphereAttention,
        SphereMoves,
    )
    from limelight.models.token_selector import (
        MergedSelector,
        SeparateSelector,
        TokenSelector,
    )
    from limelight.models.vit import Reading, Vision, ViT

__all__ = [
    # The contract.
    "Model",
    "Recipe",
    # Recipes: what a study takes as its model.
    "AttentionStack",
    "Constructed",
    "Convolutional",
    "Extended",
    "FourWay",
    "LinearAttention",
    "Loaded",
    "Positional",
    "RescaledAttention",
    "Sequence",
    "Shallow",
    "Smoother",
    "SphereAttention",
    "TokenSelector",
    "Vision",
    # Models: weights, and the function they compute.
    "ConvNet",
    "ExtendedViT",
    "FourWayViT",
    "FullAttention",
    "GroupedViT",
    "MergedAttention",
    "MergedSelector",
    "PositionalNet",
    "RescaledMoves",
    "SeparateAttention",
    "SeparateSelector",
    "SequenceNet",
    "ShallowViT",
    "Smoothing",
    "SphereMoves",
    "StackedAttention",
    "ViT",
    # What models are made of, and what they give.
    "Activation",
    "Affine",
    "Attention",
    "Block",
    "Convolution",
    "HeadWeights",
    "Norm",
    "Reading",
    "Residual",
    "ShallowWeights",
    "StackLayer",
    # Files.
    "AttentionBlock",
    "Checkpoint",
    "load_construction",
    "Pixels",
    "Pretrained",
    "load",
    "load_vit",
    "save_sequence",
    "save_vit",
]

__getattr__ = on_first_use(__name__)
