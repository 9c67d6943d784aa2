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


class Form(NamedTuple):
    """How a kernel is laid out."""

    #: Rows of a program; of those that take a head of an image, all of it.
    rows: int = 64
    #: Warps of a program, and loads of a loop in flight.
    warps: int = 4
    stages: int = 1
    #: Neurons at a time.
    neurons: int = 64


#: The form of each kernel.
FORMS = {
    "block_rows": Form(),
    "block_heads": Form(),
    "block_mlp": Form(),
    "block_backward_mlp": Form(),
    "block_backward_heads": Form(),
    "block_backward_rows": Form(),
}


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
        and hidden >= max(form.neurons for form in FORMS.values())
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
    w, kind, (images, tokens, width) = weights, x.dtype, x.shape
    flat = (images * tokens, width)
    (asked,) = _over_rows(
        "block_rows", _forward_rows, epsilon, interpret,
        (w.gain, w.shift, w.query, w.key, w.value, w.query_bias, w.key_bias, w.value_bias),
        [x.reshape(flat)], [3 * width], kind,
    )  # fmt: skip
    asked = asked.reshape(images, tokens, 3, width)
    (mixed,) = _over_heads(
        "block_heads", _forward_heads, interpret, heads, [], [asked, kept], [(x.shape, kind)]
    )
    end, middle = _over_rows(
        "block_mlp", _forward_mlp, epsilon, interpret,
        (w.output, w.output_bias, w.mlp_gain, w.mlp_shift, w.into, w.into_bias, w.out, w.out_bias),
        [x.reshape(flat), mixed.reshape(flat)], [width, width], kind,
    )  # fmt: skip
    middle = middle.reshape(x.shape)
    return end.reshape(x.shape), (weights, x, middle, asked, mixed, kept)


def _back(heads, epsilon, interpret, saved, slope):
    w, x, middle, asked, mixed, kept = saved
    (images, tokens, width), kind = x.shape, x.dtype
    hidden, flat = w.into.shape[1], lambda a: a.reshape(images * tokens, -1)
    d_middle, mlp_rows, d_hidden, active, mlp_sums = _over_rows(
        "block_backward_mlp", _backward_mlp, epsilon, interpret,
        (w.mlp_gain, w.mlp_shift, w.into, w.into_bias, w.out), [flat(middle), flat(slope)],
        [width, width, hidden, hidden], kind, 4 * width + hidden,
    )  # fmt: skip
    d_asked, bias_sums = _over_heads(
        "block_backward_heads", _backward_heads, interpret, heads, [w.output],
        [asked, d_middle.reshape(x.shape), kept],
        [(asked.shape, kind), ((images, 3, width), jnp.float32)],
    )  # fmt: skip
    dx, rows, norm_sums = _over_rows(
        "block_backward_rows", _backward_rows, epsilon, interpret,
        (w.gain, w.shift, w.query, w.key, w.value), [flat(x), d_middle, flat(d_asked)],
        [width, width], kind, 2 * width,
    )  # fmt: skip
    # The sums of all programs, added up in one pass over them.
    sums = [bias_sums.reshape(images, -1), mlp_sums, norm_sums]
    count = min(map(len, sums))
    folded = [a.reshape(count, -1) for a in sums]
    ends = [folded[0].shape[1], folded[0].shape[1] + folded[1].shape[1]]
    total = jnp.split(jnp.sum(jnp.concatenate(folded, axis=1), axis=0), ends)
    total = [jnp.sum(t.reshape(-1, a.shape[1]), axis=0) for t, a in zip(total, sums, strict=True)]
    split = lambda a, n: jnp.split(a.astype(kind), [width * i for i in range(1, n)])
    q_bias, k_bias, v_bias = split(total[0], 3)
    o_bias, mlp_gain, mlp_shift, out_bias, into_bias = split(total[1], 5)
    gain, shift = split(total[2], 2)
    query, key, value = jnp.split(rows.T @ flat(d_asked), 3, axis=1)
    gradient = Weights(
        gain, shift, query, key, value, q_bias, k_bias, v_bias, flat(mixed).T @ d_middle, o_bias,
        mlp_gain, mlp_shift, mlp_rows.T @ d_hidden, into_bias, active.T @ flat(slope), out_bias,
    )  # fmt: skip
    return gradient, dx.reshape(x.shape), None


through.defvjp(_ahead, _back)


def _over_rows(name, kernel, epsilon, interpret, weights, arrays, widths, kind, sums=0):
    """A program takes some rows of all images; `sums` numbers of it are kept beside them."""
    form, length = FORMS[name], len(arrays[0])
    few = math.gcd(form.rows, length)
    rows = lambda n: pl.BlockSpec((few, n), lambda i: (i, 0))
    shapes = [((length, n), kind) for n in widths]
    specs = [rows(n) for n in widths]
    if sums:
        shapes.append(((length // few, sums), jnp.float32))
        specs.append(pl.BlockSpec((None, sums), lambda i: (i, 0)))
    return pl.pallas_call(
        partial(kernel, epsilon=epsilon),
        grid=(length // few,),
        in_specs=[*map(_whole, weights), *(rows(a.shape[1]) for a in arrays)],
        out_specs=specs,
        out_shape=[jax.ShapeDtypeStruct(*shape) for shape in shapes],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=form.warps, num_stages=form.stages),
        name=name,
    )(*weights, *arrays)


def _over_heads(name, kernel, interpret, heads, weights, arrays, outs):
    """A program takes one head of one image: the columns that are the head's."""
    form, (*arrays, kept) = FORMS[name], arrays
    images, tokens, _, width = arrays[0].shape
    size = width // heads
    columns = lambda shape: pl.BlockSpec(
        (None, *shape[1:-1], size), lambda i, h: (i,) + (0,) * (len(shape) - 2) + (h,)
    )
    whole = pl.BlockSpec((None, tokens, width), lambda i, h: (i, 0, 0))
    return pl.pallas_call(
        kernel,
        grid=(images, heads),
        in_specs=[
            *(pl.BlockSpec((size, width), lambda i, h: (h, 0)) for _ in weights),
            *(columns(a.shape) if a.ndim == 4 else whole for a in arrays),
            pl.BlockSpec((None, tokens), lambda i, h: (i, 0)),
        ],
        out_specs=[columns(shape) for shape, _ in outs],
        out_shape=[jax.ShapeDtypeStruct(*out) for out in outs],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=form.warps, num_stages=form.stages),
        name=name,
    )(*weights, *arrays, kept.astype(jnp.int32))


def _whole(array):
    return pl.BlockSpec(array.shape, lambda i: (0,) * array.ndim)


def _forward_rows(gain, shift, *refs, epsilon):
    *weights, x_ref, asked_ref = refs
    rows = _scaled(_unit(x_ref[...], epsilon)[0], gain, shift).astype(x_ref.dtype)
    width = x_ref.shape[1]
    for j, (weight, bias) in enumerate(zip(weights[:3], weights[3:], strict=True)):
        asked = _affine(rows, weight, bias, slice(None))
        asked_ref[:, pl.ds(j * width, width)] = asked.astype(rows.dtype)


def _forward_heads(asked_ref, kept_ref, mixed_ref):
    q, k, v = (asked_ref[:, j, :] for j in range(3))
    S = _softmax(q, k, kept_ref[...] != 0)
    mixed_ref[...] = _dot(S.astype(v.dtype), v, 1, 0).astype(v.dtype)


def _forward_mlp(
    output, output_bias, gain, shift, into, into_bias, out, out_bias, x_ref, mixed_ref,
    end_ref, middle_ref, *, epsilon
):  # fmt: skip
    x = x_ref[...] + _affine(mixed_ref[...], output, output_bias, slice(None)).astype(x_ref.dtype)
    middle_ref[...] = x
    rows = _scaled(_unit(x, epsilon)[0], gain, shift).astype(x.dtype)

    count = FORMS["block_mlp"].neurons

    def neurons(i, total):
        at = pl.ds(i * count, count)
        active = _gelu(_affine(rows, into, into_bias, at))[0]
        return total + _dot(active.astype(x.dtype), out[at, :], 1, 0)

    total = jnp.zeros(x.shape, jnp.float32)
    total = jax.lax.fori_loop(0, into.shape[1] // count, neurons, total)
    end_ref[...] = x + (total + out_bias[...][None]).astype(x.dtype)


def _backward_mlp(
    gain, shift, into, into_bias, out, middle_ref, slope_ref,
    d_middle_ref, rows_ref, d_hidden_ref, active_ref, sums_ref, *, epsilon
):  # fmt: skip
    slope = slope_ref[...]
    kind, width = slope.dtype, slope.shape[1]
    place = lambda i: pl.ds(i * width, width)
    rows = _scaled(_unit(middle_ref[...], epsilon)[0], gain, shift).astype(kind)
    rows_ref[...] = rows
    sums_ref[place(3)] = _column_sums(slope)

    count = FORMS["block_backward_mlp"].neurons

    def neurons(i, d_rows):
        at = pl.ds(i * count, count)
        active, rise = _gelu(_affine(rows, into, into_bias, at))
        active_ref[:, at] = active.astype(kind)
        d_hidden = (_dot(slope, out[at, :], 1, 1) * rise).astype(kind)
        d_hidden_ref[:, at] = d_hidden
        sums_ref[pl.ds(4 * width + at.start, count)] = _column_sums(d_hidden)
        return d_rows + _dot(d_hidden, into[:, at], 1, 1)

    d_rows = jnp.zeros(slope.shape, jnp.float32)
    d_rows = jax.lax.fori_loop(0, into.shape[1] // count, neurons, d_rows)
    unit, inverse = _unit(middle_ref[...], epsilon)
    sums_ref[place(1)], sums_ref[place(2)] = _column_sums(d_rows * unit), _column_sums(d_rows)
    d_middle = _unscaled(d_rows, unit, inverse, gain) + slope_ref[...].astype(jnp.float32)
    d_middle = d_middle.astype(kind)
    d_middle_ref[...] = d_middle
    sums_ref[place(0)] = _column_sums(d_middle)


def _backward_heads(output, asked_ref, slope_ref, kept_ref, d_asked_ref, sums_ref):
    q, k, v = (asked_ref[:, j, :] for j in range(3))
    kind = q.dtype
    S = _softmax(q, k, kept_ref[...] != 0)
    d_mixed = _dot(slope_ref[...], output[...], 1, 1).astype(kind)

    def leave(j, part):
        part = part.astype(kind)
        d_asked_ref[:, j, :] = part
        sums_ref[j, :] = _column_sums(part)

    leave(2, _dot(S.astype(kind), d_mixed, 0, 0))
    d_S = _dot(d_mixed, v, 1, 1)
    d_score = S * (d_S - jnp.sum(S * d_S, axis=1)[:, None]) * q.shape[1] ** -0.5
    d_score = d_score.astype(kind)
    leave(0, _dot(d_score, k, 1, 0))
    leave(1, _dot(d_score, q, 0, 0))


def _backward_rows(
    gain, shift, query, key, value, x_ref, slope_ref, asked_ref, dx_ref, rows_ref, sums_ref, *, epsilon
):  # fmt: skip
    width = x_ref.shape[1]
    d_rows = jnp.zeros(x_ref.shape, jnp.float32)
    for j, matrix in enumerate((query, key, value)):
        d_rows += _dot(asked_ref[:, pl.ds(j * width, width)], matrix[...], 1, 1)
    unit, inverse = _unit(x_ref[...], epsilon)
    rows_ref[...] = _scaled(unit, gain, shift).astype(rows_ref.dtype)
    sums_ref[pl.ds(0, width)] = _column_sums(d_rows * unit)
    sums_ref[pl.ds(width, width)] = _column_sums(d_rows)
    dx = _unscaled(d_rows, unit, inverse, gain) + slope_ref[...].astype(jnp.float32)
    dx_ref[...] = dx.astype(dx_ref.dtype)


def _softmax(q, k, kept):
    score = jnp.where(kept[None], _dot(q, k, 1, 1) * q.shape[1] ** -0.5, NEVER)
    weight = jnp.exp(score - jnp.max(score, axis=1)[:, None])
    return weight / jnp.sum(weight, axis=1)[:, None]


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
