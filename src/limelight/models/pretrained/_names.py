"""What each library calls the parts of a ViT, and how those names become timm's.

A layout is found by the name of its patch embedding, whatever stands before that (`vit.`, `model.`,
`visual.`). All that lies outside that prefix and is no head belongs to another network, such as a
text tower or a decoder, and is left out.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from limelight._core.errors import InputError

#: A tensor that is known and has no part in the output.
NOTHING = ""
Rules = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Naming:
    """A library's names.

    Args:
        name: What it is called in messages.
        marks: Tensors by which it is found, any of them; a prefix may stand before them.
        inside: Rules for names after the prefix: pattern to timm's name.
        outside: The same for names that have no prefix, such as heads.
        beside: Another tensor that must be there.
        always: What holds of all its networks, whatever their tensors; see `facts`.
    """

    name: str
    marks: tuple[str, ...]
    inside: Rules
    outside: Rules = ()
    beside: str = ""
    always: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Renamed:
    """The tensors of a file by timm's names.

    Args:
        layout: Which it is.
        names: timm's name to the file's.
        outside: The file's names that belong to another network.
        dropped: Those of this one that have no part in its output.
        unknown: Those of this one that no rule knows.
    """

    layout: Naming
    names: dict[str, str]
    outside: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    unknown: tuple[str, ...] = field(default=())


_PART = r"(weight|bias)"
_BLOCK = r"(?:encoder\.layer|encoder\.layers|model\.layer|layers|layer)\.(\d+)\."

TIMM = Naming(
    name="timm ViT or DeiT",
    marks=("patch_embed.proj.weight", "blocks.0.attn.qkv.weight"),
    inside=(
        (r"mask_token|decoder.*|blocks\.\d+\.attn\.relative_position_index", NOTHING),
        (r"rel_pos_bias\.relative_position_index|rope\.periods", NOTHING),
        (r"register_tokens", "reg_token"),
        (r"blocks\.\d+\.(\d+)\.(.*)", r"blocks.\1.\2"),  # DINOv2's blocks, in chunks
        (r"(blocks\.\d+)\.mlp\.w12\.(.*)", r"\1.mlp.fc1.\2"),
        (r"(blocks\.\d+)\.mlp\.w3\.(.*)", r"\1.mlp.fc2.\2"),
        (r"(.*)", r"\1"),
    ),
)

HF_VIT = Naming(
    name="Hugging Face ViT",
    marks=(
        "embeddings.patch_embeddings.projection.weight",
        "encoder.layer.0.attention.attention.query.weight",
    ),
    inside=(
        (r"embeddings\.mask_token|pooler\.dense\..*", NOTHING),
        (r".*relative_position_index", NOTHING),
        (rf"embeddings\.patch_embeddings\.(?:projection\.)?{_PART}", r"patch_embed.proj.\1"),
        (r"embeddings\.cls_token", "cls_token"),
        (r"embeddings\.distillation_token", "dist_token"),
        (r"embeddings\.register_tokens", "reg_token"),
        (r"embeddings\.position_embeddings", "pos_embed"),
        (rf"{_BLOCK}(?:layernorm_before|norm1)\.{_PART}", r"blocks.\1.norm1.\2"),
        (rf"{_BLOCK}(?:layernorm_after|norm2)\.{_PART}", r"blocks.\1.norm2.\2"),
        (rf"{_BLOCK}attention\.attention\.(q|k|v)[a-z]+\.{_PART}", r"blocks.\1.attn.\2_proj.\3"),
        (rf"{_BLOCK}attention\.(q|k|v)_proj\.{_PART}", r"blocks.\1.attn.\2_proj.\3"),
        (rf"{_BLOCK}attention\.(?:output\.dense|o_proj)\.{_PART}", r"blocks.\1.attn.proj.\2"),
        (rf"{_BLOCK}(?:intermediate\.dense|mlp\.fc1|mlp\.weights_in)\.{_PART}",
         r"blocks.\1.mlp.fc1.\2"),
        (rf"{_BLOCK}(?:output\.dense|mlp\.fc2|mlp\.weights_out|mlp\.down_proj)\.{_PART}",
         r"blocks.\1.mlp.fc2.\2"),
        (rf"{_BLOCK}mlp\.gate_proj\.{_PART}", r"blocks.\1.mlp.fc1_g.\2"),
        (rf"{_BLOCK}mlp\.up_proj\.{_PART}", r"blocks.\1.mlp.fc1_x.\2"),
        (rf"{_BLOCK}(?:layer_scale|lambda_)(\d)(?:\.lambda1)?", r"blocks.\1.ls\2.gamma"),
        (rf"{_BLOCK}(?:attention\.attention\.)?relative_position_bias\.relative_position_bias_table",
         r"blocks.\1.attn.relative_position_bias_table"),
        (r"(?:(?:encoder\.)?relative|shared)_position_bias\.relative_position_bias_table",
         "rel_pos_bias.relative_position_bias_table"),
        (rf"(?:layernorm|norm)\.{_PART}", r"norm.\1"),
        (rf"pooler\.layernorm\.{_PART}", r"fc_norm.\1"),
    ),
    outside=(
        (rf"(?:classifier|cls_classifier)\.{_PART}", r"head.\1"),
        (rf"distillation_classifier\.{_PART}", r"head_dist.\1"),
    ),
    always={"rotary": None},
)  # fmt: skip

#: DINOv3 has no `projection` between.
HF_DINOV3 = Naming(
    "Hugging Face DINOv3", ("embeddings.patch_embeddings.weight",), HF_VIT.inside, HF_VIT.outside
)

_LAYERS = r"encoder\.layers\.(\d+)\."
HF_CLIP = Naming(
    name="Hugging Face CLIP or SigLIP",
    marks=("embeddings.patch_embedding.weight",),
    inside=(
        (r"embeddings\.position_ids", NOTHING),
        (rf"embeddings\.patch_embedding\.{_PART}", r"patch_embed.proj.\1"),
        (r"embeddings\.class_embedding", "cls_token"),
        (r"embeddings\.position_embedding\.weight", "pos_embed"),
        (rf"pre_layrnorm\.{_PART}", r"norm_pre.\1"),
        (rf"{_LAYERS}layer_norm(\d)\.{_PART}", r"blocks.\1.norm\2.\3"),
        (rf"{_LAYERS}self_attn\.(q|k|v)_proj\.{_PART}", r"blocks.\1.attn.\2_proj.\3"),
        (rf"{_LAYERS}self_attn\.out_proj\.{_PART}", r"blocks.\1.attn.proj.\2"),
        (rf"{_LAYERS}mlp\.(fc\d)\.{_PART}", r"blocks.\1.mlp.\2.\3"),
        (rf"post_layernorm\.{_PART}", r"norm.\1"),
        (r"head\.probe", "attn_pool.latent"),
        (rf"head\.attention\.in_proj_{_PART}", r"attn_pool.qkv.\1"),
        (rf"head\.attention\.out_proj\.{_PART}", r"attn_pool.proj.\1"),
        (rf"head\.layernorm\.{_PART}", r"attn_pool.norm.\1"),
        (rf"head\.mlp\.(fc\d)\.{_PART}", r"attn_pool.mlp.\1.\2"),
    ),
    outside=(
        (r"visual_projection\.weight", "head.weight"),
        (rf"classifier\.{_PART}", r"head.\1"),
    ),
    always={"rotary": None},
)

_RESIDUAL = r"transformer\.resblocks\.(\d+)\."
OPEN_CLIP = Naming(
    name="open_clip image tower",
    marks=("conv1.weight",),
    beside="class_embedding",
    inside=(
        (r"conv1\.weight", "patch_embed.proj.weight"),
        (r"class_embedding", "cls_token"),
        (r"positional_embedding", "pos_embed"),
        (rf"ln_pre\.{_PART}", r"norm_pre.\1"),
        (rf"{_RESIDUAL}ln_(\d)\.{_PART}", r"blocks.\1.norm\2.\3"),
        (rf"{_RESIDUAL}attn\.in_proj_{_PART}", r"blocks.\1.attn.qkv.\2"),
        (rf"{_RESIDUAL}attn\.out_proj\.{_PART}", r"blocks.\1.attn.proj.\2"),
        (rf"{_RESIDUAL}mlp\.c_fc\.{_PART}", r"blocks.\1.mlp.fc1.\2"),
        (rf"{_RESIDUAL}mlp\.c_proj\.{_PART}", r"blocks.\1.mlp.fc2.\2"),
        (rf"{_RESIDUAL}ls_(\d)\.gamma", r"blocks.\1.ls\2.gamma"),
        (rf"ln_post\.{_PART}", r"norm.\1"),
        (r"proj", "head.transposed"),
    ),
    always={"rotary": None, "pool": "class"},
)

_ENCODER = r"encoder\.layers\.encoder_layer_(\d+)\."
TORCHVISION = Naming(
    name="torchvision ViT",
    marks=("conv_proj.weight",),
    inside=(
        (rf"conv_proj\.{_PART}", r"patch_embed.proj.\1"),
        (r"class_token", "cls_token"),
        (r"encoder\.pos_embedding", "pos_embed"),
        (rf"{_ENCODER}ln_(\d)\.{_PART}", r"blocks.\1.norm\2.\3"),
        (rf"{_ENCODER}self_attention\.in_proj_{_PART}", r"blocks.\1.attn.qkv.\2"),
        (rf"{_ENCODER}self_attention\.out_proj\.{_PART}", r"blocks.\1.attn.proj.\2"),
        (rf"{_ENCODER}mlp\.(?:0|linear_1)\.{_PART}", r"blocks.\1.mlp.fc1.\2"),
        (rf"{_ENCODER}mlp\.(?:3|linear_2)\.{_PART}", r"blocks.\1.mlp.fc2.\2"),
        (rf"encoder\.ln\.{_PART}", r"norm.\1"),
        (rf"heads\.head\.{_PART}", r"head.\1"),
    ),
    always={"rotary": None, "epsilon": 1e-6, "activation": "gelu", "pool": "class"},
)

LAYOUTS = (TIMM, HF_VIT, HF_DINOV3, HF_CLIP, OPEN_CLIP, TORCHVISION)
#: Prefixes of another network's parts in a file of several.
_VISION = ("visual", "vision", "image")


def rename(names: Iterable[str]) -> Renamed | None:
    """The tensors of a file by timm's names; nothing where no layout is known."""
    names = list(names)
    for layout in LAYOUTS:
        prefix = _prefix(names, layout)
        if prefix is not None:
            return _renamed(names, layout, prefix)
    return None


def _prefix(names: list[str], layout: Naming) -> str | None:
    """What stands before the names of a layout; `None` where it is another one's."""
    for mark in layout.marks:
        found = [n.removesuffix(mark) for n in names if n.endswith(mark)]
        fits = [
            p
            for p in found
            if (not p or p.endswith(".")) and (not layout.beside or p + layout.beside in names)
        ]
        if len(fits) > 1:  # several networks: the one for images
            fits = [p for p in fits if any(word in p for word in _VISION)] or fits
        if len(fits) > 1:
            raise InputError(
                "the file holds several networks: " + ", ".join(p or "(no prefix)" for p in fits),
                "keep the one that is meant",
            )
        if fits:
            return fits[0]
    return None


def _renamed(names: list[str], layout: Naming, prefix: str) -> Renamed:
    new: dict[str, str] = {}
    outside, dropped, unknown = [], [], []
    bare = _bare(names, layout, prefix)
    for name in names:
        within = name.startswith(prefix) or name in bare
        short = name.removeprefix(prefix) if within else name
        target = _target(short, layout.inside) if within else None
        if target is None:
            target = _target(name, layout.outside)
        if target is None:
            (unknown if within and _own(short, prefix) else outside).append(name)
        elif target == NOTHING:
            dropped.append(name)
        elif target in new:
            raise InputError(f"{name} and {new[target]} are the same part", "keep one of them")
        else:
            new[target] = name
    _ungated(new)
    if layout is HF_CLIP and new.get("head.weight", "").endswith("classifier.weight"):
        dropped += _classified(new)
    return Renamed(layout, new, tuple(outside), tuple(dropped), tuple(unknown))


def _bare(names: list[str], layout: Naming, prefix: str) -> set[str]:
    """Blocks that lost their embeddings' prefix, as transformers writes ViTMSN's classifier."""
    block = lambda name: (_target(name, layout.inside) or "").startswith("blocks.")
    own = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    if not prefix or layout is not HF_VIT or any(map(block, own)):
        return set()
    return {name for name in names if not name.startswith(prefix) and block(name)}


#: Parts of other networks, in files whose images' network has no prefix of its own.
_OTHERS = (
    r"(decoder|text_model|text_projection|token_embedding|logit_|text\.|lm_head|transformer\.)"
)


def _own(short: str, prefix: str) -> bool:
    """Whether a name that no rule knows belongs to the ViT."""
    return bool(prefix) or not re.match(_OTHERS, short)


def _target(name: str, rules: Rules) -> str | None:
    for pattern, target in rules:
        match = re.fullmatch(pattern, name)
        if match:
            return match.expand(target) if target else NOTHING
    return None


def _classified(new: dict[str, str]) -> list[str]:
    """SigLIP's classifier reads the mean, whatever pool lies beside it; the pool is left out."""
    if "cls_token" in new:
        raise InputError(
            "this is CLIPForImageClassification: its head skips the last norm",
            "it is not supported",
        )
    return [new.pop(name) for name in list(new) if name.startswith("attn_pool.")]


def _ungated(new: dict[str, str]) -> None:
    """An `up_proj` without a gate is a plain first layer."""
    for name in [n for n in new if ".mlp.fc1_x." in n]:
        if name.replace("fc1_x", "fc1_g") not in new:
            new[name.replace("fc1_x", "fc1")] = new.pop(name)
