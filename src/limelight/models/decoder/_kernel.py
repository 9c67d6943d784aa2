r"""`attend` for a GPU: the wide array never leaves the chip.

The mathematics is that of `attend`, with places down and heads across in every product, so that a
token's numbers stay in a few threads from its table rows to its gradient. The forward kernel walks
over an example's places tile by tile, rebuilding each masked token from a table row and its mask
words; of a token's layer norm it leaves the two numbers behind. The backward kernel takes a tile of
places and walks over the examples, so that the gradient of the tile's table rows stays in
registers; the gradient of a query, a sum over places, is written once a tile and added up outside.
No sum is left to atomics: the same bits come out every time.

Of a block's examples the first `count` are computed; sums and gradients of the others are zero.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from limelight.models.decoder._network import EPSILON

#: Places are padded to a multiple of the first, or of the second where that adds little.
PADS = 32, 64
#: Places in a tile, warps that share it, and stages in which its loads run ahead. What counts is
#: how many programs are under way at once: one that took four tiles was slower. Measured once on an
#: H200, us a call, for 700 blocks of 20 examples and 128 places, and for 360 blocks and 832 places:
#:
#:     forward, (16, 1, 1)    203  589        backward, (64, 4, 1)                518  1309
#:     forward, (64, 4, 3)    265  514        backward, four such tiles a program 666  1811
SHORT, LONG, BACKWARD = (16, 1, 1), (64, 4, 3), (64, 4, 1)
#: For places that are no multiple of the tile.
ODD = (32, 2, 1)
#: From so many places on the forward kernel's tiles are long.
MANY = 384
#: Below every score, and finite, so that a tile of padding alone makes no NaN.
NEVER = -1e30
#: A normalised token is no longer than the root of the width, which bounds a query's scores. Up to
#: here their exponentials fit into a float32 as they are; beyond, the largest comes off first.
SAFE = 60.0
#: Exponentials and logarithms are to base two, as the hardware has them.
LOG2E = math.log2(math.e)


def padded(places: int) -> int:
    """Places of a program that has room for so many."""
    few, many = (-(-places // pad) * pad for pad in PADS)
    return many if many <= 1.15 * few else few


def fits(width: int, heads: int) -> bool:
    """Whether the kernel has a form for these sizes: two mask words, 16 rows a product at least."""
    return width == 64 and heads in (16, 32)


def forward(
    asked, table, bits, tokens, weights, count, places, keep, keep_tokens,
    tiling=None, interpret=False,
):  # fmt: skip
    """The three sums, the log of the softmax's denominator, means and inverse deviations."""
    (s, h, d), n = asked.shape, table.shape[1]
    tile, warps, stages = tiling or (LONG if n >= MANY and n % LONG[0] == 0 else SHORT)
    row = lambda *shape: pl.BlockSpec((None, *shape), lambda i: (i,) + (0,) * len(shape))
    kernel = partial(
        _forward, places=places, keep=keep, epsilon=EPSILON * keep_tokens**2, tile=tile
    )
    wide = jax.ShapeDtypeStruct((s, h, d), jnp.float32)
    narrow = jax.ShapeDtypeStruct((s, h), jnp.float32)
    moment = jax.ShapeDtypeStruct((s, n), jnp.float32)
    return pl.pallas_call(
        kernel,
        grid=(s,),
        in_specs=[
            row(h, d),
            pl.BlockSpec((2, n, d), lambda i: (0, 0, 0)),
            row(n),
            row(2, n),
            row(n),
            pl.BlockSpec((1,), lambda i: (0,)),
        ],
        out_specs=[row(h, d), row(h), row(h), row(h), row(n), row(n)],
        out_shape=[wide, narrow, narrow, narrow, moment, moment],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=warps, num_stages=stages),
        name="attend",
    )(asked, table, bits, tokens, weights, count[None])


def _forward(
    asked_ref, table_ref, bits_ref, tokens_ref, weights_ref, count_ref,
    mixed_ref, centre_ref, share_ref, log_ref, mean_ref, inverse_ref,
    *, places, keep, epsilon, tile,
):  # fmt: skip
    asked = asked_ref[...]
    h, d = asked.shape
    total = jnp.sum(asked.astype(jnp.float32), axis=1)
    longest = jnp.max(jnp.sum(jnp.square(asked.astype(jnp.float32)), axis=1))

    def look(i):
        at = pl.ds(i * tile, tile)
        place, channel = (jax.lax.broadcasted_iota(jnp.int32, (tile, d), axis) for axis in (0, 1))
        which = jnp.broadcast_to(bits_ref[at].astype(jnp.int32)[:, None], (tile, d))
        chosen = _spread(table_ref[which, i * tile + place, channel])
        wide = jnp.where(_mask(tokens_ref[0, at], tokens_ref[1, at], d), chosen, 0.0)
        mean, inverse = _moments(wide, epsilon)
        x = wide.astype(asked.dtype)
        plain = _dot(x, asked, 1, 1) - mean[:, None] * total[None]
        return at, x, mean, inverse, (inverse * LOG2E)[:, None] * plain

    def largest(i, top):
        *_, score = look(i)
        return jnp.maximum(top, jnp.where(_used(i, tile, places)[:, None], score, NEVER))

    def step(i, carry):
        mixed, size, centre, share = carry
        at, x, mean, inverse, score = look(i)
        mean_ref[at], inverse_ref[at] = mean, inverse
        used = _used(i, tile, places)[:, None]
        weight = jnp.where(used, jnp.exp2(score - top[None]), 0.0)
        size = size + weight
        weight = jnp.where(_kept(weights_ref[at], h), weight * (1.0 / keep), 0.0)
        scaled = weight * inverse[:, None]
        mixed = mixed + _dot(x, scaled.astype(x.dtype), 0, 0)
        return mixed, size, centre + scaled * mean[:, None], share + weight

    # A product, because JAX 0.11 lowers `jnp.where` of two constants to a truth value here.
    tiles = (table_ref.shape[1] // tile) * jnp.clip(count_ref[0] - pl.program_id(0), 0, 1)
    zero = jnp.zeros((tile, h), jnp.float32)
    first = jnp.where(longest * d > SAFE**2, tiles, 0)
    top = jnp.max(jax.lax.fori_loop(0, first, largest, zero + NEVER), axis=0)
    top = jnp.where(top > 0.5 * NEVER, top, 0.0)
    start = jnp.zeros((d, h), jnp.float32), zero, zero, zero
    mixed, *sums = jax.lax.fori_loop(0, tiles, step, start)
    size, centre, share = (jnp.sum(part, axis=0) for part in sums)
    size = jnp.where(size > 0, size, 1.0)  # nothing was added up of an example beyond the count
    mixed_ref[...] = (mixed / size[None]).T
    centre_ref[...] = centre / size
    share_ref[...] = share / size
    log_ref[...] = (top + jnp.log2(size)) * (1.0 / LOG2E)


def backward(
    asked, table, bits, tokens, weights, count, log_sum, mean, inverse, slopes, along, places, keep,
    tiling=None, interpret=False,
):  # fmt: skip
    """Gradients of the queries, in parts, and of the table, from the slopes of the three sums.

    A query's gradient is the sum of its parts, a tile each, less the mean of that sum over the
    width; parts are [tiles, s, d, h], in the numbers of the queries.
    """
    (s, h, d), n = asked.shape, table.shape[1]
    tile, warps, stages = tiling or (ODD if n % BACKWARD[0] else BACKWARD)
    whole = lambda *shape: pl.BlockSpec(shape, lambda i: (0,) * len(shape))
    part = pl.BlockSpec((2, tile, d), lambda i: (0, i, 0))
    thin = pl.BlockSpec((s, tile), lambda i: (0, i))
    tiles, total = n // tile, jnp.sum(asked.astype(jnp.float32), axis=-1)
    return pl.pallas_call(
        partial(_backward, places=places, keep=keep, tile=tile),
        grid=(tiles,),
        in_specs=[
            whole(s, h, d),
            part,
            thin,
            pl.BlockSpec((s, 2, tile), lambda i: (0, 0, i)),
            thin,
            whole(1),
            whole(s, h),
            thin,
            thin,
            whole(s, h, d),
            *[whole(s, h)] * 4,
        ],
        out_specs=[pl.BlockSpec((None, s, d, h), lambda i: (i, 0, 0, 0)), part],
        out_shape=[
            jax.ShapeDtypeStruct((tiles, s, d, h), asked.dtype),
            jax.ShapeDtypeStruct((2, n, d), jnp.float32),
        ],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=warps, num_stages=stages),
        name="attend_backward",
    )(
        asked, table, bits, tokens, weights, count[None], log_sum, mean, inverse,
        slopes[0].astype(asked.dtype), *slopes[1:], along, total,
    )  # fmt: skip


def _backward(
    asked_ref, table_ref, bits_ref, tokens_ref, weights_ref, count_ref,
    log_ref, mean_ref, inverse_ref, d_mixed_ref, d_centre_ref, d_share_ref, along_ref, total_ref,
    d_asked_ref, d_table_ref,
    *, places, keep, tile,
):  # fmt: skip
    s, h, d = asked_ref.shape
    choose = _chooser(table_ref[0], table_ref[1])
    used = _used(pl.program_id(0), tile, places)
    # Zero, but the compiler cannot know: it is to choose and mask twice, not to keep the answers.
    nothing = (count_ref[0] >> 30).astype(jnp.uint32)

    def places_of(i):  # fetched while the example before is computed
        words = bits_ref[i, :], tokens_ref[i, 0, :], tokens_ref[i, 1, :], weights_ref[i, :]
        return *words, mean_ref[i, :], inverse_ref[i, :]

    def step(i, carry):
        everyone, ones, (bit, low, high, word, mean, inverse) = carry
        asked, d_mixed, bit = asked_ref[i, :, :], d_mixed_ref[i, :, :], bit != 0
        following = places_of(jnp.minimum(i + 1, s - 1))
        heads = d_centre_ref, total_ref, log_ref, d_share_ref, along_ref
        d_centre, total, log_sum, d_share, along = (ref[i, :][None] for ref in heads)
        wide = jnp.where(_mask(low, high, d), choose(bit), 0.0)
        x, w, m = wide.astype(asked.dtype), inverse[:, None], mean[:, None]
        plain = _dot(x, asked, 1, 1) - m * total
        reach = _dot(x, d_mixed, 1, 1) + m * d_centre
        score = jnp.where(used, inverse * LOG2E, 0.0)[:, None] * plain
        softmax = jnp.exp2(score - log_sum * LOG2E)
        softmax = jnp.where(used[:, None], softmax, 0.0)
        weight = softmax * jnp.where(_kept(word, h), 1.0 / keep, 0.0)
        d_score = weight * (w * reach + d_share) - softmax * along
        d_raw, scaled = w * d_score, w * weight
        left, right = d_raw.astype(x.dtype), scaled.astype(x.dtype)
        d_inverse = jnp.sum(weight * reach + d_score * plain, axis=1)
        d_mean = jnp.sum(scaled * d_centre - d_raw * total, axis=1)
        d_variance = -0.5 * inverse * inverse * inverse * d_inverse
        shift = (d_mean - 2.0 * mean * d_variance) * (1.0 / d)
        d_asked_ref[i, :, :] = _dot(x, left, 0, 0).astype(d_asked_ref.dtype)
        own = shift[:, None] + (2.0 / d) * d_variance[:, None] * choose(bit, nothing)
        d_x = _dot(right, d_mixed, 1, 0) + (_dot(left, asked, 1, 0) + own)
        mask = _mask(low ^ nothing, high ^ nothing, d)
        of_ones = ones + bit.astype(jnp.float32)[:, None] * d_x
        everyone, ones = (jnp.where(mask, new, old) for new, old in
                          ((everyone + d_x, everyone), (of_ones, ones)))  # fmt: skip
        return everyone, ones, following

    def skip(i, _):
        d_asked_ref[i, :, :] = jnp.zeros((d, h), d_asked_ref.dtype)

    zero = jnp.zeros((tile, d), jnp.float32)
    everyone, ones, _ = jax.lax.fori_loop(0, count_ref[0], step, (zero, zero, places_of(0)))
    jax.lax.fori_loop(count_ref[0], s, skip, None)
    d_table_ref[0] = everyone - ones
    d_table_ref[1] = ones


def _spread(rows):
    """The rows in float32, laid out as a product lays them out: a row in few threads.

    A product with the identity is how to ask for it.
    """
    n = rows.shape[0]
    one, other = (jax.lax.broadcasted_iota(jnp.int32, (n, n), axis) for axis in (0, 1))
    return _dot((one == other).astype(rows.dtype), rows, 1, 0)


def _chooser(zero, one):
    """Of two vectors a place, the one of its bit, in float32."""
    if zero.dtype != jnp.bfloat16:
        return lambda bit, nothing=0: jnp.where(bit[:, None], one, zero).astype(jnp.float32)
    # Both in one register: float32 with the lower half off is bfloat16.
    word = lambda rows: jax.lax.bitcast_convert_type(_spread(rows), jnp.uint32)
    words = (word(zero) >> 16) | word(one)

    def choose(bit, nothing=0):
        shift = ((1 - bit.astype(jnp.uint32)) << 4) + nothing
        found = (words << shift[:, None]) & jnp.uint32(0xFFFF0000)
        return jax.lax.bitcast_convert_type(found, jnp.float32)

    return choose


def _mask(low, high, d: int):
    channel = jax.lax.broadcasted_iota(jnp.uint32, (low.shape[0], d), 1)
    word = jnp.where(channel < 32, low[:, None], high[:, None])
    return (word & (jnp.uint32(1) << (channel & 31))) != 0


def _kept(weights, heads: int):
    head = jax.lax.broadcasted_iota(jnp.uint32, (weights.shape[0], heads), 1)
    return ((weights[:, None] >> head) & 1) != 0


def _moments(wide, epsilon: float):
    mean = jnp.sum(wide, axis=1) * (1.0 / wide.shape[1])
    variance = jnp.sum(wide * wide, axis=1) * (1.0 / wide.shape[1]) - mean * mean
    return mean, jax.lax.rsqrt(variance + epsilon)


def _used(tile_number, tile: int, places: int):
    return tile_number * tile + jax.lax.broadcasted_iota(jnp.int32, (tile,), 0) < places


def _dot(a, b, i: int, j: int):
    """The product of two tiles, contracted over axis `i` of one and `j` of the other."""
    return jax.lax.dot_general(
        a,
        b,
        (((i,), (j,)), ((), ())),
        precision=jax.lax.Precision.HIGHEST if a.dtype == jnp.float32 else None,
        preferred_element_type=jnp.float32,
    )
