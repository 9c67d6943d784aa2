"""Networks that are not plain ViTs, known by their tensors, and why they are refused.

What changes the function and is not in `models/vit.py` would give other logits without a word, so
such a file is refused by what it is, before anything else is asked of it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """An architecture: how its tensors betray it, its name, and what it does otherwise."""

    mark: str
    name: str
    why: str


REFUSALS = (
    Refusal(r".*\.attn\.(cpb_mlp\.0\.weight|logit_scale)|.*continuous_position_bias_mlp.*",
            "Swin V2", "attention in shifted windows, by cosines"),
    Refusal(r"(.*\.)?layers\.\d+\.blocks\.\d+\.(attn|attention\.self)\.relative_position_bias_table",
            "Swin", "windowed attention"),
    Refusal(r"(.*\.)?blocks_token_only\..*|.*\.attn\.proj_[lw]\.weight",
            "CaiT", "talking heads and a stage of class attention"),
    Refusal(r"(.*\.)?cls_attn_blocks\..*|.*\.attn\.temperature", "XCiT",
            "attention among channels, not tokens"),
    Refusal(r".*\.attn\.sr\.weight|.*attention\.self\.sr\.weight", "PVT or SegFormer",
            "keys are averaged over neighbours"),
    Refusal(r".*\.conv_proj_q(uery)?\..*|.*attention\.convolution_projection_.*", "CvT",
            "queries and keys by convolution"),
    Refusal(r".*\.attn\.(pool_q|norm_q|rel_pos_h)(\..*)?", "MViT or SAM",
            "pooled queries or decomposed relative positions"),
    Refusal(r"(.*\.)?blocks\.\d+\.proj\.(weight|bias)", "Hiera",
            "attention in units of the mask, and tokens that are pooled between stages"),
    Refusal(r".*\.attn\.gating_param", "ConViT", "gated positional attention"),
    Refusal(r"transformers\.\d+\.blocks\..*", "PiT", "tokens are pooled between stages"),
    Refusal(r"tokens_to_token\..*", "T2T-ViT", "tokens are made by attention"),
    Refusal(r".*\.fusion\.\d+\..*", "CrossViT", "two branches that exchange tokens"),
    Refusal(r"pixel_embed\..*|(.*\.)?blocks\.\d+\.(norm_in|attn_in)\..*", "TNT",
            "transformers inside tokens"),
    Refusal(r"(.*\.)?network\.\d+\.\d+\.attn\.v\..*", "VOLO", "outlook attention"),
    Refusal(r"(.*\.)?shared_rel_pos\..*|.*\.attn\.rel_pos\..*", "a ViT with relative positions",
            "its scores have a bias that a network computes"),
    Refusal(r"(.*\.)?patch_embed\.(backbone|conv|stem|blocks|seq)\..*|"
            r".*patch_embeddings\.backbone\..*", "a hybrid ViT",
            "convolutions stand before its patches"),
    Refusal(r"(.*\.)?rope\.freqs", "a ViT with trained rotations", "they differ head by head"),
    Refusal(r".*\.lambda_q1", "a differential ViT", "attention is a difference of two softmaxes"),
    Refusal(r"(.*\.)?blocks\.\d+\.(attns|ffns)\.\d+\..*", "a ViT of parallel branches",
            "several attentions read the same rows"),
    Refusal(r"(.*\.)?blocks\.\d+\.(in_proj\.weight|mlp_out_proj\.weight)",
            "ViT-22B's parallel block", "attention and perceptron read the same rows"),
    Refusal(r".*\.attn\.gate\..*", "gated attention", "heads are multiplied by a gate"),
    Refusal(r"(.*\.)?embeds\.(proj|pos_embed|cls_token|reg_token)(\..*)?", "NaFlexViT",
            "grids of any shape"),
    Refusal(r".*\.attn\.norm\.(weight|bias)", "EVA-02-CLIP or its kin",
            "heads are normalised before the output map"),
    Refusal(r"(.*\.)?(stages|downsample_layers)\.\d+\..*(conv_dw|dwconv|gamma|token_mixer).*",
            "ConvNeXt or its kin", "a convolutional network"),
    Refusal(r"(.*\.)?stages\.\d+\.blocks\.\d+\..*attn.*", "a ViT in stages",
            "tokens are merged between stages"),
    Refusal(r"(.*\.)?layer1\.0\.conv1\.weight|(.*\.)?encoder\.stages\.0\.layers\.0\..*convolution.*",
            "ResNet", "a convolutional network"),
    Refusal(r"(.*\.)?patch_embed\.norm\.weight", "AIMv2 or its kin",
            "patches are normalised before their positions are added"),
    Refusal(r"image_encoder\..*", "SAM", "windowed attention with relative positions"),
)  # fmt: skip

_RELATIVE = "its scores depend on relative positions"
#: Networks for text: why the bound does not describe them, where it does not; a probe reads none.
TEXT = (
    Refusal(r"(.*\.)?encoder\.layer\.\d+\.attention\.self\.query\.weight", "BERT or its kin",
            "its tensors are not all there"),
    Refusal(r"(.*\.)?h\.\d+\.attn\.c_attn\.weight", "GPT-2", "its tensors are not all there"),
    Refusal(r"(.*\.)?block\.\d+\.layer\.0\.SelfAttention\.q\.weight", "T5", _RELATIVE),
    Refusal(r"(.*\.)?embeddings\.token_embedding\.weight", "the text tower of CLIP or its kin",
            "which tokens it attends to is not read here"),
    Refusal(r"(.*\.)?embed_tokens\.weight", "Llama or its kin", _RELATIVE),
)  # fmt: skip


def refusal(names: Iterable[str]) -> Refusal | None:
    """Why a file is not a plain ViT, where that is known."""
    return _first(REFUSALS, names)


def text_model(names: Iterable[str]) -> Refusal | None:
    """What network for text a file holds, if it does."""
    return _first(TEXT, names)


def _first(known: Iterable[Refusal], names: Iterable[str]) -> Refusal | None:
    names = list(names)
    found = (one for one in known if any(re.fullmatch(one.mark, name) for name in names))
    return next(found, None)
