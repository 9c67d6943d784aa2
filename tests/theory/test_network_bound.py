"""The bound on checkpoints, against a slow reference that forms every matrix."""

import json
import math
import os
import pickle
import zipfile
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest
from safetensors.numpy import save_file

from limelight._core.errors import InputError
from limelight.models import Sequence, load_construction, load_vit, save_sequence
from limelight.models.checkpoint import Checkpoint
from limelight.models.construct import construct
from limelight.theory.edelman2022 import capacity
from limelight.worlds import SparseBoolean
from tests.theory.slow_bound import compare, joint_heads, parted_heads, slow_block


def timm(rng, blocks=2, d=16, T=5):
    w = {"pos_embed": rng.normal(size=(1, T, d)), "cls_token": rng.normal(size=(1, 1, d))}
    for n in range(blocks):
        stem = f"blocks.{n}."
        w |= {
            stem + "attn.qkv.weight": rng.normal(size=(3 * d, d)) / d**0.5,
            stem + "attn.qkv.bias": rng.normal(size=3 * d),
            stem + "norm1.weight": rng.normal(size=d),
            stem + "norm1.bias": rng.normal(size=d),
            stem + "attn.proj.weight": rng.normal(size=(d, d)),
            stem + "mlp.fc1.weight": rng.normal(size=(4, d)),
        }
    return w


def hugging(rng, vit, d=12, T=7):
    root = "vit." if vit else "bert."
    part = "attention.attention." if vit else "attention.self."
    place = "embeddings.position_embeddings" + ("" if vit else ".weight")
    w = {root + place: rng.normal(size=(1, T, d) if vit else (T, d))}
    w |= {root + f"embeddings.LayerNorm.{x}": rng.normal(size=d) for x in ("weight", "bias")}
    for n in range(2):
        stem = f"{root}encoder.layer.{n}."
        for name in ("query", "key", "value"):
            w[stem + part + name + ".weight"] = rng.normal(size=(d, d))
            w[stem + part + name + ".bias"] = rng.normal(size=d)
        for norm in ("layernorm_before" if vit else "output.LayerNorm",):
            w |= {stem + f"{norm}.{x}": rng.normal(size=d) for x in ("weight", "bias")}
    return w


def write(path, tensors, dtype=np.float32):
    save_file({k: np.ascontiguousarray(v.astype(dtype)) for k, v in tensors.items()}, path)
    return {k: v.astype(dtype).astype(np.float64) for k, v in tensors.items()}


@pytest.mark.parametrize("cn", [1, 2])
def test_timm_against_the_slow_reference(tmp_path, cn):
    w = write(tmp_path / "m.safetensors", timm(np.random.default_rng(0)), np.float16)
    report = capacity(
        tmp_path / "m.safetensors", examples=500, resolution=0.3, softmax_constant=cn, heads=2
    )
    assert (report.checkpoint.layout, report.settings.tokens) == ("timm ViT or DeiT", 5)
    for n, block in enumerate(report.as_json()["blocks"]):
        wanted, _ = slow_block(*joint_heads(w, n, 2), 500, 5, 0.3, cn, gap=True)
        count, _ = compare(block, wanted, skip=("name", "examples_needed"))
        assert count == 2 * 24 + 14  # numbers of a head, and of the block
    block = report.blocks[0]
    assert block.gap.vacuous
    assert block.examples_needed > 500
    assert 1 < block.growth[5 * 256] <= math.log(500 * 5 * 256) / math.log(500 * 5)
    assert sum(map(len, report.checkpoint.skipped.values())) + 8 == len(w)


@pytest.mark.parametrize("vit", [True, False])
def test_hugging_face_against_the_slow_reference(tmp_path, vit):
    w = write(tmp_path / "m.safetensors", hugging(np.random.default_rng(1), vit))
    (tmp_path / "config.json").write_text('{"num_attention_heads": 3}')
    report = capacity(tmp_path / "m.safetensors", examples=100)
    assert report.settings.tokens == 7
    for n, block in enumerate(report.as_json()["blocks"]):
        stem = f"{'vit' if vit else 'bert'}.encoder.layer.{n}."
        before = f"bert.encoder.layer.{n - 1}.output" if n else "bert.embeddings"
        norm = f"{stem}layernorm_before" if vit else f"{before}.LayerNorm"
        part = "attention.attention." if vit else "attention.self."
        wanted, _ = slow_block(*parted_heads(w, stem + part, norm, 3), 100, 7, 1.0, 1, gap=True)
        compare(block, wanted, skip=("name", "examples_needed"))


def test_heads_that_the_file_does_not_name(tmp_path):
    path = tmp_path / "m.safetensors"
    write(path, timm(np.random.default_rng(0), blocks=1, d=128))
    with pytest.raises(InputError, match="how many heads"):  # 2, 4, 8: nothing is assumed
        Checkpoint.load(path)
    assert Checkpoint.load(path, heads=4).blocks[0].heads == 4
    (tmp_path / "config.json").write_text('{"num_attention_heads": 8}')
    found = Checkpoint.load(path)
    assert found.blocks[0].heads == 8
    assert found.notes == ("8 heads per block, from its config.json",)


def gpt2(rng, d=12, T=7):
    w = {"transformer.wpe.weight": rng.normal(size=(T, d)), "wte.weight": rng.normal(size=(9, d))}
    for n in range(2):
        stem = f"transformer.h.{n}."
        w |= {stem + f"ln_1.{x}": rng.normal(size=d) for x in ("weight", "bias")}
        w[stem + "attn.c_attn.weight"] = rng.normal(size=(d, 3 * d))
        w[stem + "attn.c_attn.bias"] = rng.normal(size=3 * d)
    return w


def test_gpt2_is_a_vit_with_its_maps_upright(tmp_path):
    """Its last token attends to all: the causal mask leaves that head as it is."""
    w = gpt2(np.random.default_rng(3))
    write(tmp_path / "gpt2.safetensors", w)
    turned = {"pos_embed": w["transformer.wpe.weight"][None]}
    for n in range(2):
        stem, new = f"transformer.h.{n}.", f"blocks.{n}."
        turned |= {new + f"norm1.{x}": w[stem + f"ln_1.{x}"] for x in ("weight", "bias")}
        turned[new + "attn.qkv.weight"] = w[stem + "attn.c_attn.weight"].T
        turned[new + "attn.qkv.bias"] = w[stem + "attn.c_attn.bias"]
    write(tmp_path / "vit.safetensors", turned)
    one = capacity(tmp_path / "gpt2.safetensors", heads=3, examples=100)
    two = capacity(tmp_path / "vit.safetensors", heads=3, examples=100)
    assert one.settings.tokens == two.settings.tokens == 7
    for a, b in zip(one.as_json()["blocks"], two.as_json()["blocks"], strict=True):
        compare({**a, "name": ""}, {**b, "name": ""})
    (tmp_path / "config.json").write_text('{"n_head": 3, "scale_attn_weights": false}')
    with pytest.raises(InputError, match="scaled in another way"):
        capacity(tmp_path / "gpt2.safetensors")


FIXTURES = Path(__file__).parents[1] / "fixtures" / "checkpoints"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("timm-eva02", "turned by their position"),
        ("timm-eva02-packed", "turned by their position"),
        ("timm-dinov3", "turned by their position"),
        ("hf-dinov3", "turned by their position"),
        ("timm-rope", "turned by their position"),
        ("timm-beit", "changes the scores"),
        ("hf-beit", "changes the scores"),
    ],
)
def test_attention_that_the_bound_does_not_describe_is_refused(name, says):
    with pytest.raises(InputError, match=says) as caught:
        capacity(FIXTURES / name)
    assert "\n" not in str(caught.value)


def test_kinds_of_attention_known_by_their_tensors_are_refused(tmp_path):
    for names, says in (
        (("layers.0.blocks.0.attn.relative_position_bias_table",), "Swin"),
        (("blocks.0.attn.proj_l.weight", "blocks_token_only.0.gamma_1"), "CaiT"),
        (("model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight"), "Llama"),
    ):
        write(tmp_path / "m.safetensors", {name: np.ones((2, 2)) for name in names})
        with pytest.raises(InputError, match=f"this is {says}.* does not describe"):
            capacity(tmp_path / "m.safetensors", heads=2)


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("timm-vit", 17),
        ("timm-deit-distilled", 18),
        ("timm-deit3", 17),  # no position for the class token
        ("timm-no-class-token", 16),
        ("timm-dinov2-registers", 21),
        ("timm-registers-mean", 20),
        ("hf-dinov2-registers", 21),
        ("hf-clip-both", 17),
        ("open-clip", 17),
        ("timm-siglip", 16),
        ("timm-eva", 17),  # queries and values have a bias of their own
    ],
)
def test_tokens_heads_and_maps_are_those_that_the_network_computes_with(name, tokens):
    """Against the ViT whose output PyTorch vouches for."""
    found, model = Checkpoint.load(FIXTURES / name), load_vit(FIXTURES / name)
    assert found.tokens == model.tokens == tokens
    for block, real in zip(found.blocks, model.blocks, strict=True):
        assert block.heads == real.attention.heads
        for part in ("query", "key", "value"):
            affine = getattr(real.attention, part)
            np.testing.assert_array_equal(getattr(block, part).astype("f4"), affine.weight)
            bias = getattr(block, f"{part}_bias")
            if part != "key":
                np.testing.assert_array_equal(bias.astype("f4"), affine.bias)
        np.testing.assert_array_equal(block.gain.astype("f4"), real.norm_attention.gain)


def test_our_own_files(tmp_path):
    path = tmp_path / "and.safetensors"
    construct("and", 20, 3).save(path)
    report = capacity(path, examples=100)
    assert report.settings.tokens == 21  # [CLS] is attended to
    head = report.blocks[0].heads[0].norms
    assert head.token_norm == pytest.approx(2**0.5)
    assert head.asking == pytest.approx(1.0)
    R = json.loads((tmp_path / "and.certificate.json").read_text())["head"]["R"]
    assert head.query_key.spectral == pytest.approx(R * 3**0.5)
    assert head.value.spectral == pytest.approx(2**0.5)
    assert report.blocks[0].token_norm_from == "the tokens in the file"


@pytest.mark.parametrize("mapping", ["deterministic", "trainable", "bag"])
def test_our_own_networks_with_or_without_a_certificate(tmp_path, mapping):
    path, other = tmp_path / "f.safetensors", tmp_path / "g.safetensors"
    construct("1b", 9, 3, mapping=mapping, dtype="float32").save(path)
    save_sequence(load_construction(path), other)
    first, second = (capacity(p, examples=100).as_json() for p in (path, other))
    compare(first["blocks"], second["blocks"])
    assert first["settings"]["tokens"] == second["settings"]["tokens"] == 10
    recipe = Sequence(width=8, heads=2, hidden=4)
    world = SparseBoolean(length=6, sparsity=2, rule="and")
    model = recipe.init(jr.key(0), world, world.draw(jr.key(1)))
    save_sequence(model, other)
    report = capacity(other, examples=100)
    assert (len(report.blocks[0].heads), report.settings.tokens) == (2, 7)
    longest = float(np.linalg.norm(np.asarray(model.tokens()), axis=-1).max())
    assert report.blocks[0].heads[0].norms.token_norm == pytest.approx(longest)


def test_measured_token_norms_and_json(tmp_path):
    write(tmp_path / "m.safetensors", timm(np.random.default_rng(0)))
    loose = capacity(tmp_path / "m.safetensors", examples=100, heads=2)
    tight = capacity(tmp_path / "m.safetensors", examples=100, token_norms=[2.0, 3.0], heads=2)
    assert tight.blocks[1].heads[0].norms.token_norm == 3.0
    assert tight.blocks[0].explicit < loose.blocks[0].explicit
    text = json.dumps(tight.as_json(), allow_nan=False)
    assert json.loads(text)["blocks"][0]["token_norm_from"] == "measured"
    assert "VACUOUS" in str(tight)


def test_numbers_that_are_bfloat16(tmp_path):
    w = timm(np.random.default_rng(0), blocks=1)
    exact = {k: (v.astype("<f4").view("<u4") >> 16 << 16).view("<f4") for k, v in w.items()}
    write(tmp_path / "f32.safetensors", exact)
    raw, header, offset = b"", {}, 0
    for name, value in exact.items():
        halves = (value.view("<u4") >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(value.shape),
                        "data_offsets": [offset, offset + len(halves)]}  # fmt: skip
        raw, offset = raw + halves, offset + len(halves)
    text = json.dumps(header).encode()
    (tmp_path / "bf16.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + raw)
    a, b = (
        capacity(tmp_path / f"{n}.safetensors", heads=2).as_json()["blocks"]
        for n in ("f32", "bf16")
    )
    assert a == b


def test_wrong_files_get_one_clear_line(tmp_path):
    rng = np.random.default_rng(0)
    good = tmp_path / "good.safetensors"
    write(good, timm(rng))
    files = {
        "missing": (None, "cannot read"),
        "empty": (b"", "is empty"),
        "truncated": (good.read_bytes()[:5000], "not a readable safetensors"),
        "short": (good.read_bytes()[:5], "not a readable safetensors"),
        "text": (b"hello, this is a text file", "not a readable safetensors"),
        "pickle": (pickle.dumps({"a": 1}), "nothing is ever unpickled"),
    }
    for name, (content, message) in files.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            capacity(path)
        assert "\n" not in caught.value.message
    with zipfile.ZipFile(tmp_path / "torch.pt", "w") as archive:
        archive.writestr("data.pkl", b"x")
    with pytest.raises(InputError, match="unpickled"):
        capacity(tmp_path / "torch.pt")
    (tmp_path / "bare").mkdir()
    with pytest.raises(InputError, match="holds no safetensors file"):
        capacity(tmp_path / "bare")
    (tmp_path / "bare" / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(InputError, match="nothing is ever unpickled"):
        capacity(tmp_path / "bare")


def test_wrong_contents_get_one_clear_line(tmp_path):
    path = tmp_path / "m.safetensors"

    def refuse(change, message, **settings):
        w = timm(np.random.default_rng(0), d=128)
        change(w)
        write(path, w)
        with pytest.raises(InputError, match=message) as caught:
            capacity(path, **{"heads": 2} | settings)
        assert "\n" not in caught.value.message
        return caught.value

    error = refuse(lambda w: [w.pop(k) for k in list(w) if "qkv" in k], "unknown layout")
    for expected in ("blocks.N.attn.qkv.weight", "attention.self", "head.H.", "vit.encoder"):
        assert expected in error.hint
    nan = np.full((384, 128), np.nan)
    refuse(lambda w: w.update({"blocks.1.attn.qkv.weight": nan}), "NaN or infinite")
    refuse(lambda w: w.pop("blocks.0.norm1.weight"), "norm1.weight is missing")
    refuse(lambda w: w.pop("pos_embed"), "turned by their position: not in the file")
    refuse(lambda w: w.update({"blocks.0.attn.q_norm.weight": np.ones(64)}), "changes the scores")
    refuse(lambda w: None, "do not share", heads=5)
    refuse(lambda w: None, "softmax_constant = 3", softmax_constant=3)
    refuse(lambda w: None, "token norms", token_norms=[1.0])
    refuse(lambda w: None, "delta", delta=0.0)
    for settings, message in (
        ({"tokens": 0}, "tokens = 0"), ({"examples": math.inf}, "examples = inf"),
        ({"resolution": math.nan}, "resolution = nan"), ({"resolution": math.inf}, "= inf"),
        ({"token_norms": [-1.0, 1.0]}, "token_norm = -1"), ({"heads": 0}, "heads = 0"),
        ({"resolution": 1e-300}, "beyond 1e308"),
    ):  # fmt: skip
        refuse(lambda w: None, message, **settings)
    narrow = hugging(np.random.default_rng(0), True)
    write(path, narrow)
    with pytest.raises(InputError, match="how many heads"):
        capacity(path)
    whole = {"blocks.0.attn.qkv.weight": np.ones((384, 128), dtype=np.int32)}
    rest = {"blocks.0.attn.qkv.bias": np.ones(384), "pos_embed": np.ones((1, 4, 128))}
    save_file({"blocks.0.norm1.weight": np.ones(128), **whole, **rest}, path)
    with pytest.raises(InputError, match="not floating point"):
        capacity(path, heads=2)


SHAPES = {
    "blocks.0.attn.qkv.weight": [(), (3,), (0, 16), (48, 0), (50, 16), (48, 15), (48, 16, 1)],
    "blocks.0.attn.qkv.bias": [(), (3,), (0,), (48, 1)],
    "blocks.0.norm1.weight": [(), (7,), (0,), (4, 4)],
    "blocks.0.norm1.bias": [(), (7,), (0,), (16, 1)],
    "encoder.layer.0.attention.self.key.weight": [(10, 12), (12, 10)],
    "encoder.layer.0.attention.self.value.weight": [(11, 12), (12, 10)],
    "encoder.layer.0.attention.self.query.bias": [(12, 1), (11,)],
    "cls": [(), (5,), (11, 1)],
    "P": [(8,), (8, 5), (0, 11)],
    "E": [(3, 11), (2, 5), (2,)],
    "head.0.W_Q": [(11, 2), (11, 0), (11,), ()],
    "head.1.W_K": [(11, 2), (10, 1)],
    "head.2.W_V": [(11, 2), (11,), (10, 1)],
}


@pytest.mark.parametrize("name", SHAPES)
def test_tensors_that_do_not_fit_each_other_are_refused(tmp_path, name):
    """Norms exist for any shape, so a wrong one would give a wrong bound and no error."""
    path = tmp_path / "m.safetensors"
    if name.startswith("blocks"):
        good = timm(np.random.default_rng(0))
    elif name.startswith("encoder"):
        made = hugging(np.random.default_rng(0), vit=False)
        good = {key.removeprefix("bert."): value for key, value in made.items()}
    else:
        good = dict(construct("1b", 8, 3).tensors)
    write(path, good)
    capacity(path, heads=2)
    for shape in SHAPES[name]:
        assert good[name].shape != shape
        save_file({k: v.astype(np.float64) for k, v in good.items()} | {name: np.ones(shape)}, path)
        with pytest.raises(InputError, match="has shape") as caught:
            capacity(path, heads=2)
        assert "\n" not in str(caught.value)


def test_weights_that_are_no_weights(tmp_path):
    path = tmp_path / "m.safetensors"
    w = timm(np.random.default_rng(0))
    for size in (1e200, 1e60):
        write(path, {k: v * size for k, v in w.items()}, np.float64)
        with pytest.raises(InputError, match="entries up to"):
            capacity(path, heads=2)
    for size in (0.0, 1e-200):  # heads that do nothing need one function
        write(path, {k: v * size for k, v in w.items()}, np.float64)
        assert capacity(path, heads=2).blocks[0].explicit == 0.0
    write(path, w | {"a\x1b[31m\nb": np.ones(2)})
    with pytest.raises(InputError, match="printable") as caught:
        capacity(path, heads=2)
    assert str(caught.value).isprintable()


def test_nothing_is_unpickled(tmp_path):
    """A pickle that would run code on loading does not run."""
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(marker),))

    (tmp_path / "bomb.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError):
        Checkpoint.load(tmp_path / "bomb.safetensors")
    assert not marker.exists()
