"""Similarity by block, parts left out: against the whole network and against slow NumPy."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight import Example
from limelight._core.errors import InputError
from limelight.experiments.oversmoothing import DEFINED, Oversmoothing, alike, fitted
from limelight.models.vit import Vision
from limelight.worlds.images import Images

NET = Vision(width=8, depth=2, heads=2, hidden=6, pool="class").init(
    jr.key(0), Images(patch=4), None
)
PATCHES = jr.normal(jr.key(1), (4, 16))


def cosine(rows):
    """The mean over ordered pairs of two different rows, pair by pair."""
    rows = np.asarray(rows, dtype=float)
    pairs = [(a, b) for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j]
    return np.mean([a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs])


@pytest.fixture(scope="module")
def found():
    return alike(NET, PATCHES)


def test_the_whole_network_is_the_network(found):
    tokens = NET.read(Example(PATCHES, jnp.array(1.0))).tokens
    np.testing.assert_allclose(found["full"], [cosine(x[1:]) for x in tokens], atol=1e-5)
    first = np.asarray(tokens[0], dtype=float)
    unit = first / np.linalg.norm(first, axis=1, keepdims=True)
    assert found["stream.class.signed"][0] == pytest.approx(cosine(first), abs=1e-5)
    assert found["stream.class.absolute"][0] == pytest.approx(
        np.abs(unit @ unit.T).mean(), abs=1e-5
    )
    whole = unit[1:] @ unit[1:].T
    assert found["stream.patches.diagonal"][0] == pytest.approx(whole.mean(), abs=1e-5)
    last = NET.norm(tokens[-1])
    assert found["normed.patches.signed"][-1] == pytest.approx(cosine(last[1:]), abs=1e-5)
    assert {len(found[name]) for name in DEFINED} == {3}
    assert len(found["attended"]) == 2


def test_parts_are_left_out(found):
    x = {name: NET.embedded(PATCHES) for name in ("no_mlp", "no_skip", "no_attention_skip", "pure")}
    for block in NET.blocks:
        took = lambda rows, block=block: block.attention(
            block.norm_attention(rows), jnp.ones(5, bool)
        )[0]
        mlp = lambda rows, block=block: block.out(block._hidden(block.norm_mlp(rows)))
        x["no_mlp"] = x["no_mlp"] + took(x["no_mlp"])
        x["pure"] = took(x["pure"])
        x["no_skip"] = mlp(took(x["no_skip"]))
        bare = took(x["no_attention_skip"])
        x["no_attention_skip"] = bare + mlp(bare)
    for name, rows in x.items():
        assert found[name][-1] == pytest.approx(cosine(rows[1:]), abs=1e-5), name


def test_images_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="does not fit"):
        fitted(
            "digits", 3, NET.__class__(**{**vars(NET), "embed": NET.blocks[0].into}), ((0.5,),) * 2
        )
    with pytest.raises(InputError, match="images"):
        fitted("digits", 5000, NET, ((0.5,), (0.5,)))
    with pytest.raises(InputError, match="checkpoint"):
        Oversmoothing(checkpoint="vit.safetensors").check()
    shown = fitted("digits", 3, NET, ((0.5,), (0.5,)))
    assert shown.shape == (3, 4, 16)
