"""How often, and by how much, a model is right on fresh examples."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight.core.types import PRNGKey
from limelight.worlds.base import World, dataset


def margins(
    key: PRNGKey, world: World, truth: Any, model: Any, examples: int
) -> Float[Array, " examples"]:
    r"""$y F(X)$ on the test set that `key` names."""
    test = dataset(world, key, truth, examples)
    outputs = jax.vmap(lambda e: model(model.prepare(e)))(test)
    return test.label * outputs


@dataclass(frozen=True)
class FreshLoss:
    """Mean hinge loss on fresh examples.

    Args:
        examples: Size of the test set.
    """

    examples: int = 100
    name: str = "test_loss"

    def __call__(self, key: PRNGKey, world: World, truth: Any, model: Any) -> Float[Array, ""]:
        """The measure."""
        return jnp.mean(jax.nn.relu(1.0 - margins(key, world, truth, model, self.examples)))


@dataclass(frozen=True)
class Accuracy:
    """Share of fresh examples with the right sign; an output of exactly 0 is wrong.

    Args:
        examples: Size of the test set.
    """

    examples: int = 100
    name: str = "accuracy"

    def __call__(self, key: PRNGKey, world: World, truth: Any, model: Any) -> Float[Array, ""]:
        """The measure."""
        return jnp.mean(margins(key, world, truth, model, self.examples) > 0, dtype=float)


#: The measures at their usual sizes.
accuracy = Accuracy()
fresh_loss = FreshLoss()
