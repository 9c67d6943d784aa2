r"""The regularisation path: the least loss among matrices of a given norm."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from limelight._core.errors import InputError, check_least, check_positive, check_word
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments._choices import (
    best_tokens,
    check_samples,
    choice_of,
    draw_batch,
    margin_readings,
    nuclear_readings,
    with_room,
)
from limelight.experiments.base import Experiment
from limelight.models.token_selector import SeparateSelector
from limelight.theory.tarzanagh2023.compiled import Choice, solve_nuclear
from limelight.train._anchored import Batch, anchored_pull
from limelight.train._loop import Moved, run_blocks
from limelight.worlds.selections import Selections

Ball = Literal["weights", "keys"]


@kind("experiment.selection_path")
class SelectionPath(Experiment):
    r"""Minimise the loss on $\|W\|_F = R$, from the max-margin solution of the best tokens.

    Step $i$ goes $.05R\,1000^{-i/1500}$ along the gradient and back to the sphere. Leaves cosine
    and margin ratio to the solution, `left`, the sine between gradient and $W$ at the end (0 at a
    stationary point of the sphere), and whether the best tokens can be separated.

    The ball of keys and queries is $\|K\|_F^2 + \|Q\|_F^2 = 2R$, where $W = KQ^\top$ may have the
    nuclear norm $R$ at most. The path begins at balanced factors of the nuclear solution, and
    `nuclear.rho`, `nuclear.cosine` and `nuclear.gap` speak of it.

    Args:
        world: Tokens, queries and scores.
        samples: $n$.
        radius: $c = R\mu$, in units of the margin of the ball's norm.
        ball: `weights`, $\|W\|_F = R$; or `keys`.
        steps: Steps.
        most_samples: Room; 0 for what the cells of a sweep need.

    Example:
        >>> SelectionPath(radius=20.0).check()

    Reference: tarzanagh2023, regularisation path (S2); the rates are limelight's (S13).
    """

    double: ClassVar[bool] = True

    world: Selections = Selections()
    samples: Number = 6
    radius: Number = 20.0
    ball: Ball = eqx.field(static=True, default="weights")
    steps: int = eqx.field(static=True, default=1500)
    most_samples: int = eqx.field(static=True, default=0)

    def with_room(self, cells: Sequence[Any]) -> "SelectionPath":
        """Room for the largest cell."""
        return with_room(self, cells)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Follow the gradient on the sphere."""
        batch, _ = draw_batch(key, self.world, self.samples, self.most_samples or int(self.samples))
        choice = choice_of(batch, best_tokens(batch))
        if self.ball == "keys":
            return self._of_keys(batch, choice)
        R = self.radius * choice.norm
        pull = lambda W: anchored_pull(batch, W).direction
        W = self._minimise(pull, self.radius * choice.weights, R)
        along = jnp.sum(W * pull(W)) / R
        read = margin_readings(W, choice)
        left = jnp.sqrt(jnp.maximum(1 - along**2, 0.0))
        return {
            "feasible": choice.feasible,
            "left": left,
            "cosine": read["cosine"],
            "rho": read["rho"],
        }

    def _of_keys(self, batch: Batch, choice: Choice) -> dict[str, Array]:
        star = solve_nuclear(choice)
        left, sizes, right = jnp.linalg.svd(jnp.nan_to_num(star.weights), full_matrices=False)
        root = jnp.sqrt(self.radius * sizes)[None, :]
        start, back = ravel_pytree(SeparateSelector(left * root, right.T * root))
        R = jnp.sqrt(2 * self.radius * star.norm)

        def pull(at: Array) -> Array:
            model = back(at)
            G = anchored_pull(batch, model.matrix).direction
            moved, _ = ravel_pytree(SeparateSelector(G @ model.queries, G.T @ model.keys))
            return moved / jnp.linalg.norm(moved)

        end = self._minimise(pull, start, R)
        along = jnp.sum(end * pull(end)) / R
        return {
            "feasible": choice.feasible,
            "left": jnp.sqrt(jnp.maximum(1 - along**2, 0.0)),
            **nuclear_readings(back(end).matrix, choice, star),
        }

    def _minimise(self, pull: Any, start: Array, R: Array) -> Array:
        def step(at: Array, number: Array) -> tuple[Array, None]:
            length = 0.05 * R * 1000.0 ** (-number / 1500)
            at = at + length * pull(at)
            return at * R / jnp.linalg.norm(at), None

        def block(weights: Any, memory: Any, numbers: Array) -> Moved:
            return Moved(jax.lax.scan(step, weights, numbers)[0], memory, {})

        return run_blocks(block, start, None, 1, self.steps).weights

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        check_samples(self)
        check_positive(self, ("radius",))
        check_least(self, ("steps",))
        check_least(self, ("most_samples",), 0)
        check_word("ball", self.ball, get_args(Ball))
        if self.world.law == "mixed":
            raise InputError("world.law = mixed has no scores", "sphere or levels")
