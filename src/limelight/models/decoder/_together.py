r"""Logits of many trials at once, as a GPU likes it.

`absorbed` takes one block of one trial's examples. A GPU is given hundreds of blocks at a time, and
with a network for each its weights would be copied, and its gradient written, once a block. Here
what acts on the [CLS] row sees a trial's examples side by side, whatever their block; only the
attention, where a row meets every place, is computed block by block, and needs no more of a network
than its table, its keys and its values.

The layer norm's gain and shift are taken into the maps,

    \tilde K = \mathrm{diag}(g) W_K / \sqrt k        \tilde V = \mathrm{diag}(g) W_V

so that an example's mixture is $\tilde V^T M - (\tilde V^T 1) c + (W_V^T \beta + b_V) \sum_t a_t$.
"""

from typing import Any, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.slots import Layout
from limelight.models.decoder._attend import attend
from limelight.models.decoder._forward import Words
from limelight.models.decoder._masks import unpack
from limelight.models.decoder._network import Decoder
from limelight.models.decoder._on_gpu import attended


def together(
    models: Decoder,
    bits: Bool[Array, "blocks s n"],
    words: Words,
    count: Int[Array, " blocks"],
    layout: Layout,
    keep: float,
    keep_tokens: float,
    dtype: Any,
    fused: bool,
) -> Float[Array, "slots examples 2"]:
    """What the networks of all slots say of their own examples under dropout.

    Args:
        models: A network a slot.
        bits: Of every block's examples, with padding; see `absorbed`.
        words: Masks of every block.
        count: How many of a block's examples matter, the first ones. Logits of the others, and of
            parts that are not in use, are finite and otherwise anything.
        layout: Which blocks belong to which slots.
        keep: Probability behind the masks of attention and residuals.
        keep_tokens: Probability behind the tokens' mask.
        dtype: Of what is wide; see `attend`.
        fused: Whether the GPU kernel computes the attention.
    """
    places, heads, width = models.positions.shape[1], models.heads, models.positions.shape[2]
    pad = (0, 0), (0, bits.shape[-1] - places), (0, 0)
    table = jax.vmap(lambda model: jnp.pad(model.embedded(), pad))(models)
    rows = Words(words.tokens[..., places - 1], *words[1:])
    mask = lambda word: unpack(_of_slots(word, layout), width)
    cls = table[:, 0, places - 1][:, None] * mask(rows.tokens) / keep_tokens
    query = jax.vmap(lambda model, row: model.query(model.before(row)))(models, cls)

    wide = jnp.promote_types(dtype, jnp.float32)
    maps = (leaf.astype(wide) for leaf in (*jax.vmap(_maps)(models), table))
    given = of_blocks(query.astype(wide), layout), *(lent(leaf, layout) for leaf in maps)
    given = *given, bits, words.tokens, words.weights, count
    settings = heads, places, keep, keep_tokens, dtype
    way: Any = attended if fused else _plainly
    output = of_slots(jax.vmap(lambda *block: way(*block, *settings))(*given), layout)

    late = (mask(rows.attended).astype(cls.dtype) / keep, mask(rows.processed) / keep)
    finish = lambda model, *row: model.finish(*row)
    return jax.vmap(finish)(models, cls, output, *late)


def _maps(model: Decoder) -> tuple:
    """Keys and values with the norm's gain in them, and what centre and share are multiplied by."""
    gain, shift = model.before.gain[:, None], model.before.shift
    key, value = model.key.weight, model.value.weight
    keys = gain * key / jnp.sqrt(model.width // model.heads)
    bias = shift @ value + cast(Array, model.value.bias)
    return keys.T, gain * value, jnp.sum(gain * value, axis=0), bias


def _plainly(
    query, keys, values, centres, shares, table, bits, tokens, weights, count,
    heads, places, keep, keep_tokens, dtype,
):  # fmt: skip
    """`attended` without kernels, for all examples of a block."""
    each = lambda array, axis: jnp.stack(jnp.split(array, heads, axis), axis)
    asked = jnp.einsum("shk,hkd->shd", each(query, 1), each(keys, 0))
    given = asked.astype(table.dtype), table, bits, tokens, weights
    mixed, centre, share = attend(*given, places, keep, keep_tokens, dtype)
    output = jnp.einsum("shd,dhk->shk", mixed, each(values, 1))
    output = output - centre[..., None] * each(centres, 0)[None]
    output = output + share[..., None] * each(shares, 0)[None]
    return output.reshape(query.shape)


# --- blocks and slots -----------------------------------------------------------------------------


def _of_slots(leaf, layout: Layout):
    used = layout.used.reshape(*layout.used.shape, *(1,) * (leaf.ndim - 1))
    found = jnp.where(used, leaf[layout.members], jnp.zeros((), leaf.dtype))
    return found.reshape(len(found), -1, *leaf.shape[2:])


def _of_blocks(leaf, layout: Layout):
    busy = (jnp.arange(len(layout.owner)) < layout.taken).reshape(-1, *(1,) * (leaf.ndim - 1))
    parts = leaf.reshape(*layout.members.shape, -1, *leaf.shape[2:])
    return jnp.where(busy, parts[layout.owner, layout.part], jnp.zeros((), leaf.dtype))


# A block belongs to one slot, so each of these is the other's transpose. The compiler would not
# know, and would add block after block into zeros.


@jax.custom_vjp
def of_slots(leaf: Array, layout: Layout) -> Array:
    """From [blocks, s, ...] to [slots, parts * s, ...]; zeros beyond a slot's blocks."""
    return _of_slots(leaf, layout)


@jax.custom_vjp
def of_blocks(leaf: Array, layout: Layout) -> Array:
    """From [slots, parts * s, ...] to [blocks, s, ...]; zeros for idle ones."""
    return _of_blocks(leaf, layout)


@jax.custom_vjp
def lent(leaf: Array, layout: Layout) -> Array:
    """From [slots, ...] to [blocks, ...]: what belongs to a block's slot."""
    return leaf[layout.owner]


of_slots.defvjp(
    lambda leaf, layout: (_of_slots(leaf, layout), layout),
    lambda layout, slope: (_of_blocks(slope, layout), None),
)
of_blocks.defvjp(
    lambda leaf, layout: (_of_blocks(leaf, layout), layout),
    lambda layout, slope: (_of_slots(slope, layout), None),
)
lent.defvjp(
    lambda leaf, layout: (leaf[layout.owner], layout),
    lambda layout, slope: (jnp.sum(_of_slots(slope[:, None], layout), axis=1), None),
)
