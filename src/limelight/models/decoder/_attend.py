r"""Attention of the [CLS] row under dropout, with keys and values absorbed and its own gradient.

For one example, with $x_t = m_t \odot e_{t, b_t}$ the embedded token under its mask (unscaled),
$\mu_t$ its mean, $w_t$ the inverse of its deviation, and the query carried through the key map,
$\tilde u_h = g \odot W_{K,h} q_h / \sqrt k$:

    s_ht = w_t (\tilde u_h . x_t - \mu_t \sum_c \tilde u_hc)         P_h = softmax_t s_ht
    a_ht = P_ht D_ht / keep      M_h = \sum_t a_ht w_t x_t      c_h = \sum_t a_ht w_t \mu_t

so that the mixed normalised token is $g \odot (M_h - c_h) + \beta \sum_t a_ht$. Layer norm never
touches the wide array: it acts on two numbers per token. What is wide (examples x tokens x width)
is written once, in `dtype`, and read by five products; all else is narrower by the number of heads.

The gradient is written out, because it needs no more than one wide array either: with
$r_ht = dM_h . x_t + dc_h \mu_t$,

    da = w r + dA        ds = P (D da / keep - \delta)
    \delta_h = dM_h . M_h + dc_h c_h + dA_h A_h
    dx_t = \sum_h w_t ds_ht \tilde u_h + a_ht w_t dM_h + (terms of \mu_t and w_t)

and the gradient of a place's two vectors is the masked sum of dx over the examples.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt32

from limelight.models.decoder._masks import unpack
from limelight.models.decoder._network import EPSILON

Sums = tuple[Float[Array, "s h d"], Float[Array, "s h"], Float[Array, "s h"]]


@partial(jax.custom_vjp, nondiff_argnums=(5, 6, 7, 8))
def attend(
    asked: Float[Array, "s h d"],
    table: Float[Array, "2 n d"],
    bits: Bool[Array, "s n"],
    tokens: UInt32[Array, "s w n"],
    weights: UInt32[Array, "s n"],
    places: int,
    keep: float,
    keep_tokens: float,
    dtype: Any,
) -> Sums:
    r"""$M$, $c$ and $\sum_t a_t$ of every example and head.

    Args:
        asked: $\tilde u$.
        table: Every place's vector for bit 0 and for bit 1.
        bits: Which of the two an example has.
        tokens: Mask words of the embedded tokens.
        weights: Mask words of the attention weights, one bit per head.
        places: Places in use; what is beyond is padding.
        keep: Probability behind the attention's mask.
        keep_tokens: Probability behind the tokens' mask.
        dtype: Of the wide array and of what is multiplied with it; sums are float32 or wider.
    """
    return _forward(asked, table, bits, tokens, weights, places, keep, keep_tokens, dtype)[0]


def _forward(asked, table, bits, tokens, weights, places, keep, keep_tokens, dtype):
    x = _masked(table, bits, tokens, dtype)
    mean, inverse = _moments(x, keep_tokens)
    asked = asked.astype(dtype)
    raw = _product("shd,snd->shn", asked, x)
    total = jnp.sum(asked.astype(raw.dtype), axis=-1)
    score = inverse[:, None] * (raw - mean[:, None] * total[..., None])
    score = jnp.where((jnp.arange(x.shape[1]) < places)[None, None], score, -jnp.inf)
    log_sum = jax.nn.logsumexp(score, axis=-1)
    weight = _weight(score, log_sum, weights, keep)
    scaled = weight * inverse[:, None]
    mixed = _product("shn,snd->shd", scaled.astype(dtype), x)
    sums = mixed, jnp.sum(scaled * mean[:, None], axis=-1), jnp.sum(weight, axis=-1)
    return sums, (asked, table, bits, tokens, weights, x, mean, inverse, score, log_sum, sums)


def _backward(places, keep, keep_tokens, dtype, saved, slopes):
    (mixed, centre, share), (d_mixed, d_centre, d_weight) = saved[-1], slopes
    along = jnp.sum(mixed * d_mixed, axis=-1) + centre * d_centre + share * d_weight
    asked, table, bits, tokens, weights, x, mean, inverse, score, log_sum, _ = saved
    d = x.shape[-1]
    narrow = d_mixed.astype(dtype)
    reach = _product("shd,snd->shn", narrow, x) + d_centre[..., None] * mean[:, None]
    softmax = jnp.exp(score - log_sum[..., None])
    kept = _kept(weights, score) / keep
    weight = softmax * kept
    w = inverse[:, None]
    d_score = softmax * (kept * (w * reach + d_weight[..., None]) - along[..., None])
    d_raw = w * d_score
    total = jnp.sum(asked.astype(d_raw.dtype), axis=-1)
    # The score over w is what the mean and the variance of a token multiply.
    plain = jnp.where(jnp.isfinite(score), score, 0.0) / w
    d_inverse = jnp.sum(weight * reach + d_score * plain, axis=1)
    d_mean = jnp.sum(weight * w * d_centre[..., None] - d_raw * total[..., None], axis=1)
    d_variance = -0.5 * inverse**3 * d_inverse
    # Two products of one depth: the score's gradient meets the query, the weight's the mixture.
    left = jnp.concatenate([d_raw, weight * w], axis=1).astype(dtype)
    right = jnp.concatenate([asked, narrow], axis=1)
    d_asked = _product("shn,snd->shd", left[:, : asked.shape[1]], x)
    d_asked = d_asked - jnp.sum(d_raw * mean[:, None], axis=-1)[..., None]
    d_x = _product("skn,skd->snd", left, right).astype(dtype).astype(d_raw.dtype)
    shift = (d_mean - 2.0 * mean * d_variance) / d
    d_x = d_x + shift[..., None] + (2.0 / d) * d_variance[..., None] * x.astype(d_raw.dtype)
    d_x = jnp.where(unpack(tokens.swapaxes(1, 2), d), d_x, 0.0)
    everyone = jnp.sum(d_x, axis=0)
    ones = jnp.sum(jnp.where(bits[..., None], d_x, 0.0), axis=0)
    return d_asked, jnp.stack([everyone - ones, ones]), None, None, None


attend.defvjp(_forward, _backward)


def _masked(table, bits, tokens, dtype) -> Float[Array, "s n d"]:
    # Rounded first, so that a masked token is exactly what its moments are taken of.
    table = table.astype(dtype)
    chosen = jnp.where(bits[..., None], table[1][None], table[0][None])
    return jnp.where(unpack(tokens.swapaxes(1, 2), table.shape[-1]), chosen, jnp.zeros((), dtype))


def _moments(x, keep_tokens: float) -> tuple[Float[Array, "s n"], Float[Array, "s n"]]:
    # Dividing by the probability would cancel in the norm but for its epsilon.
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    mean = jnp.mean(wide, axis=-1)
    variance = jnp.mean(wide**2, axis=-1) - mean**2
    return mean, jax.lax.rsqrt(variance + EPSILON * keep_tokens**2)


def _kept(weights: UInt32[Array, "s n"], score: Float[Array, "s h n"]) -> Float[Array, "s h n"]:
    heads = jnp.arange(score.shape[1], dtype=jnp.uint32)[None, :, None]
    return ((weights[:, None] >> heads) & 1).astype(score.dtype)


def _weight(score, log_sum, weights, keep: float) -> Float[Array, "s h n"]:
    return jnp.exp(score - log_sum[..., None]) * _kept(weights, score) / keep


def _product(subscripts: str, a: Array, b: Array) -> Array:
    wide = jnp.promote_types(a.dtype, jnp.float32)
    return jnp.einsum(subscripts, a, b, preferred_element_type=wide)
