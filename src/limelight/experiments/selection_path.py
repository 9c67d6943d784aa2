r"""The regularisation path: the least loss among matrices of a given norm."""

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.errors import InputError, check_least, check_positive
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments._choices import (
    best_tokens,
    check_samples,
    choice_of,
    draw_batch,
    margin_readings,
    with_room,
)
from limelight.experiments.base import Experiment
from limelight.train._anchored import anchored_pull
from limelight.train._loop import Moved, run_blocks
from limelight.worlds.selections import Selections


@kind("experiment.selection_path")
class SelectionPath(Experiment):
    r"""Minimise the loss on $\|W\|_F = R$, from the max-margin solution of the best tokens.

    Step $i$ goes $.05R\,1000^{-i/1500}$ along the gradient and back to the sphere. Leaves cosine
    and margin ratio to the solution, `left`, the sine between gradient and $W$ at the end (0 at a
    stationary point of the sphere), and whether the best tokens can be separated.

    Args:
        world: Tokens, queries and scores.
        samples: $n$.
        radius: $c = R\mu$, in units of the margin.
        steps: Steps.
        most_samples: Room; 0 for what the cells of a sweep need.

    Example:
        >>> SelectionPath(radius=20.0).check()

    Departures: the ball of $(K, Q)$ is not followed.

    Reference: tarzanagh2023, regularisation path (S2); the rates are limelight's (S13).
    """

    double: ClassVar[bool] = True

    world: Selections = Selections()
    samples: Number = 6
    radius: Number = 20.0
    steps: int = eqx.field(static=True, default=1500)
    most_samples: int = eqx.field(static=True, default=0)

    def with_room(self, cells: Sequence[Any]) -> "SelectionPath":
        """Room for the largest cell."""
        return with_room(self, cells)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Follow the gradient on the sphere."""
        batch, _ = draw_batch(key, self.world, self.samples, self.most_samples or int(self.samples))
        choice = choice_of(batch, best_tokens(batch))
        R = self.radius * choice.norm

        def step(W: Array, number: Array) -> tuple[Array, None]:
            length = 0.05 * R * 1000.0 ** (-number / 1500)
            W = W + length * anchored_pull(batch, W).direction
            return W * R / jnp.linalg.norm(W), None

        def block(weights: Any, memory: Any, numbers: Array) -> Moved:
            return Moved(jax.lax.scan(step, weights, numbers)[0], memory, {})

        W = run_blocks(block, self.radius * choice.weights, None, 1, self.steps).weights
        along = jnp.sum(W * anchored_pull(batch, W).direction) / R
        read = margin_readings(W, choice)
        left = jnp.sqrt(jnp.maximum(1 - along**2, 0.0))
        return {
            "feasible": choice.feasible,
            "left": left,
            "cosine": read["cosine"],
            "rho": read["rho"],
        }

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        check_samples(self)
        check_positive(self, ("radius",))
        check_least(self, ("steps",))
        check_least(self, ("most_samples",), 0)
        if self.world.law == "mixed":
            raise InputError("world.law = mixed has no scores", "sphere or levels")
