"""Measures read a number off a trained model: `(key, world, truth, model)` to a scalar.

`accuracy` test loss and accuracy; `attention` mass on the relevant tokens; `noise` distance to the
centres, `extremes` its worst case, `filters` fixed filters side by side. The key names the test
set, so measures given one key see one test set.
"""

from limelight.measures.accuracy import Accuracy, FreshLoss, accuracy, fresh_loss
from limelight.measures.attention import AttentionMass, RoleMass
from limelight.measures.extremes import WorstErrors, worst_errors
from limelight.measures.filters import cross_errors, filter_errors
from limelight.measures.noise import noise_left, noise_parts, noise_path, purity

__all__ = [
    "Accuracy",
    "AttentionMass",
    "FreshLoss",
    "RoleMass",
    "WorstErrors",
    "accuracy",
    "cross_errors",
    "filter_errors",
    "fresh_loss",
    "noise_left",
    "noise_parts",
    "noise_path",
    "purity",
    "worst_errors",
]
