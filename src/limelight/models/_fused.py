r"""A block of a ViT as three kernels of a GPU each way.

The mathematics is that of `layers.Block`. Rows become queries, keys and values; every head of every
image mixes; then rows pass through the output's matrix and the MLP, whose neurons stay on the chip.
Many small programs, so that one waits while another computes. Going back, the middle rows, the
queries, keys, values and what was mixed are read again, scores and neurons are made anew, and what
the gradients of the weights are products of is left behind; those products are taken over all
images at once. Sums are in float32, and no sum is left to atomics: the same bits come out every
time.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Bool, Float

from limelight.models import _kernels as kernels
from limelight.models.layers import Attention, Block, Norm

Rows = Float[Array, "images tokens width"]


class Form(NamedTuple):
    """How a kernel is laid out."""

    #: Rows of a program; one that takes a head has all rows of an image.
    rows: int = 64
    #: Warps of a program, and loads of a loop in flight.
    warps: int = 4
    stages: int = 1
    #: Neurons at a time.
    neurons: int = 64


#: Numbers of an image's rows at most: more have not been tried on a device.
MOST = 64 * 128
#: The form of each kernel: the fastest of six that were measured once on an H200 with 256 images.
FORMS = dict.fromkeys(("block_rows", "block_heads", "block_mlp"), Form()) | dict.fromkeys(
    ("block_backward_heads", "block_backward_rows", "block_backward_mlp"),
    Form(stages=2, neurons=32),
)


class BlockArrays(NamedTuple):
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


def takes(network: Any) -> bool:
    """Whether the kernels have a form for a ViT: in bfloat16, patches alone, plain blocks."""
    odd = network.first or network.keep or network.place_norm or network.drop_path
    short = network.embed.weight.dtype == jnp.bfloat16
    return not odd and short and all(fits(layer, network.tokens) for layer in network.blocks)


def fits(block: Block, tokens: int) -> bool:
    """Whether the kernels have a form for a block: a plain one, its sizes powers of two."""
    attention, norms = block.attention, (block.norm_attention, block.norm_mlp)
    extras = attention.query_norm, attention.key_norm, attention.rotary, attention.bias
    extras += block.gate, block.norm_hidden
    width, hidden = block.into.weight.shape
    size = width // attention.heads
    parts = (block, Block), (attention, Attention), *((norm, Norm) for norm in norms)
    return (
        all(type(part) is plain for part, plain in parts)  # a subclass may compute otherwise
        and all(extra is None for extra in extras)
        and block.activation == "gelu"
        and all(norm.centred and norm.epsilon == norms[0].epsilon for norm in norms)
        and all(n & (n - 1) == 0 for n in (tokens, width, size, hidden))
        and min(tokens, size) >= 16
        and hidden >= max(form.neurons for form in FORMS.values())
        and max(tokens, width) <= 128
        and tokens * width <= MOST
    )


def run(block: Block, x: Rows, kept: Bool[Array, "images tokens"]) -> Rows:
    """The rows after the block, for many images."""
    attention = block.attention
    bias = lambda affine: jnp.zeros_like(affine.weight[0]) if affine.bias is None else affine.bias
    weights = BlockArrays(
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
def through(
    weights: BlockArrays, x: Rows, kept, heads: int, epsilon: float, interpret: bool
) -> Rows:
    """`run`, its weights in a row."""
    return _ahead(weights, x, kept, heads, epsilon, interpret)[0]


def _ahead(weights, x, kept, heads, epsilon, interpret):
    w, kind, (images, tokens, width) = weights, x.dtype, x.shape
    over_rows = partial(_over_rows, epsilon=epsilon, interpret=interpret)
    flat = x.reshape(-1, width)
    arrays = (w.gain, w.shift, w.query, w.key, w.value, w.query_bias, w.key_bias, w.value_bias)
    (asked,) = over_rows("block_rows", kernels.forward_rows, arrays, [flat], [3 * width], 0)
    asked = asked.reshape(images, tokens, 3, width)
    three, columns, _, here = _parts(tokens, width, heads)
    given, made = [(asked, three), (kept.astype(jnp.int32), here)], [(x.shape, kind, columns)]
    grid = images, heads
    (mixed,) = _launch("block_heads", kernels.forward_heads, grid, given, made, interpret)
    mixed = mixed.reshape(flat.shape)
    arrays = (w.output, w.output_bias, w.mlp_gain, w.mlp_shift)
    arrays += (w.into, w.into_bias, w.out, w.out_bias)
    kernel = partial(kernels.forward_mlp, count=FORMS["block_mlp"].neurons)
    end, middle = over_rows("block_mlp", kernel, arrays, [flat, mixed], [width, width], 0)
    return end.reshape(x.shape), (weights, x, middle, asked, mixed, kept)


def _back(heads, epsilon, interpret, saved, slope):
    w, x, middle, asked, mixed, kept = saved
    (images, tokens, width), kind, hidden = x.shape, x.dtype, w.into.shape[1]
    over_rows = partial(_over_rows, epsilon=epsilon, interpret=interpret)
    flat = lambda a: a.reshape(images * tokens, -1)
    slope = flat(slope)
    d_middle, mlp_rows, d_hidden, active, mlp_sums = over_rows(
        "block_backward_mlp",
        partial(kernels.backward_mlp, count=FORMS["block_backward_mlp"].neurons),
        (w.mlp_gain, w.mlp_shift, w.into, w.into_bias, w.out),
        [middle, slope],
        [width, width, hidden, hidden],
        4 * width + hidden,
    )
    three, _, rows, here = _parts(tokens, width, heads)
    output = pl.BlockSpec((width // heads, width), lambda i, h: (h, 0))
    bias = pl.BlockSpec((None, 3, width // heads), lambda i, h: (i, 0, h))
    given = [(w.output, output), (asked, three), (d_middle.reshape(x.shape), rows)]
    d_asked, bias_sums = _launch(
        "block_backward_heads",
        kernels.backward_heads,
        (images, heads),
        [*given, (kept.astype(jnp.int32), here)],
        [(asked.shape, kind, three), ((images, 3, width), jnp.float32, bias)],
        interpret,
    )
    dx, rows, norm_sums = over_rows(
        "block_backward_rows",
        kernels.backward_rows,
        (w.gain, w.shift, w.query, w.key, w.value),
        [flat(x), d_middle, flat(d_asked)],
        [width, width],
        2 * width,
    )
    totals = _totals([bias_sums.reshape(images, -1), mlp_sums, norm_sums])
    split = lambda a, n: jnp.split(a.astype(kind), [width * i for i in range(1, n)])
    (q_bias, k_bias, v_bias), (gain, shift) = split(totals[0], 3), split(totals[2], 2)
    o_bias, mlp_gain, mlp_shift, out_bias, into_bias = split(totals[1], 5)
    query, key, value = jnp.split(rows.T @ flat(d_asked), 3, axis=1)
    gradient = BlockArrays(
        gain, shift, query, key, value, q_bias, k_bias, v_bias, mixed.T @ d_middle, o_bias,
        mlp_gain, mlp_shift, mlp_rows.T @ d_hidden, into_bias, active.T @ slope, out_bias,
    )  # fmt: skip
    return gradient, dx.reshape(x.shape), None


through.defvjp(_ahead, _back)


def _totals(sums):
    """The sums of all programs of several kernels, in one pass over them."""
    count = min(map(len, sums))  # powers of two lie between the counts
    folded = [a.reshape(count, -1) for a in sums]
    total, totals = jnp.sum(jnp.concatenate(folded, axis=1), axis=0), []
    for a, part in zip(sums, folded, strict=True):
        mine, total = total[: part.shape[1]], total[part.shape[1] :]
        totals.append(jnp.sum(mine.reshape(-1, a.shape[1]), axis=0))
    return totals


def _over_rows(name, kernel, weights, arrays, widths, sums, epsilon, interpret):
    """A program takes some rows of all images; `sums` numbers of it are kept beside them."""
    length, kind = len(arrays[0]), arrays[0].dtype
    few = math.gcd(FORMS[name].rows, length)
    rows = lambda n: pl.BlockSpec((few, n), lambda i: (i, 0))
    whole = lambda a: pl.BlockSpec(a.shape, lambda i: (0,) * a.ndim)
    made = [((length, n), kind, rows(n)) for n in widths]
    if sums:
        spec = pl.BlockSpec((None, sums), lambda i: (i, 0))
        made.append(((length // few, sums), jnp.float32, spec))
    given = [(a, whole(a)) for a in weights] + [(a, rows(a.shape[1])) for a in arrays]
    kernel = partial(kernel, epsilon=epsilon)
    return _launch(name, kernel, (length // few,), given, made, interpret)


def _launch(name, kernel, grid, given, made, interpret):
    """Arrays, and shapes and kinds of those to be made, each with the part a program has of it."""
    arrays, ins = zip(*given, strict=True)
    shapes, kinds, outs = zip(*made, strict=True)
    form = FORMS[name]
    return pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=ins,
        out_specs=outs,
        out_shape=tuple(map(jax.ShapeDtypeStruct, shapes, kinds)),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=form.warps, num_stages=form.stages),
        name=name,
    )(*arrays)


def _parts(tokens, width, heads):
    """What the program of a head has: its columns of two kinds of arrays, rows, and which count."""
    size = width // heads
    return (
        pl.BlockSpec((None, tokens, 3, size), lambda i, h: (i, 0, 0, h)),
        pl.BlockSpec((None, tokens, size), lambda i, h: (i, 0, h)),
        pl.BlockSpec((None, tokens, width), lambda i, h: (i, 0, 0)),
        pl.BlockSpec((None, tokens), lambda i, h: (i, 0)),
    )
