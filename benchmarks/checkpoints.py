"""The ViTs that people have: loaded with their largest error against PyTorch, or refused and why.

Every network is built by its own library with random weights (full width, two blocks where it has
more), written to a folder as the library writes it, and read here; both sides compute the same two
images. Networks that are not plain ViTs must be refused. Needs torch, timm, transformers,
open_clip and torchvision beside this library:

    python benchmarks/checkpoints.py -o results/benchmarks/checkpoints.json --deit FILE

with the file of a DeiT-tiny, if there is one, as the only released weights among them.
"""

import argparse
import itertools
import json
import tempfile
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import open_clip
import timm
import torch
import torchvision
import transformers as hf
from safetensors.torch import load_file, save_file
from timm.models._hub import save_for_hf

import limelight as ll
from limelight._core.errors import InputError
from limelight._core.types import Example
from limelight.instruments.sight import Sight
from limelight.models import Checkpoint

AGREES = 1e-4  # of the output's largest number: float32 on both sides, up to 1,664 columns
SHALLOW = {"depth": 2}

#: Family, and architectures of timm.
TIMM = {
    "ViT": ("vit_tiny_patch16_224", "vit_base_patch32_224", "vit_huge_patch14_224"),
    "ViT, no class token": ("vit_base_patch16_gap_224", "vit_medium_patch16_reg4_gap_256"),
    "DeiT": ("deit_tiny_patch16_224", "deit_tiny_distilled_patch16_224"),
    "DeiT-3": ("deit3_small_patch16_224",),
    "DINOv2": ("vit_small_patch14_dinov2", "vit_small_patch14_reg4_dinov2"),
    "DINOv3": ("vit_small_patch16_dinov3",),
    "CLIP": ("vit_base_patch32_clip_224", "vit_base_patch32_clip_quickgelu_224"),
    "SigLIP": ("vit_base_patch16_siglip_224", "vit_so400m_patch14_siglip_224"),
    "BEiT": ("beit_base_patch16_224",),
    "RADIO": ("vit_base_patch16_radio_v3",),
    "EVA": ("eva_giant_patch14_224", "eva02_tiny_patch14_224", "eva02_base_patch14_448"),
}
#: Arguments of timm's that change a network: family, architecture, what is changed.
CHANGED = (
    ("ViT", "vit_tiny_patch16_224", {"qk_norm": True}),
    ("ViT", "vit_tiny_patch16_224", {"final_norm": False}),
    ("ViT", "vit_tiny_patch16_224", {"proj_bias": False}),
    ("ViT", "vit_tiny_patch16_224", {"scale_mlp_norm": True}),
    ("BEiT", "beit_base_patch16_224", {"use_shared_rel_pos_bias": True, "use_rel_pos_bias": False}),
)
REFUSED_TIMM = (
    "swin_tiny_patch4_window7_224", "swinv2_tiny_window8_256", "cait_xxs24_224",
    "xcit_nano_12_p16_224", "pvt_v2_b0", "convit_tiny", "pit_ti_224", "crossvit_9_240",
    "vit_relpos_small_patch16_224", "vit_tiny_r_s16_p8_224", "convnext_atto", "resnet18",
    "vit_base_patch16_rpn_224", "vit_base_patch16_rope_mixed_224", "vit_pe_core_base_patch16_224",
    "eva02_base_patch16_clip_224", "hiera_tiny_224", "maxvit_tiny_rw_224",
)  # fmt: skip


def hugging_face() -> dict[str, tuple[str, object]]:
    """Family and network; the sizes are those of the released ones, but for the depth."""
    two, classes = {"num_hidden_layers": 2}, {"num_labels": 10}
    small = {"hidden_size": 384, "num_attention_heads": 6, **two}
    text = {"num_hidden_layers": 1, "vocab_size": 50, "bos_token_id": 1, "eos_token_id": 2}
    return {
        "ViTForImageClassification": ("ViT", lambda: hf.ViTForImageClassification(
            hf.ViTConfig(**two, **classes))),
        "ViTModel, gelu_new": ("ViT", lambda: hf.ViTModel(
            hf.ViTConfig(**two, hidden_act="gelu_new"))),
        "DeiTForImageClassificationWithTeacher": ("DeiT", lambda:
            hf.DeiTForImageClassificationWithTeacher(hf.DeiTConfig(**two, **classes))),
        "Dinov2Model": ("DINOv2", lambda: hf.Dinov2Model(
            hf.Dinov2Config(**small, image_size=518))),
        "Dinov2WithRegistersModel": ("DINOv2", lambda: hf.Dinov2WithRegistersModel(
            hf.Dinov2WithRegistersConfig(**small, patch_size=14))),
        "DINOv3ViTModel": ("DINOv3", lambda: hf.DINOv3ViTModel(
            hf.DINOv3ViTConfig(**small, num_register_tokens=4))),
        "ViTMSNForImageClassification": ("MSN", lambda: hf.ViTMSNForImageClassification(
            hf.ViTMSNConfig(**two, **classes))),
        "IJepaForImageClassification": ("I-JEPA", lambda: hf.IJepaForImageClassification(
            hf.IJepaConfig(**two, **classes))),
        "Data2VecVisionForImageClassification": ("data2vec", lambda:
            hf.Data2VecVisionForImageClassification(hf.Data2VecVisionConfig(
                **two, **classes, use_relative_position_bias=True))),
        "ChineseCLIPVisionModel": ("CLIP", lambda: hf.ChineseCLIPVisionModel(
            hf.ChineseCLIPVisionConfig(**two))),
        "ViTMAEForPreTraining": ("MAE", lambda: hf.ViTMAEForPreTraining(
            hf.ViTMAEConfig(**two, mask_ratio=0.0, decoder_num_hidden_layers=1))),
        "BeitForImageClassification": ("BEiT", lambda: hf.BeitForImageClassification(
            hf.BeitConfig(**two, **classes, use_relative_position_bias=True))),
        "CLIPModel": ("CLIP", lambda: hf.CLIPModel(
            hf.CLIPConfig(vision_config=two, text_config=text))),
        "SiglipModel": ("SigLIP", lambda: hf.SiglipModel(
            hf.SiglipConfig(vision_config=two, text_config=text))),
    }  # fmt: skip


REFUSED_HF = {
    "SwinModel": lambda: hf.SwinModel(hf.SwinConfig(depths=[1, 1], num_heads=[3, 6])),
    "SegformerModel": lambda: hf.SegformerModel(hf.SegformerConfig()),
    "ConvNextModel": lambda: hf.ConvNextModel(hf.ConvNextConfig(depths=[1, 1, 1, 1])),
    "BertModel": lambda: hf.BertModel(hf.BertConfig(num_hidden_layers=1, vocab_size=50)),
    "MLCDVisionModel": lambda: hf.MLCDVisionModel(hf.MLCDVisionConfig(num_hidden_layers=1)),
    "VideoMAEModel": lambda: hf.VideoMAEModel(hf.VideoMAEConfig(num_hidden_layers=1)),
    "CLIPTextModel": lambda: hf.CLIPTextModel(hf.CLIPTextConfig(num_hidden_layers=1)),
    "Siglip2VisionModel": lambda: hf.Siglip2VisionModel(
        hf.Siglip2VisionConfig(num_hidden_layers=1)
    ),
}


#: Networks for text, small; the bound describes the first and must refuse the others.
SMALL = {
    "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "vocab_size": 50,
}  # fmt: skip
TEXT = ("Bert", "Roberta", "XLMRoberta", "Camembert", "Ernie", "LayoutLM", "Data2VecText",
        "Splinter")  # fmt: skip
REFUSED_TEXT = ("RoFormer", "LayoutLMv3", "BigBird", "Longformer", "Nystromformer", "Yoso", "Mra",
                "Esm", "MegatronBert", "RobertaPreLayerNorm", "XLMRobertaXL", "Lilt", "Bros",
                "ConvBert", "Luke")  # fmt: skip


def text_networks():
    """Name, network, and whether the bound describes it."""
    sizes = {"n_embd": 48, "n_layer": 2, "n_head": 4, "vocab_size": 50}
    of = lambda name, **sizes: getattr(hf, f"{name}Model")(getattr(hf, f"{name}Config")(**sizes))
    for name in TEXT:
        yield name, of(name, **SMALL, attn_implementation="eager"), True
    yield "GPT2", of("GPT2", **sizes, attn_implementation="eager"), True
    yield "OpenAIGPT", of("OpenAIGPT", **sizes), False
    for name in REFUSED_TEXT:
        more = {"attention_window": 8} if name == "Longformer" else {}
        more |= {"position_embedding_type": "rotary", "pad_token_id": 1} if name == "Esm" else {}
        yield name, of(name, **SMALL, **more), False


def described(name: str, model: torch.nn.Module, folder: Path) -> dict:
    """One row: attention of the first block in PyTorch, beside that of what the bound reads."""
    row = {"family": "text", "source": f"transformers {name}Model"}
    words = torch.arange(5, 17)[None]
    with torch.no_grad():
        found = model(words, output_attentions=True, output_hidden_states=True)
        x = found.hidden_states[0]
        x = model.h[0].ln_1(x) if name == "GPT2" else x
    try:
        block = Checkpoint.load(folder).blocks[0]
    except InputError as error:
        return row | {"outcome": "NOT LOADED", "message": str(error)}
    split = lambda rows: rows.reshape(len(rows), block.heads, -1).swapaxes(0, 1)
    rows = x[0].double().numpy()
    q, k = split(rows @ block.query + block.query_bias), split(rows @ block.key + block.key_bias)
    scores = np.exp(q[:, -1:] @ k.swapaxes(1, 2) / q.shape[-1] ** 0.5)  # the last attends to all
    ours = (scores / scores.sum(axis=-1, keepdims=True))[:, 0]
    error = float(np.abs(ours - found.attentions[0][0, :, -1].numpy()).max())
    outcome = "described" if error <= AGREES else "WRONG"
    return row | {"outcome": outcome, "error": float(f"{error:.2g}"), "heads": block.heads}


def shaken(model: torch.nn.Module) -> torch.nn.Module:
    """Away from the start, so that no gain, bias, scale or shift is idle."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return model.eval()


def output(model: torch.nn.Module, images: torch.Tensor) -> np.ndarray:
    """What PyTorch says: logits, or what a head would read."""
    with torch.no_grad():
        if isinstance(model, hf.ViTMAEForPreTraining):
            return model.vit(images).last_hidden_state[:, 0].numpy()
        if isinstance(model, (hf.CLIPModel, hf.SiglipModel)):
            found = model.get_image_features(images)
            return getattr(found, "pooler_output", found).numpy()
        found = model(images)
        if isinstance(model, hf.ViTModel):
            found = found.last_hidden_state[:, 0]
        for name in ("logits", "pooler_output"):
            found = found if torch.is_tensor(found) else getattr(found, name, found)
        return found.numpy()


def ours(model, images: np.ndarray) -> np.ndarray:
    """The same here."""
    sight = Sight.of(model)
    tokens = sight.tokens(images, 1.0, (np.zeros(3), np.ones(3)))
    example = lambda t: Example(t, jnp.zeros(1), jnp.ones(len(t), bool), jnp.zeros(len(t), int))
    with jax.default_matmul_precision("highest"):
        return np.stack([np.asarray(model(example(jnp.asarray(t)))) for t in tokens])


def compared(family: str, source: str, model: torch.nn.Module, given: object) -> dict:
    """One row: loaded or refused, and how far from PyTorch."""
    row = {"family": family, "source": source}
    try:
        loaded = ll.load(given)
    except InputError as error:
        return row | {"outcome": "NOT LOADED", "message": str(error)}
    side = Sight.of(loaded).side
    images = np.random.default_rng(0).normal(size=(2, side, side, 3)).astype(np.float32)
    wanted = output(model, torch.from_numpy(images.transpose(0, 3, 1, 2)))
    found = ours(loaded.model, images)
    error, scale = float(np.abs(found - wanted).max()), float(np.abs(wanted).max())
    row |= {
        "outcome": "loaded" if error <= AGREES * scale else "WRONG",
        "error": float(f"{error:.2g}"),
        "scale": float(f"{scale:.3g}"),
        "heads": loaded.facts["heads"]["value"],
        "pixels": None if loaded.pixels is None else str(loaded.pixels),
        "bound": bound(given),
    }
    return row


def bound(given: object) -> str:
    """Whether the capacity bound describes its attention."""
    try:
        return f"described, {Checkpoint.load(given).tokens} tokens"
    except InputError as error:
        return f"refused: {error}"


def refused(family: str, source: str, given: object) -> dict:
    """One row for a network that must not load."""
    try:
        ll.load(given)
    except InputError as error:
        return {"family": family, "source": source, "outcome": "refused", "message": str(error)}
    return {"family": family, "source": source, "outcome": "WRONG"}


def rows(folder: Path):
    """All of them, one at a time."""
    for family, names in TIMM.items():
        for name in names:
            clear(folder)
            model = shaken(timm.create_model(name, num_classes=10, **SHALLOW))
            model.pretrained_cfg = {**model.pretrained_cfg, "architecture": name}
            arguments = {"num_classes": 10, **SHALLOW}
            save_for_hf(model, folder, model_args=arguments, safe_serialization=True)
            yield compared(family, f"timm {name}", model, folder)
            if name in ("vit_huge_patch14_224", "eva02_tiny_patch14_224"):
                yield compared(family, f"timm {name}, the module itself", model, model)
            if name in ("vit_huge_patch14_224", "vit_base_patch32_clip_quickgelu_224"):
                (folder / "config.json").unlink()
                yield refused(family, f"timm {name}, without config.json", folder)
    for family, name, changes in CHANGED:
        clear(folder)
        arguments = {"num_classes": 10, **SHALLOW, **changes}
        model = shaken(timm.create_model(name, **arguments))
        model.pretrained_cfg = {**model.pretrained_cfg, "architecture": name}
        save_for_hf(model, folder, model_args=arguments, safe_serialization=True)
        told = ", ".join(f"{key}={value}" for key, value in changes.items())
        yield compared(family, f"timm {name}, {told}", model, folder)
        yield compared(family, f"timm {name}, {told}, the module itself", model, model)
    yield from modules()
    for name, (family, make) in hugging_face().items():
        clear(folder)
        model = shaken(make())
        model.save_pretrained(folder)
        yield compared(family, f"transformers {name}", model, folder)
        yield compared(family, f"transformers {name}, the module itself", model, model)
    for name in REFUSED_TIMM:
        clear(folder)
        model = timm.create_model(name)
        save_file({k: v.contiguous() for k, v in model.state_dict().items()},
                  folder / "model.safetensors")  # fmt: skip
        yield refused("not a plain ViT", f"timm {name}, without config.json", folder)
    for name, make in REFUSED_HF.items():
        clear(folder)
        make().save_pretrained(folder)
        yield refused("not a plain ViT", f"transformers {name}", folder)


class Mine(timm.models.vision_transformer.VisionTransformer):
    """A class that nobody knows, with the tensors of one that is known."""

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """The last block, once more."""
        x = super().forward_features(x)
        return self.blocks[-1](x)


def modules():
    """PyTorch modules that are no checkpoint of timm's or Hugging Face's, and one of one's own."""
    clip = open_clip.CLIP(
        512,
        open_clip.model.CLIPVisionCfg(layers=2, width=384, patch_size=32),
        open_clip.model.CLIPTextCfg(layers=1),
        quick_gelu=True,
    )
    clip = shaken(clip)
    yield compared("CLIP", "open_clip's image tower, the module itself", clip.visual, clip)
    vit = shaken(torchvision.models.VisionTransformer(224, 16, 2, 6, 384, 1536, num_classes=10))
    yield compared("ViT", "torchvision VisionTransformer, the module itself", vit, vit)
    mine = Mine(depth=2, embed_dim=192, num_heads=3, num_classes=10)
    yield refused("not a plain ViT", "a class of one's own with timm's tensors", mine)


def text_rows(folder: Path):
    """Networks for text, for the bound alone."""
    for name, model, plain in text_networks():
        clear(folder)
        shaken(model).save_pretrained(folder)
        if plain:
            yield described(name, model, folder)
            continue
        row = {"family": "text", "source": f"transformers {name}Model"}
        try:
            Checkpoint.load(folder)
            yield row | {"outcome": "WRONG"}
        except InputError as error:
            yield row | {"outcome": "refused", "message": str(error)}


def released(path: Path | None):
    """A DeiT-tiny from its file alone, against timm with the same weights."""
    if path is not None:
        model = timm.create_model("deit_tiny_patch16_224")
        model.load_state_dict({k: v.float() for k, v in load_file(path).items()})
        yield compared("DeiT", "an export of DeiT-tiny, its file alone", model.eval(), path)


def clear(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def main() -> None:
    """Make the table."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("-o", "--output", type=Path)
    words.add_argument("--deit", type=Path)
    told = words.parse_args()
    warnings.simplefilter("ignore")
    hf.logging.set_verbosity_error()
    torch.manual_seed(0)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for row in itertools.chain(text_rows(place), released(told.deit), rows(place)):
            found.append(row)
            told_of = row.get("message") or f"error {row.get('error')} of {row.get('scale')}"
            print(f"{row['outcome']:8} {row['source']}: {told_of}", flush=True)
    wrong = sum(row["outcome"].isupper() for row in found)
    versions = {m.__name__: m.__version__ for m in (torch, timm, hf, jax)}
    print(f"{len(found)} checkpoints, {wrong} wrong")
    if told.output:
        text = json.dumps({"versions": versions, "wrong": wrong, "rows": found}, indent=1)
        told.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
