"""Worlds make data: a truth is drawn once a trial, examples are sampled from it.

`base` the contract; `patterns` relevant, confusing and idle tokens (li2023), `sets` with clusters
of patterns, `classes` with four classes; `boolean` sparse Boolean functions of hidden bits
(edelman2022); `sparse` any of them with tokens removed.
"""

from limelight.worlds.base import World, dataset, example, law
from limelight.worlds.boolean import SparseBoolean
from limelight.worlds.classes import FourClasses
from limelight.worlds.patterns import Patterns
from limelight.worlds.sets import PatternSets
from limelight.worlds.sparse import POLICIES, Sparse

__all__ = [
    "POLICIES",
    "FourClasses",
    "PatternSets",
    "Patterns",
    "Sparse",
    "SparseBoolean",
    "World",
    "dataset",
    "example",
    "law",
]
