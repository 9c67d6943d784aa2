"""Noise followed through a ViT and a CNN, against loops and against what a kernel can see."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight.measures.denoising import noise_squares, patch_features
from limelight.models import Convolutional, Vision
from limelight.worlds import Images

WORLD = Images(patch=2)  # 4 x 4 patches of 8 x 8 digits
RECIPES = {
    "vit": Vision(width=8, depth=2, heads=2, hidden=8, pool="class"),
    "cnn": Convolutional((4, 6), (1, 2), blocks=1, norm="group"),
}


def pair(hit, seed=0):
    """An image, and the same with noise on some patches."""
    truth = WORLD.draw(jr.key(seed))
    clean = WORLD.sample(jr.key(seed), truth, jnp.array(3))
    added = jnp.where(hit[:, None], jr.normal(jr.key(9), clean.tokens.shape), 0.0)
    return clean, dataclasses.replace(clean, tokens=clean.tokens + added)


@pytest.mark.parametrize(("name", "stages"), [("vit", 2), ("cnn", 1)])
def test_squares_are_those_of_loops(name, stages):
    model = RECIPES[name].init(jr.key(1), WORLD, None)
    hit = jnp.arange(16) % 3 == 0
    clean, noisy = pair(hit)
    noise, signal = noise_squares(model, clean, noisy, hit)
    a, b = (patch_features(model, e) for e in (clean, noisy))
    assert len(a) == len(noise) == stages
    for x, y, one, other in zip(a, b, noise, signal, strict=True):
        x, y = np.asarray(x, float), np.asarray(y, float)
        assert len(x) == 16
        for part, chosen in enumerate((hit, ~hit)):
            rows = np.flatnonzero(chosen)
            mean = x.mean(axis=0)
            assert one[part] == pytest.approx(sum(((y[i] - x[i]) ** 2).sum() for i in rows), 1e-3)
            assert other[part] == pytest.approx(sum(((x[i] - mean) ** 2).sum() for i in rows), 1e-3)


def test_a_kernel_carries_noise_to_its_neighbours_and_attention_everywhere():
    hit = jnp.zeros(16, bool).at[0].set(True)
    clean, noisy = pair(hit)
    moved = {}
    for name, recipe in (("cnn", Convolutional((4,), (2,))), ("vit", RECIPES["vit"])):
        model = recipe.init(jr.key(1), WORLD, None)
        x, y = (patch_features(model, e)[0] for e in (clean, noisy))
        moved[name] = np.flatnonzero(np.abs(y - x).max(axis=1) > 0)
    assert set(moved["cnn"]) <= {0, 1, 4, 5}
    assert 0 in moved["cnn"]
    assert list(moved["vit"]) == list(range(16))
