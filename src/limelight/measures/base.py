"""The contract of a measure that is begun before training."""

import abc
from collections.abc import Callable, Mapping
from typing import Any

from jaxtyping import Array

from limelight._core.types import PRNGKey
from limelight.worlds.base import World

Reading = Array | Mapping[str, Array]
Reader = Callable[[Any], Reading]


class Begun(abc.ABC):
    """A measure in two parts: what no trained weight enters, done once, and the reading.

    `begin` sees the model at its start, so that a reading may be a change since then.
    Called like any other measure it begins and reads the same model.

    Example:
        >>> import limelight as ll
        >>> isinstance(ll.measures.Accuracy(), Begun)
        True
    """

    @abc.abstractmethod
    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """Prepare the test set and whatever the reading compares with."""

    def __call__(self, key: PRNGKey, world: World, truth: Any, model: Any) -> Any:
        """The reading of one model, by itself."""
        return self.begin(key, world, truth, model)(model)
