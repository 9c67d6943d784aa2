r"""The one-layer ViT of li2023, token by token and, without token noise, group by group.

$$F(X) = \frac{1}{|S|} \sum_{l \in S} a_{(l)}^\top
    \mathrm{ReLU}\big(W_O W_V X_S\, \mathrm{softmax}(X_S^\top W_K^\top W_Q x_l)\big)$$
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from limelight._core.errors import InputError, check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import masked_softmax, softmax_mean, unit
from limelight._core.types import Example, Number, PRNGKey
from limelight.models.base import Model, Recipe
from limelight.worlds.base import World
from limelight.worlds.classes import FourClasses
from limelight.worlds.patterns import Patterns, PatternTruth
from limelight.worlds.sets import PatternSets

#: Worlds whose truth is a set of patterns that a start can be tied to.
PatternWorld = Patterns | PatternSets | FourClasses


class ShallowWeights(eqx.Module):
    r"""The four trained maps of a shallow ViT; with several heads, stacked over them.

    Args:
        output: $W_O$, [width, value]: a row for each hidden neuron.
        value: $W_V$, [value, dimension].
        key: $W_K$, [key, dimension].
        query: $W_Q$, [key, dimension].

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world, recipe = ll.worlds.Patterns(tokens=10), ll.models.Shallow(width=4)
        >>> make = lambda: recipe.init(jr.key(0), world, world.draw(jr.key(1)))
        >>> jax.eval_shape(make).weights.key.shape
        (10, 10)
    """

    output: Float[Array, "*heads width value"]
    value: Float[Array, "*heads value dimension"]
    key: Float[Array, "*heads key dimension"]
    query: Float[Array, "*heads key dimension"]

    @property
    def product(self) -> Float[Array, "dimension dimension"]:
        r"""$G = W_K^\top W_Q$: all that the attention depends on."""
        return self.key.T @ self.query

    def attention(
        self, tokens: Float[Array, "tokens dimension"], kept: Bool[Array, " tokens"]
    ) -> Float[Array, "tokens tokens"]:
        r"""Softmax weights, a row for each query: $s_{lj} = \mathrm{softmax}_j(x_j^\top G x_l)$.

        Removed tokens are no keys. (They are no queries either: what reads the rows drops them.)
        """
        return masked_softmax(self.logits(tokens), kept)

    def context(
        self, tokens: Float[Array, "tokens dimension"], kept: Bool[Array, " tokens"]
    ) -> Float[Array, "tokens dimension"]:
        r"""What each query sees: the mean of the kept tokens by attention, $\sum_j s_{lj} x_j$."""
        return softmax_mean(self.logits(tokens), tokens, kept)

    def logits(self, tokens: Float[Array, "tokens dimension"]) -> Float[Array, "tokens tokens"]:
        r"""How well each key fits each query, $x_j^\top G x_l$: a row for each query."""
        return tokens @ self.product.T @ tokens.T

    def attention_frozen(self, frozen: Bool[Array, ""]) -> "ShallowWeights":
        """The same weights, blind to gradients in keys and queries where `frozen`."""
        still = lambda w: jnp.where(frozen, jax.lax.stop_gradient(w), w)
        return ShallowWeights(self.output, self.value, still(self.key), still(self.query))


class ShallowViT(Model):
    r"""A shallow ViT token by token: any noise, any mask. It is called on an `Example`.

    Args:
        weights: The trained maps.
        readout: $a_{(l)}$, [tokens, width]: a row for each place, not trained.
        frozen: Whether keys and queries keep their values in training, [].

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world, recipe = ll.worlds.Patterns(tokens=10), ll.models.Shallow(width=4)
        >>> make = lambda: recipe.init(jr.key(0), world, world.draw(jr.key(1)))
        >>> jax.eval_shape(make).readout.shape
        (10, 4)
    """

    weights: ShallowWeights
    readout: Float[Array, "tokens width"]
    frozen: Bool[Array, ""]

    fixed: ClassVar[tuple[str, ...]] = ("readout", "frozen")

    def attention(self, example: Example) -> Float[Array, "tokens tokens"]:
        """Softmax weights, a row for each query."""
        return self.weights.attention(example.tokens, example.kept)

    def __call__(self, prepared: Example, key: PRNGKey | None = None) -> Float[Array, ""]:
        """The paper's equation (1)."""
        w = self.weights.attention_frozen(self.frozen)
        context = w.context(prepared.tokens, prepared.kept)
        hidden = jax.nn.relu(context @ (w.output @ w.value).T)
        return kept_mean(jnp.sum(self.readout * hidden, axis=-1), prepared.kept)


class Grouped(eqx.Module):
    r"""What the grouped model reads of an example: its label and $\bar A_k$ for each pattern.

    $\bar A_k = \frac{1}{L} \sum_{l : x_l = \mu_k} a_{(l)}$.
    """

    positive: Bool[Array, ""]
    readout: Float[Array, "patterns width"]


class GroupedViT(Model):
    r"""The same function where tokens equal their patterns, exactly, at a fraction of the cost.

    Without noise all tokens of a pattern share one context, so $L$ queries and keys collapse to
    $M$ groups: logits $\mu_s^\top G \mu_k + \log n_s$ and a readout summed per group, once per
    example. Counts depend on the label alone, so the $M$ contexts and hidden vectors are computed
    once for each label and an example costs one dot product of length $M m$.

    Args:
        weights: The trained maps.
        readout: $a_{(l)}$, [tokens, width]: a row for each place, not trained.
        frozen: Whether keys and queries keep their values in training, [].
        patterns: $\mu_k$, [patterns, dimension]: a row for each pattern.
        log_counts: $\log n_s$, [2, patterns]: tokens of each pattern, for label +1 and label -1.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world, recipe = ll.worlds.Patterns(tokens=10), ll.models.Shallow(width=4, groups=True)
        >>> make = lambda: recipe.init(jr.key(0), world, world.draw(jr.key(1)))
        >>> jax.eval_shape(make).patterns.shape
        (5, 10)

    Reference: li2023, equation (1); the collapse is ours.
    """

    weights: ShallowWeights
    readout: Float[Array, "tokens width"]
    frozen: Bool[Array, ""]
    patterns: Float[Array, "patterns dimension"]
    log_counts: Float[Array, "2 patterns"]

    fixed: ClassVar[tuple[str, ...]] = ("readout", "frozen", "patterns", "log_counts")

    def prepare(self, example: Example) -> Grouped:
        """Which pattern each token is, and the readout summed over each pattern's tokens."""
        pattern = jnp.argmax(example.tokens @ self.patterns.T, axis=-1)
        member = jax.nn.one_hot(pattern, self.patterns.shape[0])
        return Grouped(example.label > 0, member.T @ self.readout / len(pattern))

    def attention(self, example: Example) -> Float[Array, "tokens tokens"]:
        """Softmax weights, a row for each query, token by token."""
        return self.weights.attention(example.tokens, example.kept)

    def hidden(self) -> Float[Array, "2 patterns width"]:
        """Hidden vectors of each query pattern, for label +1 and label -1."""
        w, mu = self.weights.attention_frozen(self.frozen), self.patterns
        logits = mu @ w.product.T @ mu.T  # rows are queries, columns keys
        attention = jax.nn.softmax(logits[None] + self.log_counts[:, None, :], axis=-1)
        return jax.nn.relu(attention @ (mu @ w.value.T @ w.output.T))

    def __call__(self, prepared: Grouped, key: PRNGKey | None = None) -> Float[Array, ""]:
        """The paper's equation (1), group by group."""
        plus, minus = self.hidden()
        return jnp.sum(prepared.readout * jnp.where(prepared.positive, plus, minus))


@kind("model.shallow")
class Shallow(Recipe):
    r"""How a shallow ViT starts.

    Starts: `perturb` sets $W_V = (P + \sigma E_V)\,\mathcal M$ and
    $W_K, W_Q = (Q + \delta E_{K,Q})\,\mathcal M$ with independent random unit columns in $E$, so
    that the errors of Assumption 1 are exactly $\sigma$ and $\delta$; `scale` shrinks instead,
    $(1-\sigma) P \mathcal M$ and $(1-\delta) Q \mathcal M$, and keeps all norms at most 1;
    `literal` is the printed one, $(\delta^2/c_0^2) I$ and $(\sigma^2/c_0^2) U$, which saturates
    the softmax and cannot learn.

    Notation: `width` is their $m$, `value_error` their $\sigma$, `key_error` their $\delta$,
        `output_scale` their $\xi$, `value_dimension` and `key_dimension` their $m_a$ and $m_b$.
    Departures: $P$ and $Q$ are the first axes (rotations commute with training); for patterns
        that are not orthonormal the trailing $\mathcal M$ is the pseudo-inverse of its transpose.
        `perturb` exceeds the norm 1 of Assumption 1 by up to about 0.2; `scale` does not. The
        printed start names $W_Q$ twice; the first is read as $W_K$.

    Args:
        width: Hidden neurons.
        value_error: How far the value map starts from orthonormal features.
        key_error: The same for keys and queries.
        output_scale: Standard deviation of the output weights at the start.
        frozen: Whether keys and queries keep their start (their "no self-attention" baseline).
        value_dimension: Length of a value; the token's when `None`.
        key_dimension: Length of keys and queries; the token's when `None`.
        readout: `position`, independent signs for each place as in their Algorithm 1; `shared`,
            one sign per neuron as in their proofs; `shared_scaled`, that over the root of the
            tokens.
        start: `perturb`, `scale` or `literal`.
        groups: Whether to collapse equal tokens (exact; needs a world without token noise).

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.Patterns(tokens=10)
        >>> make = lambda: ll.models.Shallow(width=4).init(jr.key(0), world, world.draw(jr.key(1)))
        >>> model = jax.eval_shape(make)
        >>> model.weights.output.shape
        (4, 10)

    Reference: li2023, Algorithm 1 and Assumption 1.
    """

    width: int = eqx.field(static=True, default=100)
    value_error: Number = 0.1
    key_error: Number = 0.2
    output_scale: Number = 0.01
    frozen: bool | Array = False
    value_dimension: int | None = eqx.field(static=True, default=None)
    key_dimension: int | None = eqx.field(static=True, default=None)
    readout: str = eqx.field(static=True, default="position")
    start: str = eqx.field(static=True, default="perturb")
    groups: bool = eqx.field(static=True, default=False)

    @property
    def honours_masks(self) -> bool:
        """Not when grouped: removal gives every example counts of its own."""
        return not self.groups

    def init(
        self, key: PRNGKey, world: PatternWorld, truth: PatternTruth
    ) -> "ShallowViT | GroupedViT":
        """Weights at the start, and the fixed readout."""
        k_maps, k_output, k_readout = named(key, "maps", "output", "readout")
        value, key_map, query = self._maps(k_maps, world, truth)
        output = self.output_scale * jr.normal(k_output, (self.width, value.shape[0]))
        weights = ShallowWeights(output, value, key_map, query)
        readout = self._readout(k_readout, world.tokens)
        frozen = jnp.asarray(self.frozen)
        if not self.groups:
            return ShallowViT(weights, readout, frozen)
        assert isinstance(world, Patterns), "checked"
        counts = jnp.stack([world.counts(jnp.array(label)) for label in (1.0, -1.0)])
        # A pattern that does not occur has log 0 = -inf: weight exactly 0, and no gradient asks.
        log_counts = jnp.log(counts.astype(float))
        return GroupedViT(weights, readout, frozen, truth.patterns, log_counts)

    def check(self, world: World) -> None:
        """Refuse sizes and errors that the starts cannot meet."""
        if not isinstance(world, PatternWorld):
            raise InputError(
                f"Shallow needs a world like Patterns, not {type(world).__name__}",
                "its start is tied to the patterns",
            )
        check_word("model.readout", self.readout, ("position", "shared", "shared_scaled"))
        check_word("model.start", self.start, ("perturb", "scale", "literal"))
        value, key = self._dimensions(world)
        if min(value, key) < world.patterns:
            raise InputError(
                f"{world.patterns} patterns do not fit value and key dimensions {value}, {key}",
                "make model.value_dimension and model.key_dimension at least world.patterns",
            )
        check_least(self, ("width",), prefix="model.")
        if self.groups and not isinstance(world, Patterns):
            raise InputError(
                "grouped training needs one label and one pattern per token",
                "set model.groups=false",
            )
        if self.groups and world.noise is not None:
            raise InputError(
                "grouped training needs tokens without noise",
                "set world.noise=none or model.groups=false",
            )
        if self.start == "scale" and not (0 <= self.value_error < 1 and 0 <= self.key_error < 1):
            raise InputError("the scale start needs errors below 1", "use model.start=perturb")
        if self.start == "literal" and not world.noise:
            raise InputError("the literal start divides by the noise", "set world.noise=0.01")
        if self.start == "literal" and not (value == key == world.dimension):
            raise InputError("the literal start needs square maps", "leave the dimensions alone")

    def _dimensions(self, world: PatternWorld) -> tuple[int, int]:
        return self.value_dimension or world.dimension, self.key_dimension or world.dimension

    def _maps(self, key: PRNGKey, world: PatternWorld, truth: PatternTruth):
        value, key_size = self._dimensions(world)
        if self.start == "literal":
            scale = 1.0 / jnp.asarray(world.noise) ** 2
            same = self.key_error**2 * scale * jnp.eye(world.dimension)
            return self.value_error**2 * scale * jnp.eye(world.dimension), same, same
        mu = truth.patterns
        onto = mu if truth.duals is None else truth.duals
        # Features are the patterns' images under an isometry; for orthonormal ones, the first axes.
        P, Q = jnp.eye(value, world.dimension) @ mu.T, jnp.eye(key_size, world.dimension) @ mu.T
        if self.start == "scale":
            shrunk = (1 - self.key_error) * Q @ onto
            return (1 - self.value_error) * P @ onto, shrunk, shrunk
        k_value, k_key, k_query = named(key, "value", "key", "query")
        return (
            (P + self.value_error * unit(jr.normal(k_value, P.shape), 0)) @ onto,
            (Q + self.key_error * unit(jr.normal(k_key, Q.shape), 0)) @ onto,
            (Q + self.key_error * unit(jr.normal(k_query, Q.shape), 0)) @ onto,
        )

    def _readout(self, key: PRNGKey, tokens: int) -> Float[Array, "tokens width"]:
        rows = tokens if self.readout == "position" else 1
        signs = jr.rademacher(key, (rows, self.width), dtype=int).astype(float)
        scale = tokens**-0.5 if self.readout == "shared_scaled" else 1.0
        return jnp.broadcast_to(signs * scale / self.width**0.5, (tokens, self.width))


def kept_mean(values: Float[Array, " tokens"], kept: Bool[Array, " tokens"]) -> Float[Array, ""]:
    r"""Mean over the kept tokens, $\frac{1}{|S|} \sum_{l \in S}$."""
    return jnp.sum(jnp.where(kept, values, 0.0)) / jnp.sum(kept)
