r"""One network, three ways to compute it, equal but for rounding.

`absorbed` forms no keys or values: a query carried through the key map meets the normalised tokens
directly, so a token costs the width times the heads instead of twice the width squared. `table`
holds when there is no dropout: a place then contributes one of two vectors, so scores and values
are looked up, and a whole data set is one product with a matrix of bits. `plain` forms keys and
values, for weights whose tables are not safe.
"""

from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from limelight._core.backend import on_gpu
from limelight.models.decoder._attend import attend
from limelight.models.decoder._masks import unpack, words
from limelight.models.decoder._network import Decoder

#: Examples that have masks of their own: a counter of 32 bits also names 16 digits, 4096 places and
#: four kinds of mask.
MOST = 2**14
#: Where a table in float32 is still exact to rounding: half the gap plus the log of the length.
SAFE = {"float32": 70.0, "float64": 670.0}


# --- many examples under dropout ----------------------------------------------------------------


class Words(NamedTuple):
    """Dropout of many examples as mask words; see `masks`."""

    tokens: UInt32[Array, "s w n"]
    weights: UInt32[Array, "s n"]
    attended: UInt32[Array, "s w"]
    processed: UInt32[Array, "s w"]


def draw(
    key: UInt32[Array, "2"],
    examples: Int[Array, " s"],
    places: int,
    width: int,
    keep: float,
    keep_tokens: float,
) -> Words:
    """The masks of some examples at one iteration; a bit depends on (key, example, place) alone.

    There is room for `MOST` examples and 4096 places; beyond, masks would repeat.
    """
    w = -(-width // 32)
    example = examples.astype(jnp.uint32) << 14
    place = jnp.arange(places, dtype=jnp.uint32) << 2
    at = example[:, None] | place[None]
    halves = jnp.arange(w, dtype=jnp.uint32)[None, :, None]
    late = example[:, None] | (jnp.arange(2 * w, dtype=jnp.uint32) << 2)[None] | 3
    residual = words(late, key, keep)
    drawn = Words(
        words(at[:, None] | halves, key, keep_tokens),
        words(at | 2, key, keep),
        residual[:, :w],
        residual[:, w:],
    )
    # Without this the compiler would hash anew for each of the 32 bits of a word.
    return jax.lax.optimization_barrier(drawn)


def absorbed(
    model: Decoder,
    bits: Bool[Array, "s n"],
    words: Words,
    keep: float = 1.0,
    keep_tokens: float = 1.0,
    dtype: Any = jnp.float32,
) -> Float[Array, "s 2"]:
    """Logits of many examples under dropout, without keys or values.

    `bits` may have more places than the model, [CLS] included; the rest is padding.
    """
    places, padded = model.length + 1, bits.shape[1]
    table = jnp.pad(model.embedded(), ((0, 0), (0, padded - places), (0, 0)))
    kept = unpack(words.tokens[..., places - 1], model.width)
    cls = table[0, places - 1][None] * kept / keep_tokens
    query = model.query(model.before(cls))
    k = model.width // model.heads
    per_head = lambda weight: weight.reshape(model.width, model.heads, k)
    asked = jnp.einsum("dhk,shk->shd", per_head(model.key.weight), _split(query, k)) / jnp.sqrt(k)
    norm = model.before
    gain, bias = norm.gain[None, None], norm.shift[None, None]
    masks = words.tokens, words.weights
    settings = places, keep, keep_tokens, dtype, False
    wide = jnp.promote_types(dtype, jnp.float32)  # also where the weights are float64
    given = (asked * gain).astype(wide), table.astype(wide), bits
    every = jnp.array(bits.shape[0])
    mixed, centre, share = attend(*given, *masks, every, *settings)
    seen = gain * (mixed - centre[..., None]) + bias * share[..., None]
    output = jnp.einsum("dhk,shd->shk", per_head(model.value.weight), seen)
    output = output + share[..., None] * _split(cast(Array, model.value.bias), k)[None]
    late = (unpack(words.attended, model.width), unpack(words.processed, model.width))
    attended, processed = (mask.astype(cls.dtype) / keep for mask in late)
    return model.finish(cls, output.reshape(output.shape[0], -1), attended, processed)


# --- many examples without dropout ---------------------------------------------------------------


class Tables(eqx.Module):
    """What every place contributes to numerators and denominators, for bit 0 and bit 1.

    Args:
        terms: Values times exponentiated scores, and those scores, one column per head.
        always: The contribution of [CLS].
        cls: The [CLS] vector.
        gap: How far below the largest score an example's own largest may lie, worst head.
    """

    terms: Float[Array, "2 length columns"]
    always: Float[Array, " columns"]
    cls: Float[Array, " width"]
    gap: Float[Array, ""]

    def is_safe(self) -> Bool[Array, ""]:
        """Whether nothing that matters underflows."""
        length = jnp.log(self.terms.shape[1] + 1.0)
        return 0.5 * self.gap + length <= SAFE[str(self.terms.dtype)]


def tables(model: Decoder) -> Tables:
    """Scores and values of every place and bit, shifted by the middle of the gap."""
    k = model.width // model.heads
    table = model.embedded()
    z = model.before(table)
    query = _split(model.query(z[0, -1]), k)
    score = jnp.einsum("hk,bnhk->bnh", query, _split(model.key(z), k)) / jnp.sqrt(k)
    value = _split(model.value(z), k)
    top = jnp.max(score, axis=(0, 1))
    own = jnp.maximum(score[0, -1], jnp.max(jnp.min(score[:, :-1], axis=0), axis=0))
    gap = top - own
    size = jnp.exp(score - jax.lax.stop_gradient(top - 0.5 * gap)[None, None])
    terms = jnp.concatenate([value * size[..., None], size[..., None]], axis=-1)
    terms = terms.reshape(*terms.shape[:2], -1)
    return Tables(terms[:, :-1], terms[0, -1], table[0, -1], jnp.max(gap))


def table(model: Decoder, ready: Tables, bits: Bool[Array, "s length"]) -> Float[Array, "s 2"]:
    """Logits of many examples without dropout, from tables that are safe."""
    s = bits.shape[0]
    both = jnp.concatenate([~bits, bits], axis=-1)
    sums = ready.always[None] + _of_bits(both, ready.terms.reshape(-1, ready.terms.shape[-1]))
    sums = sums.reshape(s, model.heads, -1)
    mixed = sums[..., :-1] / sums[..., -1:]
    return model.finish(jnp.broadcast_to(ready.cls, (s, model.width)), mixed.reshape(s, -1))


def _of_bits(bits: Bool[Array, "s n"], terms: Float[Array, "n k"]) -> Float[Array, "s k"]:
    """Their product, to the last digits of float32 also where products are quick in bfloat16 only.

    Bits are exact in bfloat16, and three bfloat16 parts carry the 24 digits of a term. A part is
    rounded by `reduce_precision`: a compiler may take a conversion there and back for nothing, and
    the rest would be zero.
    """
    if terms.dtype != jnp.float32 or not on_gpu():
        return bits.astype(terms.dtype) @ terms
    parts, rest = [], terms
    for _ in range(3):
        part = jax.lax.reduce_precision(rest, exponent_bits=8, mantissa_bits=7)
        parts.append(part.astype(jnp.bfloat16))
        rest = rest - part
    product = jnp.matmul(
        bits.astype(jnp.bfloat16),
        jnp.concatenate(parts, axis=-1),
        preferred_element_type=jnp.float32,
    )
    return jnp.sum(product.reshape(bits.shape[0], 3, -1), axis=1)


def plain(model: Decoder, bits: Bool[Array, "s length"]) -> Float[Array, "s 2"]:
    """Logits of many examples without dropout, safe at any weights: a maximum an example."""
    table, k = model.embedded(), model.width // model.heads

    def one(row):
        x = jnp.where(jnp.append(row, False)[:, None], table[1], table[0])
        z = model.before(x)
        query = _split(model.query(z[-1]), k)
        key, value = _split(model.key(z), k), _split(model.value(z), k)
        weight = jax.nn.softmax(jnp.einsum("hk,jhk->hj", query, key) / jnp.sqrt(k), axis=-1)
        return model.finish(x[-1], jnp.einsum("hj,jhk->hk", weight, value).reshape(-1))

    return jax.lax.map(one, bits, batch_size=64)


def _split(x: Float[Array, "*n width"], k: int) -> Float[Array, "*n heads k"]:
    return x.reshape(*x.shape[:-1], -1, k)
