"""The kernels of a block, interpreted, against the block written with plain arrays."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight.models import Vision, _fused, layers, vit
from limelight.models.layers import block
from limelight.worlds import Images
from limelight.worlds.sources._base import pictures

TOKENS, WIDTH, HEADS, HIDDEN = 16, 32, 2, 128


def case(images: int = 3, biased: bool = True):
    """A block whose arrays are all in use, rows, which of them are kept, and a slope."""
    made = block(jr.key(0), WIDTH, HEADS, HIDDEN, biased)
    leaves, tree = jax.tree.flatten(made)
    moved = [leaf + 0.1 * jr.normal(jr.key(i), leaf.shape) for i, leaf in enumerate(leaves)]
    x = jr.normal(jr.key(50), (images, TOKENS, WIDTH))
    kept = jnp.ones((images, TOKENS), bool).at[1, 3:6].set(False)
    return tree.unflatten(moved), x, kept, jr.normal(jr.key(51), x.shape)


@pytest.fixture
def interpreted(monkeypatch):
    """The kernels as they are, computed by the CPU."""
    compiled = _fused.through
    monkeypatch.setattr(_fused, "through", lambda *words: compiled(*words[:-1], True))


def written_out(made, x, kept):
    return jax.vmap(lambda rows, here: made(rows, here)[0])(x, kept)


def close(found, wanted, scale: float):
    """Every array to `scale` of its largest entry; keys' biases have no gradient but rounding."""
    pairs = zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(wanted), strict=True)
    for (path, a), b in pairs:
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        size = 1.0 if "key.bias" in jax.tree_util.keystr(path) else np.abs(b).max()
        np.testing.assert_allclose(a, b, rtol=0, atol=scale * size, err_msg=str(path))


@pytest.mark.parametrize(("images", "biased"), [(3, True), (3, False), (4, True)])
def test_rows_and_gradients_are_those_of_the_block(interpreted, images, biased):
    made, x, kept, slope = case(images, biased)  # a program takes the rows of 1 image, or of 4
    both = []
    for way in (_fused.run, written_out):
        rows, back = jax.vjp(lambda made, x, way=way: way(made, x, kept), made, x)
        both.append((rows, back(slope)))
    close(*both, scale=2e-5)


def test_networks_side_by_side_have_gradients_of_their_own(interpreted):
    made, x, kept, slope = case()
    pair = lambda tree: jax.tree.map(lambda leaf: jnp.stack([leaf, 1.1 * leaf]), tree)
    gradient = lambda way: jax.vmap(
        jax.grad(lambda made, x: jnp.sum(slope * way(made, x, kept)), (0, 1))
    )
    close(
        gradient(_fused.run)(pair(made), pair(x)), gradient(written_out)(pair(made), pair(x)), 2e-5
    )


def test_in_bfloat16_they_are_as_near_to_the_truth_as_the_block(interpreted):
    made, x, kept, slope = case()
    short = lambda tree: jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), tree)
    gradient = lambda way, *at: jax.grad(
        lambda made, x: jnp.sum(slope * way(made, x, kept).astype(jnp.float32)), (0, 1)
    )(*at)
    truth = gradient(written_out, made, x)
    far = lambda found: [
        float(jnp.linalg.norm(a.astype(jnp.float32) - b) / jnp.linalg.norm(b))
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(truth), strict=True)
    ]
    ours = far(gradient(_fused.run, *short((made, x))))
    plain = far(gradient(written_out, *short((made, x))))
    assert np.median(ours) < 1.1 * np.median(plain)


def test_what_has_no_kernel_is_told():
    made = block(jr.key(0), WIDTH, HEADS, HIDDEN, True)
    assert _fused.fits(made, 64)
    assert not _fused.fits(made, 65)  # a class token
    assert not _fused.fits(made, 256)
    assert not _fused.fits(block(jr.key(0), 48, 3, HIDDEN, True), 64)
    assert not _fused.fits(block(jr.key(0), 32, 4, HIDDEN, True), 64)  # heads of 8
    assert not _fused.fits(block(jr.key(0), WIDTH, HEADS, 32, True), 64)
    gated = layers.Block(
        made.norm_attention, made.attention, made.norm_mlp, made.into, made.out, gate=made.into
    )
    assert not _fused.fits(gated, 64)


def test_only_plain_networks_in_bfloat16_on_a_gpu_go_through_kernels(monkeypatch):
    images = np.zeros((9, 32, 32, 3), np.uint8), np.arange(9)
    world = Images(patch=4, data=pictures("p", images, images))

    def made(kind=jnp.bfloat16, **how):
        sizes = {"width": 64, "depth": 2, "heads": 2} | how
        network = Vision(**sizes).init(jr.key(0), world, None)
        short = lambda leaf: leaf.astype(kind) if eqx.is_inexact_array(leaf) else leaf
        return jax.tree.map(short, network)

    assert not made().fused  # no GPU
    monkeypatch.setattr(vit, "on_gpu", lambda: True)
    assert made().fused
    assert made(pool="sum").fused
    assert not made(jnp.float32).fused
    for how in ({"pool": "class"}, {"attention": "positional"}, {"drop_path": 0.1}, {"heads": 8}):
        assert not made(**how).fused, how
    assert not dataclasses.replace(made(), keep=((0, 5),)).fused

    class Mine(vit.ViT):
        pass

    fields = {field.name: getattr(made(), field.name) for field in dataclasses.fields(vit.ViT)}
    assert vit.ViT(**fields).fused
    assert not Mine(**fields).fused

    class Other(layers.Block):
        pass

    first, second = made().blocks
    other = Other(**{f.name: getattr(first, f.name) for f in dataclasses.fields(layers.Block)})
    assert not dataclasses.replace(made(), blocks=(other, second)).fused
