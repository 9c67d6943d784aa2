"""Training: one loop over blocks of steps, and the trainers that use it.

`_loop` runs blocks of steps with hooks; `optimizers` and `losses` are what steps are made of.
`minibatch` trains any model on a data set that is a key and a number; `images` networks on images;
`descent` model (T) by full-batch gradient descent; `_decoder` many decoders that share a program,
with `_holdout`, their tests. Names are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.train.descent import Descent
    from limelight.train.images import ImageTraining
    from limelight.train.minibatch import Train

__all__ = ["Descent", "ImageTraining", "Train"]

__getattr__ = on_first_use(__name__)
