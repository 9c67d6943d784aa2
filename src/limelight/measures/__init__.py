"""Measures read numbers off a trained model: `(key, world, truth, model)` to one or several.

The key names the test set, so measures that are given one key see one test set. `base` is the
contract of measures that are begun before training. Then:

- Any world with labels: `accuracy` test loss, accuracy and margins.
- li2023: `attention` mass on the relevant tokens, and what sparsified examples still say;
  `features` and `neurons` what becomes of the maps of a shallow ViT; `values` what reaches its
  value map (Lemma 2).
- xu2022: `noise` distance to the centres, mean and worst; `filters` fixed filters side by side.

The other modules hold functions of matrices and networks, which experiments and instruments call:
`association` which patches belong together by a matrix of scores; `locality` whether positions know
their neighbours (jelassi2022); `heads` what single heads attend to; `denoising` what becomes
of noise in real networks; `similarity` and `clustering` how alike tokens are, and their clusters.
"""

from limelight.measures.accuracy import Accuracy, FreshLoss, Margins, accuracy, fresh_loss
from limelight.measures.attention import AttentionMass, KeptTokens, RoleMass
from limelight.measures.features import (
    FeatureNorms,
    FeatureTurns,
    Invariants,
    OwnAttention,
    SetGrowth,
)
from limelight.measures.filters import (
    CrossErrors,
    DomainAccuracy,
    FilterErrors,
    cross_errors,
    domain_accuracy,
    filter_errors,
)
from limelight.measures.neurons import (
    GroupGrowth,
    LuckyGates,
    LuckyNeurons,
    OutputProjections,
)
from limelight.measures.noise import (
    NoiseLeft,
    NoiseParts,
    NoisePath,
    NoiseProducts,
    Purity,
    WorstErrors,
    noise_left,
    noise_parts,
    noise_path,
    noise_products,
    purity,
    worst_errors,
)
from limelight.measures.values import ValueParts, ValuePull

__all__ = [
    # Any world with labels.
    "Accuracy",
    "FreshLoss",
    "Margins",
    # li2023
    "AttentionMass",
    "FeatureNorms",
    "FeatureTurns",
    "Invariants",
    "GroupGrowth",
    "KeptTokens",
    "LuckyGates",
    "LuckyNeurons",
    "OutputProjections",
    "OwnAttention",
    "RoleMass",
    "SetGrowth",
    "ValueParts",
    "ValuePull",
    # xu2022
    "CrossErrors",
    "DomainAccuracy",
    "FilterErrors",
    "NoiseLeft",
    "NoiseParts",
    "NoisePath",
    "NoiseProducts",
    "Purity",
    "WorstErrors",
    # Measures with their usual settings.
    "accuracy",
    "cross_errors",
    "domain_accuracy",
    "filter_errors",
    "fresh_loss",
    "noise_left",
    "noise_parts",
    "noise_path",
    "noise_products",
    "purity",
    "worst_errors",
]
