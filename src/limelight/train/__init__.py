"""Training: one loop over blocks of steps, and the trainers that use it.

Blocks of steps run in one loop with hooks; `optimizers` and `losses` are what steps are made of.
`minibatch` trains any model on a data set that is a key and a number; `images` networks on images;
`descent` model (T) of jelassi2022 by full-batch gradient descent.

Names are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.train.descent import Descent
    from limelight.train.images import ImageTraining
    from limelight.train.minibatch import Train

__all__ = ["Descent", "ImageTraining", "Train"]

__getattr__ = on_first_use(__name__)
