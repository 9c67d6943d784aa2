r"""The attention of a block's [CLS] rows on a GPU: from their queries to their outputs, and back.

Kernels do all that is as wide as heads times width. With $u_h = \tilde K_h^T q_h$, the sums $M$,
$c$ and $A$ of `attend`, and maps that have the norm's gain in them (see `_together`), an output is

    o_h = \tilde V_h^T M_h - c_h v_h + A_h b_h

Its gradient is written out: with the slope $r$ of $o$,

    dM_h = \tilde V_h r_h     dc_h = -v_h . r_h     dA_h = b_h . r_h     \delta_h = r_h . o_h
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from limelight.models.decoder import _kernel as kernel
from limelight.models.decoder._heads import collect, collect_and_cross, cross, spread


@partial(jax.custom_vjp, nondiff_argnums=(10, 11, 12, 13, 14, 15))
def attended(
    query: Float[Array, "s w"],
    keys: Float[Array, "w d"],
    values: Float[Array, "d w"],
    centres: Float[Array, " w"],
    shares: Float[Array, " w"],
    table: Float[Array, "2 n d"],
    bits: Bool[Array, "s n"],
    tokens: UInt32[Array, "s two n"],
    weights: UInt32[Array, "s n"],
    count: Int[Array, ""],
    heads: int,
    places: int,
    keep: float,
    keep_tokens: float,
    dtype: Any,
    interpret: bool = False,
) -> Float[Array, "s w"]:
    r"""$o$ of every example, the heads side by side.

    Args:
        query: $q$.
        keys: $\tilde K^T$.
        values: $\tilde V$.
        centres: $v$.
        shares: $b$.
        table: Every place's vector for bit 0 and for bit 1.
        bits: Which of the two an example has.
        tokens: Mask words of the embedded tokens.
        weights: Mask words of the attention weights, one bit per head.
        count: Examples that matter, the first ones; the outputs of others are finite.
        heads: Of the attention.
        places: Places in use; what is beyond is padding.
        keep: Probability behind the attention's mask.
        keep_tokens: Probability behind the tokens' mask.
        dtype: Of what is wide and of the parts of a query's gradient; sums are float32.
        interpret: For tests, without a GPU.
    """
    given = query, keys, values, centres, shares, table, bits, tokens, weights, count
    return _forward(*given, heads, places, keep, keep_tokens, dtype, interpret)[0]


def _forward(
    query, keys, values, centres, shares, table, bits, tokens, weights, count,
    heads, places, keep, keep_tokens, dtype, interpret,
):  # fmt: skip
    exact = dtype == jnp.float32
    asked = spread(query, keys, heads, dtype, exact, interpret)
    masks = bits.astype(jnp.int8), tokens, weights, count.astype(jnp.int32)
    given = asked, table.astype(dtype), *masks
    *sums, log_sum, mean, inverse = kernel.forward(
        *given, places, keep, keep_tokens, interpret=interpret
    )
    mixed, centre, share = sums
    output = collect(mixed, values, exact, interpret)
    output = output - _across(centre, query) * centres[None]
    output = output + _across(share, query) * shares[None]
    maps = query, keys, values, centres, shares
    return output, (maps, (*given, log_sum, mean, inverse), sums, output)


def _backward(heads, places, keep, keep_tokens, dtype, interpret, saved, slope):
    (query, keys, values, centres, shares), given, (mixed, centre, share), output = saved
    exact = dtype == jnp.float32
    d_mixed = spread(slope, values.T, heads, dtype, exact, interpret)
    by_head = lambda row: jnp.sum(row.reshape(len(row), heads, -1), axis=-1)
    slopes = d_mixed, -by_head(slope * centres[None]), by_head(slope * shares[None])
    along = by_head(slope * output)
    rest = {"slopes": slopes, "along": along, "places": places, "keep": keep}
    parts, d_table = kernel.backward(*given, **rest, interpret=interpret)
    d_query, d_keys = collect_and_cross(parts, query, keys.T, exact, interpret)
    d_values = cross(slope, mixed, exact, interpret).T
    d_centres = -jnp.sum(_across(centre, query) * slope, axis=0)
    d_shares = jnp.sum(_across(share, query) * slope, axis=0)
    return d_query, d_keys, d_values, d_centres, d_shares, d_table, None, None, None, None


attended.defvjp(_forward, _backward)


def _across(number: Float[Array, "s h"], row: Float[Array, "s w"]) -> Float[Array, "s w"]:
    """A head's number at each of its columns."""
    return jnp.repeat(number, row.shape[1] // number.shape[1], axis=-1)
