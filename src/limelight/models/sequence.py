r"""Bounded-norm attention over bits: heads that ask from [CLS], and a ReLU network after them.

The architecture of edelman2022's constructions as a model of the flow. It can start at a
construction, where it already computes its function, or at random weights of the same or any other
size; so what is representable and what is learnable meet on one plot.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Example, Number, PRNGKey
from limelight.models.base import Model, Recipe
from limelight.models.heads import HeadWeights
from limelight.worlds.base import World
from limelight.worlds.boolean import SparseBoolean


class SequenceNet(Model):
    r"""Heads read at [CLS], summed, and a three-layer ReLU network on the first coordinates.

    Scores and values are computed for both bits of every position, and an example only picks among
    them: no work on tokens is done twice in a batch.

    Args:
        symbols: Token vectors of both bits, not trained: [length, 2, dimension] for every position,
            or [1, 2, dimension] for all at once.
        positions: Trained vectors added to them, [length, dimension]; `None` where positions are
            fixed.
        asking: The [CLS] token, [dimension], attended to as well; not trained.
        heads: Weights stacked over heads: `query`, `key` and `value` are [heads, dimension, k],
            `output` is [heads, k, dimension].
        first: First layer, [inputs + 1, hidden], the bias as its last row. It reads the first
            `inputs` coordinates of the sum of heads.
        second: Second layer, [hidden + 1, pairs], the bias as its last row.
        readout: Third layer, [pairs].
        scale: Output is `scale * net + shift`: 2 and -1 turn values 0, 1 into labels.
        shift: See `scale`.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.SparseBoolean(length=8, sparsity=2)
        >>> make = lambda: ll.models.Sequence(width=8).init(jr.key(0), world, world.draw(jr.key(1)))
        >>> jax.eval_shape(make).asking.shape
        (8,)
    """

    symbols: Float[Array, "places 2 dimension"]
    positions: Float[Array, "length dimension"] | None
    asking: Float[Array, " dimension"]
    heads: HeadWeights
    first: Float[Array, "inputs_and_bias hidden"]
    second: Float[Array, "hidden_and_bias pairs"]
    readout: Float[Array, " pairs"]
    scale: float = eqx.field(static=True, default=1.0)
    shift: float = eqx.field(static=True, default=0.0)

    fixed: ClassVar[tuple[str, ...]] = ("symbols", "asking")

    def tokens(self) -> Float[Array, "length 2 dimension"]:
        """Both values of every token."""
        return self.symbols if self.positions is None else self.symbols + self.positions[:, None]

    def scores(self) -> tuple[Float[Array, "heads length 2"], Float[Array, " heads"]]:
        """What every token and [CLS] score in every head."""
        asked = jnp.einsum("hdk,hek,e->hd", self.heads.key, self.heads.query, self.asking)
        return jnp.einsum("tbd,hd->htb", self.tokens(), asked), asked @ self.asking

    def attention_from_cls(self, example: Example) -> Float[Array, "heads everything"]:
        """Attention of every head from [CLS]: to the tokens, and last to itself."""
        table, own = self.scores()
        picked = jnp.einsum("htb,tb->ht", table, example.tokens)
        everything = jnp.concatenate([picked, own[:, None]], axis=1)
        kept = jnp.concatenate([example.kept, jnp.array([True])])
        return jax.nn.softmax(everything, axis=-1, where=kept[None, :])

    def head_output(self, example: Example) -> Float[Array, " inputs"]:
        """The sum of heads, as far as the network reads it."""
        read = self.first.shape[0] - 1
        weights = self.attention_from_cls(example)
        through = self.heads.value @ self.heads.output[:, :, :read]
        table = jnp.einsum("tbd,hdi->htbi", self.tokens(), through)
        own = jnp.einsum("d,hdi->hi", self.asking, through)
        mixed = jnp.einsum("ht,tb,htbi->i", weights[:, :-1], example.tokens, table)
        return mixed + weights[:, -1] @ own

    def __call__(self, prepared: Example, key: PRNGKey | None = None) -> Float[Array, ""]:
        """The network's output on one example."""
        mixed = self.head_output(prepared)
        hidden = jax.nn.relu(mixed @ self.first[:-1] + self.first[-1])
        pairs = jax.nn.relu(hidden @ self.second[:-1] + self.second[-1])
        return self.scale * (pairs @ self.readout) + self.shift


@kind("model.sequence")
class Sequence(Recipe):
    r"""Bounded-norm attention at a random start: orthonormal symbols, trained positions.

    Notation: `width` is their $d$, `heads` $H$; heads have width $d / H$.
    Departures: the network of their experiments has LayerNorm, residual branches and dropout; this
        is the architecture that their bounds and constructions are about.

    Args:
        width: Coordinates of a token; at least 3.
        heads: Heads, a divisor of the width.
        hidden: Neurons of the two hidden layers.
        position_scale: Length of a position vector at the start.
        gain: Scale of the attention weights at the start; 1 keeps lengths.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.SparseBoolean(length=8, sparsity=2)
        >>> make = lambda: ll.models.Sequence(width=8).init(jr.key(0), world, world.draw(jr.key(1)))
        >>> model = jax.eval_shape(make)
        >>> model.positions.shape
        (8, 8)
    """

    width: int = eqx.field(static=True, default=64)
    heads: int = eqx.field(static=True, default=4)
    hidden: int = eqx.field(static=True, default=64)
    position_scale: Number = 1.0
    gain: Number = 1.0

    def init(self, key: PRNGKey, world: SparseBoolean, truth: Any) -> SequenceNet:
        """Gaussian weights that keep lengths, biases 0."""
        k_heads, k_net, k_place = named(key, "heads", "net", "positions")
        d, k, hidden = self.width, self.width // self.heads, self.hidden
        axes = jnp.eye(d)
        draws = {
            name: jr.normal(sub, (self.heads, *shape)) / shape[0] ** 0.5
            for name, sub, shape in zip(
                HeadWeights._fields,
                jr.split(k_heads, 4),
                ((d, k), (d, k), (d, k), (k, d)),
                strict=True,
            )
        }
        k_first, k_second, k_readout = jr.split(k_net, 3)
        return SequenceNet(
            symbols=axes[None, :2],
            positions=self.position_scale * jr.normal(k_place, (world.length, d)) / d**0.5,
            asking=axes[2],
            heads=HeadWeights(**{name: self.gain * draw for name, draw in draws.items()}),
            first=_with_bias(jr.normal(k_first, (d, hidden)) * (2 / d) ** 0.5),
            second=_with_bias(jr.normal(k_second, (hidden, hidden)) * (2 / hidden) ** 0.5),
            readout=jr.normal(k_readout, (hidden,)) / hidden**0.5,
        )

    def check(self, world: World) -> None:
        """Refuse worlds without bits, and sizes that do not fit."""
        needs_bits(world, "Sequence")
        if self.width < 3 or self.heads < 1 or self.width % self.heads:
            raise InputError(
                f"{self.heads} heads do not share a width of {self.width}",
                "a width of at least 3, and a divisor of it",
            )
        check_least(self, ("hidden",), prefix="model.")


def _with_bias(weight: Array) -> Array:
    return jnp.concatenate([weight, jnp.zeros((1, weight.shape[1]))])


def needs_bits(world: World, name: str) -> SparseBoolean:
    """Refuse worlds without bits, in the name of the model that reads them."""
    if not isinstance(world, SparseBoolean):
        raise InputError(
            f"{name} reads bits, not the tokens of {type(world).__name__}",
            "use a SparseBoolean world",
        )
    return world
