"""The decoder as a stock network computes it: every row, keys, values, masks spelled out."""

import jax
import jax.numpy as jnp

from limelight.models.decoder._masks import unpack


def spelled_out(words, model):
    """Mask words as truth values: tokens, weights, and the two residuals, one row per example."""
    n, width = model.length + 1, model.width
    return (
        unpack(words.tokens.swapaxes(1, 2), width)[:, :n],
        unpack(words.weights[..., None], model.heads)[:, :n].swapaxes(1, 2),
        unpack(words.attended, width),
        unpack(words.processed, width),
    )


def rows(model, bits, masks=None, keep=1.0, keep_tokens=1.0):
    """Logits of one example; dropout, where there is any, acts on the row that is read."""
    table = model.embedded()
    x = jnp.where(jnp.append(bits, False)[:, None], table[1], table[0])
    if masks is not None:
        x = x * masks[0] / keep_tokens
    z = model.before(x)
    n, k = x.shape[0], model.width // model.heads
    query, key, value = (f(z).reshape(n, -1, k) for f in (model.query, model.key, model.value))
    score = jnp.einsum("ihk,jhk->hij", query, key) / jnp.sqrt(k)
    score = jnp.where(jnp.tril(jnp.ones((n, n), dtype=bool)), score, -jnp.inf)
    weight = jax.nn.softmax(score, axis=-1)
    attended, processed = jnp.ones_like(x), jnp.ones_like(x)
    if masks is not None:
        weight = weight.at[:, -1].multiply(masks[1] / keep)
        attended = attended.at[-1].set(masks[2] / keep)
        processed = processed.at[-1].set(masks[3] / keep)
    mixed = jnp.einsum("hij,jhk->ihk", weight, value).reshape(n, -1)
    return model.finish(x, mixed, attended, processed)[-1]
