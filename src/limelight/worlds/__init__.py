"""Worlds make data: a truth is drawn once a trial, examples are sampled from it.

`base` the contract; `patterns` relevant, confusing and idle tokens (li2023), `sets` with clusters
of patterns, `classes` with four classes; `boolean` sparse Boolean functions of hidden bits
(edelman2022); `clusters` noisy tokens around centres, `pairs` two such sets that attend across,
`regions` images of them (xu2022); `spatial` patches in hidden sets, `projected` Gaussian ones
labelled by a filter, `partitions` how they are grouped (jelassi2022); `images` real ones as
patches, from `sources`, `composites` of two with known roles, `patches` cuts and shuffles; `sparse`
any world of tokens with some removed.
"""

from limelight.core.types import Example
from limelight.worlds.base import World, dataset, example, law
from limelight.worlds.boolean import SparseBoolean
from limelight.worlds.classes import FourClasses
from limelight.worlds.clusters import Clusters
from limelight.worlds.composites import Composites
from limelight.worlds.images import Images
from limelight.worlds.pairs import Pairs
from limelight.worlds.patterns import Patterns
from limelight.worlds.projected import GaussianPatches
from limelight.worlds.regions import Regions
from limelight.worlds.sets import PatternSets
from limelight.worlds.sparse import POLICIES, Sparse
from limelight.worlds.spatial import Spatial

__all__ = [
    "POLICIES",
    "Clusters",
    "Composites",
    "Example",
    "FourClasses",
    "GaussianPatches",
    "Images",
    "Pairs",
    "PatternSets",
    "Patterns",
    "Regions",
    "Sparse",
    "SparseBoolean",
    "Spatial",
    "World",
    "dataset",
    "example",
    "law",
]
