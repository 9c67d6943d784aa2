"""Measures read a number off a trained model: `(key, world, truth, model)` to a scalar.

`accuracy` test loss and accuracy; `attention` mass on the relevant tokens. The key names the test
set, so measures given one key see one test set.
"""

from limelight.measures.accuracy import Accuracy, FreshLoss, accuracy, fresh_loss
from limelight.measures.attention import AttentionMass, RoleMass

__all__ = ["Accuracy", "AttentionMass", "FreshLoss", "RoleMass", "accuracy", "fresh_loss"]
