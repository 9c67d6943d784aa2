"""Linear attention: the layer as written by hand, and its reduced forms."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight import InputError
from limelight.models import FullAttention, LinearAttention
from limelight.models.linear_attention import as_written
from limelight.worlds import Prompt, Prompts

BY_HAND = Prompt(
    jnp.array([[1.0, 0], [0, 1], [1, 1]]),
    jnp.array([1.0, -1, 2]),
    jnp.array([0.5, 2.0]),
    jnp.array(0.0),
)


def test_the_layer_as_written_against_hand_computed_values():
    with jax.enable_x64(True):
        prompt = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), BY_HAND)
        value = np.array([[1.0, 2, 3], [4, 5, 6], [0, 0, 2]])
        keys = np.array([[0.5, -1, 7], [0.25, 1, 8], [0, 0, 9]])
        layer = lambda: FullAttention(jnp.asarray(value)[None], jnp.asarray(keys)[None])
        assert float(layer()(prompt)) == pytest.approx(-2.083333333333, rel=1e-9)
        keys[2, :2], value[2, :2] = (0.1, 0.2), (0.3, -0.1)
        assert float(layer()(prompt)) == pytest.approx(-0.440416666667, rel=1e-9)


@pytest.mark.parametrize("form", ["merged", "separate"])
@pytest.mark.parametrize("start", ["gauss", "authors"])
def test_the_reduced_layer_is_the_layer_as_written(form, start):
    with jax.enable_x64(True):
        world = Prompts(5, 7)
        model = LinearAttention(form, 3, 2, 0.5, start).init(jr.key(0), world, None)
        prompt = world.sample(jr.key(1), None, jnp.array(0))
        assert float(model(prompt)) == pytest.approx(float(as_written(model)(prompt)), abs=1e-12)


def test_starts_have_their_scales():
    world = Prompts(4, 7)
    draw = lambda *fields: LinearAttention(*fields).init(jr.key(3), world, None)
    gauss = draw("merged", 4000, 1, 0.3)
    assert jnp.linalg.norm(gauss.value) == pytest.approx(0.3, rel=0.05)
    assert jnp.linalg.norm(gauss.key_query) == pytest.approx(0.3, rel=0.05)
    theirs = draw("separate", 4000, 1, 0.3, "authors")
    assert jnp.std(theirs.value) == pytest.approx(0.3 / np.sqrt(4000 * 25), rel=0.05)
    assert jnp.std(theirs.key) == pytest.approx(0.3 / np.sqrt(4000 * 5), rel=0.05)
    theorem = draw("merged", 1, 1, 0.3, "theorem")
    assert jnp.linalg.norm(theorem.key_query) == pytest.approx(0.3, rel=1e-5)
    assert np.linalg.matrix_rank(np.asarray(theorem.key_query[0]), tol=1e-5) == 2
    with pytest.raises(InputError):
        LinearAttention("separate", start="theorem").check(world)
