"""How often, and by how much, a model is right on fresh examples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight.measures.base import Begun, Reader
from limelight.worlds.base import World, dataset


def agreement(
    key: PRNGKey, world: World, truth: Any, start: Any, examples: int
) -> Callable[[Any], Float[Array, " examples *bits"]]:
    r"""A function of a model: $y F(X)$ on the test set that `key` names, bit by bit.

    The test set is made and prepared once; preparing needs no trained weight.
    """
    test = dataset(world, key, truth, examples)
    prepared = jax.vmap(start.prepare)(test)
    return lambda model: test.label * jax.vmap(model)(prepared)


def margins(
    key: PRNGKey, world: World, truth: Any, model: Any, examples: int
) -> Float[Array, " examples"]:
    r"""$y^\top F(X)$ on the test set that `key` names."""
    return _added(agreement(key, world, truth, model, examples)(model))


def _added(agreed: Float[Array, " examples *bits"]) -> Float[Array, " examples"]:
    return jnp.sum(agreed.reshape(agreed.shape[0], -1), axis=-1)


@kind("measure.fresh_loss")
@dataclass(frozen=True)
class FreshLoss(Begun):
    r"""Mean hinge loss $\max(1 - y^\top F, 0)$ on so many fresh `examples`.

    Example:
        >>> import limelight as ll
        >>> ll.measures.FreshLoss(examples=500).name  # the column that it fills
        'test_loss'
    """

    examples: int = 100
    name: str = "test_loss"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, its test set made once."""
        agree = agreement(key, world, truth, start, self.examples)
        return lambda model: jnp.mean(jax.nn.relu(1.0 - _added(agree(model))))


@kind("measure.accuracy")
@dataclass(frozen=True)
class Accuracy(Begun):
    """Share of fresh `examples` with every sign right; an output of exactly 0 is wrong.

    Example:
        >>> import limelight as ll
        >>> ll.measures.Accuracy(examples=1000).name  # the column that it fills
        'accuracy'
    """

    examples: int = 100
    name: str = "accuracy"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, its test set made once."""
        agree = agreement(key, world, truth, start, self.examples)

        def read(model):
            right = agree(model) > 0
            return jnp.mean(jnp.all(right.reshape(self.examples, -1), axis=-1), dtype=float)

        return read


@kind("measure.margins")
@dataclass(frozen=True)
class Margins(Begun):
    r"""`mean` and `least` of $y^\top F(X)$ on so many fresh `examples`.

    Example:
        >>> import limelight as ll
        >>> ll.measures.Margins(examples=500).name  # columns margin.mean and margin.least
        'margin'
    """

    examples: int = 100
    name: str = "margin"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, its test set made once."""
        agree = agreement(key, world, truth, start, self.examples)

        def read(model):
            margin = _added(agree(model))
            return {"mean": jnp.mean(margin), "least": jnp.min(margin)}

        return read


#: The measures at their usual sizes.
accuracy = Accuracy()
fresh_loss = FreshLoss()
