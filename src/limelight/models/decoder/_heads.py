r"""Each head's few columns of a map, for a GPU.

A head reads and writes a few columns of a map, four of 64 where there are 16 heads, and a library's
products of a depth of four are slow. Here the heads of a few examples are rows of one product of
full depth, each with zeros in the other heads' columns, which costs as many times the arithmetic as
there are heads, and nothing that a GPU would notice:

    spread      q [s w], K [w d]      ->  u [s h d]    u_h = K_h^T q_h
    collect     M [s h d], V [d w]    ->  o [s w]      o_h = V_h^T M_h
    cross       q [s w], u [s h d]    ->  [w d]        of a map its gradient, q_h u_h^T summed

`exact` products are in full float32, others have inputs of ten bits (TF32).
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float

#: Rows of a product at most.
TILE = 64
WARPS = 4


def spread(
    rows: Float[Array, "s w"],
    maps: Float[Array, "w d"],
    heads: int,
    dtype: Any,
    exact: bool,
    interpret: bool = False,
) -> Float[Array, "s h d"]:
    """Every head's columns of a row through its own rows of a map."""
    (s, w), d = rows.shape, maps.shape[1]
    tile = _tile(s * heads)
    found = _call(
        partial(_spread, heads=heads, exact=exact),
        (s * heads // tile,),
        [_tiles(tile // heads, w), _whole(w, d)],
        _tiles(tile, d),
        jax.ShapeDtypeStruct((s * heads, d), dtype),
        interpret,
        "spread",
    )(rows, maps)
    return found.reshape(s, heads, d)


def _spread(rows_ref, maps_ref, out_ref, *, heads, exact):
    wide = _own(rows_ref[...], heads)
    out_ref[...] = _dot(wide, maps_ref[...], 1, 0, exact).astype(out_ref.dtype)


def collect(
    wide: Float[Array, "s h d"], maps: Float[Array, "d w"], exact: bool, interpret: bool = False
) -> Float[Array, "s w"]:
    """Every head's row through its own columns of a map, the heads side by side."""
    (s, h, d), w = wide.shape, maps.shape[1]
    tile = _tile(s * h)
    return _call(
        partial(_collect, heads=h, exact=exact),
        (s * h // tile,),
        [_tiles(tile, d), _whole(d, w)],
        _tiles(tile // h, w),
        jax.ShapeDtypeStruct((s, w), wide.dtype),
        interpret,
        "collect",
    )(wide.reshape(s * h, d), maps)


def _collect(wide_ref, maps_ref, out_ref, *, heads, exact):
    out_ref[...] = _chosen(_dot(wide_ref[...], maps_ref[...], 1, 0, exact), heads)


def cross(
    rows: Float[Array, "s w"], wide: Float[Array, "s h d"], exact: bool, interpret: bool = False
) -> Float[Array, "w d"]:
    """Of all examples and heads, a row's columns times the wide row."""
    (s, w), (_, h, d) = rows.shape, wide.shape
    tile = _tile(s * h)
    return _call(
        partial(_cross, heads=h, tile=tile, exact=exact),
        (1,),
        [_whole(s, w), _whole(s * h, d)],
        _whole(w, d),
        jax.ShapeDtypeStruct((w, d), rows.dtype),
        interpret,
        "cross",
    )(rows, wide.reshape(s * h, d))


def _cross(rows_ref, wide_ref, out_ref, *, heads, tile, exact):
    examples = tile // heads

    def step(i, total):
        own = _own(rows_ref[pl.ds(i * examples, examples), :], heads)
        return total + _dot(own, wide_ref[pl.ds(i * tile, tile), :], 0, 0, exact)

    steps = wide_ref.shape[0] // tile
    out_ref[...] = jax.lax.fori_loop(0, steps, step, jnp.zeros(out_ref.shape, jnp.float32))


def collect_and_cross(
    parts: Float[Array, "t s d h"],
    rows: Float[Array, "s w"],
    maps: Float[Array, "d w"],
    exact: bool,
    interpret: bool = False,
) -> tuple[Float[Array, "s w"], Float[Array, "w d"]]:
    """`collect` and `cross` of a sum of parts less its mean over the width."""
    (t, s, d, h), w = parts.shape, rows.shape[1]
    tile = _tile(s * h)
    return _call(
        partial(_collect_and_cross, tile=tile, exact=exact),
        (1,),
        [_whole(t, s, d, h), _whole(s, w), _whole(d, w)],
        [_whole(s, w), _whole(w, d)],
        [jax.ShapeDtypeStruct(shape, rows.dtype) for shape in ((s, w), (w, d))],
        interpret,
        "collect_and_cross",
    )(parts, rows, maps)


def _collect_and_cross(parts_ref, rows_ref, maps_ref, out_ref, cross_ref, *, tile, exact):
    count, s, d, heads = parts_ref.shape
    examples, maps = tile // heads, maps_ref[...]
    channel, column = (jax.lax.broadcasted_iota(jnp.int32, (d, tile), axis) for axis in (0, 1))
    head = column - heads * jax.lax.div(column, jnp.int32(heads))

    def step(i, total):
        here = pl.ds(i * examples, examples)
        example = i * examples + jax.lax.div(column, jnp.int32(heads))
        part = lambda j, wide: wide + parts_ref[j, example, channel, head].astype(jnp.float32)
        wide = jax.lax.fori_loop(0, count, part, jnp.zeros((d, tile), jnp.float32))
        wide = wide - jnp.sum(wide, axis=0)[None] * (1.0 / d)
        out_ref[here, :] = _chosen(_dot(wide, maps, 0, 0, exact), heads)
        return total + _dot(_own(rows_ref[here, :], heads), wide, 0, 1, exact)

    steps = s * heads // tile
    cross_ref[...] = jax.lax.fori_loop(0, steps, step, jnp.zeros(cross_ref.shape, jnp.float32))


def _own(rows, heads: int):
    """A row for each head of the examples, with zeros in the other heads' columns."""
    examples, width = rows.shape
    wide = jnp.broadcast_to(rows[:, None], (examples, heads, width)).reshape(-1, width)
    return jnp.where(_mine(heads, wide.shape), wide, 0.0)


def _chosen(found, heads: int):
    """Of the rows of every example's heads each one's own columns, side by side."""
    kept = jnp.where(_mine(heads, found.shape), found, 0.0)
    return jnp.sum(kept.reshape(-1, heads, found.shape[1]), axis=1)


def _mine(heads: int, shape: tuple[int, ...]):
    """Which columns are those of a row's head."""
    row, column = (jax.lax.broadcasted_iota(jnp.int32, shape, axis) for axis in (0, 1))
    of = jnp.int32  # also where JAX makes 64-bit numbers of Python's
    return jax.lax.div(column, of(shape[1] // heads)) == row - heads * jax.lax.div(row, of(heads))


def _tile(rows: int) -> int:
    """The largest power of two that divides them, `TILE` at most."""
    return min(rows & -rows, TILE)


def _call(kernel, grid, in_specs, out_specs, out_shape, interpret: bool, name: str):
    return pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=in_specs,
        out_specs=out_specs,
        out_shape=out_shape,
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=WARPS),
        name=name,
    )


def _tiles(tile: int, d: int):
    return pl.BlockSpec((tile, d), lambda i: (i, 0))


def _whole(*shape: int):
    return pl.BlockSpec(shape, lambda i: (0,) * len(shape))


def _dot(a, b, i: int, j: int, exact: bool):
    """The product of two tiles, contracted over axis `i` of one and `j` of the other."""
    return jax.lax.dot_general(
        a,
        b,
        (((i,), (j,)), ((), ())),
        precision=jax.lax.Precision.HIGHEST if exact else jax.lax.Precision.DEFAULT,
        preferred_element_type=jnp.float32,
    )
