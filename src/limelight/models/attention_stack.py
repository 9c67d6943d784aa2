r"""Layers of attention with fresh Gaussian weights: skip connections and perceptrons at will.

Rows that become equal are followed in residual coordinates: $X = 1x^\top + R$ with logits
$XWX^\top/\sqrt d$. The softmax does not see what is constant along a row, so that with
$p = \mathrm{softmax}_j(x^\top WR_j/\sqrt d)$, $E = RWR^\top/\sqrt d$ and
$m_i = \sum_kp_k(e^{E_{ik}} - 1)$

$$(P - 1p^\top)_{ij} = p_j\frac{e^{E_{ij}} - 1 - m_i}{1 + m_i}, \qquad
  \tilde R = (P - 1p^\top)RW_V, \qquad x' = W_V^\top(x + R^\top p) + c,$$

with $c$ the column means of $\tilde R$, taken off it. Tokens themselves stop at a relative
$10^{-15}$, these coordinates at $10^{-290}$.

Reference: Dong, Cordonnier and Loukas (2021); the coordinates are limelight's.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import check_between, check_least
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.models.base import Model, Recipe
from limelight.worlds.base import World
from limelight.worlds.sphere import TokenSet

Tokens = Float[Array, "tokens width"]


class Split(NamedTuple):
    """Rows as a common one and what is left."""

    common: Float[Array, " width"]
    rest: Tokens


class StackLayer(eqx.Module):
    """Weights of one layer, or of several along a first axis.

    Args:
        query_key: $W_{QK}$ of every head.
        value: $W_V$ of every head.
        into: Into the perceptron.
        out: Out of it.

    Example:
        >>> sorted(StackLayer.__dataclass_fields__)
        ['into', 'out', 'query_key', 'value']
    """

    query_key: Float[Array, "*layers heads width width"]
    value: Float[Array, "*layers heads width width"]
    into: Float[Array, "*layers width hidden"]
    out: Float[Array, "*layers hidden width"]


class StackedAttention(Model):
    r"""The layers; called on a set of tokens.

    Args:
        layers: Weights, the first axis of each the layers; $W_{QK}$ is a product already.
        skip: 1 with skip connections, 0 without.
        mlp: Whether perceptrons follow.

    Example:
        >>> {"layers", "mlp", "skip"} <= set(StackedAttention.__dataclass_fields__)
        True
    """

    fixed = ("skip",)

    layers: StackLayer
    skip: Scalar
    mlp: bool = eqx.field(static=True)

    def prepare(self, example: TokenSet) -> Tokens:
        """The tokens."""
        return example.tokens

    def __call__(self, prepared: Tokens, key: PRNGKey | None = None) -> Tokens:
        """The tokens after the last layer."""
        return self.path(prepared, lambda x: x)[-1]

    def path(self, x: Tokens, read: Callable[[Tokens], Array]) -> Array:
        """What is read off the tokens before the first layer and after each."""

        def layer(x, one: StackLayer):
            x = self.skip * x + jnp.sum(heads_weights(one, x) @ x[None] @ one.value, axis=0)
            if self.mlp:
                x = self.skip * x + jax.nn.relu(x @ one.into) @ one.out
            return x, read(x)

        _, seen = jax.lax.scan(layer, x, self.layers)
        return jnp.concatenate([read(x)[None], seen])

    def residual_path(self, x: Tokens, read: Callable[[Split], Array]) -> Array:
        """The same in residual coordinates; perceptrons have none."""
        assert not self.mlp, "a perceptron mixes both parts"
        mean = jnp.mean(x, axis=0)

        def layer(here: Split, one: StackLayer):
            common, rest = jax.vmap(lambda qk, v: _apart(here, qk, v))(one.query_key, one.value)
            common, rest = jnp.sum(common, axis=0), jnp.sum(rest, axis=0)
            centre = jnp.mean(rest, axis=0)
            here = Split(
                self.skip * here.common + common + centre,
                self.skip * here.rest + rest - centre[None, :],
            )
            return here, read(here)

        begun = Split(mean, x - mean[None, :])
        _, seen = jax.lax.scan(layer, begun, self.layers)
        return jnp.concatenate([read(begun)[None], seen])

    def sum_of_paths(self, x: Tokens, depth: int) -> tuple[Tokens, Tokens]:
        r"""The output of the first layers without perceptrons, and the sum over all its paths.

        A path takes one head or the skip connection per layer: $P\cdots P\,X\,W\cdots W$, with the
        attention matrices of the whole pass.
        """
        taken = jax.tree.map(lambda part: part[:depth], self.layers)
        eye = lambda one, size: jnp.concatenate([one, self.skip * jnp.eye(size)[None]])

        def layer(x, one: StackLayer):
            P, value = heads_weights(one, x), one.value
            after = self.skip * x + jnp.sum(P @ x[None] @ value, axis=0)
            return after, (eye(P, len(x)), eye(value, x.shape[1]).at[-1].set(jnp.eye(x.shape[1])))

        output, (mixes, maps) = jax.lax.scan(layer, x, taken)

        def onward(y, layer):  # what paths share is computed once
            if layer == depth:
                return y
            further = lambda pick: onward(pick[0] @ y @ pick[1], layer + 1)
            return jnp.sum(jax.lax.map(further, (mixes[layer], maps[layer])), axis=0)

        return output, onward(x, 0)


def heads_weights(one: StackLayer, x: Tokens) -> Float[Array, "heads tokens tokens"]:
    """The attention of every head."""
    return jax.nn.softmax(x[None] @ one.query_key @ x.T[None] * x.shape[1] ** -0.5, axis=-1)


def _apart(here: Split, query_key, value) -> tuple[Float[Array, " width"], Tokens]:
    """What one head makes of the common row and of the rest."""
    common, R = here
    scale = R.shape[1] ** -0.5
    logits = R @ (query_key.T @ common) * scale
    p, E = jax.nn.softmax(logits), (R @ query_key @ R.T) * scale
    grown = jnp.expm1(jnp.minimum(E, 1.0))
    m = (grown @ p)[:, None]
    small = p[None, :] * (grown - m) / (1 + m)
    large = jax.nn.softmax(logits[None, :] + E, axis=-1) - p[None, :]
    off = jnp.where(jnp.max(jnp.abs(E)) < 1, small, large)  # where E is large nothing cancels
    return value.T @ (common + R.T @ p), off @ R @ value


@kind("model.attention_stack")
class AttentionStack(Recipe):
    r"""Gaussian weights: $W_Q, W_K, W_V$ of entries $N(0, 1/d)$, a perceptron of width $4d$.

    Args:
        layers: How many.
        heads: Heads of a layer, each of the whole width; their outputs are added.
        skip: 1 with skip connections, 0 without.
        mlp: Whether a perceptron with ReLU follows attention.
        shared: Whether all layers have the weights of the first.

    Example:
        >>> AttentionStack(layers=6, skip=0.0).layers
        6
    """

    layers: int = eqx.field(static=True, default=6)
    heads: int = eqx.field(static=True, default=1)
    skip: Number = 0.0
    mlp: bool = eqx.field(static=True, default=False)
    shared: bool = eqx.field(static=True, default=False)

    def init(self, key: PRNGKey, world: World, truth: None) -> StackedAttention:
        """Weights at the start."""
        d = world.dimension  # pyright: ignore[reportAttributeAccessIssue]
        square = (self.heads, d, d)

        def one(key: PRNGKey) -> StackLayer:
            k_query, k_key, k_value, k_into, k_out = named(
                key, "query", "key", "value", "into", "out"
            )
            draw = lambda k, shape, variance: variance**0.5 * jr.normal(k, shape)
            query, keys = (draw(k, square, 1 / d) for k in (k_query, k_key))
            return StackLayer(
                query @ jnp.swapaxes(keys, 1, 2),
                draw(k_value, square, 1 / d),
                draw(k_into, (d, 4 * d), 2 / d),
                draw(k_out, (4 * d, d), 1 / (4 * d)),
            )

        keys = jr.split(key, self.layers)
        keys = keys[jnp.zeros(self.layers, int)] if self.shared else keys
        return StackedAttention(jax.vmap(one)(keys), jnp.asarray(self.skip, float), self.mlp)

    def check(self, world: World) -> None:
        """Refuse sizes that make no sense."""
        check_least(self, ("layers", "heads"), prefix="model.")
        check_between(self, ("skip",), 0, 1, "model.")
