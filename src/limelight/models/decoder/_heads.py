r"""Each head's few columns of a map, for a GPU.

A head reads and writes four columns of a map of 64, and a library's products of a depth of four
are slow. Here the heads of an example are rows of one product of depth 64, each with zeros in the
other heads' columns, which costs sixteen times the arithmetic and nothing that a GPU would notice:

    spread      q [s w], K [w d]     ->  u [s h d]    u_h = K_h^T q_h
    collect     M [s h d], V [d w]   ->  o [s w]      o_h = V_h^T M_h

A program takes `TILE` rows, which are the heads of a few examples. `exact` products are in full
float32, others have inputs of ten bits (TF32).
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float

#: Rows of a product at most.
TILE = 64


@partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4))
def spread(
    rows: Float[Array, "s w"],
    maps: Float[Array, "w d"],
    heads: int,
    exact: bool,
    interpret: bool = False,
) -> Float[Array, "s h d"]:
    """Every head's columns of a row through its own rows of a map."""
    return _spread(rows, maps, heads, exact, interpret)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def collect(
    wide: Float[Array, "s h d"], maps: Float[Array, "d w"], exact: bool, interpret: bool = False
) -> Float[Array, "s w"]:
    """Every head's row through its own columns of a map, the heads side by side."""
    return _collect(wide, maps, exact, interpret)


def _spread_back(heads, exact, interpret, saved, slope):
    rows, maps = saved
    how = exact, interpret
    return _collect(slope, maps.T, *how), _crossed(rows, slope, *how)


def _collect_back(exact, interpret, saved, slope):
    wide, maps = saved
    how = exact, interpret
    return _spread(slope, maps.T, wide.shape[1], *how), _crossed(slope, wide, *how).T


spread.defvjp(lambda *given: (_spread(*given), given[:2]), _spread_back)
collect.defvjp(lambda *given: (_collect(*given), given[:2]), _collect_back)


def _spread(rows, maps, heads: int, exact: bool, interpret: bool):
    (s, w), d = rows.shape, maps.shape[1]
    tile = _tile(s * heads)
    found = pl.pallas_call(
        partial(_spread_kernel, heads=heads, tile=tile, exact=exact),
        grid=(s * heads // tile,),
        in_specs=[_tiles(tile // heads, w), _whole(w, d)],
        out_specs=_tiles(tile, d),
        out_shape=jax.ShapeDtypeStruct((s * heads, d), rows.dtype),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=4),
        name="spread",
    )(rows, maps)
    return found.reshape(s, heads, d)


def _spread_kernel(rows_ref, maps_ref, out_ref, *, heads, tile, exact):
    wide = _own(rows_ref, 0, heads, tile)
    out_ref[...] = _dot(wide, maps_ref[...], 1, 0, exact)


def _collect(wide, maps, exact: bool, interpret: bool):
    (s, h, d), w = wide.shape, maps.shape[1]
    tile = _tile(s * h)
    return pl.pallas_call(
        partial(_collect_kernel, heads=h, tile=tile, exact=exact),
        grid=(s * h // tile,),
        in_specs=[_tiles(tile, d), _whole(d, w)],
        out_specs=_tiles(tile // h, w),
        out_shape=jax.ShapeDtypeStruct((s, w), wide.dtype),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=4),
        name="collect",
    )(wide.reshape(s * h, d), maps)


def _collect_kernel(wide_ref, maps_ref, out_ref, *, heads, tile, exact):
    found = _dot(wide_ref[...], maps_ref[...], 1, 0, exact)
    *_, own = _places(0, heads, tile, found.shape[1])
    kept = jnp.where(own, found, 0.0)  # of the heads of an example one in each column
    out_ref[...] = jnp.sum(kept.reshape(tile // heads, heads, -1), axis=1)


def _crossed(rows, wide, exact: bool, interpret: bool):
    """The gradient of a map: of all heads and examples, a row's columns times the wide row."""
    (s, w), (_, h, d) = rows.shape, wide.shape
    tile = _tile(s * h)
    return pl.pallas_call(
        partial(_crossed_kernel, heads=h, tile=tile, exact=exact),
        grid=(1,),
        in_specs=[_whole(s, w), _whole(s * h, d)],
        out_specs=_whole(w, d),
        out_shape=jax.ShapeDtypeStruct((w, d), rows.dtype),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=4),
        name="crossed",
    )(rows, wide.reshape(s * h, d))


def _crossed_kernel(rows_ref, wide_ref, out_ref, *, heads, tile, exact):
    def step(i, total):
        own = _own(rows_ref, i, heads, tile)
        return total + _dot(own, wide_ref[pl.ds(i * tile, tile), :], 0, 0, exact)

    steps = wide_ref.shape[0] // tile
    out_ref[...] = jax.lax.fori_loop(0, steps, step, jnp.zeros(out_ref.shape, jnp.float32))


def _own(rows_ref, number, heads: int, tile: int):
    """Rows of a tile, a head each, with zeros in the other heads' columns."""
    example, column, own = _places(number, heads, tile, rows_ref.shape[1])
    return jnp.where(own, rows_ref[example, column], 0.0)


def _places(number, heads: int, tile: int, width: int):
    """Of a tile, heads by columns: whose example, which column, and whether it is the head's."""
    row, column = (jax.lax.broadcasted_iota(jnp.int32, (tile, width), axis) for axis in (0, 1))
    row = number * tile + row
    example = jax.lax.div(row, heads)
    return example, column, jax.lax.div(column, width // heads) == row - heads * example


def _tile(rows: int) -> int:
    """The largest power of two that divides them, `TILE` at most."""
    return min(rows & -rows, TILE)


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
