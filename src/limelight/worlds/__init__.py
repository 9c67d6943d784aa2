"""Worlds make data: a truth is drawn once per trial, and examples are sampled from it.

`base` is the contract. Then, by paper:

- li2023: `patterns` relevant, confusing and idle tokens; `sets` the same with sets of patterns;
  `classes` with four classes; `sparse` any world of tokens with some removed.
- edelman2022: `boolean` sparse functions of hidden bits.
- xu2022: `clusters` noisy tokens around centres; `pairs` two such sets that attend across;
  `regions` images of them.
- jelassi2022: `spatial` patches in hidden sets; `projected` Gaussian patches labelled by a filter;
  `laws` exact laws of the marks.
- zhang2024: `prompts` labelled examples of a new regression task, then a query.
- geshkovski2023: `sphere` tokens on a sphere, in a box, around a common row.
- tarzanagh2023: `selections` sequences from each of which attention is to select one token.
- Real images: `images` as patches, from `sources`; `composites` of two, with known roles.

Names are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.worlds.base import World, dataset, example, law
    from limelight.worlds.boolean import SparseBoolean
    from limelight.worlds.classes import FourClasses
    from limelight.worlds.clusters import Clusters
    from limelight.worlds.composites import Composites
    from limelight.worlds.images import Images
    from limelight.worlds.pairs import Pairs
    from limelight.worlds.patterns import Patterns
    from limelight.worlds.projected import GaussianPatches
    from limelight.worlds.prompts import Prompt, Prompts
    from limelight.worlds.regions import Regions
    from limelight.worlds.selections import Arrangements, Selections, TokenChoice
    from limelight.worlds.sets import PatternSets
    from limelight.worlds.sparse import POLICIES, Sparse
    from limelight.worlds.spatial import Spatial
    from limelight.worlds.sphere import Box, Rows, Sphere, TokenSet

__all__ = [
    # The contract, and examples from any world.
    "World",
    "dataset",
    "example",
    "law",
    # li2023
    "FourClasses",
    "PatternSets",
    "Patterns",
    "POLICIES",
    "Sparse",
    # edelman2022
    "SparseBoolean",
    # xu2022
    "Clusters",
    "Pairs",
    "Regions",
    # jelassi2022
    "GaussianPatches",
    "Spatial",
    # zhang2024
    "Prompt",
    "Prompts",
    # geshkovski2023
    "Box",
    "Rows",
    "Sphere",
    "TokenSet",
    # tarzanagh2023
    "Arrangements",
    "Selections",
    "TokenChoice",
    # Real images
    "Composites",
    "Images",
]

__getattr__ = on_first_use(__name__)
