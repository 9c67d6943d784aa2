r"""Linear attention on prompts: merged or separate keys and queries, and the layer as written.

Of a head only a value $v_h$ and a $d \times d$ block of its keys and queries act on a prompt:
$\hat y = x_q^\top A\beta$ with $A = \sum_h v_h U_h$ where keys and queries are merged, and
$A = \sum_h v_h Q_h^\top K_h$ where they are separate. The other blocks are 0 at the start of both
papers, and the population gradient leaves them there.

Reference: zhang2024, Section 3.2; Zhang et al. (2025) for several heads.
"""

import math
from typing import Literal, get_args

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least, check_positive, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.models.base import Model, Recipe
from limelight.worlds.base import World
from limelight.worlds.prompts import Prompt, Prompts

Form = Literal["merged", "separate", "full"]
Start = Literal["gauss", "authors", "theorem", "aligned"]


class MergedAttention(Model):
    r"""Heads with keys and queries in one matrix: $A = \sum_h v_h U_h$.

    Args:
        value: $v$, one number per head.
        key_query: $U$, heads by $d$ by $d$; the transpose of the paper's block.

    Example:
        >>> "key_query" in MergedAttention.__dataclass_fields__
        True
    """

    value: Float[Array, " heads"]
    key_query: Float[Array, "heads dimension dimension"]

    @property
    def matrix(self) -> Float[Array, "dimension dimension"]:
        """The whole trained function."""
        return jnp.sum(self.value[:, None, None] * self.key_query, axis=0)

    def __call__(self, prepared: Prompt, key: PRNGKey | None = None) -> Scalar:
        """The prediction at the query."""
        return prepared.query @ self.matrix @ prepared.statistic


class SeparateAttention(Model):
    r"""Heads with keys and queries of their own: $A = \sum_h v_h Q_h^\top K_h$.

    Args:
        value: $v$, one number per head.
        key: $K$, heads by rank by $d$.
        query: $Q$, heads by rank by $d$.

    Example:
        >>> {"key", "query"} <= set(SeparateAttention.__dataclass_fields__)
        True
    """

    value: Float[Array, " heads"]
    key: Float[Array, "heads rank dimension"]
    query: Float[Array, "heads rank dimension"]

    @property
    def matrix(self) -> Float[Array, "dimension dimension"]:
        """The whole trained function."""
        # Sums of products rather than matrix products, so that a whole step is few kernels.
        weighed = self.value[:, None, None] * self.query
        return jnp.sum(weighed[..., :, None] * self.key[..., None, :], axis=(0, 1))

    def __call__(self, prepared: Prompt, key: PRNGKey | None = None) -> Scalar:
        """The prediction at the query."""
        return prepared.query @ self.matrix @ prepared.statistic


class FullAttention(Model):
    r"""Heads with every matrix free, read at the query's label.

    $E + \frac1N\sum_h W^{PV}_h E (E^\top W^{KQ}_h E)$

    Args:
        projection: $W^{PV}$, heads by $d + 1$ by $d + 1$.
        key_query: $W^{KQ}$, heads by $d + 1$ by $d + 1$.

    Example:
        >>> "projection" in FullAttention.__dataclass_fields__
        True
    """

    projection: Float[Array, "heads width width"]
    key_query: Float[Array, "heads width width"]

    def __call__(self, prepared: Prompt, key: PRNGKey | None = None) -> Scalar:
        """The prediction at the query."""
        E = prepared.tokens.T
        scores = E.T @ (self.key_query @ E[:, -1:])
        moved = E[:, -1:] + jnp.sum(self.projection @ (E @ scores), axis=0) / (E.shape[1] - 1)
        return moved[-1, 0]


def as_written(model: MergedAttention | SeparateAttention) -> FullAttention:
    """The layer as the paper writes it, with the blocks of a reduced one."""
    if isinstance(model, SeparateAttention):
        blocks = jnp.einsum("hri,hrj->hij", model.key, model.query)
    else:
        blocks = jnp.swapaxes(model.key_query, 1, 2)
    edges = ((0, 0), (0, 1), (0, 1))
    corner = jnp.zeros((blocks.shape[1] + 1,) * 2).at[-1, -1].set(1.0)
    return FullAttention(model.value[:, None, None] * corner[None], jnp.pad(blocks, edges))


@kind("model.linear_attention")
class LinearAttention(Recipe):
    r"""A layer of linear attention at its start.

    - `gauss`: every array of $n$ entries, all heads counted, has entries $N(0, s^2/n)$.
    - `authors`: as the code of Zhang et al. (2025) has it: $N(0, s^2)$ where merged; where separate
      $n$ counts the unused blocks too.
    - `theorem`: one merged head, $v = s$, $U = s\,\Theta\Theta^\top$ with a random $\Theta$ of rank
      2 and $\|\Theta\Theta^\top\|_F = 1$.
    - `aligned`: one merged head, $v = s$, $U = sI/\sqrt d$.

    Args:
        form: How keys and queries are written; `full` is the layer with all its blocks.
        heads: Heads.
        rank: Rows of key and query, where they are separate.
        scale: $s$.
        start: How weights are drawn.

    Example:
        >>> LinearAttention(form="merged", heads=2).heads
        2
    """

    form: Form = eqx.field(static=True, default="separate")
    heads: int = eqx.field(static=True, default=5)
    rank: int = eqx.field(static=True, default=1)
    scale: Number = 0.1
    start: Start = eqx.field(static=True, default="gauss")

    def init(
        self, key: PRNGKey, world: Prompts, truth: None
    ) -> MergedAttention | SeparateAttention | FullAttention:
        """Weights at the start."""
        d, H, R = world.dimension, self.heads, self.rank
        k_value, k_key, k_query = named(key, "value", "key", "query")
        if self.start in ("theorem", "aligned"):
            theta = jr.normal(k_key, (d, 2))
            square = theta @ theta.T if self.start == "theorem" else jnp.eye(d)
            block = self.scale * square / jnp.linalg.norm(square)
            return MergedAttention(self.scale * jnp.ones(1), block[None])
        if self.form == "full":
            small = LinearAttention("merged", H, R, self.scale, self.start)
            return as_written(small.init(key, world, truth))  # pyright: ignore[reportArgumentType]
        authors = self.start == "authors"

        def draw(key: PRNGKey, shape: tuple[int, ...], size: int) -> Array:
            return jr.normal(key, shape) * self.scale / math.sqrt(size)

        if self.form == "merged":
            value = draw(k_value, (H,), 1 if authors else H)
            block = draw(k_key, (H, d, d), 1 if authors else H * d * d)
            return MergedAttention(value, block)
        rows = H * R * (d + 1 if authors else d)
        return SeparateAttention(
            draw(k_value, (H,), H * (d + 1) ** 2 if authors else H),
            draw(k_key, (H, R, d), rows),
            draw(k_query, (H, R, d), rows),
        )

    def check(self, world: World) -> None:
        """Refuse sizes and words that make no sense."""
        check_word("model.form", self.form, get_args(Form))
        check_word("model.start", self.start, get_args(Start))
        check_least(self, ("heads", "rank"), prefix="model.")
        check_positive(self, ("scale",), "model.")
        if self.start in ("theorem", "aligned") and (self.form, self.heads) != ("merged", 1):
            raise InputError(
                f"model.start = {self.start} is for one merged head",
                "model.form = merged and model.heads = 1",
            )
