"""ViTs that are small enough for tests, and one that knows its digits."""

import functools

import equinox as eqx
import jax
import jax.random as jr

from limelight.models import Vision, ViT
from limelight.models.base import split
from limelight.study.course import Course
from limelight.worlds import Images

#: Grey patches of 2 x 2 pixels, 4 x 4 of them: what the digits are.
WORLD = Images(patch=2, unit=False)
RECIPE = Vision(width=12, depth=3, heads=2, hidden=24, pool="class", outputs=10)


def shaken(recipe: Vision = RECIPE, world: Images = WORLD, seed: int = 0) -> ViT:
    """Away from the start, so that no gain, bias or shift is idle."""
    trained, rest = split(recipe.init(jr.key(seed), world, None))
    leaves, shape = jax.tree.flatten(trained)
    keys = jr.split(jr.key(seed + 1), len(leaves))
    moved = [leaf + 0.2 * jr.normal(k, leaf.shape) for leaf, k in zip(leaves, keys, strict=True)]
    return eqx.combine(jax.tree.unflatten(shape, moved), rest)


@functools.cache
def taught() -> ViT:
    """A ViT that names most digits; a few seconds of training."""
    recipe = Vision(width=24, depth=2, heads=2, hidden=48, pool="class")
    world = WORLD.loaded()

    @eqx.filter_jit
    def train(world):
        truth = world.draw(jr.key(0))
        course = Course(steps=250, batch=64, rate=5e-3)
        return course(jr.key(2), world, truth, recipe.init(jr.key(1), world, truth)).model

    return train(world)
