r"""Attention that selects a token: $f(X, z) = h(X^\top\mathrm{softmax}(XWz))$ (tarzanagh2023).

$W$ is trained as it is, or as $KQ^\top$. With a query that is a single 1, $W$ is a prompt.
"""

from typing import ClassVar, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.models.base import Model, Recipe
from limelight.worlds.base import World
from limelight.worlds.selections import Arrangements, Selections, TokenChoice

SelectorForm = Literal["merged", "separate"]
SelectorStart = Literal["uniform", "point"]


def _answer(model: "MergedSelector | SeparateSelector", choice: TokenChoice) -> Scalar:
    """The prediction; a head that is not given is linear, and its values are the world's."""
    logits = choice.tokens @ (model.matrix @ choice.query)
    s = jax.nn.softmax(jnp.where(choice.kept, logits, -jnp.inf))
    if model.head is None:
        return s @ choice.values
    return jnp.sum(jax.nn.relu((s @ choice.tokens) @ model.head))


class MergedSelector(Model):
    r"""One matrix $W$ for keys and queries.

    Args:
        weights: $W$, dimension by width of the query.
        head: $V$ of the head $\sum_k\mathrm{relu}(V^\top m)_k$; a linear head when `None`.

    Example:
        >>> MergedSelector(jnp.eye(2)).matrix.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    fixed: ClassVar[tuple[str, ...]] = ("head",)

    weights: Float[Array, "rows columns"]
    head: Array | None = None

    @property
    def matrix(self) -> Float[Array, "rows columns"]:
        """$W$."""
        return self.weights

    def __call__(self, prepared: TokenChoice, key: PRNGKey | None = None) -> Scalar:
        """The prediction."""
        return _answer(self, prepared)


class SeparateSelector(Model):
    r"""Keys and queries of their own: $W = KQ^\top$.

    Args:
        keys: $K$.
        queries: $Q$.
        head: As for `MergedSelector`.

    Example:
        >>> SeparateSelector(jnp.ones((2, 1)), jnp.ones((2, 1))).matrix.tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """

    fixed: ClassVar[tuple[str, ...]] = ("head",)

    keys: Float[Array, "rows rank"]
    queries: Float[Array, "columns rank"]
    head: Array | None = None

    @property
    def matrix(self) -> Float[Array, "rows columns"]:
        """$W$."""
        return self.keys @ self.queries.T

    def __call__(self, prepared: TokenChoice, key: PRNGKey | None = None) -> Scalar:
        """The prediction."""
        return _answer(self, prepared)


@kind("model.token_selector")
class TokenSelector(Recipe):
    r"""Attention that selects, at its start.

    - `uniform`: entries $s\,U(-1, 1)/\sqrt d$, for $W$ or for both $K$ and $Q$ ($d$ by $d$).
    - `point`: a prompt of two numbers at $(x, y)$.

    Args:
        form: Whether $W$ is trained as it is, or as $KQ^\top$.
        start: How the weights begin.
        scale: $s$; 0 begins at zero.
        x: First number of the prompt.
        y: Second number.

    Example:
        >>> TokenSelector("separate").form
        'separate'
    """

    form: SelectorForm = eqx.field(static=True, default="merged")
    start: SelectorStart = eqx.field(static=True, default="uniform")
    scale: Number = 1.0
    x: Number = 0.0
    y: Number = 0.0

    def init(
        self, key: PRNGKey, world: Selections | Arrangements, truth: Array | None
    ) -> MergedSelector | SeparateSelector:
        """Weights at the start."""
        head = truth if isinstance(world, Selections) and world.law == "mixed" else None
        if self.start == "point":
            return MergedSelector(jnp.array([[self.x], [self.y]], float), head)
        rows, columns = world.shape
        k_one, k_other = named(key, "keys", "queries")
        if self.form == "merged":
            return MergedSelector(self._draw(k_one, world, (rows, columns)), head)
        keys = self._draw(k_one, world, (rows, rows))
        return SeparateSelector(keys, self._draw(k_other, world, (columns, rows)), head)

    def _draw(
        self, key: PRNGKey, world: Selections | Arrangements, shape: tuple[int, int]
    ) -> Float[Array, "rows columns"]:
        row = lambda i: jr.uniform(jr.fold_in(key, i), (shape[1],), minval=-1.0, maxval=1.0)
        entries = jax.vmap(row)(jnp.arange(shape[0]))
        there = jnp.arange(shape[0]) < (world.dimension if isinstance(world, Selections) else 2)
        across = jnp.any(world.inside, axis=0) if shape[1] == world.shape[1] else there
        size = jnp.sqrt(jnp.sum(there))
        return jnp.where(there[:, None] & across[None, :], self.scale * entries / size, 0.0)

    def check(self, world: World) -> None:
        """Refuse words and scales that make no sense."""
        check_word("model.form", self.form, get_args(SelectorForm))
        check_word("model.start", self.start, get_args(SelectorStart))
        check_least(self, ("scale",), 0, "model.")
        if self.start == "point" and not (
            self.form == "merged" and isinstance(world, Arrangements)
        ):
            raise InputError(
                "model.start = point is for a prompt of two numbers",
                "model.form = merged, and one of the arrangements",
            )
        if self.form == "separate" and not self.scale > 0:
            raise InputError(
                "model.scale = 0 is a saddle of separate keys and queries", "a positive number"
            )
        if self.form == "separate" and isinstance(world, Arrangements):
            raise InputError("model.form = separate needs queries", "model.form = merged")
