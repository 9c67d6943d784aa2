r"""Noise on some patches, followed through a ViT or a CNN to where both have a row for each patch.

$$g = \left( \frac{\sum_i |x_i' - x_i|^2}{\sum_i |x_i - \bar x|^2} \right)^{1/2}$$

over the patches that were hit, and over those that were spared, as in `denoising`: $x$ clean, $x'$
noisy, $\bar x$ the clean mean. A CNN is read behind those of its layers that have as many places
as there are patches, so that both networks see the image at one stride.

Reference: xu2022, Section 1 (the claim); the protocol is ours.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from limelight.core.types import Example
from limelight.models.cnn import ConvNet
from limelight.models.vit import ViT


def patch_features(model: ViT | ConvNet, example: Example) -> list[Float[Array, "patches _"]]:
    """A row for each patch, behind every block, or behind every layer of the patches' stride."""
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
        noise.append(jnp.sum((y - x) ** 2, axis=1) @ parts)
        signal.append(jnp.sum((x - jnp.mean(x, axis=0, keepdims=True)) ** 2, axis=1) @ parts)
    return jnp.stack(noise), jnp.stack(signal)
