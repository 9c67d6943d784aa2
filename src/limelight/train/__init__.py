"""Training: one loop of blocks, and the trainers that use it.

`minibatch` trains any model on a data set that is a key and a number; `images` networks on images;
`descent` model (T) by full-batch gradient descent; `decoder` many decoders that share a program.
"""

from limelight.train.descent import Descent
from limelight.train.images import Course
from limelight.train.minibatch import Train

__all__ = ["Course", "Descent", "Train"]
