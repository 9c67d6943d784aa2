r"""Ranks of the max-margin solutions in both norms; nothing is trained."""

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.errors import InputError, check_least
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments._choices import (
    best_tokens,
    check_samples,
    choice_of,
    draw_batch,
    with_room,
)
from limelight.experiments.base import Experiment
from limelight.theory.tarzanagh2023.compiled import solve_nuclear
from limelight.theory.tarzanagh2023.nuclear import CLOSED
from limelight.worlds.selections import Selections

#: Singular values below this share of the first do not count.
SMALL = 1e-5


@kind("experiment.margin_ranks")
class MarginRanks(Experiment):
    r"""The SVM of the best tokens in the Frobenius and in the nuclear norm.

    Leaves whether it is `feasible`, both ranks (`rank`, `rank.nuclear`; not numbers where
    infeasible, the second also where its duality gap is above 1e-4), the margin, and whether the
    nuclear solve is `certified`.

    Args:
        world: Tokens, queries and scores.
        samples: $n$.
        most: Steps of splitting at most.
        line: A word that tells parts of a figure apart; cells of one share a program.
        most_samples: Room; 0 for what the cells of a sweep need.

    Example:
        >>> MarginRanks(samples=5).check()

    Reference: tarzanagh2023, the notebook on ranks.
    """

    double: ClassVar[bool] = True

    world: Selections = Selections()
    samples: Number = 5
    most: int = eqx.field(static=True, default=1500)
    line: str = eqx.field(static=True, default="")
    most_samples: int = eqx.field(static=True, default=0)

    def with_room(self, cells: Sequence[Any]) -> "MarginRanks":
        """Room for the largest cell."""
        return with_room(self, cells)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw, and solve twice."""
        batch, _ = draw_batch(key, self.world, self.samples, self.most_samples or int(self.samples))
        choice = choice_of(batch, best_tokens(batch))
        star = solve_nuclear(choice, most=self.most)
        certified = star.gap <= CLOSED

        def rank(matrix: Array, known: Array) -> Array:
            sizes = jnp.linalg.svd(jnp.where(known, matrix, 0.0), compute_uv=False)
            return jnp.where(known, jnp.sum(sizes > SMALL * sizes[0]), jnp.nan)

        return {
            "feasible": choice.feasible,
            "margin": 1 / choice.norm,
            "error": choice.error,
            "certified": certified,
            "rank": rank(choice.weights, choice.feasible),
            "rank.nuclear": rank(star.weights, certified),
        }

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        check_samples(self)
        check_least(self, ("most",), 25)
        check_least(self, ("most_samples",), 0)
        if self.world.law != "sphere":
            raise InputError(f"world.law = {self.world.law} has no ranks here", "sphere")
