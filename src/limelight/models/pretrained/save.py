"""ViTs to files: timm's and Hugging Face's names, safetensors only."""

from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from limelight._core.errors import InputError, suggest
from limelight._core.files import atomic
from limelight.models.layers import Affine, Block, Norm
from limelight.models.pretrained.loading import ACTIVATION, CHANNELS, EPSILON, HEADS, POOL
from limelight.models.vit import ViT


@dataclass(frozen=True)
class Names:
    """What a layout calls the parts of a ViT; all linear maps are stored [out, in].

    Args:
        layout: What it is called.
        joint: Query, key and value in one map, where the layout has that.
    """

    layout: str
    embed: str
    class_token: str
    positions: str
    block: str
    norm_attention: str
    joint: str | None
    parts: tuple[str, str, str]
    output: str
    norm_mlp: str
    into: str
    out: str
    norm: str
    head: str
    place_norm: str = "place_norm"


LAYOUTS = {
    "timm": Names(
        layout="timm ViT or DeiT",
        embed="patch_embed.proj",
        class_token="cls_token",
        positions="pos_embed",
        block="blocks.{}.",
        norm_attention="norm1",
        joint="attn.qkv",
        parts=("", "", ""),
        output="attn.proj",
        norm_mlp="norm2",
        into="mlp.fc1",
        out="mlp.fc2",
        norm="norm",
        head="head",
    ),
    "hf": Names(
        layout="Hugging Face ViT",
        embed="vit.embeddings.patch_embeddings.projection",
        class_token="vit.embeddings.cls_token",
        positions="vit.embeddings.position_embeddings",
        block="vit.encoder.layer.{}.",
        norm_attention="layernorm_before",
        joint=None,
        parts=(
            "attention.attention.query",
            "attention.attention.key",
            "attention.attention.value",
        ),
        output="attention.output.dense",
        norm_mlp="layernorm_after",
        into="intermediate.dense",
        out="output.dense",
        norm="vit.layernorm",
        head="classifier",
    ),
}


def save_vit(model: ViT, path: str | Path, layout: str = "timm", channels: int = 3) -> None:
    """Write a ViT under the names of a layout; `load_vit` reads the same numbers back.

    What no tensor holds is written into the file's metadata. Rotations and biases by relative
    position are refused: no tensor of these layouts holds them as they are kept here.

    Args:
        model: Its weights are stored in float32.
        path: A safetensors file.
        layout: `timm` or `hf`.
        channels: Numbers a pixel, which says how a patch is laid out.

    Example:
        >>> import limelight as ll, jax.random as jr, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> vit = ll.models.Vision(width=8, heads=2).init(jr.key(0), ll.worlds.Images(patch=2),
        ...     None)
        >>> ll.models.save_vit(vit, f"{folder}/vit.safetensors", channels=1)
        >>> pathlib.Path(folder, "vit.safetensors").exists()
        True
    """
    if layout not in LAYOUTS:
        raise InputError(f"no layout {layout!r}", suggest(layout, list(LAYOUTS)))
    names = LAYOUTS[layout]
    _check(model, layout)
    metadata = {
        "format": "pt",  # what readers of these layouts look for
        HEADS: str(model.blocks[0].attention.heads),
        POOL: model.pool,
        CHANNELS: str(channels),
        EPSILON: f"{model.blocks[0].norm_mlp.epsilon:g}",
        ACTIVATION: model.blocks[0].activation,
    }
    stored = {k: np.ascontiguousarray(v, np.float32) for k, v in _named(model, names, channels)}
    with atomic(Path(path)) as temporary:
        save_file(stored, temporary, metadata=metadata)


def _check(model: ViT, layout: str) -> None:
    """Refuse what the layout has no names for."""
    block = model.blocks[0]
    parts = {
        "rotations": block.attention.rotary,
        "a bias of the scores": block.attention.bias,
        "an attention pool": model.pooler,
    }
    if layout != "timm":
        parts |= {
            "registers": model.registers,
            "a norm before the blocks": model.norm_pre,
            "a norm after the pool": model.norm_pooled,
            "gated neurons": block.gate,
            "norms of queries": block.attention.query_norm,
        }
    if not block.norm_mlp.centred:
        parts["norms that keep the mean"] = block
    if model.pool == "pair":
        parts["a head of two tokens"] = block
    found = [name for name, part in parts.items() if part is not None]
    if found:
        raise InputError(f"{found[0]} cannot be written in the {layout} layout", "a plain ViT can")


def _named(model: ViT, n: Names, channels: int):
    dimension, width = model.embed.weight.shape
    side = round((dimension / channels) ** 0.5)
    if side * side * channels != dimension:
        raise InputError(
            f"patches of {dimension} numbers are not square with {channels} channels",
            "say how many channels there are",
        )
    kernel = np.asarray(model.embed.weight).reshape(side, side, channels, width)
    yield f"{n.embed}.weight", kernel.transpose(3, 2, 0, 1)
    if model.embed.bias is not None:
        yield f"{n.embed}.bias", model.embed.bias
    if model.positions is not None:
        yield n.positions, model.positions[None]
    if model.registers is not None:
        yield "reg_token", model.registers[None]
    if model.class_token is not None:
        yield n.class_token, model.class_token[None, None]
    if model.place_norm is not None:
        yield from _norm_named(n.place_norm, model.place_norm)
    for name, norm in (("norm_pre", model.norm_pre), ("fc_norm", model.norm_pooled)):
        if norm is not None:
            yield from _norm_named(name, norm)
    for number, block in enumerate(model.blocks):
        stem, att = n.block.format(number), block.attention
        yield from _norm_named(stem + n.norm_attention, block.norm_attention)
        yield from _norm_named(stem + n.norm_mlp, block.norm_mlp)
        maps = (att.query, att.key, att.value)
        if n.joint is None:
            for part, one in zip(n.parts, maps, strict=True):
                yield from _affine_named(stem + part, one)
        else:
            zeros = [jnp.zeros(m.weight.shape[1]) if m.bias is None else m.bias for m in maps]
            none = all(m.bias is None for m in maps)
            bias = None if none else jnp.concatenate(zeros)
            joint = Affine(jnp.concatenate([m.weight for m in maps], axis=1), bias)
            yield from _affine_named(stem + n.joint, joint)
        yield from _affine_named(stem + n.output, att.output)
        yield from _affine_named(stem + n.out, block.out)
        yield from _gated_named(stem, n, block)
        for name, norm in (("q", att.query_norm), ("k", att.key_norm)):
            if norm is not None:
                yield from _norm_named(f"{stem}attn.{name}_norm", norm)
    if model.norm is not None:
        yield from _norm_named(n.norm, model.norm)
    if model.head is not None:
        yield from _affine_named(n.head, model.head)


def _gated_named(stem: str, n: Names, block: Block):
    if block.gate is None:
        yield from _affine_named(stem + n.into, block.into)
    else:
        yield from _affine_named(f"{stem}{n.into}_g", block.gate)
        yield from _affine_named(f"{stem}{n.into}_x", block.into)
    if block.norm_hidden is not None:
        yield from _norm_named(f"{stem}mlp.norm", block.norm_hidden)


def _affine_named(stem: str, one: Affine):
    yield f"{stem}.weight", one.weight.T
    if one.bias is not None:
        yield f"{stem}.bias", one.bias


def _norm_named(stem: str, one: Norm):
    yield f"{stem}.weight", one.gain
    yield f"{stem}.bias", one.shift
