"""Files of ViTs: logits of timm and transformers (by `fixtures/make_vit.py`), round trips."""

import dataclasses
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from limelight._core.errors import InputError
from limelight._core.types import Example
from limelight.models import Checkpoint, Vision, load_vit, save_vit
from limelight.worlds import Patterns

PLACE = Path(__file__).parents[1] / "fixtures" / "vit"
HEADS = 3
SAID = {"timm": {}, "hf": {"epsilon": 1e-12, "activation": "gelu", "pool": "class"}}
call = eqx.filter_jit(lambda model, images: jax.vmap(lambda x: model(patches(x, 4)))(images))


def patches(image, patch: int) -> Example:
    """Row by row, each patch as row, column, channel."""
    side, _, channels = image.shape
    cells = side // patch
    cut = image.reshape(cells, patch, cells, patch, channels).swapaxes(1, 2)
    tokens = cut.reshape(cells * cells, -1)
    return Example(tokens, jnp.ones(()), jnp.ones(len(tokens), bool), jnp.zeros(len(tokens), int))


@pytest.mark.parametrize("layout", ["timm", "hf"])
def test_logits_are_those_of_the_libraries(layout):
    oracle = np.load(PLACE / "logits.npz")
    model = load_vit(PLACE / f"{layout}.safetensors", HEADS, **SAID[layout])
    found = np.asarray(call(model, jnp.asarray(oracle["images"], jnp.float32)))
    assert found.shape == (4, 5)
    assert np.abs(found - oracle[layout]).max() <= 1e-4
    assert oracle[layout].std() > 0.1  # logits that say something


@pytest.mark.parametrize("layout", ["timm", "hf"])
def test_a_file_read_and_written_again_is_the_same_file(layout, tmp_path):
    source, copy = PLACE / f"{layout}.safetensors", tmp_path / "copy.safetensors"
    save_vit(load_vit(source, HEADS, **SAID[layout]), copy, layout)
    one, two = load_file(source), load_file(copy)
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)
    assert load_vit(copy).blocks[0].attention.heads == HEADS  # the file says it now
    assert Checkpoint.load(copy).blocks[0].heads == HEADS


@pytest.mark.parametrize(
    "recipe",
    [
        Vision(width=8, heads=2, depth=2, pool="class", outputs=3),
        Vision(width=8, heads=4, attention="positional", pool="sum", qkv_bias=False),
    ],
)
def test_our_own_models_come_back_whole(recipe, tmp_path):
    world = Patterns(tokens=9, dimension=12, patterns=4)
    model = eqx.filter_jit(recipe.init)(jr.key(0), world, None)
    save_vit(model, tmp_path / "vit.safetensors")
    again = load_vit(tmp_path / "vit.safetensors")
    assert jax.tree.structure(model) == jax.tree.structure(again)
    for a, b in zip(jax.tree.leaves(model), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)


def changed(tmp_path, change) -> Path:
    tensors = load_file(PLACE / "timm.safetensors")
    change(tensors)
    save_file(tensors, tmp_path / "odd.safetensors")
    return tmp_path / "odd.safetensors"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.pop("head.weight"), "head.bias has no place"),
        (lambda t: t.pop("blocks.0.attn.qkv.weight"), "blocks.0.attn.q_proj.weight is missing"),
        (lambda t: [t.pop(n) for n in list(t) if n.startswith("blocks.0.")], "blocks.0 is missing"),
        (lambda t: t.update({"blocks.0.extra.gamma": np.ones(24, "f4")}), "no place"),
        (lambda t: t.update({"dist_token": np.ones((1, 1, 24), "f4")}), "2 that are no patches"),
        (lambda t: t.update({"norm.weight": np.ones(23, "f4")}), "norm.weight has shape"),
        (lambda t: t.update({"pos_embed": np.ones((17, 24), "f4")}), "pos_embed has shape"),
        (lambda t: t.update({"pos_embed": np.ones((1, 3, 24), "f4")}), "no row for a patch"),
        (
            lambda t: t.update({"blocks.1.mlp.fc1.weight": np.ones((40, 23), "f4")}),
            "fc1.weight",
        ),
        (lambda t: t.update({"patch_embed.proj.weight": np.ones((24, 48), "f4")}), "has shape"),
        (lambda t: t.update({"head.weight": np.full((5, 24), np.nan, "f4")}), "NaN"),
        (lambda t: t.pop("cls_token"), "17 rows beside 0 that are no patches"),
    ],
)
def test_what_is_not_a_plain_vit_is_refused_in_one_line(change, says, tmp_path):
    path = changed(tmp_path, change)
    said = {"epsilon": 1e-6, "activation": "gelu", "pool": "class"}
    with pytest.raises(InputError, match=says) as error:
        load_vit(path, HEADS, **said)
    assert "\n" not in str(error.value)
    assert error.value.hint


def test_what_a_layout_cannot_say_is_refused(tmp_path):
    model = load_vit(PLACE / "hf.safetensors", HEADS, **SAID["hf"])
    with pytest.raises(InputError, match="no layout"):
        save_vit(model, tmp_path / "a.safetensors", "tim")
    with pytest.raises(InputError, match="not square"):
        save_vit(model, tmp_path / "a.safetensors", "hf", channels=5)
    gated = load_vit(PLACE.parent / "checkpoints" / "timm-dinov2-gated")
    with pytest.raises(InputError, match="registers"):
        save_vit(gated, tmp_path / "a.safetensors", "hf")
    save_vit(model, tmp_path / "b.safetensors", "timm")  # the metadata keeps its epsilon
    assert load_vit(tmp_path / "b.safetensors").norm.epsilon == 1e-12
    save_vit(dataclasses.replace(model, pool="odd"), tmp_path / "c.safetensors", "hf")
    with pytest.raises(InputError, match="does not fit"):
        load_vit(tmp_path / "c.safetensors")
    assert not (tmp_path / "a.safetensors").exists()
