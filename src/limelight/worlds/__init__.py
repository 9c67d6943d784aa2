"""Worlds make data: a truth is drawn once a trial, examples are sampled from it.

`base` the contract; `patterns` relevant, confusing and idle tokens (li2023); `boolean` sparse
Boolean functions of hidden bits (edelman2022); `clusters` noisy tokens around centres,
`pairs` two such sets that attend across, `regions` images of them (xu2022).
"""

from limelight.worlds.base import World, dataset, example
from limelight.worlds.boolean import SparseBoolean
from limelight.worlds.clusters import Clusters
from limelight.worlds.pairs import Pairs
from limelight.worlds.patterns import Patterns
from limelight.worlds.regions import Regions

__all__ = [
    "Clusters",
    "Pairs",
    "Patterns",
    "Regions",
    "SparseBoolean",
    "World",
    "dataset",
    "example",
]
