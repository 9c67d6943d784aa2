r"""What the blocks of a ViT do to noise, stage by stage, and what attention has to do with it.

Noise is put on some patches of an image, or on the tokens that enter one block; the same network
reads both copies. At a stage, over a population of patches,

$$g = \left( \frac{\sum_i |x_i' - x_i|^2}{\sum_i |x_i - \bar x|^2} \right)^{1/2}$$

with $x$ clean, $x'$ noisy and $\bar x$ the clean mean token. The attention of a block is then
replaced by others over the same value and output maps: none at all ($A = I$), an even one, a 3 x 3
local average, its own without the diagonal. It *distils* noise where it lets less of it through
than $A = I$.

Reference: xu2022, Section 1 (the claim); the protocol is ours.
"""

import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from limelight._core.numerics import count
from limelight._core.types import Example, Number, PRNGKey
from limelight.models.cnn import ConvNet
from limelight.models.layers import Attention, Block, Tokens
from limelight.models.smoother import local_weights
from limelight.models.vit import ViT

#: Where noise is read in a block: on entry, after the norm, after averaging (before the output
#: map), after the first sum, after the second.
STAGES = ("entering", "normed", "mixed", "attended", "leaving")
#: What takes the place of attention.
CONTROLS = ("attention", "identity", "even", "local", "masked")
#: The noise of patches that were hit, and of the others.
POPULATIONS = ("hit", "spared")
Squares = Float[Array, "..."]


class BlockPassage(eqx.Module):
    """One token set on its way through one block; `STAGES`, and what attention was made of.

    `leaving` is missing where nobody asks for it.
    """

    entering: Tokens
    normed: Tokens
    mixed: Tokens
    attended: Tokens
    leaving: Tokens | None
    weights: Float[Array, "heads tokens tokens"]

    @property
    def left(self) -> Tokens:
        """What leaves, where it was asked for."""
        assert self.leaving is not None
        return self.leaving


def passage(block: Block, x: Tokens, places: Tokens | None = None) -> BlockPassage:
    """A block step by step; nothing is masked."""
    return passages(block, [x], 1, places)[0]


def passages(
    block: Block, rows: Sequence[Tokens], finished: int, places: Tokens | None = None
) -> list[BlockPassage]:
    """Several token sets through one block, the first `finished` of them to its end.

    They go side by side, so that a compiler meets the block once.
    """

    def halfway(x):
        normed = block.norm_attention(x)
        mixed, S = block.attention.mix(normed, jnp.ones(len(x), bool), places)
        return BlockPassage(x, normed, mixed, x + block.attention.output(mixed), None, S)

    every = jax.vmap(halfway)(jnp.stack(rows))
    until = every.attended[:finished]
    leaving = until + jax.vmap(block.perceptron)(until)
    one = lambda i: jax.tree.map(lambda values: values[i], every)
    ended = lambda i: dataclasses.replace(one(i), leaving=leaving[i])
    return [ended(i) if i < finished else one(i) for i in range(len(rows))]


def hit_patches(key: PRNGKey, patches: int, share: Number) -> Bool[Array, " patches"]:
    """A fixed share of the patches, drawn."""
    order = jr.permutation(key, patches)
    return order < count(share, patches)


def stage_squares(
    model: ViT,
    clean: Float[Array, "patches numbers"],
    noisy: Float[Array, "patches numbers"],
    hit: Bool[Array, " patches"],
) -> dict[str, Squares]:
    """Noise on an image, block by block, as sums of squares.

    Returns:
        `noise` and `signal`, [blocks, stages, populations]; `let_through`, [blocks, controls,
        populations], the noise after the output map, and `taken`, the same for `normed`.
    """
    places, x, y = model.places, model.embedded(clean), model.embedded(noisy)
    found = []
    for block in model.blocks:
        a, b = passage(block, x, places), passage(block, y, places)
        found.append(stage_block(block, a, b, hit, model.first))
        x, y = a.left, b.left
    return _stacked(found)


def stage_block(
    block: Block, a: BlockPassage, b: BlockPassage, hit: Bool[Array, " patches"], first: int
) -> dict[str, Squares]:
    """`stage_squares` of one block, from the passages of the clean tokens and of the noisy ones."""
    parts = jnp.stack([hit, ~hit], axis=1).astype(a.entering.dtype)
    u, v = (jnp.stack([getattr(one, s)[first:] for s in STAGES]) for one in (a, b))
    return {
        "noise": _square(v - u) @ parts,
        "signal": _square(u - _mean(u)) @ parts,
        "let_through": _controls(block.attention, a, b, first) @ parts,
        "taken": _square(b.normed - a.normed)[first:] @ parts,
    }


def patch_features(model: ViT | ConvNet, example: Example) -> list[Float[Array, "patches _"]]:
    """A row for each patch, after every block, or after every layer of the patches' stride.

    A CNN is read after those of its layers that have as many places as there are patches, so that
    both networks see the image at one stride.
    """
    if isinstance(model, ViT):
        return [rows[model.first :] for rows in model.read(example).tokens[1:]]
    layers = model.features(model.prepare(example))
    count = len(example.tokens)
    return [x.reshape(count, -1) for x in layers if x.shape[0] * x.shape[1] == count]


def noise_squares(
    model: ViT | ConvNet, clean: Example, noisy: Example, hit: Bool[Array, " patches"]
) -> tuple[Float[Array, "stages 2"], Float[Array, "stages 2"]]:
    """Squares of noise and of signal, at every stage, over patches that were hit and others."""
    parts = jnp.stack([hit, ~hit], axis=1).astype(float)
    pairs = zip(patch_features(model, clean), patch_features(model, noisy), strict=True)
    noise, signal = [], []
    for x, y in pairs:
        noise.append(_square(y - x) @ parts)
        signal.append(_square(x - _mean(x)) @ parts)
    return jnp.stack(noise), jnp.stack(signal)


def feature_squares(
    model: ViT, key: PRNGKey, clean: Float[Array, "patches numbers"], scale: Number
) -> dict[str, Squares]:
    r"""Isotropic noise on the patches that enter each block, one block at a time.

    With $A$ frozen at its clean value, noise $\delta$ that is independent and isotropic leaves row
    $i$ of head $h$ with $|\delta|^2 \sum_j A_{hij}^2 |W_h|_F^2 / d$. What differs from that is
    noise that is not isotropic after the norm; what differs from `frozen` is the response of $A$.
    `scale` is the length of the noise over the root mean square of $|x - \bar x|$.

    Returns:
        Sums of squares over patches, [blocks]: `taken` (after the norm), `total` (after
        averaging), `frozen` (with clean attention), `response` (of attention), `predicted` (of
        `frozen`); and [blocks, controls] `let_through`, after the output map.
    """
    places, x, found = model.places, model.embedded(clean), []
    for number, block in enumerate(model.blocks):
        drawn = jr.normal(jr.fold_in(key, number), x[model.first :].shape, x.dtype)
        noisy = shaken(x, scale * drawn, model.first)
        a, b = passages(block, [x, noisy], 1, places)
        found.append(feature_block(block, a, b, model.first))
        x = a.left
    return _stacked(found)


def feature_block(block: Block, a: BlockPassage, b: BlockPassage, first: int) -> dict[str, Squares]:
    """`feature_squares` of one block, from the passages of clean tokens and of `shaken` ones."""
    through = jnp.sum(_controls(block.attention, a, b, first), axis=-1)
    return _decomposed(block.attention, a, b, first) | {"let_through": through}


def shaken(x: Tokens, noise: Float[Array, "patches width"], first: int) -> Tokens:
    """Tokens with noise on the patches, in units of their spread: normal numbers times a scale."""
    spread = jnp.mean(_square(x[first:] - _mean(x[first:])))
    return x.at[first:].add(jnp.sqrt(spread / x.shape[1]) * noise)


def _stacked(blocks: list[dict[str, Squares]]) -> dict[str, Squares]:
    return {name: jnp.stack([block[name] for block in blocks]) for name in blocks[0]}


def _decomposed(att: Attention, a: BlockPassage, b: BlockPassage, first: int) -> dict[str, Array]:
    """Noise after averaging, and how it comes about."""
    values, noisy = att.values(a.normed), att.values(b.normed)
    frozen = att.joined(a.weights @ (noisy - values))
    response = att.joined((b.weights - a.weights) @ noisy)
    taken = jnp.sum(_square(b.normed - a.normed)[first:])
    width, patches = a.normed.shape[1], len(a.normed) - first
    maps = att.value.weight.reshape(width, att.heads, -1)
    gains = jnp.sum(maps**2, axis=(0, 2)) / width  # |W_h|_F^2 / d of every head
    rows = jnp.sum(a.weights[:, first:, first:] ** 2, axis=(1, 2))
    whole = lambda v: jnp.sum(_square(v)[first:])
    return {
        "taken": taken,
        "total": whole(b.mixed - a.mixed),
        "frozen": whole(frozen),
        "response": whole(response),
        "predicted": taken / patches * jnp.sum(gains * rows),
    }


def _controls(
    att: Attention, a: BlockPassage, b: BlockPassage, first: int
) -> Float[Array, "controls patches"]:
    """Squares of the noise after the output map, for every patch, under every attention."""
    values, noisy = att.values(a.normed), att.values(b.normed)
    added, eye = noisy - values, jnp.eye(len(a.normed), dtype=values.dtype)
    near = local_weights(round((len(eye) - first) ** 0.5), 1).astype(values.dtype)
    masked = _without_diagonal(b.weights, eye) @ noisy - _without_diagonal(a.weights, eye) @ values
    passed = {
        "attention": b.mixed - a.mixed,
        "identity": att.joined(added),
        "even": att.joined(jnp.broadcast_to(_mean(added), added.shape)),
        "local": att.joined(added.at[:, first:].set(near @ added[:, first:])),
        "masked": att.joined(masked),
    }
    every = jnp.stack([passed[name] for name in CONTROLS])
    return _square(every @ att.output.weight)[:, first:]


def _without_diagonal(S, eye):
    held = S * (1.0 - eye)[None]
    return held / jnp.sum(held, axis=-1, keepdims=True)


def _mean(rows: Float[Array, "*some tokens width"]) -> Float[Array, "*some 1 width"]:
    return jnp.mean(rows, axis=-2, keepdims=True)


def _square(rows: Float[Array, "*some tokens width"]) -> Float[Array, "*some tokens"]:
    return jnp.sum(rows**2, axis=-1)
