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

from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.slots import Layout
from limelight.models.decoder import _heads as by_head
from limelight.models.decoder._attend import attend
from limelight.models.decoder._forward import Words
from limelight.models.decoder._masks import unpack
from limelight.models.decoder._network import Decoder


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
) -> Float[Array, "slots parts s 2"]:
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
    cls = table[:, 0, places - 1][:, None, None] * mask(rows.tokens) / keep_tokens
    query = jax.vmap(lambda model, row: model.query(model.before(row)))(models, cls)
    keys, values, centres, shares = jax.vmap(_maps)(models)

    wide = jnp.promote_types(dtype, jnp.float32)
    spread, collect = _by_head(heads, fused, exact=dtype != jnp.bfloat16)
    asked = spread(of_blocks(query, layout), lent(keys, layout)).astype(wide)
    settings = places, keep, keep_tokens, dtype, fused
    attended = jax.vmap(lambda *block: attend(*block, *settings))
    given = lent(table.astype(wide), layout), bits, words.tokens, words.weights, count
    mixed, centre, share = attended(asked, *given)
    across = lambda number: jnp.repeat(number, width // heads, axis=-1)
    each = lambda vector: lent(vector, layout)[:, None]
    output = collect(mixed, lent(values, layout))
    output = output - across(centre) * each(centres) + across(share) * each(shares)

    late = (mask(rows.attended).astype(cls.dtype) / keep, mask(rows.processed) / keep)
    finish = lambda model, *row: model.finish(*row)
    return jax.vmap(finish)(models, cls, of_slots(output, layout), *late)


def _maps(model: Decoder) -> tuple:
    """Keys and values with the norm's gain in them, and what centre and share are multiplied by."""
    gain, shift = model.before.gain[:, None], model.before.shift
    key, value = model.key.weight, model.value.weight
    keys = gain * key / jnp.sqrt(model.width // model.heads)
    bias = shift @ value + cast(Array, model.value.bias)
    return keys.T, gain * value, jnp.sum(gain * value, axis=0), bias


def _by_head(heads: int, fused: bool, exact: bool) -> tuple[Callable, Callable]:
    """Every head's columns of rows spread out to the width, and back; see `_heads`."""
    if fused:
        spread = lambda rows, maps: by_head.spread(rows, maps, heads, exact)
        return jax.vmap(spread), jax.vmap(lambda wide, maps: by_head.collect(wide, maps, exact))
    each = lambda array, axis: jnp.stack(jnp.split(array, heads, axis), axis)
    spread = lambda rows, maps: jnp.einsum("bshk,bhkd->bshd", each(rows, 2), each(maps, 1))
    collect = lambda wide, maps: jnp.einsum("bshd,bdhk->bshk", wide, each(maps, 2))
    return spread, lambda wide, maps: collect(wide, maps).reshape(*wide.shape[:2], -1)


# --- blocks and slots -----------------------------------------------------------------------------


def _of_slots(leaf, layout: Layout):
    used = layout.used.reshape(*layout.used.shape, *(1,) * (leaf.ndim - 1))
    return jnp.where(used, leaf[layout.members], jnp.zeros((), leaf.dtype))


def _of_blocks(leaf, layout: Layout):
    busy = (jnp.arange(len(layout.owner)) < layout.taken).reshape(-1, *(1,) * (leaf.ndim - 2))
    return jnp.where(busy, leaf[layout.owner, layout.part], jnp.zeros((), leaf.dtype))


# A block belongs to one slot, so each of these is the other's transpose. The compiler would not
# know, and would add block after block into zeros.


@jax.custom_vjp
def of_slots(leaf: Array, layout: Layout) -> Array:
    """From [blocks, ...] to [slots, parts, ...]; zeros beyond a slot's blocks."""
    return _of_slots(leaf, layout)


@jax.custom_vjp
def of_blocks(leaf: Array, layout: Layout) -> Array:
    """From [slots, parts, ...] to [blocks, ...]; zeros for idle ones."""
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
    lambda layout, slope: (jnp.sum(_of_slots(slope, layout), axis=1), None),
)
