r"""Whether descent stays with a choice of tokens when it starts near its max-margin direction."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Int

from limelight._core.errors import InputError, check_least, check_positive, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments._choices import (
    best_tokens,
    check_samples,
    choice_of,
    chosen_tokens,
    draw_batch,
    margin_readings,
    with_room,
)
from limelight.experiments.base import Experiment
from limelight.experiments.token_selection import TokenSelection
from limelight.models.token_selector import MergedSelector, TokenSelector
from limelight.theory.tarzanagh2023.compiled import Choice
from limelight.train._anchored import Batch
from limelight.train._loop import Moved, run_blocks
from limelight.worlds.selections import Selections

Which = Literal["best", "found", "local", "other"]


@kind("experiment.token_basins")
class TokenBasins(Experiment):
    r"""Start at scaled radius $c_0$ along $W_{mm}(\alpha)/\|\cdot\| + \epsilon g/\|g\|$, descend.

    The choice $\alpha$ is, by `which`: the `best` token of every sample; what descent from a random
    start has `found`, if that is not the best; one of the two best tokens of every sample such that
    the choice is locally optimal and not the best (`local`); or a random choice that is not locally
    optimal (`other`).

    Leaves whether such a choice was there (`usable`), whether the run ends with it (`kept`), with
    which cosine, and the scaled radius at the end.

    Args:
        world: Tokens, queries and scores.
        samples: $n$.
        which: The choice.
        radius: $c_0$.
        noise: $\epsilon$.
        rate: $\eta$.
        steps: Steps.
        tries: Choices that are drawn until one is of the kind.
        most_samples: Room; 0 for what the cells of a sweep need.

    Example:
        >>> TokenBasins(which="local", radius=10.0).check()

    Reference: tarzanagh2023, local convergence and its converse (S6, S7).
    """

    double: ClassVar[bool] = True

    world: Selections = Selections()
    samples: Number = 6
    which: Which = eqx.field(static=True, default="best")
    radius: Number = 10.0
    noise: Number = 0.3
    rate: Number = 0.1
    steps: int = eqx.field(static=True, default=3000)
    tries: int = eqx.field(static=True, default=24)
    most_samples: int = eqx.field(static=True, default=0)

    def with_room(self, cells: Sequence[Any]) -> "TokenBasins":
        """Room for the largest cell."""
        return with_room(self, cells)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Choose, start, descend."""
        k_choice, k_noise, k_model = named(key, "choice", "noise", "model")
        batch, _ = draw_batch(key, self.world, self.samples, self.most_samples or int(self.samples))
        alpha, choice, usable = self._choose(k_choice, k_model, batch)
        unit = lambda matrix: matrix / jnp.linalg.norm(matrix)
        noise = jr.normal(k_noise, self.world.shape) * self.world.inside
        mixed = unit(choice.weights) + self.noise * unit(noise)
        W = self._descend(batch, self.radius * choice.norm * unit(mixed))
        kept = jnp.all((chosen_tokens(batch, W) == alpha) | ~batch.used)
        read = margin_readings(W, choice)
        return {
            "usable": usable,
            "kept": kept & usable,
            "cosine": read["cosine"],
            "radius.end": read["radius"],
        }

    def _choose(
        self, key: PRNGKey, k_model: PRNGKey, batch: Batch
    ) -> tuple[Int[Array, " samples"], Choice, Bool[Array, ""]]:
        best = best_tokens(batch)
        if self.which == "best":
            choice = choice_of(batch, best)
            return best, choice, choice.feasible
        if self.which == "found":
            start = TokenSelector().init(k_model, self.world, None)
            assert isinstance(start, MergedSelector)
            alpha = chosen_tokens(batch, self._descend(batch, start.weights))
            choice = choice_of(batch, alpha)
            return alpha, choice, choice.feasible & ~jnp.all((alpha == best) | ~batch.used)
        order = jnp.argsort(jnp.where(batch.kept, -batch.scores, jnp.inf), axis=1)
        ranks = 2 if self.which == "local" else self.world.tokens
        shape = (self.tries, len(best))
        drawn = jr.randint(key, shape, 0, ranks)
        several = jnp.take_along_axis(order[None], drawn[:, :, None], axis=2)[:, :, 0]
        choices = jax.vmap(lambda alpha: choice_of(batch, alpha))(several)
        other = ~jnp.all((several == best[None]) | ~batch.used[None], axis=1)
        wanted = choices.local if self.which == "local" else choices.feasible & ~choices.local
        good = wanted & other
        first = jnp.argmax(good)
        return several[first], jax.tree.map(lambda leaf: leaf[first], choices), good[first]

    def _descend(self, batch: Batch, start: Array) -> Array:
        step = TokenSelection(rate=self.rate).stepper(batch)

        def block(weights: Any, memory: Any, numbers: Array) -> Moved:
            return Moved(jax.lax.scan(step, weights, numbers)[0], memory, {})

        return run_blocks(block, MergedSelector(start), None, 1, self.steps).weights.weights

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        check_samples(self)
        check_word("which", self.which, get_args(Which))
        check_positive(self, ("radius", "rate"))
        check_least(self, ("noise", "most_samples"), 0)
        check_least(self, ("steps", "tries"))
        if self.world.law == "mixed":
            raise InputError("world.law = mixed has no scores", "sphere or levels")
