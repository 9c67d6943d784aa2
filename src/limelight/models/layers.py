"""The layers that networks for images are made of: affine maps, layer norm, attention, blocks.

Everything acts on the rows of one example: `x @ weight`, one row per token.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from limelight.core.keys import named
from limelight.core.numerics import masked_softmax, widened
from limelight.core.types import PRNGKey

Tokens = Float[Array, "tokens width"]
Heads = Float[Array, "heads tokens tokens"]


class Affine(eqx.Module):
    """`x @ weight + bias`, the bias where there is one.

    Args:
        weight: [inputs, outputs].
        bias: [outputs], or `None`.
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
    """

    gain: Float[Array, " width"]
    shift: Float[Array, " width"]
    epsilon: float = eqx.field(static=True, default=1e-6)

    def __call__(self, x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
        """The normalised rows."""
        wide = widened(x)
        centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
        variance = jnp.mean(centred**2, axis=-1, keepdims=True)
        unit = centred * jax.lax.rsqrt(variance + self.epsilon)
        across = lambda v: jnp.broadcast_to(v, x.shape)
        return (unit * across(self.gain) + across(self.shift)).astype(x.dtype)


def norm(width: int) -> Norm:
    """A norm that neither stretches nor shifts."""
    return Norm(jnp.ones(width), jnp.zeros(width))


class Attention(eqx.Module):
    r"""Heads side by side, $S = \mathrm{softmax}(Q K^\top / \sqrt{d_h})$ in each.

    With `places` queries and keys are made from them and not from the tokens (positional
    attention). $S$ is then a function of the weights alone, and stays one matrix per head however
    many examples a `vmap` carries: what is masked leaves the sums, not the softmax,
    $\sum_{j \in \mathcal K} S_{ij} v_j / \sum_{j \in \mathcal K} S_{ij}$, which is the same number
    (`among` gives the weights in it).

    Args:
        query: [width, width], its columns divided among the heads.
        key: The same.
        value: The same.
        output: [width, width].
        heads: How many.
    """

    query: Affine
    key: Affine
    value: Affine
    output: Affine
    heads: int = eqx.field(static=True)

    def __call__(
        self, x: Tokens, kept: Bool[Array, " tokens"], places: Tokens | None = None
    ) -> tuple[Tokens, Heads]:
        """What the tokens take in, and the softmax, a row for each query."""
        mixed, S = self.mix(x, kept, places)
        return self.output(mixed), S

    def mix(
        self, x: Tokens, kept: Bool[Array, " tokens"], places: Tokens | None = None
    ) -> tuple[Tokens, Heads]:
        """Values averaged in every head, before the output map; and the softmax."""
        values = self.values(x)
        if places is None:
            S = masked_softmax(self._logits(x), kept).astype(x.dtype)
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

    def _logits(self, source: Tokens) -> Heads:
        q, k = self._split(self.query(source)), self._split(self.key(source))
        return widened(jnp.einsum("hqd,hkd->hqk", q, k)) * q.shape[-1] ** -0.5

    def _split(self, rows: Tokens) -> Float[Array, "heads tokens size"]:
        return rows.reshape(len(rows), self.heads, -1).transpose(1, 0, 2)


def among(
    S: Float[Array, "heads queries tokens"], kept: Bool[Array, " tokens"]
) -> Float[Array, "heads queries tokens"]:
    """Attention among the kept tokens: the others' weights are 0, the rest add up to 1."""
    held = S * kept.astype(S.dtype)[None, None, :]
    return held / jnp.sum(held, axis=-1, keepdims=True)


class Block(eqx.Module):
    """Attention, then a two-layer perceptron; each reads normalised rows and adds to them.

    Args:
        norm_attention: Before attention.
        attention: The heads.
        norm_mlp: Before the perceptron.
        into: Its first layer, [width, hidden].
        out: Its second layer, [hidden, width].
    """

    norm_attention: Norm
    attention: Attention
    norm_mlp: Norm
    into: Affine
    out: Affine

    def __call__(
        self,
        x: Tokens,
        kept: Bool[Array, " tokens"],
        places: Tokens | None = None,
        weights: Float[Array, "2"] | None = None,
    ) -> tuple[Tokens, Heads]:
        """The rows after the block, and its softmax.

        `weights` scales the two additions: a branch that is left out has 0.
        """
        weights = None if weights is None else weights.astype(x.dtype)
        taken, S = self.attention(self.norm_attention(x), kept, places)
        x = x + (taken if weights is None else weights[0] * taken)
        hidden = jax.nn.gelu(self.into(self.norm_mlp(x)), approximate=False)
        added = self.out(hidden)
        return x + (added if weights is None else weights[1] * added), S


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
