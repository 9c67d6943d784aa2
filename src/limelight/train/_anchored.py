r"""The gradient of a selecting softmax whose direction is exact at any radius.

The derivative of the loss by $W$, with $a_i$ the token that sample $i$ prefers, is

$$-\frac{dL}{dW} = \frac1n\sum_i|\ell'_i|\sum_{t \ne a_i}
s_{it}(\gamma_{it} - \bar\gamma_i)(x_{it} - x_{ia_i})z_i^\top,\qquad
\bar\gamma_i = \sum_u s_{iu}\gamma_{iu}.$$

An automatic gradient has the term of $a_i$ as a difference of nearly equal numbers: rounding noise
once the logits are $\ln 2^{53} = 36.7$ apart. Here that term is gone, $\gamma_{it} - \bar\gamma_i$
is summed as $\sum_u s_{iu}(\gamma_{it} - \gamma_{iu})$, and all weights are logarithms of which the
largest is taken off before they are raised.

Reference: tarzanagh2023; the logarithms are limelight's.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from limelight._core.types import Scalar

LOG_SLOPES = {
    "logistic": lambda margin: -jax.nn.softplus(margin),
    "linear": jnp.zeros_like,
    "exp": lambda margin: -margin,
}
LOSSES = {
    "logistic": lambda margin: jax.nn.softplus(-margin),
    "linear": lambda margin: -margin,
    "exp": lambda margin: jnp.exp(-margin),
}


class Pull(NamedTuple):
    """A direction of norm 1 (or 0), and the logarithm of the gradient's norm."""

    direction: Float[Array, "rows columns"]
    log_norm: Scalar


class Batch(NamedTuple):
    r"""What the gradient reads: tokens, queries, scores, which tokens and which samples exist.

    A sample that does not exist has tokens and scores of 0, and so no gradient.
    """

    tokens: Float[Array, "samples tokens dimension"]
    queries: Float[Array, "samples width"]
    scores: Float[Array, "samples tokens"]
    kept: Bool[Array, "samples tokens"]
    used: Bool[Array, " samples"]

    def logits(self, W: Float[Array, "dimension width"]) -> Float[Array, "samples tokens"]:
        r"""$x_{it}^\top Wz_i$; minus infinity where there is no token."""
        seen = jnp.sum(W[None] * self.queries[:, None, :], axis=2)
        found = jnp.sum(self.tokens * seen[:, None, :], axis=2)
        return jnp.where(self.kept, found, -jnp.inf)


def anchored_pull(batch: Batch, W: Float[Array, "dimension width"], loss: str = "logistic") -> Pull:
    r"""$-dL/dW$ as a direction and a logarithm."""
    logits = batch.logits(W)
    chosen = jnp.argmax(logits, axis=1)
    log_s = jax.nn.log_softmax(logits, axis=1)
    s = jnp.exp(log_s)
    gamma = jnp.where(batch.kept, batch.scores, 0.0)
    over = jnp.sum(s[:, None, :] * (gamma[:, :, None] - gamma[:, None, :]), axis=2)
    log_slope = LOG_SLOPES[loss](jnp.sum(s * gamma, axis=1))
    others = batch.kept & (jnp.arange(gamma.shape[1])[None, :] != chosen[:, None])
    some = others & (over != 0)
    log_w = jnp.where(
        some, log_s + log_slope[:, None] + jnp.log(jnp.where(some, jnp.abs(over), 1.0)), -jnp.inf
    )
    top = jnp.max(log_w)
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    w = jnp.sign(over) * jnp.exp(log_w - top)
    best = jnp.take_along_axis(batch.tokens, chosen[:, None, None], axis=1)
    moved = jnp.sum(w[:, :, None] * (batch.tokens - best), axis=1)
    G = jnp.sum(moved[:, :, None] * batch.queries[:, None, :], axis=0) / jnp.sum(batch.used)
    norm = jnp.linalg.norm(G)
    direction = jnp.where(norm > 0, G / jnp.where(norm > 0, norm, 1.0), 0.0)
    return Pull(direction, top + jnp.log(norm))


def automatic_pull(
    batch: Batch, W: Float[Array, "dimension width"], loss: str = "logistic"
) -> Float[Array, "dimension width"]:
    """$-dL/dW$ by automatic differentiation, as the released notebooks have it."""

    def total(W: Array) -> Scalar:
        s = jax.nn.softmax(batch.logits(W), axis=1)
        gamma = jnp.where(batch.kept, batch.scores, 0.0)
        losses = LOSSES[loss](jnp.sum(s * gamma, axis=1))
        return jnp.sum(jnp.where(batch.used, losses, 0.0)) / jnp.sum(batch.used)

    return -jax.grad(total)(W)
