"""Steps of an Optax optimizer on a loss, until something is not finite."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

from limelight.core.numerics import tree_finite


def take_steps(
    loss: Callable[[Any, Array], Float[Array, ""]],
    trained: Any,
    optimizer: optax.GradientTransformation,
    steps: int,
) -> tuple[Any, Float[Array, " steps"], Bool[Array, ""]]:
    """Weights after the last step, the loss of every step, and whether all were finite.

    What is not finite ends it: the last finite weights stay.

    Args:
        loss: Of weights, at a numbered step.
        trained: The weights that move.
        optimizer: What makes a step of a gradient.
        steps: How many.
    """

    def update(carry, step):
        trained, memory, finite = carry
        value, gradient = jax.value_and_grad(loss)(trained, step)
        change, memory = optimizer.update(gradient, memory, trained)
        moved = eqx.apply_updates(trained, change)
        finite = finite & jnp.isfinite(value) & tree_finite(moved)
        moved = jax.tree.map(lambda new, old: jnp.where(finite, new, old), moved, trained)
        return (moved, memory, finite), value

    start = (trained, optimizer.init(trained), jnp.array(True))
    (trained, _, finite), losses = jax.lax.scan(update, start, jnp.arange(steps))
    return trained, losses, finite
