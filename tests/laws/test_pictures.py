"""Every world shows an example and every model its parts: members are found by themselves.

Shapes are traced and filled with zeros, so that nothing is compiled.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight import plot
from limelight.plot.marks import Map, Points
from limelight.plot.weights import MOST
from tests.laws.members import MODELS, WORLDS


def zeros(make):
    """What a function returns, with zeros for its numbers."""
    return jax.tree.map(
        lambda leaf: jax.device_put(np.zeros(leaf.shape, leaf.dtype)), jax.eval_shape(make)
    )


class Told:
    """A world that has told of an example already."""

    def __init__(self, told):
        self.told = told

    def shown(self, seed):
        return self.told


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_shows_one_example(name):
    world = WORLDS[name]
    truth = zeros(lambda: world.draw(jr.key(0)))
    told = world.tell(truth, zeros(lambda: world.sample(jr.key(0), truth, jnp.array(0))))
    assert np.ndim(told.values) == 2
    marks = [mark for panel in plot.example(Told(told)).panels for mark in panel.content]
    if told.groups is None:
        assert any(isinstance(mark, Map) for mark in marks)
        return
    assert told.groups.shape == (len(told.values),)
    assert 0 <= told.groups.min() <= told.groups.max() < len(told.names)
    drawn = sum(len(mark.x) for mark in marks if isinstance(mark, Points) and mark.label)
    assert drawn == len(told.values)  # every token once, under the name of its group


@pytest.mark.parametrize("name", MODELS)
def test_a_model_shows_its_parts(name):
    world, recipe = MODELS[name]
    truth = zeros(lambda: world.draw(jr.key(0)))
    model = zeros(lambda: recipe.init(jr.key(1), world, truth))
    drawn = plot.parts(model)
    arrays = [x for x in jax.tree.leaves(model) if x.size > 1 and x.dtype.kind == "f"]
    assert len(drawn.panels) == max(1, min(len(arrays), MOST))
    sizes = [" x ".join(f"{n:,}" for n in array.shape) for array in arrays[:MOST]]
    assert sorted(panel.title.split(", ", 1)[-1] for panel in drawn.panels) == sorted(sizes or [""])
