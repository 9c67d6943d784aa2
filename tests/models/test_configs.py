"""What lies beside weights: read whole, or refused by what is not understood."""

import json
import os
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from limelight._core.errors import InputError
from limelight._core.files import file_digest, files_digest
from limelight.instruments.sight import Sight
from limelight.models import load
from limelight.models.checkpoint import Checkpoint
from limelight.models.pretrained._configs import FILES, read_configs
from limelight.models.pretrained._facts import Facts
from limelight.models.pretrained._processors import Unclear, of_open_clip, of_processor, of_timm
from limelight.models.pretrained.pixels import SCALES
from limelight.models.weights import files_of, read
from tests.models.test_pretrained import patches

PLACE = Path(__file__).parents[1] / "fixtures" / "checkpoints"
IMAGENET = dict(zip(("image_mean", "image_std"), SCALES["imagenet"], strict=True))
VIT = {**IMAGENET, "size": {"height": 16, "width": 16}, "resample": 2}
CLIP = {**IMAGENET, "image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 18},
        "crop_size": {"height": 16, "width": 16}}  # fmt: skip


def changed(tmp_path, name, file="config.json", **changes):
    """A fixture with another configuration."""
    folder = tmp_path / name
    shutil.copytree(PLACE / name, folder)
    path = folder / file
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | changes))
    return folder


@pytest.mark.parametrize(
    ("name", "said", "says"),
    [
        ("hf-vit", {"heads": 4}, "heads is 4 by the caller and 2 by its config.json"),
        ("hf-vit", {"epsilon": 1e-6}, "epsilon is 1e-06 by the caller and 1e-12 by its config"),
        ("hf-vit", {"activation": "relu"}, "activation is relu by the caller and gelu by its"),
        ("hf-vit", {"pool": "mean"}, "pool is mean by the caller and class by its config.json"),
        ("hf-vit", {"like": "deit_tiny_patch16_224"}, "heads is 2 by its .*and 3 by timm's deit"),
        ("timm-vit", {"like": "vit_base_patch16_siglip_224"}, "by its config.json and .* by timm"),
        ("timm-eva02", {"like": "vit_base_patch16_224"}, "by its config.json and .* by timm"),
    ],
)
def test_who_says_something_else_than_the_configuration_is_refused(name, said, says):
    with pytest.raises(InputError, match=says) as caught:
        load(PLACE / name, **said)
    assert "\n" not in str(caught.value)
    assert load(PLACE / "hf-vit", heads=2, activation="gelu", pool="class").layout


def test_a_name_that_contradicts_the_configuration_beside_it_is_refused(tmp_path):
    folder = changed(tmp_path, "hf-vit")
    (folder / "model.safetensors").rename(folder / "deit_tiny_patch16_224.fb_in1k.safetensors")
    with pytest.raises(InputError, match="heads is 2 by its config.json and 3 by timm's deit_tiny"):
        load(folder)


def test_images_prepared_in_two_ways_are_told(tmp_path):
    folder = changed(tmp_path, "timm-vit", "preprocessor_config.json", **CLIP)
    (note,) = [n for n in load(folder).notes if "says otherwise" in n]
    assert "its preprocessor_config.json says (imagenet" in note
    assert "its config.json says otherwise (half" in note


@pytest.mark.parametrize(
    "changes",
    [
        {"attention_scale": 0.1},
        {"pruned_heads": {"0": [1]}},
        {"quantization_config": {"bits": 4}},
        {"auto_map": {"AutoModel": "modeling.Other"}},
        {"parallel_block": True},
    ],
)
def test_keys_that_nobody_here_knows_are_refused(changes, tmp_path):
    (key,) = changes
    with pytest.raises(InputError, match=f"its config.json says '?{key}") as caught:
        load(changed(tmp_path, "hf-vit", **changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("hf-vit", {"hidden_size": 32}),
        ("hf-vit", {"num_hidden_layers": 3}),
        ("hf-clip", {"patch_size": 8}),
        ("hf-vit", {"patch_size": "large"}),
        ("timm-vit", {"model_args": {"embed_dim": 16, "num_heads": 2, "depth": 3}}),
    ],
)
def test_the_configuration_of_another_network_is_noticed(name, changes, tmp_path):
    with pytest.raises(InputError, match="config.json is another network's: it says"):
        load(changed(tmp_path, name, **changes))


def test_keys_of_earlier_releases_change_nothing(tmp_path):
    idle = {
        "torch_dtype": "float16",
        "num_beams": 1,
        "chunk_size_feed_forward": 0,
        "top_p": 1.0,
        "pruned_heads": {},
        "finetuning_task": "image-classification",
        "something": None,
    }
    assert load(changed(tmp_path, "hf-vit", **idle)).facts["heads"]["value"] == 2


def with_classifier(tmp_path, name):
    """A fixture of Hugging Face's with a classifier; its configuration does not tell of it."""
    folder = changed(tmp_path, name, architectures=None)
    tensors = load_file(folder / "model.safetensors")
    tensors.pop("visual_projection.weight", None)
    width = tensors[next(n for n in tensors if n.endswith("post_layernorm.weight"))].size
    head = np.random.default_rng(0).normal(size=(3, width)).astype("float32")
    save_file(tensors | {"classifier.weight": head}, folder / "model.safetensors")
    return folder, head


def test_classifiers_of_clip_and_siglip_read_what_theirs_do(tmp_path):
    with pytest.raises(InputError, match="this is CLIPForImageClassification"):
        load(with_classifier(tmp_path, "hf-clip")[0])
    folder, head = with_classifier(tmp_path, "hf-siglip")
    classes = load(folder).model
    (folder / "model.safetensors").unlink()
    tensors = load_file(PLACE / "hf-siglip" / "model.safetensors")
    bare = {n: v for n, v in tensors.items() if ".head." not in n and not n.startswith("head.")}
    save_file(bare, folder / "model.safetensors")
    with pytest.raises(InputError, match="what its head reads: not in the file"):
        load(folder)
    image = jnp.asarray(np.random.default_rng(1).normal(size=(16, 16, 3)), jnp.float32)
    features = load(folder, pool="mean").model(patches(image, 4))
    assert np.allclose(classes(patches(image, 4)), head @ features, atol=1e-5)


def test_rotations_of_another_kind_are_refused(tmp_path):
    folder = changed(tmp_path, "hf-dinov3", rope_parameters={"rope_type": "yarn", "factor": 2.0})
    with pytest.raises(InputError, match="rotations are of another kind"):
        load(folder)
    with pytest.raises(InputError, match="'scaled_cosine_attn'"):
        read_configs({"open_clip_config.json": {"model_cfg": {
            "vision_cfg": {"scaled_cosine_attn": True}}}}, Facts())  # fmt: skip


def test_a_factor_before_mean_and_deviation_is_read():
    """Pixels x 1/127.5 from 0 to 2, less 1: the same as half of 1/255."""
    values = VIT | {"image_mean": [1.0] * 3, "image_std": [1.0] * 3, "rescale_factor": 1 / 127.5}
    assert of_processor(values, "it").word == "half"
    near = of_processor(VIT | {"rescale_factor": 0.00392156862745098}, "it")
    assert near.mean == SCALES["imagenet"][0]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (VIT | {"do_rescale": False}, "not divided by 255"),
        (VIT | {"do_resize": False}, "not resized"),
        (VIT | {"rescale_offset": True}, "'rescale_offset'"),
        (VIT | {"crop_pct": 0.9}, "'crop_pct'"),
        (VIT | {"do_pad": True}, "'do_pad'"),
        (VIT | {"do_flip_channel_order": True}, "'do_flip_channel_order'"),
        (VIT | {"size": {"height": 16, "width": 20}}, "no square"),
        (VIT | {"size": {"longest_edge": 16}}, "no square"),
        (VIT | {"size": {"shortest_edge": 16}}, "keep their shape"),
        (VIT | {"size": "large"}, "size of images"),
        (VIT | {"resample": None}, "resized is not said"),
        (VIT | {"resample": 4}, "interpolation"),
        (VIT | {"crop_size": 16}, "whether the middle"),
        (VIT | {"image_std": "one"}, "where a number"),
        (VIT | {"rescale_factor": [1]}, "where a number"),
        (VIT | {"rescale_factor": 0}, "multiplied by 0"),
        (VIT | {"rescale_factor": -1}, "multiplied by -1"),
        (VIT | {"image_processor_type": "LayoutLMv3ImageProcessor"}, "by LayoutLMv3"),
        (CLIP | {"crop_size": 20}, "cut out of the middle"),
        (CLIP | {"crop_size": {"height": 16, "width": 12}}, "cut out of the middle"),
        (CLIP | {"do_center_crop": False}, "keep their shape"),
    ],
)
def test_processors_that_are_not_understood_say_why(values, says):
    with pytest.raises(Unclear, match=says):
        of_processor(values, "it")


def test_the_shorter_side_is_the_one_that_is_said():
    """Quotients of quotients fall short of it for one pair of sizes in twenty."""
    for cut, size in ((224, 256), (224, 400), (196, 255), (256, 415)):
        said = CLIP | {"size": {"shortest_edge": size}, "crop_size": cut}
        assert of_processor(said, "it").fit(cut).size(size, 2 * size) == (size, 2 * size)


def test_processors_mean_what_their_kind_means_where_they_are_silent():
    """The defaults of transformers 5.23, by kind: way, share kept, stretched."""
    sizes = {"size": {"height": 20, "width": 20}, "crop_size": {"height": 16, "width": 16}}
    for kind, wanted in {
        "ViTImageProcessor": ("bilinear", 1.0, True),
        "DeiTFeatureExtractor": ("bicubic", 0.8, True),
        "BeitImageProcessorFast": ("bicubic", 1.0, True),
        "SiglipImageProcessor": ("bicubic", 1.0, True),
        "DINOv3ViTImageProcessorFast": ("bilinear", 1.0, True),
    }.items():
        found = of_processor(IMAGENET | sizes | {"image_processor_type": kind}, "it")
        assert (found.way, found.crop, found.stretch) == wanted, kind
    early = of_processor(IMAGENET | {"size": 224}, "it", "vit")  # no processor, one number
    assert (early.way, early.crop, early.stretch, early.side) == ("bilinear", 1.0, True, 224)
    found = of_processor(CLIP, "it")
    assert (found.way, found.crop, found.stretch) == ("bicubic", 16 / 18, False)


def test_timm_and_open_clip_say_whether_borders_are_filled():
    known = {"mean": [0.5] * 3, "std": [0.5] * 3}
    with pytest.raises(Unclear, match="cut out by 'border'"):
        of_timm(known | {"crop_mode": "border"}, "it")
    with pytest.raises(Unclear, match="resized by 'longest'"):
        of_open_clip(known | {"resize_mode": "longest"}, "it")
    assert of_timm(known, "it").crop == 0.875  # timm's own where it is silent


def test_what_is_not_understood_of_images_is_asked_for_only_with_images(tmp_path):
    folder = changed(tmp_path, "hf-vit", "preprocessor_config.json", rescale_offset=True)
    network = load(folder)
    assert any("how it wants images is not read" in note for note in network.notes)
    sight = Sight.of(network)
    with pytest.raises(InputError, match="'rescale_offset'.* is not known here"):
        sight.prepared()
    assert sight.prepared("half")[1].startswith("half, cut to the middle square")
    folder = changed(tmp_path / "b", "hf-vit", "preprocessor_config.json",
                     size={"height": 32, "width": 32})  # fmt: skip
    assert any("side=32 does as it says" in note for note in load(folder).notes)


BERT = [
    "embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias",
    *(f"encoder.layer.0.attention.self.{n}.weight" for n in ("query", "key", "value")),
    "encoder.layer.0.output.LayerNorm.weight",
]  # fmt: skip


def text(tmp_path, config=None, more=(), names=BERT):
    norms = {n: np.ones(4, "f4") for n in names if "Norm" in n or "ln_" in n}
    maps = {n: np.ones((4, 12 if "c_attn" in n else 4), "f4") for n in (*names, *more)}
    save_file(maps | norms, tmp_path / "m.safetensors")
    (tmp_path / "config.json").unlink(missing_ok=True)
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config))
    return Checkpoint.load(tmp_path / "m.safetensors", heads=2)


@pytest.mark.parametrize(
    ("config", "more", "says"),
    [
        ({"model_type": "roformer"}, (), "this is roformer: queries and keys are turned"),
        ({"model_type": "layoutlmv3"}, (), "this is layoutlmv3: scores have a bias by the place"),
        ({"model_type": "big_bird"}, (), "this is big_bird: a token attends to some"),
        ({"model_type": "longformer"}, (), "this is longformer: a token attends to some"),
        ({"model_type": "made-up"}, (), "this is made-up: it is not known here"),
        ({"model_type": "bert", "position_embedding_type": "alibi"}, (), "positions are 'alibi'"),
        ({"model_type": "bert", "sliding_window": 128}, (), "says 'sliding_window'"),
        ({"model_type": "bert", "num_attention_heads": 4}, (), "heads is 2 by the caller and 4"),
        ({"model_type": "bert", "num_attention_heads": "x"}, (), "says heads = x"),
        ({"model_type": "bert", "num_hidden_layers": 12}, (), "is another network's: it says"),
        (None, ("encoder.rel_pos_bias.weight",), "rel_pos_bias.weight has no place in a plain"),
        (None, ("encoder.embed_positions.weight",), "embed_positions.weight has no place"),
        (None, ("encoder.layer.0.attention.self.query_global.weight",), "query_global.weight has"),
        (None, ("encoder.layer.0.attention.self.distance_embedding.weight",), "distance_embedding"),
        (None, ("embeddings_project.weight",), "embeddings_project.weight has no place"),
    ],
)
def test_text_networks_that_attend_otherwise_are_refused(config, more, says, tmp_path):
    with pytest.raises(InputError, match=says) as caught:
        text(tmp_path, config, more)
    assert "\n" not in str(caught.value)


def test_plain_text_networks_are_read_and_guesses_told(tmp_path):
    assert "taken for a plain Hugging Face BERT" in text(tmp_path).notes[0]
    assert text(tmp_path, {"model_type": "roberta", "num_attention_heads": 2}).notes == ()
    gpt = ("h.0.attn.c_attn.weight", "h.0.ln_1.weight", "h.0.ln_1.bias")
    assert text(tmp_path, {"model_type": "gpt2", "n_head": 2}, names=gpt).layout == "GPT-2"
    with pytest.raises(InputError, match="this is openai-gpt: its norms stand elsewhere"):
        text(tmp_path, {"model_type": "openai-gpt"}, names=gpt)
    with pytest.raises(InputError, match="no ViT of timm's"):
        Checkpoint.load(tmp_path, like="vit_base_patch16_224")


def test_the_identity_of_a_divided_checkpoint_is_that_of_all_its_files(tmp_path):
    tensors = load_file(PLACE / "hf-vit" / "model.safetensors")
    names = sorted(tensors)
    parts = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, held in parts.items():
        save_file({name: tensors[name] for name in held}, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    places = {name: file for file, held in parts.items() for name in held}
    index.write_text(json.dumps({"weight_map": places}))
    files = files_of(tmp_path)
    assert [f.name for f in files] == ["model.safetensors.index.json", *parts]
    assert read(index).files == files == read(index).called({"a": names[0]}).files
    before = files_digest(files)
    assert before != file_digest(index)
    moved = {name: tensors[name] + 1 for name in parts["two.safetensors"]}
    save_file(moved, tmp_path / "two.safetensors")
    assert files_digest(files_of(tmp_path)) != before
    whole = PLACE / "hf-vit" / "model.safetensors"
    assert files_digest(files_of(PLACE / "hf-vit")) == file_digest(whole)


def leaves(value, path=()):
    """Every place in a JSON document, inner ones too."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else ()
    for name, inner in items:
        yield from leaves(inner, (*path, name))


def put(value, path, new):
    first, *rest = path
    return value | {first: put(value[first], rest, new) if rest else new}


DEEP = json.loads("[" * 600 + "]" * 600)
ODD = (None, True, -1, 0, 3.5, 1e400, 10**400, "", "word", [], [[]], [1, "a"], {}, {"a": {}}, DEEP)


@pytest.mark.parametrize("name", ["hf-dinov3", "hf-clip-both", "timm-eva02", "open-clip"])
def test_odd_configurations_are_read_or_refused_in_one_line(name):
    beside = {f: json.loads((PLACE / name / f).read_text()) for f in FILES
              if (PLACE / name / f).exists()}  # fmt: skip
    beside.setdefault("preprocessor_config.json", CLIP)
    refused = []
    for file, config in beside.items():
        for path in leaves(config):
            for odd in ODD:
                try:
                    read_configs(beside | {file: put(config, path, odd)}, Facts())
                except InputError as error:
                    refused.append(str(error))
    assert len(refused) > 20
    assert max(map(len, refused)) < 600


@pytest.mark.parametrize(
    "file", ["config.json", "preprocessor_config.json", "model.safetensors.index.json"]
)
@pytest.mark.parametrize("kind", ["pipe", "twice", "deep"])
def test_what_lies_beside_weights_is_plain_json_in_a_plain_file(tmp_path, file, kind):
    """A pipe was waited for without end; of a key that occurred twice the last one held."""
    folder = changed(tmp_path, "hf-deit")
    if file.endswith("index.json"):
        (folder / "model.safetensors").unlink()
    path = folder / file
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        twice = '{"num_attention_heads": 1, "num_attention_heads": 2, "weight_map": {}}'
        path.write_text(twice if kind == "twice" else '{"a":' * 5000)
    with pytest.raises(InputError) as error:
        load(folder)
    assert "\n" not in error.value.message
