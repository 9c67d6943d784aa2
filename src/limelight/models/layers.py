"""The layers that networks for images are made of: affine maps, layer norm, attention, blocks.

Everything acts on the rows of one example: `x @ weight`, one row per token.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from limelight._core.keys import named
from limelight._core.numerics import masked_softmax, widened
from limelight._core.types import PRNGKey

Tokens = Float[Array, "tokens width"]
Heads = Float[Array, "heads tokens tokens"]


class Affine(eqx.Module):
    """`x @ weight + bias`, the bias where there is one.

    Args:
        weight: [inputs, outputs].
        bias: [outputs], or `None`.

    Example:
        >>> import limelight as ll, jax.numpy as jnp
        >>> ll.models.Affine(2 * jnp.eye(2), jnp.ones(2))(jnp.array([1.0, 3.0])).tolist()
        [3.0, 7.0]
    """

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"] | None

    def __call__(self, x: Float[Array, "*rows inputs"]) -> Float[Array, "*rows outputs"]:
        """The map, on the last axis."""
        y = x @ self.weight
        return y if self.bias is None else y + jnp.broadcast_to(self.bias, y.shape)


def affine(key: PRNGKey, inputs: int, outputs: int, bias: bool = True) -> Affine:
    """A start that keeps the size of a row: variance one over the inputs, no shift."""
    weight = jr.normal(key, (inputs, outputs)) * inputs**-0.5
    return Affine(weight, jnp.zeros(outputs) if bias else None)


class Norm(eqx.Module):
    """Layer norm: each row to mean 0 and variance 1, then a gain and a shift.

    Args:
        gain: [width].
        shift: [width].
        epsilon: Added to the variance.
        centred: Whether the mean is subtracted; if not, it is the root mean square norm.

    Example:
        >>> import limelight as ll, jax.numpy as jnp
        >>> ll.models.Norm(jnp.ones(2), jnp.zeros(2))(jnp.array([1.0, 3.0])).round(3).tolist()
        [-1.0, 1.0]
    """

    gain: Float[Array, " width"]
    shift: Float[Array, " width"]
    epsilon: float = eqx.field(static=True, default=1e-6)
    centred: bool = eqx.field(static=True, default=True)

    def __call__(self, x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
        """The normalised rows."""
        wide = widened(x)
        centred = wide - jnp.mean(wide, axis=-1, keepdims=True) if self.centred else wide
        variance = jnp.mean(centred**2, axis=-1, keepdims=True)
        unit = centred * jax.lax.rsqrt(variance + self.epsilon)
        across = lambda v: jnp.broadcast_to(v, x.shape)
        return (unit * across(self.gain) + across(self.shift)).astype(x.dtype)


def norm(width: int) -> Norm:
    """A norm that neither stretches nor shifts."""
    return Norm(jnp.ones(width), jnp.zeros(width))


class Rotary(eqx.Module):
    r"""Positions as rotations of queries and keys: pairs of columns turn by an angle per token.

    $$x \mapsto x \cos\theta_t + \mathrm{turned}(x) \sin\theta_t$$

    Args:
        cos: A row for each token; ones for a class token or register, which do not turn.
        sin: The same; zeros there.
        half: Whether column $i$ is paired with $i + d/2$, or with its neighbour.
    """

    cos: Float[Array, "tokens size"]
    sin: Float[Array, "tokens size"]
    half: bool = eqx.field(static=True, default=False)

    def __call__(
        self, x: Float[Array, "heads some size"], rows: Int[Array, " some"] | None = None
    ) -> Float[Array, "heads some size"]:
        """The rows turned; `rows` says which tokens they are, all in order when `None`."""
        cos, sin = (t if rows is None else t[rows] for t in (self.cos, self.sin))
        return x * cos[None] + self._turned(x) * sin[None]

    def _turned(self, x):
        if self.half:
            first, second = jnp.split(x, 2, axis=-1)
            return jnp.concatenate([-second, first], axis=-1)
        return jnp.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)


class Attention(eqx.Module):
    r"""Heads side by side, $S = \mathrm{softmax}(Q K^\top / \sqrt{d_h})$ in each.

    With `places` queries and keys are made from them and not from the tokens (positional
    attention). $S$ is then a function of the weights alone, and stays one matrix per head however
    many examples a `vmap` carries: what is masked leaves the sums, not the softmax,
    $\sum_{j \in \mathcal K} S_{ij} v_j / \sum_{j \in \mathcal K} S_{ij}$, which is the same number
    (`among` gives the weights in it).

    Real networks add to the scores' making: norms of each head's queries and keys, rotations by
    position, and a bias for every pair of tokens.

    Args:
        query: [width, width], its columns divided among the heads.
        key: The same.
        value: The same.
        output: [width, width].
        heads: How many.
        query_norm: On the queries of each head, where there is one.
        key_norm: On its keys.
        rotary: Turns both.
        bias: Added to the scores, by head, query and key.

    Example:
        >>> import limelight as ll, jax.numpy as jnp
        >>> same = ll.models.Affine(jnp.eye(4), None)
        >>> ll.models.Attention(same, same, same, same, heads=2).heads
        2
    """

    query: Affine
    key: Affine
    value: Affine
    output: Affine
    heads: int = eqx.field(static=True)
    query_norm: Norm | None = None
    key_norm: Norm | None = None
    rotary: Rotary | None = None
    bias: Heads | None = None

    def __call__(
        self,
        x: Tokens,
        kept: Bool[Array, " tokens"],
        places: Tokens | None = None,
        rows: Int[Array, " tokens"] | None = None,
    ) -> tuple[Tokens, Heads]:
        """What the tokens take in, and the softmax, a row for each query."""
        mixed, S = self.mix(x, kept, places, rows)
        return self.output(mixed), S

    def mix(
        self,
        x: Tokens,
        kept: Bool[Array, " tokens"],
        places: Tokens | None = None,
        rows: Int[Array, " tokens"] | None = None,
    ) -> tuple[Tokens, Heads]:
        """Values averaged in every head, before the output map; and the softmax.

        `rows` says which of the network's tokens these are, where some are gone.
        """
        values = self.values(x)
        if places is None:
            S = masked_softmax(self._logits(x, rows), kept).astype(x.dtype)
            mixed = jnp.einsum("hqk,hkd->hqd", S, values)
        else:
            S = jax.nn.softmax(self._logits(places), axis=-1).astype(x.dtype)
            there = kept.astype(x.dtype)
            mixed = jnp.einsum("hqk,hkd->hqd", S, values * there[None, :, None])
            mixed = mixed / (S @ there)[..., None]
        return self.joined(mixed), S

    def values(self, x: Tokens) -> Float[Array, "heads tokens size"]:
        """What is averaged."""
        return self._split(self.value(x))

    def joined(self, mixed: Float[Array, "heads tokens size"]) -> Tokens:
        """Heads side by side again."""
        return mixed.transpose(1, 0, 2).reshape(mixed.shape[1], -1)

    def _logits(self, source: Tokens, rows: Int[Array, " tokens"] | None = None) -> Heads:
        q, k = self._split(self.query(source)), self._split(self.key(source))
        q = q if self.query_norm is None else self.query_norm(q)
        k = k if self.key_norm is None else self.key_norm(k)
        if self.rotary is not None:
            q, k = self.rotary(q, rows), self.rotary(k, rows)
        scores = widened(jnp.einsum("hqd,hkd->hqk", q, k)) * q.shape[-1] ** -0.5
        if self.bias is None:
            return scores
        return scores + (self.bias if rows is None else self.bias[:, rows][:, :, rows])

    def _split(self, rows: Tokens) -> Float[Array, "heads tokens size"]:
        return rows.reshape(len(rows), self.heads, -1).transpose(1, 0, 2)


def among(
    S: Float[Array, "heads queries tokens"], kept: Bool[Array, " tokens"]
) -> Float[Array, "heads queries tokens"]:
    """Attention among the kept tokens: the others' weights are 0, the rest add up to 1."""
    held = S * kept.astype(S.dtype)[None, None, :]
    return held / jnp.sum(held, axis=-1, keepdims=True)


#: What a neuron makes of its input, by name.
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x: jax.nn.gelu(x, approximate=True),
    "quick_gelu": lambda x: x * jax.nn.sigmoid(1.702 * x),
    "silu": jax.nn.silu,
    "relu": jax.nn.relu,
}


class Block(eqx.Module):
    """Attention, then a two-layer perceptron; each reads normalised rows and adds to them.

    Args:
        norm_attention: Before attention.
        attention: The heads.
        norm_mlp: Before the perceptron.
        into: Its first layer, [width, hidden].
        out: Its second layer, [hidden, width].
        gate: Where neurons are gated, what is activated instead and then multiplied with `into`.
        norm_hidden: On the neurons, where there is one.
        activation: One of `ACTIVATIONS`.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> make = lambda: ll.models.Vision(width=8, heads=2).init(jr.key(0),
        ...     ll.worlds.Images(patch=4), None)
        >>> vit = jax.eval_shape(make)
        >>> vit.blocks[0].into.weight.shape
        (8, 64)
    """

    norm_attention: Norm
    attention: Attention
    norm_mlp: Norm
    into: Affine
    out: Affine
    gate: Affine | None = None
    norm_hidden: Norm | None = None
    activation: str = eqx.field(static=True, default="gelu")

    def __call__(
        self,
        x: Tokens,
        kept: Bool[Array, " tokens"],
        places: Tokens | None = None,
        weights: Float[Array, "2"] | None = None,
        rows: Int[Array, " tokens"] | None = None,
    ) -> tuple[Tokens, Heads]:
        """The rows after the block, and its softmax.

        `weights` scales the two additions: a branch that is left out has 0. `rows` says which
        tokens these are, where some are gone.
        """
        weights = None if weights is None else weights.astype(x.dtype)
        taken, S = self.attention(self.norm_attention(x), kept, places, rows)
        x = x + (taken if weights is None else weights[0] * taken)
        added = self.perceptron(x)
        return x + (added if weights is None else weights[1] * added), S

    def perceptron(self, x: Tokens) -> Tokens:
        """What it adds to rows that attention has added to."""
        return self.out(self._hidden(self.norm_mlp(x)))

    def _hidden(self, rows: Tokens) -> Float[Array, "tokens hidden"]:
        active = ACTIVATIONS[self.activation]
        if self.gate is None:
            hidden = active(self.into(rows))
        else:
            hidden = active(self.gate(rows)) * self.into(rows)
        return hidden if self.norm_hidden is None else self.norm_hidden(hidden)


class AttentionPool(eqx.Module):
    """One trained query reads all rows; a perceptron adds to what it takes in.

    Args:
        query: What asks, mapped already: [width], its entries divided among the heads.
        key: [width, width].
        value: The same.
        output: The same.
        norm: Before the perceptron.
        into: Its first layer.
        out: Its second layer.
        heads: How many.
        activation: One of `ACTIVATIONS`.
    """

    query: Float[Array, " width"]
    key: Affine
    value: Affine
    output: Affine
    norm: Norm
    into: Affine
    out: Affine
    heads: int = eqx.field(static=True)
    activation: str = eqx.field(static=True, default="gelu")

    def __call__(self, rows: Tokens, kept: Bool[Array, " tokens"]) -> Float[Array, " width"]:
        """The pooled row."""
        split = lambda x: x.reshape(len(x), self.heads, -1).transpose(1, 0, 2)
        q, k, v = split(self.query[None]), split(self.key(rows)), split(self.value(rows))
        scores = widened(jnp.einsum("hqd,hkd->hqk", q, k)) * q.shape[-1] ** -0.5
        S = masked_softmax(scores, kept).astype(rows.dtype)
        mixed = jnp.einsum("hqk,hkd->hqd", S, v).reshape(1, -1)
        pooled = self.output(mixed)
        hidden = ACTIVATIONS[self.activation](self.into(self.norm(pooled)))
        return (pooled + self.out(hidden))[0]


def block(key: PRNGKey, width: int, heads: int, hidden: int, qkv_bias: bool) -> Block:
    """A block at its start."""
    names = ("query", "key", "value", "output", "into", "out")
    keys = dict(zip(names, named(key, *names), strict=True))
    square = lambda name, bias: affine(keys[name], width, width, bias)
    attention = Attention(
        square("query", qkv_bias),
        square("key", qkv_bias),
        square("value", qkv_bias),
        square("output", True),
        heads,
    )
    into, out = affine(keys["into"], width, hidden), affine(keys["out"], hidden, width)
    return Block(norm(width), attention, norm(width), into, out)
