"""The kernels of a ViT's block: what one program of a grid computes.

A ref is the part of an array that the program has; `d_` marks what is going back. The kernels of
the MLP take `count` neurons at a time, so that neither they nor their slopes are all alive at once.
"""

import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

#: Below every score, and finite, so that it makes no NaN.
NEVER = -1e30


def forward_rows(gain, shift, *refs, epsilon):
    *weights, x_ref, asked_ref = refs
    rows = _scaled(_unit(x_ref[...], epsilon)[0], gain, shift).astype(x_ref.dtype)
    width = x_ref.shape[1]
    for j, (weight, bias) in enumerate(zip(weights[:3], weights[3:], strict=True)):
        asked = _affine(rows, weight, bias, slice(None))
        asked_ref[:, pl.ds(j * width, width)] = asked.astype(rows.dtype)


def forward_heads(asked_ref, kept_ref, mixed_ref):
    q, k, v = (asked_ref[:, j, :] for j in range(3))
    S = _softmax(q, k, kept_ref[...] != 0)
    mixed_ref[...] = _dot(S.astype(v.dtype), v, 1, 0).astype(v.dtype)


def forward_mlp(
    output, output_bias, gain, shift, into, into_bias, out, out_bias, x_ref, mixed_ref,
    end_ref, middle_ref, *, epsilon, count
):  # fmt: skip
    x = x_ref[...] + _affine(mixed_ref[...], output, output_bias, slice(None)).astype(x_ref.dtype)
    middle_ref[...] = x
    rows = _scaled(_unit(x, epsilon)[0], gain, shift).astype(x.dtype)

    def neurons(i, total):
        at = pl.ds(i * count, count)
        active = _gelu(_affine(rows, into, into_bias, at))[0]
        return total + _dot(active.astype(x.dtype), out[at, :], 1, 0)

    total = jnp.zeros(x.shape, jnp.float32)
    total = jax.lax.fori_loop(0, into.shape[1] // count, neurons, total)
    end_ref[...] = x + (total + out_bias[...][None]).astype(x.dtype)


def backward_mlp(
    gain, shift, into, into_bias, out, middle_ref, slope_ref,
    d_middle_ref, rows_ref, d_hidden_ref, active_ref, sums_ref, *, epsilon, count
):  # fmt: skip
    slope = slope_ref[...]
    kind, width = slope.dtype, slope.shape[1]
    place = lambda i: pl.ds(i * width, width)
    rows = _scaled(_unit(middle_ref[...], epsilon)[0], gain, shift).astype(kind)
    rows_ref[...] = rows
    sums_ref[place(3)] = _column_sums(slope)

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


def backward_heads(output, asked_ref, slope_ref, kept_ref, d_asked_ref, sums_ref):
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


def backward_rows(
    gain, shift, query, key, value, x_ref, slope_ref, asked_ref,
    dx_ref, rows_ref, sums_ref, *, epsilon
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
