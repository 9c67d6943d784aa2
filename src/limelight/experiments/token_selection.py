r"""Where gradient descent sends attention: the token that each sample selects, and its margin."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.errors import (
    InputError,
    check_least,
    check_multiple,
    check_positive,
    check_word,
)
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
    nuclear_readings,
    with_room,
)
from limelight.experiments.base import Experiment
from limelight.models.token_selector import MergedSelector, SeparateSelector, TokenSelector
from limelight.theory.tarzanagh2023.compiled import solve_nuclear
from limelight.theory.tarzanagh2023.rates import LossName
from limelight.train._anchored import Batch, anchored_pull, automatic_pull
from limelight.train._loop import Moved, run_blocks
from limelight.worlds.selections import Arrangements, Selections

DescentRule = Literal["normalised", "notebook", "plain"]
#: What the notebooks add to the norm of a gradient.
EPS = 2.2e-16


@kind("experiment.token_selection")
class TokenSelection(Experiment):
    r"""Train $W$, $(K, Q)$ or a prompt, and compare where it goes with the SVM of what it selects.

    Leaves the smallest softmax weight of a selected token (`selected`; `settled` from .99 on),
    whether every sample selects its best token (`global`), whether the selected tokens are locally
    optimal (`local`) and whether they changed after a quarter of the steps (`switched`); cosine and
    margin ratio to the SVM of the selected tokens (`cosine`, `rho`), the scaled radius (`radius`)
    and the solver's error (`error`); whether the best tokens can be separated (`feasible`) and
    whether the first gradient raises all their gaps (`first_step`). `trace.…` has the first three
    readings at every look, against the tokens selected at the end.

    Args:
        world: Tokens, queries and scores.
        samples: $n$; 0 for all samples of an arrangement.
        model: What is trained, and its start.
        loss: Of the margin of a sample.
        rule: `normalised` steps along the exact direction, `plain` ones of gradient descent, or
            those of the released notebooks, whose gradients are automatic and divided by their
            norm and 2.2e-16. Keys and queries each have a norm of their own.
        rate: $\eta$.
        first: Length of the first step; 0 for one like the others.
        steps: Steps.
        looks: Times at which traces are read; they divide the steps.
        nuclear: Whether the nuclear-norm problem is solved too.
        line: A word that tells parts of a figure apart; cells of one share a program.
        most_samples: Room; 0 for what the cells of a sweep need.

    Example:
        >>> TokenSelection(samples=3, steps=8).check()

    Reference: tarzanagh2023; the notebooks released with it.
    """

    double: ClassVar[bool] = True

    world: Selections | Arrangements = Selections()
    samples: Number = 6
    model: TokenSelector = TokenSelector()
    loss: LossName = eqx.field(static=True, default="logistic")
    rule: DescentRule = eqx.field(static=True, default="normalised")
    rate: Number = 0.1
    first: Number = 0.0
    steps: int = eqx.field(static=True, default=2000)
    looks: int = eqx.field(static=True, default=4)
    nuclear: bool = eqx.field(static=True, default=False)
    line: str = eqx.field(static=True, default="")
    most_samples: int = eqx.field(static=True, default=0)

    def with_room(self, cells: Sequence[Any]) -> "TokenSelection":
        """Room for the largest cell, so that sizes can be swept inside one program."""
        return with_room(self, cells)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train, then solve the SVM of what is selected."""
        batch, truth = self.data(key)
        (k_model,) = named(key, "model")
        model = self.model.init(k_model, self.world, truth)
        step = self.stepper(batch)

        def block(weights: Any, memory: Any, numbers: Array) -> Moved:
            return Moved(jax.lax.scan(step, weights, numbers)[0], memory, {})

        read = lambda model: {"matrix": model.matrix}
        every = self.steps // self.looks
        log = run_blocks(block, model, None, self.looks, every, read=read).readings["matrix"]
        return self.readings(batch, log)

    def data(self, key: PRNGKey) -> tuple[Batch, Array | None]:
        """The samples of a trial, and the truth behind them."""
        if isinstance(self.world, Arrangements):
            return draw_batch(key, self.world, self.world.samples, self.world.samples)
        return draw_batch(key, self.world, self.samples, self.most_samples or int(self.samples))

    def stepper(self, batch: Batch) -> Callable[[Any, Array], tuple[Any, None]]:
        """One step of the rule."""

        def pull(model: MergedSelector | SeparateSelector) -> tuple[Array, ...]:
            if self.rule == "notebook":
                G = automatic_pull(batch, model.matrix, self.loss)
            else:
                found = anchored_pull(batch, model.matrix, self.loss)
                size = jnp.exp(found.log_norm) if self.rule == "plain" else 1.0
                G = size * found.direction
            if isinstance(model, MergedSelector):
                return (G,)
            return G @ model.queries, G.T @ model.keys

        def step(model: Any, number: Array) -> tuple[Any, None]:
            moves = pull(model)
            if self.rule != "plain":
                least = EPS if self.rule == "notebook" else 0.0
                norms = [jnp.linalg.norm(move) + least for move in moves]
                moves = [m / jnp.where(n > 0, n, 1.0) for m, n in zip(moves, norms, strict=True)]
            rate = jnp.where((number == 0) & (self.first > 0), self.first, self.rate)
            parts = trained_parts(model)
            new = [part + rate * move for part, move in zip(parts, moves, strict=True)]
            return eqx.tree_at(trained_parts, model, tuple(new)), None

        return step

    def readings(self, batch: Batch, log: Array) -> dict[str, Array]:
        """What is read of the matrices at the looks."""
        W = log[-1]
        same = lambda one, other: jnp.all((one == other) | ~batch.used)
        ids, best = chosen_tokens(batch, W), best_tokens(batch)
        both = jax.vmap(lambda chosen: choice_of(batch, chosen))(jnp.stack([ids, best]))
        solved, wanted = (jax.tree.map(lambda leaf, i=i: leaf[i], both) for i in (0, 1))
        selected = jnp.min(jnp.where(batch.used, jnp.max(_softmax(batch, W), axis=1), 1.0))
        first = anchored_pull(batch, jnp.zeros_like(W), self.loss).direction
        found = {
            "selected": selected,
            "settled": selected >= 0.99,
            "global": same(ids, best),
            "local": solved.local,
            "switched": ~same(ids, chosen_tokens(batch, log[max(1, self.looks // 4)])),
            "feasible": wanted.feasible,
            "first_step": jnp.min(wanted.gaps(first)) > 0,
            "error": jnp.maximum(solved.error, wanted.error),
            **margin_readings(W, solved),
        }
        traces = jax.vmap(lambda W: margin_readings(W, solved))(log[1:])
        found |= {f"trace.{name}": row.astype(jnp.float32) for name, row in traces.items()}
        if self.nuclear:
            found |= nuclear_readings(W, solved, solve_nuclear(solved))
        if isinstance(self.world, Arrangements):
            found |= {"x": W[0, 0], "y": W[1, 0], "token": ids[0], "last_token": ids[-1]}
            found |= {f"trace.{n}": log[1:, i, 0].astype(jnp.float32) for i, n in enumerate("xy")}
        return found

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        self.model.check(self.world)
        check_word("loss", self.loss, get_args(LossName))
        check_word("rule", self.rule, get_args(DescentRule))
        check_samples(self)
        check_positive(self, ("rate",))
        check_least(self, ("first", "most_samples"), 0)
        check_multiple(self, "steps", "looks")
        if isinstance(self.world, Selections) and self.world.law == "mixed":
            raise InputError("world.law = mixed has no scores", "experiments.MixedSelection")


def _softmax(batch: Batch, W: Array) -> Array:
    return jax.nn.softmax(batch.logits(W), axis=1)


def trained_parts(model: MergedSelector | SeparateSelector) -> Any:
    """The arrays that are trained, or what stands in their places."""
    return (model.weights,) if isinstance(model, MergedSelector) else (model.keys, model.queries)
