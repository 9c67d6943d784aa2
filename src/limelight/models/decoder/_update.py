r"""One step of the paper's optimiser on all weights as one vector.

The gradient is clipped to unit length, Adam turns it into a direction, and decay shrinks the
matrices of linear maps alone, apart from the gradient (AdamW) or through it (`coupled`).
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from limelight._core.errors import check_least, check_positive
from limelight._core.kinds import kind
from limelight._core.types import Number
from limelight.models.decoder._network import Decoder, decayed

Vector = Float[Array, " weights"]


def flatten(model: Decoder) -> Vector:
    """All weights, side by side."""
    return ravel_pytree(model)[0]


def shape_of(model: Decoder) -> tuple[Any, Bool[Array, " weights"]]:
    """How to undo `flatten`, and which weights decay."""
    undo = ravel_pytree(model)[1]
    marks = jax.tree.map(lambda leaf, yes: jnp.full(leaf.shape, yes), model, decayed(model))
    return undo, ravel_pytree(marks)[0]


@kind("train.clipped")
class Clipped(eqx.Module):
    """Clipped Adam with decay.

    Args:
        rate: Step size.
        decay: Weight decay.
        longest: Length that a gradient is clipped to.
        coupled: Whether decay passes through Adam (an L2 penalty) instead of past it.
    """

    rate: Number = 1e-3
    decay: Number = 1e-4
    longest: float = eqx.field(static=True, default=1.0)
    coupled: bool = eqx.field(static=True, default=False)

    def check(self) -> None:
        """Refuse steps that go backwards."""
        check_positive(self, ("rate", "longest"), "update.")
        check_least(self, ("decay",), 0, "update.")

    def init(self, weights: Vector) -> Any:
        """No memory yet."""
        return optax.scale_by_adam().init(weights)

    def __call__(
        self, weights: Vector, gradient: Vector, memory: Any, marked: Bool[Array, " weights"]
    ) -> tuple[Vector, Any]:
        """Weights and memory after one step."""
        gradient = gradient * jnp.minimum(1.0, self.longest / (jnp.linalg.norm(gradient) + 1e-6))
        shrink = self.decay * jnp.where(marked, weights, 0.0)
        if self.coupled:
            gradient = gradient + shrink
        direction: Any
        direction, memory = optax.scale_by_adam().update(gradient, memory)
        if not self.coupled:
            direction = direction + shrink
        return weights - self.rate * direction, memory
