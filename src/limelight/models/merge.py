r"""Fewer tokens by merging like ones: bipartite soft matching after one block.

Tokens are dealt in turn to two sets $A$ and $B$. Each token of $A$ is joined to the token of $B$
whose key is most like its own (cosine of keys, mean over heads); the $r$ pairs most alike are
merged into the mean of their tokens, weighted by how many patches each stands for. Later blocks
give a token of $s$ patches the weight of $s$,

$$A = \mathrm{softmax}\left( Q K^\top / \sqrt d + \log s \right)$$

and every patch counts again where the network pools its tokens. A class token and registers are
never merged. Where more tokens must go than one matching can take, about half, it is repeated.

Reference: Bolya et al. 2023, "Token merging: your ViT but faster", Section 3.
Departures: they merge a few tokens in every block, between attention and perceptron; here all merge
    at one place, after the whole block, so that policies differ in nothing else. Sizes enter the
    mean over tokens, as in their code for mean pools.
"""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight.models.layers import Attention, Block, Tokens
from limelight.models.vit import ViT


class Merged(eqx.Module):
    """Rows after merging.

    Args:
        rows: What is left.
        sizes: How many of the first tokens each stands for.
        owner: For each of the first tokens, the row that it is part of.
        index: For each row, which of the first tokens it was: the one that others joined.
        special: Which rows are a class token or a register.
    """

    rows: Tokens
    sizes: Float[Array, " rows"]
    owner: Int[Array, " first"]
    index: Int[Array, " rows"]
    special: Bool[Array, " rows"]


class Weighted(Attention):
    """Attention in which a token counts as many times as its size says."""

    sizes: Float[Array, " tokens"] | None = None

    def __call__(self, x, kept, places=None, rows=None):
        """What the tokens take in, and the weights."""
        assert self.sizes is not None
        _, S = self.mix(x, kept, places, rows)
        held = S * self.sizes[None, None, :]  # softmax(logits + log s)
        A = held / jnp.sum(held, axis=-1, keepdims=True)
        return self.output(self.joined(A @ self.values(x))), A


def weighted(block: Block, sizes: Float[Array, " tokens"]) -> Block:
    """The block with attention in proportion to sizes."""
    fields = {f.name: getattr(block.attention, f.name) for f in dataclasses.fields(Attention)}
    return dataclasses.replace(block, attention=Weighted(**fields, sizes=sizes))


def keys_of(block: Block, entering: Tokens) -> Float[Array, "tokens size"]:
    """Keys of the block, mean over heads: before any norm or rotation of theirs."""
    att = block.attention
    keys = att.key(block.norm_attention(entering))
    return jnp.mean(keys.reshape(len(keys), att.heads, -1), axis=1)


def merge(rows: Tokens, keys: Float[Array, "rows size"], first: int, count: int) -> Merged:
    """Merge rows until `count` of them are no class token or register.

    Args:
        rows: The tokens.
        keys: What says how alike they are.
        first: So many rows at the start are never merged.
        count: Patches that are left.
    """
    n = len(rows)
    special = jnp.arange(n) < first
    now = Merged(rows, jnp.ones(n, rows.dtype), jnp.arange(n), jnp.arange(n), special)
    left, first_time = n - first - count, True
    while left > 0:
        rows_now = len(now.rows)
        most = (rows_now - first) // 2 if first_time else max(rows_now // 2 - first, 1)
        now, keys = _once(now, keys, min(left, most))
        left, first_time = n - first - count - (n - len(now.rows)), False
    return now


def _once(now: Merged, keys: Float[Array, "rows size"], r: int) -> tuple[Merged, Array]:
    """One matching: `r` rows of even places join rows of odd places."""
    unit = keys / jnp.linalg.norm(keys, axis=-1, keepdims=True)
    scores = unit[::2] @ unit[1::2].T
    apart = now.special[::2][:, None] | now.special[1::2][None, :]
    scores = jnp.where(apart, -jnp.inf, scores)
    best, partner = jnp.max(scores, axis=-1), jnp.argmax(scores, axis=-1)
    order = jnp.argsort(-best, stable=True)
    going, staying = order[:r], jnp.sort(order[r:])
    joins = partner[going]
    stay = len(staying)

    def together(values):
        """Sums of what is merged; rows that stay, then those that may have been joined."""
        even, odd = values[::2], values[1::2]
        return jnp.concatenate([even[staying], odd.at[joins].add(even[going])])

    alone = lambda values: jnp.concatenate([values[::2][staying], values[1::2]])
    sizes = together(now.sizes)
    mean = lambda values: together(values * now.sizes[:, None]) / sizes[:, None]
    # Where each row of before is now.
    to = jnp.zeros(len(now.rows), int).at[1::2].set(stay + jnp.arange(len(scores.T)))
    even = jnp.zeros(len(scores), int).at[staying].set(jnp.arange(stay))
    to = to.at[::2].set(even.at[going].set(stay + joins))
    merged = Merged(mean(now.rows), sizes, to[now.owner], alone(now.index), alone(now.special))
    return merged, mean(keys)


def merged_output(model: ViT, patches: Float[Array, "patches numbers"], at: int, count: int):
    """The output for one image whose patches are merged after block `at`, counted from 1.

    Args:
        model: The ViT.
        patches: The image.
        at: The block.
        count: Patches that are left.
    """
    x, merged = model.embedded(patches), None
    for number, block in enumerate(model.blocks, 1):
        kept, entering = jnp.ones(len(x), bool), x
        if merged is None:
            x, _ = block(x, kept, model.places)
        else:
            x, _ = weighted(block, merged.sizes)(x, kept, None, None, merged.index)
        if number == at:
            merged = merge(x, keys_of(block, entering), model.first, count)
            x = merged.rows
    whole = x if merged is None else x[merged.owner]
    return model._out(whole, jnp.ones(len(whole), bool))
