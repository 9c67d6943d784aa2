r"""Shallow ViTs beyond the theorem: several heads, a skip connection, layer norm, two outputs.

Appendix G of li2023. All train with the same loop; grouped training exists for none of them.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from limelight._core.errors import InputError, check_least
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import unit
from limelight._core.types import Example, PRNGKey
from limelight.models.base import Model, Recipe
from limelight.models.shallow import Shallow, ShallowWeights, kept_mean
from limelight.worlds.base import World
from limelight.worlds.classes import FourClasses


class ExtendedViT(Model):
    r"""One layer of several heads, with a skip connection and token normalisation if asked for.

    $$F(X) = \frac{1}{|S|} \sum_l a_{(l)}^\top \mathrm{ReLU}\Big(\sum_h W_{O,h} \big(W_{V,h} X\,
      \mathrm{softmax}(X^\top W_{K,h}^\top W_{Q,h} x_l) + [x_l]\big)\Big)$$

    with $[x_l]$ where there is a skip connection.

    Args:
        weights: The trained maps of all heads, stacked: `output` is [heads, width, value], `value`
            [heads, value, dimension], `key` and `query` [heads, key, dimension].
        readout: $a_{(l)}$, [tokens, width]: a row for each place, not trained.
        frozen: Whether keys and queries keep their values in training, [].
        skip: Whether each token is added to its value; values are then as long as tokens.
        layer_norm: Whether tokens are scaled to unit length first.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world, recipe = ll.worlds.Patterns(tokens=10), ll.models.Extended(heads=2)
        >>> make = lambda: recipe.init(jr.key(0), world, world.draw(jr.key(1)))
        >>> jax.eval_shape(make).weights.value.shape[0]  # heads
        2
    """

    weights: ShallowWeights
    readout: Float[Array, "tokens width"]
    frozen: Bool[Array, ""]
    skip: bool = eqx.field(static=True)
    layer_norm: bool = eqx.field(static=True)

    fixed: ClassVar[tuple[str, ...]] = ("readout", "frozen")

    def prepare(self, example: Example) -> Example:
        """Tokens scaled to unit length, where that is asked for."""
        if not self.layer_norm:
            return example
        return eqx.tree_at(lambda e: e.tokens, example, unit(example.tokens))

    def attention(self, example: Example) -> Float[Array, "tokens tokens"]:
        """Softmax weights, a row for each query, mean over heads."""
        e = self.prepare(example)
        one = lambda w: w.attention(e.tokens, e.kept)
        return jnp.mean(jax.vmap(one)(self.weights), axis=0)

    def hidden(self, prepared: Example) -> Float[Array, "tokens width"]:
        """What reaches the neurons, before they are cut at 0: a row for each query."""
        X = prepared.tokens

        def head(weights: ShallowWeights) -> Float[Array, "tokens width"]:
            w = weights.attention_frozen(self.frozen)
            value = w.context(X, prepared.kept) @ w.value.T
            return (value + X if self.skip else value) @ w.output.T

        return jnp.sum(jax.vmap(head)(self.weights), axis=0)

    def __call__(self, prepared: Example, key: PRNGKey | None = None) -> Float[Array, ""]:
        """The output for one example."""
        hidden = jax.nn.relu(self.hidden(prepared))
        return kept_mean(jnp.sum(self.readout * hidden, axis=-1), prepared.kept)


@kind("model.extended")
class Extended(Recipe):
    r"""A `Shallow` start with several heads, a skip connection, normalised tokens.

    Every head meets Assumption 1 with bases of its own; $W_{O,h}$ has variance $\xi^2/H$, so that
    the output at the start does not depend on the number of heads. With a skip connection
    $W_V = (P + \sigma E)\mathcal M - I$, so that the sum of value and token starts near $p_j$.

    Departures: the multi-head formula is the standard form that fits the surrounding sentences;
        the form of the skip connection is ours. Tokens already have unit length, so that layer
        norm (scaling each token to unit length) changes nothing but noise.

    Args:
        base: Sizes, errors and readout.
        heads: Attention heads.
        skip: Whether the token is added to its value.
        layer_norm: Whether tokens are scaled to unit length first.

    Example:
        >>> import limelight as ll
        >>> ll.models.Extended(ll.models.Shallow(width=8), heads=2, skip=True).heads
        2

    Reference: li2023, appendix G.3 and G.4.
    """

    base: Shallow = Shallow()
    heads: int = eqx.field(static=True, default=1)
    skip: bool = eqx.field(static=True, default=False)
    layer_norm: bool = eqx.field(static=True, default=False)

    def init(self, key: PRNGKey, world: Any, truth: Any) -> ExtendedViT:
        """Weights at the start, a row for each head, and the fixed readout."""
        k_heads, k_readout = named(key, "heads", "readout")
        start = lambda k: self.base.init(k, world, truth).weights
        weights = jax.vmap(start)(jr.split(k_heads, self.heads))
        scaled = weights.output * self.heads**-0.5
        weights = eqx.tree_at(lambda w: w.output, weights, scaled)
        if self.skip:
            moved = weights.value - jnp.eye(world.dimension)[None]
            weights = eqx.tree_at(lambda w: w.value, weights, moved)
        readout = self.base.init(k_readout, world, truth).readout
        return ExtendedViT(
            weights, readout, jnp.asarray(self.base.frozen), self.skip, self.layer_norm
        )

    def check(self, world: World) -> None:
        """Refuse what the base refuses, grouping, and a skip between different dimensions."""
        self.base.check(world)
        if self.base.groups:
            raise InputError("grouped training is for the plain model", "set base.groups=false")
        check_least(self, ("heads",), prefix="model.")
        if self.skip and self.base.value_dimension not in (None, getattr(world, "dimension", None)):
            raise InputError("a skip connection needs values as long as tokens")


class FourWayViT(Model):
    r"""Two outputs, one for each label bit, that share attention and values.

    $F_u(X) = \frac{1}{|S|} \sum_l a_{u,(l)}^\top \mathrm{ReLU}(W_{O,u} W_V X\,
    \mathrm{softmax}(\cdot))$.

    Args:
        weights: The trained maps; their `output` is $W_{O,1}$.
        second: $W_{O,2}$, [width, value]; `None` where the two outputs share one.
        readout: $a_{u,(l)}$, [2, tokens, width], not trained.
        frozen: Whether keys and queries keep their values in training, [].

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.FourClasses(tokens=10)
        >>> recipe = ll.models.FourWay(ll.models.Shallow(width=4))
        >>> make = lambda: recipe.init(jr.key(0), world, world.draw(jr.key(1)))
        >>> jax.eval_shape(make).readout.shape
        (2, 10, 4)
    """

    weights: ShallowWeights
    second: Float[Array, "width value"] | None
    readout: Float[Array, "2 tokens width"]
    frozen: Bool[Array, ""]

    fixed: ClassVar[tuple[str, ...]] = ("readout", "frozen")

    def attention(self, example: Example) -> Float[Array, "tokens tokens"]:
        """Softmax weights, a row for each query."""
        return self.weights.attention(example.tokens, example.kept)

    def __call__(self, prepared: Example, key: PRNGKey | None = None) -> Float[Array, "2"]:
        """Both outputs for one example."""
        w, X = self.weights.attention_frozen(self.frozen), prepared.tokens
        value = w.context(X, prepared.kept) @ w.value.T
        maps = (w.output, w.output if self.second is None else self.second)
        outputs = [
            kept_mean(jnp.sum(a * jax.nn.relu(value @ m.T), axis=-1), prepared.kept)
            for a, m in zip(self.readout, maps, strict=True)
        ]
        return jnp.stack(outputs)


@kind("model.four_way")
class FourWay(Recipe):
    r"""A `Shallow` start with two outputs, for worlds with four classes.

    Prediction of the theory: neurons fall into four groups by the signs of their two output
    weights, and a group grows along the value feature of its own class only.

    Departures: the paper's loss $\max(1 - y^\top F, 0)$ does not make both bits right; the loss
        `per_bit` of `Train` does.

    Args:
        base: Sizes, errors and readout.
        separate: Whether each output has a $W_O$ of its own; the grouping needs a shared one.

    Example:
        >>> import limelight as ll
        >>> ll.models.FourWay(ll.models.Shallow(width=8)).base.width
        8

    Reference: li2023, appendix G.1.
    """

    base: Shallow = Shallow()
    separate: bool = eqx.field(static=True, default=False)

    def init(self, key: PRNGKey, world: Any, truth: Any) -> FourWayViT:
        """Weights at the start, and the two fixed readouts."""
        k_first, k_second = named(key, "first", "second")
        one, two = (self.base.init(k, world, truth) for k in (k_first, k_second))
        second = two.weights.output if self.separate else None
        readout = jnp.stack([one.readout, two.readout])
        return FourWayViT(one.weights, second, readout, jnp.asarray(self.base.frozen))

    def check(self, world: World) -> None:
        """Refuse what the base refuses, grouping, and worlds with one label bit."""
        self.base.check(world)
        if self.base.groups:
            raise InputError("grouped training is for the plain model", "set base.groups=false")
        if not isinstance(world, FourClasses):
            raise InputError("two outputs need a world with two label bits", "use FourClasses")
