"""Convolutions against JAX's own, and the shapes of the networks."""

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.models import Convolutional
from limelight.models.cnn import convolution
from limelight.worlds import Images, Patterns, base

dataset = eqx.filter_jit(base.dataset)


@pytest.mark.parametrize(("stride", "size"), [(1, 3), (2, 3), (2, 1)])
def test_windows_and_a_product_are_a_convolution(stride, size):
    layer = convolution(jr.key(0), 3, 5, stride, size)
    layer = eqx.tree_at(lambda l: l.kernel.bias, layer, jr.normal(jr.key(1), (5,)))
    image = jr.normal(jr.key(2), (8, 8, 3))
    kernel = layer.kernel.weight.reshape(size, size, 3, 5)
    pad = (size - 1) // 2
    want = jax.lax.conv_general_dilated(
        image[None], kernel, (stride, stride), [(pad, pad)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"), precision="highest",
    )[0] + layer.kernel.bias[None, None]  # fmt: skip
    np.testing.assert_allclose(layer(image), want, rtol=1e-4, atol=1e-5)


def test_group_norm_by_hand():
    layer = convolution(jr.key(0), 3, 8, norm="group")
    image = 5 + 3 * jr.normal(jr.key(2), (6, 6, 3))
    plain = eqx.tree_at(
        lambda l: (l.gain, l.shift), layer, (None, None), is_leaf=lambda x: x is None
    )
    y = np.asarray(plain(image)).reshape(36, 8, 1)
    want = (y - y.mean((0, 2), keepdims=True)) / np.sqrt(y.var((0, 2), keepdims=True) + 1e-5)
    np.testing.assert_allclose(layer(image), want.reshape(6, 6, 8), rtol=1e-3, atol=1e-4)


def test_a_convnet_reads_pixels_in_their_places():
    """The output depends on the image, not on how it was cut into patches."""
    truth = Images().draw(jr.key(0))
    outputs = []
    for patch in (1, 4):
        world = Images(patch=patch)
        recipe = Convolutional(widths=(4, 6), strides=(1, 2))
        model = eqx.filter_jit(recipe.init)(jr.key(1), world, truth)
        data = dataset(world, jr.key(2), truth, 3)
        outputs.append(jax.jit(jax.vmap(lambda e, model=model: model(model.prepare(e))))(data))
    assert outputs[0].shape == (3, 10)
    np.testing.assert_allclose(*outputs, rtol=1e-4, atol=1e-5)


def test_the_resnet_has_eighteen_layers_and_eleven_million_weights():
    recipe = Convolutional((64, 128, 256, 512), (1, 2, 2, 2), blocks=2, norm="group", outputs=100)

    class World:
        patch, dimension = 4, 48

    start = lambda key: recipe.init(key, World(), None)
    shapes = jax.eval_shape(eqx.filter_closure_convert(start, jr.key(0)), jr.key(0))
    weights = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    assert 11.0e6 < weights < 11.4e6


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="needs images"):
        Convolutional().check(Patterns())
    with pytest.raises(InputError, match="one for each layer"):
        Convolutional(widths=(4, 4, 4), strides=(1,)).check(Images())
    with pytest.raises(InputError, match="at least 1"):
        Convolutional(widths=(4, 0), strides=(1, 1)).check(Images())
    with pytest.raises(InputError, match="cannot be"):
        Convolutional(norm="batch").check(Images())
    assert not Convolutional().honours_masks
