"""ViTs that are small enough for tests; made without compiling anything."""

import functools
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from limelight.models import Vision, ViT
from limelight.worlds import Images, Patterns
from limelight.worlds.base import World

#: Grey patches of 2 x 2 pixels, 4 x 4 of them: what the digits are.
WORLD = Images(patch=2, unit=False)
RECIPE = Vision(width=12, depth=3, heads=2, hidden=24, pool="class", outputs=10)
#: A ViT trained on digits, by `fixtures/make_digits.py`.
DIGITS = Path(__file__).parents[1] / "fixtures" / "vit" / "digits.safetensors"


def shapes(recipe: Vision, world: World = WORLD) -> ViT:
    """A ViT without numbers in it."""
    return eqx.filter_eval_shape(lambda key: recipe.init(key, world, None), jr.key(0))


@functools.cache
def shaken(recipe: Vision = RECIPE, double: bool = False) -> ViT:
    """Random numbers everywhere, so that no gain, bias or shift is idle."""
    return filled(shapes(recipe), np.float64 if double else np.float32)


def filled(model: ViT, kind=np.float32) -> ViT:
    """Matrices of about unit gain, gains about 1, everything else about 0."""
    rng = np.random.default_rng(0)

    def fill(path, leaf):
        drawn = rng.normal(size=leaf.shape)
        name = getattr(path[-1], "name", "")
        scale = leaf.shape[0] ** -0.5 if name == "weight" else 0.3
        return jnp.asarray((name == "gain") + scale * drawn, kind)

    return jax.tree_util.tree_map_with_path(fill, model)


@functools.cache
def larger() -> ViT:
    """A ViT for 12 x 12 grey images, which the digits are not."""
    recipe = Vision(width=8, depth=2, heads=2, hidden=8, pool="class", outputs=10)
    return filled(shapes(recipe, Patterns(tokens=36, dimension=4)))
