"""Every layout that is loaded, against PyTorch's output (by `fixtures/make_checkpoints.py`)."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from limelight._core.errors import InputError
from limelight.models import load, load_vit, save_vit
from limelight.models._flops import vit_flops
from limelight.models.pretrained._known import architectures, signature
from limelight.models.pretrained._places import resampled
from limelight.models.pretrained._processors import of_processor
from limelight.models.pretrained.pixels import SCALES
from tests.models.test_pretrained import patches

PLACE = Path(__file__).parents[1] / "fixtures" / "checkpoints"
NAMES = sorted(folder.name for folder in PLACE.iterdir() if folder.is_dir())
SAID = {"torchvision": {"heads": 2}}  # it has no configuration
ORACLE = np.load(PLACE / "outputs.npz")
IMAGES = jnp.asarray(ORACLE["images"], jnp.float32)


@eqx.filter_jit
def call(model, images):
    with jax.default_matmul_precision("highest"):
        return jax.vmap(lambda image: model(patches(image, 4)))(images)


@pytest.mark.parametrize("name", NAMES)
def test_the_output_is_that_of_pytorch(name):
    found = load(PLACE / name, **SAID.get(name, {}))
    output = np.asarray(call(found.model, IMAGES))
    assert output.shape == ORACLE[name].shape
    assert np.abs(output - ORACLE[name]).max() <= 1e-5
    assert ORACLE[name].std() > 0.1  # outputs that say something
    assert set(found.facts) >= {"heads", "epsilon", "activation", "pool"}


def copied(tmp_path, name, **changes):
    """A fixture with another configuration."""
    folder = tmp_path / name
    shutil.copytree(PLACE / name, folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("hf-vit", {"num_attention_heads": 4}),
        ("hf-vit", {"layer_norm_eps": 1e-2}),
        ("hf-vit", {"hidden_act": "gelu_new"}),
        ("hf-dinov3", {"rope_theta": 1000.0}),
        ("hf-beit", {"use_mean_pooling": False}),
    ],
)
def test_what_the_configuration_says_is_what_is_computed(name, changes, tmp_path):
    """The oracle would notice each fact: another value of it gives another output."""
    output = np.asarray(call(load_vit(copied(tmp_path, name, **changes)), IMAGES))
    assert np.abs(output - ORACLE[name]).max() > 1e-4


@pytest.mark.parametrize("name", ["timm-vit", "hf-vit", "open-clip", "timm-clip", "torchvision"])
def test_without_its_configuration_everything_unknown_is_asked_for_at_once(name, tmp_path):
    (file,) = (PLACE / name).glob("*.safetensors")
    shutil.copy(file, tmp_path / "a.safetensors")
    with pytest.raises(InputError, match="how many heads") as caught:
        load(tmp_path / "a.safetensors")
    assert "heads=..." in caught.value.hint
    assert ("activation" in str(caught.value)) == (name not in ("timm-vit", "torchvision"))
    facts = load(PLACE / name, **SAID.get(name, {})).facts
    said = {key: facts[key]["value"] for key in ("heads", "epsilon", "activation", "pool")}
    again = load(tmp_path / "a.safetensors", **said).model
    np.testing.assert_array_equal(call(again, IMAGES), call(load_vit(PLACE / name, 2), IMAGES))


def widened(name, width, depth, heads, hidden, patch, classes=3):
    """Random tensors of a plain ViT with timm's names; `name` is only a seed."""
    rng = np.random.default_rng(len(name))
    draw = lambda *shape: rng.normal(size=shape).astype("f4") / 10
    tensors = {
        "cls_token": draw(1, 1, width), "pos_embed": draw(1, 5, width),
        "patch_embed.proj.weight": draw(width, 3, patch, patch),
        "patch_embed.proj.bias": draw(width),
        "norm.weight": draw(width), "norm.bias": draw(width),
        "head.weight": draw(classes, width), "head.bias": draw(classes),
    }  # fmt: skip
    shapes = {
        "norm1": (width,), "attn.qkv": (3 * width, width), "attn.proj": (width, width),
        "norm2": (width,), "mlp.fc1": (hidden, width), "mlp.fc2": (width, hidden),
    }  # fmt: skip
    for n in range(depth):
        for part, shape in shapes.items():
            tensors[f"blocks.{n}.{part}.weight"] = draw(*shape)
            tensors[f"blocks.{n}.{part}.bias"] = draw(shape[0])
    return tensors


def test_heads_are_concluded_only_where_all_of_timms_agree(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file(widened("tiny", 192, 12, 3, 768, 16), path)
    found = load(path)
    assert found.model.blocks[0].attention.heads == 3
    assert found.notes[0].startswith(
        "3 heads per block, epsilon 1e-06, activation gelu, pool class"
    )
    assert "the only possibility" in found.notes[0]
    assert found.facts["epsilon"]["value"] == 1e-6
    assert found.pixels is None  # DeiT's are ImageNet's, those of the ViT of this size are halves
    save_file(widened("tiny", 192, 11, 3, 768, 16), path)
    with pytest.raises(InputError, match="how many heads"):
        load(path)
    assert load(path, heads=4).model.blocks[0].attention.heads == 4


def test_a_name_of_timms_says_everything(tmp_path):
    tensors = widened("tiny", 192, 12, 3, 768, 16)
    path = tmp_path / "deit_tiny_patch16_224.fb_in1k.safetensors"
    save_file(tensors, path)
    found = load(path)
    assert found.pixels.word == "imagenet"
    assert found.pixels.crop == 0.9
    assert "file's name" in found.facts["heads"]["from"]
    half = load(path, like="vit_tiny_patch16_224.augreg_in21k")
    assert half.pixels.word == "half"
    with pytest.raises(InputError, match="are not those of timm's vit_base"):
        load(path, like="vit_base_patch16_224")
    with pytest.raises(InputError, match="no plain ViT of timm's"):
        load(path, like="vit_bas_patch16_224")
    with pytest.raises(InputError, match="trained, head by head"):
        load(path, like="vit_base_patch16_rope_mixed_224")


def test_the_table_knows_vit_huge():
    """Its heads are not of 64 columns, which was once assumed."""
    huge = architectures()["vit_huge_patch14_224"]
    assert (huge["heads"], huge["sizes"][0]) == (16, 1280)
    known = [a for a in architectures().values() if "heads" in a]
    assert sum(a["heads"] * 64 != a["sizes"][0] for a in known) > 20


def part(kind, *inside, library="timm.layers", **fields):
    """A stand-in for a PyTorch module; the real ones are in `benchmarks/checkpoints.py`."""
    own = type(kind, (), {"__module__": library})()
    vars(own).update(fields)
    own.modules = lambda: [own, *(deep for one in inside for deep in one.modules())]
    return own


def stand_in(name="timm-vit", kind="VisionTransformer", library="timm.models", **changes):
    """A ViT of timm's with the tensors of a fixture, and other parts than it has where asked."""
    tensors = load_file(PLACE / name / "model.safetensors")
    norm = changes.get("norm") or part("LayerNorm", eps=1e-6)
    make = lambda: types.SimpleNamespace(
        norm1=norm,
        attn=part("Attention", num_heads=2, head_dim=8, scale=8**-0.5),
        mlp=part("Mlp", act=part("GELU", library="torch.nn")),
    )
    blocks = [make(), make()]
    changes.get("change", lambda blocks: None)(blocks)
    insides = [inside for b in blocks for inside in (b.norm1, b.attn, b.mlp, b.mlp.act)]
    more = {
        "state_dict": lambda: tensors,
        "blocks": blocks,
        "global_pool": changes.get("pool", "token"),
        "patch_embed": types.SimpleNamespace(img_size=(16, 16)),
        "pretrained_cfg": {"mean": (0.5,) * 3, "std": (0.5,) * 3, "crop_pct": 0.9},
    }
    return part(kind, *insides, library=library, **more)


@pytest.mark.parametrize(
    ("name", "kind", "pool"),
    [
        ("timm-vit", "VisionTransformer", "token"),
        ("timm-beit-shared", "Beit", "avg"),
        ("timm-beit-both", "Beit", "avg"),
    ],
)
def test_a_module_says_it_of_itself(name, kind, pool):
    found = load(stand_in(name, kind, pool=pool))
    np.testing.assert_allclose(call(found.model, IMAGES), ORACLE[name], atol=1e-5)
    assert found.facts["heads"]["from"] == "the module"
    assert found.pixels.word == "half"


def _second(blocks, of, **fields):
    vars(getattr(blocks[1], of)).update(fields)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"change": lambda b: _second(b, "attn", num_heads=4)}, "blocks differ"),
        ({"change": lambda b: _second(b, "mlp", act=part("GELU", approximate="tanh"))},
         "blocks differ"),
        ({"change": lambda b: _second(b, "mlp", gate_last=True)}, "is the gate"),
        ({"change": lambda b: _second(b, "attn", scale=0.5)}, "divided by another number"),
        ({"change": lambda b: _second(b, "attn", forward=len)}, "forward of its Attention was"),
        ({"change": lambda b: setattr(b[1], "mlp", part("Mine", act=b[1].mlp.act))},
         "the mlp of its blocks is Mine"),
        ({"change": lambda b: setattr(b[1], "norm1", part("LayerNorm", eps=1e-5))}, "epsilons"),
        ({"change": lambda b: setattr(b[1], "norm1", part("RMSNorm", library="torch.nn"))},
         "norms are of several kinds"),
        ({"change": lambda b: setattr(b[1], "attn", part("Attention", library="mine"))},
         "its part Attention is not timm's"),
        ({"kind": "ToMeVisionTransformer"}, "no plain ViT of timm's"),
        ({"pool": "max"}, "its pool is of another kind"),
    ],
)  # fmt: skip
def test_a_module_whose_parts_compute_something_else_is_refused(changes, says):
    """The tensors are those of a plain ViT: without a look at the parts it would load."""
    with pytest.raises(InputError, match=says):
        load(stand_in(**changes))


def test_a_class_that_nobody_knows_is_read_where_its_caller_says_what_it_is():
    """Its own code may do anything with the tensors of a plain ViT, however many facts are said."""
    facts = {"heads": 2, "epsilon": 1e-6, "activation": "gelu", "pool": "class"}
    mine = stand_in(kind="VisionTransformer", library="mine.models")
    with pytest.raises(InputError, match="the class VisionTransformer is not known here") as caught:
        load(mine, **facts)
    assert "like=" in caught.value.hint
    assert "state_dict" in caught.value.hint
    found = load(mine.state_dict(), **facts)
    np.testing.assert_allclose(call(found.model, IMAGES), ORACLE["timm-vit"], atol=1e-5)
    with pytest.raises(InputError, match="16 columns and 2 blocks are not those of timm's deit"):
        load(mine, like="deit_tiny_patch16_224")
    deit = widened("tiny", 192, 12, 3, 768, 16)
    own = part("Mine", library="mine.models", state_dict=lambda: deit)
    notes = load(own, like="deit_tiny_patch16_224").notes
    assert (
        "the class Mine is not known here: its tensors are read as those of timm's deit"
        in (notes[0])
    )


def test_modules_of_torchvision_and_open_clip_say_how_many_heads():
    gelu = lambda: part("GELU", library="torch.nn", approximate="none")
    quick = lambda: part("QuickGELU", library="open_clip.transformer")
    norm = part("LayerNorm", library="torch.nn", eps=1e-6)
    blocks = [types.SimpleNamespace(num_heads=2, mlp=[None, gelu()]) for _ in range(2)]
    tensors = load_file(PLACE / "torchvision" / "model.safetensors")
    module = part(
        "VisionTransformer", norm, library="torchvision.models", state_dict=lambda: tensors,
        encoder=types.SimpleNamespace(layers=blocks), image_size=16,
    )  # fmt: skip
    np.testing.assert_allclose(call(load_vit(module), IMAGES), ORACLE["torchvision"], atol=1e-5)
    held = load_file(PLACE / "open-clip-quick" / "open_clip_model.safetensors")
    block = lambda: part(
        "ResidualAttentionBlock", attn=types.SimpleNamespace(num_heads=2),
        mlp=types.SimpleNamespace(gelu=quick()),
    )  # fmt: skip
    norm = part("LayerNorm", library="open_clip.transformer", eps=1e-5)
    tower = part(
        "VisionTransformer", norm, library="open_clip.transformer", attn_pool=None,
        pool_type="tok", image_size=(16, 16),
        transformer=types.SimpleNamespace(resblocks=[block(), block()]),
    )  # fmt: skip
    clip = part("CLIP", tower, library="open_clip.model", visual=tower, state_dict=lambda: held)
    np.testing.assert_allclose(call(load_vit(clip), IMAGES), ORACLE["open-clip-quick"], atol=1e-5)
    tower.pool_type = "avg"
    with pytest.raises(InputError, match="pools by attention or by the mean"):
        load(clip)


def test_blocks_that_lost_the_prefix_of_their_embeddings_are_found():
    """As transformers writes ViTMSN's classifier; blocks of another network are not taken."""
    tensors = load_file(PLACE / "hf-msn" / "model.safetensors")
    assert any(name.startswith("encoder.layer.0.") for name in tensors)
    assert "vit.embeddings.cls_token" in tensors
    facts = {"heads": 2, "epsilon": 1e-6, "activation": "gelu", "pool": "class"}
    whole = {n if n.startswith(("vit.", "class")) else f"vit.{n}": v for n, v in tensors.items()}
    for given in (tensors, whole):
        output = call(load_vit(given, **facts), IMAGES)
        np.testing.assert_allclose(output, ORACLE["hf-msn"], atol=1e-5)
    with pytest.raises(InputError, match="has no place|is missing|same part"):
        load_vit(tensors | {"encoder.layer.0.norm1.weight": np.ones(16, "f4")}, **facts)


@pytest.mark.parametrize("digits", [400, 4000])
def test_an_endless_number_is_not_repeated(digits):
    for name, said in (("torchvision", "heads"), ("hf-vit", "side")):
        with pytest.raises(InputError) as caught:
            load(PLACE / name, **{said: 10**digits + 1})
        assert len(str(caught.value)) < 300
        assert "digits)" in str(caught.value)


def test_a_divided_checkpoint_is_the_whole_one(tmp_path):
    shutil.copy(PLACE / "hf-vit" / "config.json", tmp_path)
    tensors = load_file(PLACE / "hf-vit" / "model.safetensors")
    names = sorted(tensors)
    parts = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, held in parts.items():
        save_file({name: tensors[name] for name in held}, tmp_path / file)
    places = {name: file for file, held in parts.items() for name in held}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    np.testing.assert_array_equal(
        call(load_vit(tmp_path), IMAGES), call(load_vit(PLACE / "hf-vit"), IMAGES)
    )
    index.write_text(json.dumps({"weight_map": places | {"classifier.bias": "../a.safetensors"}}))
    with pytest.raises(InputError, match="parts lie beside it"):
        load_vit(tmp_path)
    (tmp_path / "two.safetensors").unlink()
    index.write_text(json.dumps({"weight_map": places}))
    with pytest.raises(InputError, match="cannot read"):
        load_vit(tmp_path)


def test_a_hub_without_its_library_or_network(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match="needs huggingface_hub") as caught:
        load("hf:facebook/dinov2-small")
    assert "limelight[hub]" in caught.value.hint

    def offline(name, **_):
        raise OSError("no network")

    hub = types.ModuleType("huggingface_hub")
    hub.snapshot_download = offline
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    with pytest.raises(InputError, match="dinov2-small: OSError, no network"):
        load("hf:facebook/dinov2-small")
    for name, says in (
        ("LocalEntryNotFoundError", "not in the cache, and the network cannot be reached"),
        ("GatedRepoError", "asks for a login"),
        ("HFValidationError", "this is no id"),
    ):
        kind = type(name, (Exception,), {})
        hub.snapshot_download = lambda name, kind=kind, **_: (_ for _ in ()).throw(kind("a\nb"))
        with pytest.raises(InputError, match=says) as caught:
            load("hf:any/name")
        assert "\n" not in str(caught.value)
    hub.snapshot_download = lambda name, **_: str(PLACE.parent / "images")
    with pytest.raises(InputError, match="^hf:any/name holds no safetensors file"):
        load("hf:any/name")
    hub.snapshot_download = lambda name, **_: str(PLACE / "hf-dinov2")
    assert load("hf:any/name").layout == "Hugging Face ViT"


def test_a_hub_cache_is_read_offline(tmp_path):
    """The layout that huggingface_hub keeps: blobs, a snapshot of links, a reference to it."""
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    home, commit = (
        tmp_path / "hub" / "models--any--name",
        "0123456789abcdef0123456789abcdef01234567",
    )
    for folder in ("blobs", f"snapshots/{commit}", "refs"):
        (home / folder).mkdir(parents=True)
    for number, file in enumerate(sorted((PLACE / "hf-dinov2").iterdir())):
        shutil.copy(file, home / "blobs" / f"{number:040x}")
        link = home / "snapshots" / commit / file.name
        link.symlink_to(Path("..") / ".." / "blobs" / f"{number:040x}")
    (home / "refs" / "main").write_text(commit)
    code = (
        "import sys\nfrom limelight._core.errors import InputError\n"
        "from limelight.models import load\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n        found = load(name)\n"
        "        print(found.name, found.layout, found.facts['heads']['value'])\n"
        "    except InputError as error:\n        print(error)\n"
    )
    names = ["hf:any/name", f"hf:any/name@{commit}", "hf:any/other", "hf:any/name@gone"]
    settings = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    settings |= {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        env=settings, capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, second, *missing = done.stdout.strip().splitlines()
    assert first == "hf:any/name Hugging Face ViT 2"
    assert second.endswith("Hugging Face ViT 2")
    assert len(missing) == 2
    for line, name in zip(missing, ("any/other", "any/name"), strict=True):
        assert line.startswith(f"cannot get hf:{name}: ")
        assert "HF_HUB_OFFLINE" in line


RESIZED = np.load(PLACE / "resized.npz")


@pytest.mark.parametrize("name", [n for n in RESIZED.files if not n.startswith(("images", "made"))])
def test_at_another_size_the_output_is_that_of_pytorch(name):
    """By `fixtures/make_resized.py`: positions are fitted as each library does."""
    network, side = name.rsplit("-", 1)
    found = load(PLACE / network, side=int(side))
    output = np.asarray(call(found.model, jnp.asarray(RESIZED[f"images-{side}"])))
    assert np.abs(output - RESIZED[name]).max() <= 1e-5
    assert any(f"are fitted to {side}: bicubic" in note for note in found.notes)


@pytest.mark.parametrize("old", [4, 7])
@pytest.mark.parametrize("antialias", [False, True])
def test_resampled_positions_keep_what_is_even_and_lines_inside(old, antialias):
    """Taps add up to 1; the smoother kernel follows a straight line away from the edges."""
    row, column = np.divmod(np.arange(old * old), old)
    table = np.stack([np.full(old * old, 3.0), row + 0.5, column + 0.5], axis=1)
    for side in (2, old, 3 * old):
        found = resampled(table, side, antialias).reshape(side, side, 3)
        np.testing.assert_allclose(found[..., 0], 3.0)
        np.testing.assert_allclose(found[..., 1], found[..., 2].T)
        if side == 3 * old and antialias:  # the kernel of -1/2; that of -3/4 does not
            wanted = (np.arange(side) + 0.5) / 3
            np.testing.assert_allclose(found[7:-7, 0, 1], wanted[7:-7], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "side", "says"),
    [
        ("torchvision", 24, "how it fits them to others is not known"),
        ("open-clip", 24, "how it fits them to others is not known"),
        ("hf-beit", 24, "positions are for images of 16 pixels"),
        ("hf-vit", 18, "images of 18 pixels"),
    ],
)
def test_another_size_that_cannot_be_vouched_for_is_refused(name, side, says):
    with pytest.raises(InputError, match=says):
        load(PLACE / name, side=side, **SAID.get(name, {}))


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (
            ("layers.0.blocks.0.attn.relative_position_bias_table",),
            "Swin, which is not supported: windowed attention",
        ),
        (("blocks_token_only.0.gamma_1",), "CaiT"),
        (("blocks.0.attn.temperature",), "XCiT"),
        (("blocks.2.proj.weight",), "Hiera"),
        (("patch_embed.backbone.stem.weight",), "hybrid"),
        (("blocks.0.attn.norm.weight",), "EVA-02-CLIP"),
        (("patch_embed.norm.weight",), "AIMv2"),
        (("embeds.proj.weight", "blocks.0.norm1.weight"), "NaFlexViT"),
        (("rope.freqs",), "trained rotations"),
        (("layer1.0.conv1.weight",), "ResNet"),
        (("bert.encoder.layer.0.attention.self.query.weight",), "BERT.*network for text"),
        (("h.0.attn.c_attn.weight",), "GPT-2.*network for text"),
        (("text_model.embeddings.token_embedding.weight",), "text tower of CLIP.*network for text"),
        (("model.embed_tokens.weight",), "Llama.*network for text"),
        (("something.weight",), "unknown layout"),
    ],
)
def test_what_is_no_plain_vit_is_refused_by_what_it_is(names, says, tmp_path):
    save_file({name: np.ones((2, 2), "f4") for name in names}, tmp_path / "a.safetensors")
    with pytest.raises(InputError, match=says) as caught:
        load(tmp_path / "a.safetensors")
    assert "\n" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("hf-vit", {"model_type": "swin"}, "this is swin: windowed attention"),
        ("hf-vit", {"hidden_act": "mish"}, "activated by 'mish'"),
        ("hf-vit", {"num_attention_heads": 3}, "3 heads do not share 16 columns"),
        ("hf-vit", {"num_attention_heads": "two"}, "says heads = 'two'"),
        ("timm-vit", {"architecture": "swin_tiny_patch4_window7_224"}, "no plain ViT of timm's"),
        ("timm-vit", {"architecture": "vit_base_patch16_rpn_224"}, "stand after attention"),
        ("timm-vit", {"model_args": {"scale_attn_norm": True}}, "changes scale_attn_norm"),
        ("timm-vit", {"model_args": {}}, "16 columns and 2 blocks are not those of"),
        ("timm-vit", {"global_pool": "max"}, "its head reads 'max'"),
        ("timm-vit", {"global_pool": "map"}, "attn_pool.latent is missing"),
    ],
)
def test_configurations_of_other_networks_are_refused(name, changes, says, tmp_path):
    with pytest.raises(InputError, match=says) as caught:
        load(copied(tmp_path, name, **changes))
    assert "\n" not in str(caught.value)


def test_tokens_of_the_released_dinov2_names(tmp_path):
    """Its own release calls registers otherwise, and gives the class token a position."""
    folder = copied(tmp_path, "timm-dinov2-registers")
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["register_tokens"] = tensors.pop("reg_token")
    tensors["mask_token"] = np.ones((1, 16), "f4")
    extra = np.full((1, 1, 16), 0.25, "f4")
    tensors["cls_token"] = tensors["cls_token"] - extra
    tensors["pos_embed"] = np.concatenate([extra, tensors["pos_embed"]], axis=1)
    save_file(tensors, path)
    output = np.asarray(call(load_vit(folder), IMAGES))
    np.testing.assert_allclose(output, ORACLE["timm-dinov2-registers"], atol=1e-5)


@pytest.mark.parametrize(
    "name", ["timm-vit", "timm-dinov2-gated", "timm-clip-quick", "timm-mean-pool", "timm-qk-norm"]
)
def test_what_is_loaded_is_written_and_loaded_again(name, tmp_path):
    model = load_vit(PLACE / name)
    save_vit(model, tmp_path / "again.safetensors")
    again = load_vit(tmp_path / "again.safetensors")
    np.testing.assert_allclose(call(again, IMAGES), ORACLE[name], atol=1e-5)


def test_what_cannot_be_written_is_refused(tmp_path):
    for name, says in (("timm-eva02", "rotations"), ("timm-beit", "bias"), ("timm-siglip", "pool")):
        with pytest.raises(InputError, match=says):
            save_vit(load_vit(PLACE / name), tmp_path / "a.safetensors")


def test_the_side_is_the_callers_where_there_is_no_table():
    assert load(PLACE / "hf-dinov3", side=24).model.patches == 36
    assert load(PLACE / "hf-vit", side=24).model.patches == 36  # positions are fitted
    with pytest.raises(InputError, match="images of 18 pixels"):
        load(PLACE / "hf-dinov3", side=18)


def test_signatures_tell_a_packed_gate_from_a_wide_layer():
    shapes = {"patch_embed.proj.weight": (8, 3, 4, 4), "blocks.0.mlp.fc1.weight": (32, 8)}
    wide = signature(shapes | {"blocks.0.mlp.fc2.weight": (8, 32)})
    gated = signature(shapes | {"blocks.0.mlp.fc2.weight": (8, 16)})
    assert wide.parts != gated.parts
    assert wide.sizes == gated.sizes == (8, 1, 32, 4)


@pytest.mark.parametrize(
    ("values", "crop", "stretch"),
    [
        ({"size": {"height": 224, "width": 224}}, 1.0, True),
        ({"size": {"shortest_edge": 256}, "crop_size": 224, "do_center_crop": True}, 0.875, False),
        ({"size": 224, "image_processor_type": "ViTFeatureExtractor"}, 1.0, True),
        ({"size": 224, "crop_size": 224, "do_center_crop": True,
          "feature_extractor_type": "CLIPFeatureExtractor"}, 1.0, False),
        ({"size": {"height": 256, "width": 256}, "crop_size": {"height": 224, "width": 224},
          "do_center_crop": True}, 0.875, True),
    ],
)  # fmt: skip
def test_processors_of_hugging_face(values, crop, stretch):
    mean, deviation = SCALES["imagenet"]
    found = of_processor(values | {"image_mean": mean, "image_std": deviation, "resample": 3}, "it")
    assert (found.crop, found.stretch, found.way, found.word) == (
        crop, stretch, "bicubic", "imagenet",
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["timm-dinov3", "timm-beit", "timm-registers-mean", "timm-siglip", "hf-dinov2-classes"]
)
def test_tokens_that_are_dropped_take_their_place_with_them(name):
    """Rotations, biases and pools of the tokens that stay are those of a network that masks."""
    model, image = load_vit(PLACE / name), patches(IMAGES[0], 4)
    scores = jnp.asarray(np.random.default_rng(0).permutation(16), jnp.float32)
    pruned = dataclasses.replace(model, keep=((0, 7),)).read(image, scores)
    assert len(pruned.tokens[1]) == model.first + 7
    rows = model.read(image).tokens[1]
    kept = jnp.concatenate([jnp.ones(model.first, bool), scores >= 9])
    x, _ = model.blocks[1](rows, kept)
    np.testing.assert_allclose(pruned.output, model._out(x, kept), atol=1e-5)
    received = dataclasses.replace(model, keep=((0, 7),)).read(image)
    assert len(received.tokens[-1]) == model.first + 7


@pytest.mark.parametrize(
    "name",
    ["timm-dinov3", "timm-beit", "timm-eva02", "timm-registers-mean", "timm-siglip-tanh",
     "timm-clip-quick", "timm-qk-norm", "hf-deit-teacher", "timm-dinov2-gated"],
)  # fmt: skip
def test_costs_are_those_that_xla_counts(name):
    """Within a tenth: these networks are tiny, and sums that no formula has show in them."""
    model = load_vit(PLACE / name)
    program = jax.jit(lambda tokens: model(patches(tokens, 4)))
    counted = program.lower(IMAGES[0]).compile().cost_analysis()["flops"]
    assert abs(vit_flops(model).total / counted - 1) < 0.1
