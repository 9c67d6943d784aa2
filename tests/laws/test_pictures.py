"""Every world shows an example and every model its parts: members are found by themselves.

Shapes are traced and filled with plain numbers, so that nothing is compiled.
"""

import json

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight import plot
from limelight._core.kinds import kind_of
from limelight.papers._studied import FOLDER, kinds_in, pictures
from limelight.plot.marks import Map, Points
from limelight.plot.weights import MOST
from tests.laws.members import MODELS, WORLDS, recipe_members, world_members


def zeros(make, fill=np.zeros):
    """What a function returns, with zeros or other plain numbers."""
    return jax.tree.map(
        lambda leaf: jax.device_put(fill(leaf.shape, leaf.dtype)), jax.eval_shape(make)
    )


def rising(shape, dtype):
    """An array in which no two numbers are alike, so that there is something to see."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


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
    told = world.tell(truth, zeros(lambda: world.sample(jr.key(0), truth, jnp.array(0)), np.ones))
    assert np.ndim(told.values) == 2
    marks = [mark for panel in plot.example(Told(told)).panels for mark in panel.content]
    if told.groups is None:
        assert any(isinstance(mark, Map | Points) for mark in marks)
        return
    assert told.groups.shape == (len(told.values),)
    assert 0 <= told.groups.min() <= told.groups.max() < len(told.names)
    drawn = sum(len(mark.x) for mark in marks if isinstance(mark, Points) and mark.label)
    assert drawn == len(told.values)  # every token once, under the name of its group


@pytest.mark.parametrize("name", MODELS)
def test_a_model_shows_its_parts(name):
    world, recipe = MODELS[name]
    truth = zeros(lambda: world.draw(jr.key(0)))
    model = zeros(lambda: recipe.init(jr.key(1), world, truth), rising)
    drawn = plot.parts(model)
    arrays = [x for x in jax.tree.leaves(model) if x.size > 1 and x.dtype.kind == "f"]
    assert len(drawn.panels) == max(1, min(len(arrays), MOST))
    sizes = [" × ".join(f"{n:,}" for n in array.shape) for array in arrays[:MOST]]
    assert sorted(panel.title.split(", ", 1)[-1] for panel in drawn.panels) == sorted(sizes or [""])


def test_an_array_of_one_number_stands_in_the_caption():
    drawn = plot.parts({"gain": np.ones(4), "bias": np.zeros(3), "key": np.eye(2)})
    assert [panel.title for panel in drawn.panels] == ["key, 2 × 2"]
    assert "gain = 1, bias = 0" in drawn.facts


def test_every_world_and_model_is_drawn_for_pages():
    """To draw them: `python docs/studied.py`."""
    kinds = {kind_of(part) for part in [*world_members().values(), *recipe_members().values()]}
    assert {*json.loads((FOLDER / "pictures.json").read_text())} == kinds
    assert {path.stem for path in FOLDER.glob("*.png")} == kinds


def test_a_run_is_shown_with_its_own_world_and_model():
    world = {"is": "world.sparse", "inner": {"is": "world.patterns"}}
    study = {"is": "experiment.study", "world": world, "model": {"is": "model.shallow"}}
    kinds = kinds_in({"configuration": {"experiment": study}})
    assert kinds == ["world.sparse", "world.patterns", "model.shallow"]
    shown = pictures(kinds)
    assert [one.alt.split(":")[0] for one in shown[:2]] == [
        "One example of Sparse",
        "One example of Patterns",
    ]
    assert shown[2].alt.startswith("Shallow at its start")
    assert pictures([]) == [] == kinds_in({})
