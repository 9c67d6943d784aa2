r"""A block of a ViT as one kernel of a GPU each way: its rows are read once and written once.

The mathematics is that of `layers.Block`. A program of the grid takes one image through both halves
of the block: its rows, scores and neurons stay on the chip. Going back it makes them anew from the
rows that entered either half, and leaves behind what the gradients of the weights are products of;
those are taken over all images at once. Sums are in float32, and no sum is left to atomics: the
same bits come out every time.
"""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Bool, Float

from limelight.models.layers import Block

Rows = Float[Array, "images tokens width"]

#: Below every score, and finite, so that it makes no NaN.
NEVER = -1e30
#: Neurons at a time.
NEURONS = 64
#: Warps that share an image, going forward and back, and loads in flight.
WARPS, STAGES = (4, 4), (1, 1)


class Weights(NamedTuple):
    """The arrays of a block as the kernels read them."""

    gain: Array
    shift: Array
    query: Array
    key: Array
    value: Array
    query_bias: Array
    key_bias: Array
    value_bias: Array
    output: Array
    output_bias: Array
    mlp_gain: Array
    mlp_shift: Array
    into: Array
    into_bias: Array
    out: Array
    out_bias: Array


def fits(block: Block, tokens: int) -> bool:
    """Whether the kernels have a form for a block: a plain one, its sizes powers of two."""
    attention, norms = block.attention, (block.norm_attention, block.norm_mlp)
    extras = attention.query_norm, attention.key_norm, attention.rotary, attention.bias
    extras += block.gate, block.norm_hidden
    width, hidden = block.into.weight.shape
    size = width // attention.heads
    return (
        all(extra is None for extra in extras)
        and block.activation == "gelu"
        and all(norm.centred and norm.epsilon == norms[0].epsilon for norm in norms)
        and all(n & (n - 1) == 0 for n in (tokens, width, size, hidden))
        and min(tokens, size) >= 16
        and hidden >= NEURONS
        and max(tokens, width) <= 128
    )


def run(block: Block, x: Rows, kept: Bool[Array, "images tokens"]) -> Rows:
    """The rows after the block, for many images."""
    attention = block.attention
    bias = lambda affine: jnp.zeros_like(affine.weight[0]) if affine.bias is None else affine.bias
    weights = Weights(
        gain=block.norm_attention.gain,
        shift=block.norm_attention.shift,
        query=attention.query.weight,
        key=attention.key.weight,
        value=attention.value.weight,
        query_bias=bias(attention.query),
        key_bias=bias(attention.key),
        value_bias=bias(attention.value),
        output=attention.output.weight,
        output_bias=bias(attention.output),
        mlp_gain=block.norm_mlp.gain,
        mlp_shift=block.norm_mlp.shift,
        into=block.into.weight,
        into_bias=bias(block.into),
        out=block.out.weight,
        out_bias=bias(block.out),
    )
    return through(weights, x, kept, attention.heads, block.norm_attention.epsilon, False)


@partial(jax.custom_vjp, nondiff_argnums=(3, 4, 5))
def through(weights: Weights, x: Rows, kept, heads: int, epsilon: float, interpret: bool) -> Rows:
    """`run`, its weights in a row."""
    return _ahead(weights, x, kept, heads, epsilon, interpret)[0]


def _ahead(weights, x, kept, heads, epsilon, interpret):
    (images, tokens, width), kind = x.shape, x.dtype
    image, whole = _specs(weights)
    rows = jax.ShapeDtypeStruct(x.shape, kind)
    end, middle = pl.pallas_call(
        partial(_forward, heads=heads, epsilon=epsilon),
        grid=(images,),
        in_specs=[*whole, image(tokens, width), image(tokens)],
        out_specs=[image(tokens, width)] * 2,
        out_shape=[rows, rows],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=WARPS[0], num_stages=STAGES[0]),
        name="block",
    )(*weights, x, kept.astype(jnp.int32))
    return end, (weights, x, middle, kept)


def _back(heads, epsilon, interpret, saved, slope):
    weights, x, middle, kept = saved
    (images, tokens, width), kind = x.shape, x.dtype
    hidden = weights.into.shape[1]
    image, whole = _specs(weights)
    sums = [width] * 9 + [hidden]
    shapes = [(tokens, n) for n in (width, width, width, 3 * width, width, width, hidden, hidden)]
    new = [jax.ShapeDtypeStruct((images, *shape), kind) for shape in shapes]
    dx, d_middle, rows, asked, mixed, mlp_rows, d_hidden, active, small = pl.pallas_call(
        partial(_backward, heads=heads, epsilon=epsilon),
        grid=(images,),
        in_specs=[*whole, *[image(tokens, width)] * 3, image(tokens)],
        out_specs=[*(image(*shape) for shape in shapes), image(sum(sums))],
        out_shape=[*new, jax.ShapeDtypeStruct((images, sum(sums)), jnp.float32)],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=WARPS[1], num_stages=STAGES[1]),
        name="block_backward",
    )(*weights, x, middle, slope, kept.astype(jnp.int32))
    ends = [sum(sums[: i + 1]) for i in range(len(sums) - 1)]
    total = jnp.split(jnp.sum(small, axis=0).astype(kind), ends)
    gain, shift, q_bias, k_bias, v_bias, o_bias, mlp_gain, mlp_shift, out_bias, into_bias = total
    product = lambda a, b: jnp.einsum("nta,ntb->ab", a, b)
    query, key, value = jnp.split(product(rows, asked), 3, axis=1)
    gradient = Weights(
        gain, shift, query, key, value, q_bias, k_bias, v_bias, product(mixed, d_middle), o_bias,
        mlp_gain, mlp_shift, product(mlp_rows, d_hidden), into_bias, product(active, slope),
        out_bias,
    )  # fmt: skip
    return gradient, dx, None


through.defvjp(_ahead, _back)


def _specs(weights: Weights):
    image = lambda *shape: pl.BlockSpec((None, *shape), lambda i: (i,) + (0,) * len(shape))
    whole = [pl.BlockSpec(w.shape, lambda i, n=w.ndim: (0,) * n) for w in weights]
    return image, whole


def _forward(*refs, heads, epsilon):
    *arrays, x_ref, kept_ref, end_ref, middle_ref = refs
    w = Weights(*arrays)
    x, kept = x_ref[...], kept_ref[...] != 0
    rows = _scaled(_unit(x, epsilon)[0], w.gain, w.shift).astype(x.dtype)
    total = jnp.zeros(x.shape, jnp.float32)
    size = x.shape[1] // heads

    def head(i, total):
        at = pl.ds(i * size, size)
        _, _, v, S = _asked(w, rows, kept, at)
        return total + _dot(_dot(S.astype(x.dtype), v, 1, 0).astype(x.dtype), w.output[at, :], 1, 0)

    total = jax.lax.fori_loop(0, heads, head, total)
    x += (total + w.output_bias[...][None]).astype(x.dtype)
    middle_ref[...] = x
    rows = _scaled(_unit(x, epsilon)[0], w.mlp_gain, w.mlp_shift).astype(x.dtype)
    total = jnp.zeros(x.shape, jnp.float32)

    def neurons(i, total):
        at = pl.ds(i * NEURONS, NEURONS)
        active = _gelu(_affine(rows, w.into, w.into_bias, at))[0]
        return total + _dot(active.astype(x.dtype), w.out[at, :], 1, 0)

    total = jax.lax.fori_loop(0, w.into.shape[1] // NEURONS, neurons, total)
    end_ref[...] = x + (total + w.out_bias[...][None]).astype(x.dtype)


def _backward(*refs, heads, epsilon):
    arrays, (x_ref, middle_ref, slope_ref, kept_ref) = refs[:16], refs[16:20]
    (
        dx_ref, d_middle_ref, rows_ref, asked_ref, mixed_ref, mlp_rows_ref, d_hidden_ref,
        active_ref, small_ref,
    ) = refs[20:]  # fmt: skip
    w = Weights(*arrays)
    kept, slope = kept_ref[...] != 0, slope_ref[...]
    kind, (tokens, width) = slope.dtype, slope.shape
    place = lambda i: pl.ds(i * width, width)

    unit, inverse = _unit(middle_ref[...], epsilon)
    rows = _scaled(unit, w.mlp_gain, w.mlp_shift).astype(kind)
    mlp_rows_ref[...] = rows
    small_ref[place(8)] = _column_sums(slope)
    d_rows = jnp.zeros((tokens, width), jnp.float32)

    def neurons(i, d_rows):
        at = pl.ds(i * NEURONS, NEURONS)
        active, rise = _gelu(_affine(rows, w.into, w.into_bias, at))
        d_hidden = (_dot(slope, w.out[at, :], 1, 1) * rise).astype(kind)
        active_ref[:, at], d_hidden_ref[:, at] = active.astype(kind), d_hidden
        small_ref[pl.ds(9 * width + at.start, NEURONS)] = _column_sums(d_hidden)
        return d_rows + _dot(d_hidden, w.into[:, at], 1, 1)

    d_rows = jax.lax.fori_loop(0, w.into.shape[1] // NEURONS, neurons, d_rows)
    small_ref[place(6)], small_ref[place(7)] = _column_sums(d_rows * unit), _column_sums(d_rows)
    d_x = _unscaled(d_rows, unit, inverse, w.mlp_gain) + slope.astype(jnp.float32)
    d_middle = d_x.astype(kind)
    d_middle_ref[...] = d_middle
    small_ref[place(5)] = _column_sums(d_middle)

    rows = _scaled(_unit(x_ref[...], epsilon)[0], w.gain, w.shift).astype(kind)
    rows_ref[...] = rows
    d_rows = jnp.zeros((tokens, width), jnp.float32)
    size = width // heads

    def head(i, d_rows):
        at = pl.ds(i * size, size)
        q, k, v, S = _asked(w, rows, kept, at)
        short = S.astype(kind)
        mixed_ref[:, at] = _dot(short, v, 1, 0).astype(kind)
        d_mixed = _dot(d_middle, w.output[at, :], 1, 1).astype(kind)
        d_S = _dot(d_mixed, v, 1, 1)
        d_score = S * (d_S - jnp.sum(S * d_S, axis=1)[:, None]) * size**-0.5
        d_score = d_score.astype(kind)
        parts = (
            (_dot(d_score, k, 1, 0), w.query),
            (_dot(d_score, q, 0, 0), w.key),
            (_dot(short, d_mixed, 0, 0), w.value),
        )
        for j, (part, matrix) in enumerate(parts):
            asked = part.astype(kind)
            columns = pl.ds(j * width + at.start, size)
            asked_ref[:, columns] = asked
            small_ref[pl.ds((2 + j) * width + at.start, size)] = _column_sums(asked)
            d_rows += _dot(asked, matrix[:, at], 1, 1)
        return d_rows

    d_rows = jax.lax.fori_loop(0, heads, head, d_rows)
    unit, inverse = _unit(x_ref[...], epsilon)
    small_ref[place(0)], small_ref[place(1)] = _column_sums(d_rows * unit), _column_sums(d_rows)
    dx_ref[...] = (_unscaled(d_rows, unit, inverse, w.gain) + d_x).astype(kind)


def _asked(w: Weights, rows, kept, at):
    """Queries, keys, values and the softmax of the head whose columns these are."""
    q = _affine(rows, w.query, w.query_bias, at).astype(rows.dtype)
    k = _affine(rows, w.key, w.key_bias, at).astype(rows.dtype)
    v = _affine(rows, w.value, w.value_bias, at).astype(rows.dtype)
    score = jnp.where(kept[None], _dot(q, k, 1, 1) * q.shape[1] ** -0.5, NEVER)
    weight = jnp.exp(score - jnp.max(score, axis=1)[:, None])
    return q, k, v, weight / jnp.sum(weight, axis=1)[:, None]


def _affine(rows, weight, bias, at):
    return _dot(rows, weight[:, at], 1, 0) + bias[at].astype(jnp.float32)[None]


def _unit(x, epsilon):
    """Rows of mean 0 and variance 1, and what they were multiplied with."""
    wide, part = x.astype(jnp.float32), 1.0 / x.shape[1]
    centred = wide - (jnp.sum(wide, axis=1) * part)[:, None]
    inverse = jax.lax.rsqrt(jnp.sum(centred * centred, axis=1) * part + epsilon)
    return centred * inverse[:, None], inverse


def _scaled(unit, gain, shift):
    return unit * gain[...].astype(jnp.float32)[None] + shift[...].astype(jnp.float32)[None]


def _unscaled(slope, unit, inverse, gain):
    """The gradient of the rows that a norm read, from that of those it gave."""
    slope, part = slope * gain[...].astype(jnp.float32)[None], 1.0 / unit.shape[1]
    along = jnp.sum(slope * unit, axis=1) * part
    level = jnp.sum(slope, axis=1) * part
    return (slope - level[:, None] - unit * along[:, None]) * inverse[:, None]


def _gelu(x):
    """The function and its slope; the error function to 1.5e-7 (Abramowitz and Stegun, 7.1.26)."""
    far = jnp.abs(x) * math.sqrt(0.5)
    t = 1.0 / (1.0 + 0.3275911 * far)
    bell = jnp.exp(-far * far)
    tail = 1.061405429 * t - 1.453152027
    for term in (1.421413741, -0.284496736, 0.254829592):
        tail = tail * t + term
    tail = 0.5 * tail * t * bell
    below = jnp.where(x < 0, tail, 1.0 - tail)
    return x * below, below + x * bell * (1.0 / math.sqrt(2.0 * math.pi))


def _column_sums(x):
    return jnp.sum(x.astype(jnp.float32), axis=0)


def _dot(a, b, i: int, j: int):
    """The product of two tiles, contracted over axis `i` of one and `j` of the other."""
    return jax.lax.dot_general(a, b, (((i,), (j,)), ((), ())), preferred_element_type=jnp.float32)
