r"""Attention as averaging: what is made of each token is a weighted mean of tokens.

Pure functions of one token set, and `Smoother`, which picks one by name so that a study can sweep
it. There is no $1/\sqrt d$: a layer with logits $\langle q,k\rangle/\sqrt{d_h}$ has
$\lambda$ = (scale of $W_Q^\top W_K$)$/\sqrt{d_h}$.
"""

from collections.abc import Callable
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from limelight._core.errors import (
    InputError,
    check_between,
    check_least,
    check_positive,
    check_word,
)
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.models.base import Model, Recipe
from limelight.worlds.base import World

Tokens = Float[Array, "tokens width"]
Weights = Float[Array, "queries keys"]
Operator = Literal["softmax", "masked", "cosine", "cosine-masked", "knn-l2", "knn-dot", "knn-cos"]
OPERATORS = get_args(Operator)


def normalised(tokens: Tokens) -> Tokens:
    """Tokens scaled to unit length; a token at the origin stays there."""
    length = jnp.linalg.norm(tokens, axis=-1, keepdims=True)
    return tokens / jnp.where(length > 0, length, 1.0)


def softmax_weights(
    tokens: Tokens, strength, *, mask_self: bool = False, normalise: bool = False
) -> Weights:
    r"""$w_{ij} \propto \exp(\lambda\langle x_i, x_j\rangle)$, rows summing to 1.

    With `mask_self` no token attends to itself; with `normalise` logits use directions only.
    """
    z = normalised(tokens) if normalise else tokens
    logits = strength * (z @ z.T)
    kept = ~jnp.eye(tokens.shape[0], dtype=bool) if mask_self else None
    return jax.nn.softmax(logits, axis=-1, where=kept)


def cross_weights(queries: Tokens, keys: Float[Array, "keys width"], strength) -> Weights:
    r"""$w_{ij} \propto \exp(\lambda\langle q_i, x_j\rangle)$: queries and keys of two sets."""
    return jax.nn.softmax(strength * (queries @ keys.T), axis=-1)


def knn_weights(tokens: Tokens, neighbours, *, metric: str = "l2") -> Weights:
    """The mean of the K nearest tokens, by distance, dot product or cosine; K may be traced.

    A token is always one of its own K, as at distance zero.
    """
    rank = jnp.argsort(nearest_order(tokens, metric=metric), axis=-1)
    return jnp.where(rank < neighbours, 1.0 / neighbours, 0.0)


def nearest_order(tokens: Tokens, *, metric: str = "l2") -> Int[Array, "tokens tokens"]:
    """Indices of all tokens, nearest first, one row per query; itself before all others."""
    z = normalised(tokens) if metric == "cos" else tokens
    near = z @ z.T
    if metric == "l2":
        square = jnp.sum(tokens**2, axis=-1)
        near = 2 * near - square[None, :]
    near = jnp.where(jnp.eye(tokens.shape[0], dtype=bool), jnp.inf, near)
    return jnp.argsort(-near, axis=-1)


def local_weights(side: int, radius: int) -> Float[Array, "patches patches"]:
    """A square filter over a grid of side x side patches, divided by the neighbours inside it."""
    row, column = jnp.divmod(jnp.arange(side**2), side)
    apart = jnp.maximum(
        jnp.abs(row[:, None] - row[None, :]), jnp.abs(column[:, None] - column[None, :])
    )
    near = (apart <= radius).astype(float)
    return near / jnp.sum(near, axis=-1, keepdims=True)


def iterate(
    operator: Callable[[Tokens], Tokens],
    tokens: Tokens,
    steps: int,
    gain: Any = 1.0,
    read: Callable[[Tokens], Array] = lambda x: x,
) -> Float[Array, "steps_and_start ..."]:
    r"""The path of $x \leftarrow (1-g)x + g\,A(x)$, its start included.

    Args:
        operator: One step $A$.
        tokens: The start.
        steps: How many.
        gain: $g$: 1 for plain iteration, less for a residual stream.
        read: What is kept of each state; the whole of it takes memory for every step.
    """

    def step(x, _):
        x = (1 - gain) * x + gain * operator(x)
        return x, read(x)

    _, path = jax.lax.scan(step, tokens, None, length=steps)
    return jnp.concatenate([read(tokens)[None], path])


class Smoothing(Model):
    r"""One averaging operator with its numbers set; nothing in it is trained.

    Args:
        operator: One of `OPERATORS`.
        strength: Logit scale $\lambda$, [].
        neighbours: Tokens that the nearest-neighbour operators average, [].
        steps: How often it is applied.
        gain: Weight of the new tokens in each step, []; 1 replaces the old ones.

    Example:
        >>> import limelight as ll, jax.numpy as jnp
        >>> ll.models.Smoothing("softmax", jnp.array(4.0), jnp.array(3.0), 1,
        ...     jnp.array(1.0)).operator
        'softmax'
    """

    fixed = ("strength", "neighbours", "gain")

    operator: Operator = eqx.field(static=True)
    strength: Float[Array, ""]
    neighbours: Float[Array, ""]
    steps: int = eqx.field(static=True)
    gain: Float[Array, ""]

    def prepare(self, example) -> Tokens:
        """The tokens of a cloud."""
        return example.tokens

    def weights(self, tokens: Tokens) -> Weights:
        """What each output takes from each token, in one step."""
        kind, _, rest = self.operator.partition("-")
        if kind == "knn":
            return knn_weights(tokens, self.neighbours, metric=rest)
        return softmax_weights(
            tokens,
            self.strength,
            mask_self=self.operator.endswith("masked"),
            normalise=kind == "cosine",
        )

    def __call__(self, prepared: Tokens, key: PRNGKey | None = None) -> Tokens:
        """The tokens after all steps."""
        if self.steps == 1:
            return (1 - self.gain) * prepared + self.gain * (self.weights(prepared) @ prepared)
        return self.path(prepared)[-1]

    def path(
        self, tokens: Tokens, read: Callable[[Tokens], Array] = lambda x: x
    ) -> Float[Array, "steps_and_start ..."]:
        """The tokens, or what is read off them, before the first step and after each."""
        return iterate(lambda x: self.weights(x) @ x, tokens, self.steps, self.gain, read)


@kind("model.smoother")
class Smoother(Recipe):
    r"""Which operator, and its numbers; only the operator and the depth cost a compilation.

    Notation: `strength` is their $\lambda$, `neighbours` their $K$.

    Args:
        operator: `softmax`, `masked` (no diagonal), `cosine`, `cosine-masked`, `knn-l2`,
            `knn-dot`, `knn-cos`.
        strength: Logit scale.
        neighbours: Tokens averaged by the nearest-neighbour operators.
        steps: How often it is applied.
        gain: Weight of the new tokens in each step; 1 is plain iteration.

    Example:
        >>> import limelight as ll
        >>> ll.models.Smoother(operator="masked", strength=4.0).strength
        4.0

    Reference: xu2022, Sections 3.1 and 3.2.
    """

    operator: Operator = eqx.field(static=True, default="softmax")
    strength: Number = 6.0
    neighbours: Number = 10
    steps: int = eqx.field(static=True, default=1)
    gain: Number = 1.0

    def init(self, key: PRNGKey, world, truth) -> Smoothing:
        """The operator; nothing is random about it."""
        numbers = (jnp.asarray(v, dtype=float) for v in (self.strength, self.neighbours, self.gain))
        strength, neighbours, gain = numbers
        return Smoothing(self.operator, strength, neighbours, self.steps, gain)

    def check(self, world: World) -> None:
        """Refuse unknown operators and numbers out of range."""
        check_word("model.operator", self.operator, OPERATORS)
        check_least(self, ("strength",), 0, "model.")
        check_least(self, ("steps",), prefix="model.")
        check_positive(self, ("gain",), "model.")
        check_between(self, ("gain",), 0, 1, "model.")
        tokens = getattr(world, "tokens", None)
        if self.operator.startswith("knn"):
            most = float("inf") if tokens is None else tokens
            check_between(self, ("neighbours",), 1, most, "model.")
        if self.operator.endswith("masked") and tokens == 1:
            raise InputError("one token with its diagonal masked attends to nothing")
