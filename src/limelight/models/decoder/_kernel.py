r"""`attend` for a GPU: the wide array never leaves the chip.

The mathematics is that of `attend`. The forward kernel walks over an example's places tile by tile
with a running maximum, rebuilding each masked token from its two table rows and its mask words; of
a token's layer norm it leaves the two numbers behind.
The backward kernel takes a tile of places and walks over the examples, so that the gradient of the
tile's table rows stays in registers; the gradient of a query, a sum over places, is written once a
tile and added up outside. No sum is left to atomics: the same bits come out every time.

Of a block's examples the first `count` are computed; sums and gradients of the others are zero.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from limelight.models.decoder._network import EPSILON

#: Places are padded to a multiple of the first, or of the second where that adds little.
PADS = 32, 64
#: Places in a tile and warps that share it, found by measuring on an H200: going forward small
#: tiles; going back larger ones, which keep more of the table's gradient in registers.
FORWARD, BACKWARD = (16, 1), (64, 4)
#: Below every score, and finite, so that a tile of padding alone makes no NaN.
NEVER = -1e30


def padded(places: int) -> int:
    """Places of a program that has room for so many."""
    few, many = (-(-places // pad) * pad for pad in PADS)
    return many if many <= 1.15 * few else few


def fits(width: int, heads: int) -> bool:
    """Whether the kernel has a form for these sizes: two mask words, 16 rows a product at least."""
    return width == 64 and heads in (16, 32)


def forward(
    asked, table, bits, tokens, weights, count, places, keep, keep_tokens,
    tiling=FORWARD, interpret=False,
):  # fmt: skip
    """The three sums, the log of the softmax's denominator, means and inverse deviations."""
    (s, h, d), n = asked.shape, table.shape[1]
    tile, warps = tiling
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
        compiler_params=triton.CompilerParams(num_warps=warps),
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

    def step(i, carry):
        top, size, mixed, centre, share = carry
        at = pl.ds(i * tile, tile)
        pair = table_ref[0, at, :], table_ref[1, at, :]
        x = _token(pair, bits_ref[at], tokens_ref[0, at], tokens_ref[1, at])
        mean, inverse = _moments(x, epsilon)
        mean_ref[at], inverse_ref[at] = mean, inverse
        score = inverse[None] * (_dot(asked, x, 1, 1) - mean[None] * total[:, None])
        score = jnp.where(_used(i, tile, places)[None], score, NEVER)
        higher = jnp.maximum(top, jnp.max(score, axis=1))
        shrink = jnp.exp(top - higher)
        weight = jnp.exp(score - higher[:, None])
        size = size * shrink + jnp.sum(weight, axis=1)
        weight = weight * _kept(weights_ref[at], h) * (1.0 / keep)
        scaled = weight * inverse[None]
        mixed = mixed * shrink[:, None] + _dot(scaled.astype(x.dtype), x, 1, 0)
        centre = centre * shrink + jnp.sum(scaled * mean[None], axis=1)
        return higher, size, mixed, centre, share * shrink + jnp.sum(weight, axis=1)

    zero = jnp.zeros(h, jnp.float32)
    start = jnp.full(h, NEVER, jnp.float32), zero, jnp.zeros((h, d), jnp.float32), zero, zero
    # A product, because JAX 0.11 lowers `jnp.where` of two constants to a truth value here.
    tiles = (table_ref.shape[1] // tile) * jnp.clip(count_ref[0] - pl.program_id(0), 0, 1)
    top, size, mixed, centre, share = jax.lax.fori_loop(0, tiles, step, start)
    size = jnp.where(size > 0, size, 1.0)  # nothing was added up of an example beyond the count
    mixed_ref[...] = mixed / size[:, None]
    centre_ref[...] = centre / size
    share_ref[...] = share / size
    log_ref[...] = top + jnp.log(size)


def backward(
    asked, table, bits, tokens, weights, count, log_sum, mean, inverse, slopes, along, places, keep,
    tiling=BACKWARD, interpret=False,
):  # fmt: skip
    """Gradients of the queries and of the table, from the slopes of the three sums."""
    (s, h, d), n = asked.shape, table.shape[1]
    tile, warps = tiling if n % tiling[0] == 0 else (PADS[0], tiling[1])
    whole = lambda *shape: pl.BlockSpec(shape, lambda i: (0,) * len(shape))
    part = pl.BlockSpec((2, tile, d), lambda i: (0, i, 0))
    thin = pl.BlockSpec((s, tile), lambda i: (0, i))
    kernel = partial(_backward, places=places, keep=keep, tile=tile)
    tiles, narrow = n // tile, slopes[0].astype(asked.dtype)
    asked_parts, d_table = pl.pallas_call(
        kernel,
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
            whole(s, h),
            whole(s, h),
            whole(s, h),
        ],
        out_specs=[pl.BlockSpec((None, s, h, d), lambda i: (i, 0, 0, 0)), part],
        out_shape=[
            jax.ShapeDtypeStruct((tiles, s, h, d), jnp.float32),
            jax.ShapeDtypeStruct((2, n, d), jnp.float32),
        ],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=warps),
        name="attend_backward",
    )(
        asked, table, bits, tokens, weights, count[None], log_sum, mean, inverse,
        narrow, *slopes[1:], along,
    )  # fmt: skip
    return jnp.sum(asked_parts, axis=0), d_table


def _backward(
    asked_ref, table_ref, bits_ref, tokens_ref, weights_ref, count_ref,
    log_ref, mean_ref, inverse_ref, d_mixed_ref, d_centre_ref, d_share_ref, along_ref,
    d_asked_ref, d_table_ref,
    *, places, keep, tile,
):  # fmt: skip
    s, h, d = asked_ref.shape
    pair = table_ref[0], table_ref[1]
    used = _used(pl.program_id(0), tile, places)[None]

    def step(i, carry):
        everyone, ones = carry
        bits, low, high = bits_ref[i, :], tokens_ref[i, 0, :], tokens_ref[i, 1, :]
        x = _token(pair, bits, low, high)
        mean, inverse = mean_ref[i, :], inverse_ref[i, :]
        asked, d_mixed = asked_ref[i, :, :], d_mixed_ref[i, :, :]
        d_centre = d_centre_ref[i, :]
        total = jnp.sum(asked.astype(jnp.float32), axis=1)
        plain = _dot(asked, x, 1, 1) - mean[None] * total[:, None]
        score = jnp.where(used, inverse[None] * plain, NEVER)
        softmax = jnp.exp(score - log_ref[i, :][:, None])
        reach = _dot(d_mixed, x, 1, 1) + d_centre[:, None] * mean[None]
        kept = _kept(weights_ref[i, :], h) * (1.0 / keep)
        weight = softmax * kept
        d_score = softmax * (
            kept * (inverse[None] * reach + d_share_ref[i, :][:, None]) - along_ref[i, :][:, None]
        )
        d_raw, scaled = inverse[None] * d_score, inverse[None] * weight
        d_inverse = jnp.sum(weight * reach + d_score * plain, axis=0)
        d_mean = jnp.sum(scaled * d_centre[:, None] - d_raw * total[:, None], axis=0)
        d_variance = -0.5 * inverse * inverse * inverse * d_inverse
        left = d_raw.astype(x.dtype)
        d_asked_ref[i, :, :] = _dot(left, x, 1, 0) - jnp.sum(d_raw * mean[None], axis=1)[:, None]
        d_x = _dot(left, asked, 0, 0) + _dot(scaled.astype(x.dtype), d_mixed, 0, 0)
        shift = (d_mean - 2.0 * mean * d_variance) * (1.0 / d)
        d_x = d_x + shift[:, None] + (2.0 / d) * d_variance[:, None] * x.astype(jnp.float32)
        d_x = jnp.where(_mask(low, high, d), d_x, 0.0)
        return everyone + d_x, ones + jnp.where((bits != 0)[:, None], d_x, 0.0)

    def skip(i, _):
        d_asked_ref[i, :, :] = jnp.zeros((h, d), jnp.float32)

    zero = jnp.zeros((tile, d), jnp.float32)
    everyone, ones = jax.lax.fori_loop(0, count_ref[0], step, (zero, zero))
    jax.lax.fori_loop(count_ref[0], s, skip, None)
    d_table_ref[0] = everyone - ones
    d_table_ref[1] = ones


def _token(pair, bits, low, high):
    x = jnp.where((bits != 0)[:, None], pair[1], pair[0])
    return jnp.where(_mask(low, high, x.shape[1]), x, jnp.zeros_like(x))


def _mask(low, high, d: int):
    channel = jax.lax.broadcasted_iota(jnp.uint32, (low.shape[0], d), 1)
    word = jnp.where(channel < 32, low[:, None], high[:, None])
    return ((word >> (channel & 31)) & 1) != 0


def _kept(weights, heads: int):
    head = jax.lax.broadcasted_iota(jnp.uint32, (heads, weights.shape[0]), 0)
    return ((weights[None] >> head) & 1).astype(jnp.float32)


def _moments(x, epsilon: float):
    wide = x.astype(jnp.float32)
    mean = jnp.sum(wide, axis=1) * (1.0 / x.shape[1])
    variance = jnp.sum(wide * wide, axis=1) * (1.0 / x.shape[1]) - mean * mean
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
