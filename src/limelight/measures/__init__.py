"""Measures read a number off a trained model: `(key, world, truth, model)` to a scalar.

`accuracy` test loss and accuracy; `attention` mass on the relevant tokens; `features` and
`neurons` what becomes of the maps of a shallow ViT, `values` what reaches its value map (Lemma 2
of li2023), `sets` along what a set of patterns grows; `tokens` what sparsified
examples still say; `noise` distance to the centres, `extremes` its worst case, `filters` fixed
filters side by side (xu2022); `norms` what bounds consume (edelman2022); `association` who groups
with whom, on any matrix of scores, `locality` whether positions know their neighbours
(jelassi2022); `heads` what single heads look at, `denoising` what blocks of a ViT do to
noise; `base` how a measure is begun before training. The key names the test set, so
measures given one key see one test set.
"""

from limelight.measures.accuracy import Accuracy, FreshLoss, Margins, accuracy, fresh_loss
from limelight.measures.association import association, recovered_partition, same_partition
from limelight.measures.attention import AttentionMass, RoleMass
from limelight.measures.base import Begun
from limelight.measures.extremes import WorstErrors, worst_errors
from limelight.measures.features import FeatureNorms, FeatureTurns, Invariants, OwnAttention
from limelight.measures.filters import cross_errors, filter_errors
from limelight.measures.locality import locality, neighbour_share, similarity
from limelight.measures.neurons import LuckyNeurons, OutputProjections
from limelight.measures.noise import noise_left, noise_parts, noise_path, purity
from limelight.measures.sets import SetGrowth
from limelight.measures.tokens import KeptTokens
from limelight.measures.values import ValueParts, ValuePull

__all__ = [
    "Accuracy",
    "AttentionMass",
    "accuracy",
    "association",
    "cross_errors",
    "filter_errors",
    "fresh_loss",
    "locality",
    "neighbour_share",
    "noise_left",
    "noise_parts",
    "noise_path",
    "purity",
    "recovered_partition",
    "same_partition",
    "similarity",
    "worst_errors",
    "Begun",
    "FeatureNorms",
    "FeatureTurns",
    "FreshLoss",
    "Invariants",
    "KeptTokens",
    "LuckyNeurons",
    "Margins",
    "OutputProjections",
    "OwnAttention",
    "RoleMass",
    "SetGrowth",
    "ValueParts",
    "ValuePull",
    "WorstErrors",
]
