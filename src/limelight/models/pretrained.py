"""ViTs from and to files: timm's and Hugging Face's names, safetensors only."""

from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from limelight.core.errors import InputError, suggest
from limelight.core.files import atomic
from limelight.models.checkpoint import HEADS, Checkpoint
from limelight.models.checkpoint import AttentionBlock as Found
from limelight.models.layers import Affine, Attention, Block, Norm
from limelight.models.vit import POOLS, ViT
from limelight.models.weights import Tensors, read

#: What a file of ours says in its metadata beside the number of heads.
POOL, CHANNELS = "pool", "channels"


@dataclass(frozen=True)
class Names:
    """What a layout calls the parts of a ViT; all linear maps are stored [out, in].

    Args:
        layout: As `Checkpoint` calls it.
        epsilon: Of its layer norms, which the file does not hold.
        joint: Query, key and value in one map, where the layout has that.
    """

    layout: str
    epsilon: float
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
        epsilon=1e-6,
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
        epsilon=1e-12,
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


def load_vit(path: str | Path, heads: int | None = None) -> ViT:
    """A ViT with the weights of a file, in float32.

    Patches are read in the order row, column, channel (see `worlds.images`). GELU is the exact
    one. A file with anything that this ViT has no place for is refused: its logits would differ.

    Args:
        path: A safetensors file with timm's or Hugging Face's names.
        heads: Heads of a block, where neither the file nor a `config.json` beside it says.

    Raises:
        InputError: In one line, for anything that is not such a file.
    """
    checkpoint, tensors = Checkpoint.load(path, heads), read(path)
    known = {names.layout: names for names in LAYOUTS.values()}
    if checkpoint.layout not in known:
        raise InputError(
            f"{tensors.path.name}: {checkpoint.layout}, not a ViT", "known: " + ", ".join(known)
        )
    return _Reader(tensors, known[checkpoint.layout]).vit(checkpoint.blocks)


class _Reader:
    """Reads a file part by part, and remembers what it has read."""

    def __init__(self, tensors: Tensors, names: Names):
        self.tensors, self.names, self.read = tensors, names, set()

    def vit(self, found: tuple[Found, ...]) -> ViT:
        n = self.names
        blocks = tuple(self._block(i, block) for i, block in enumerate(found))
        positional = f"{n.place_norm}.weight" in self.tensors.names
        classed = n.class_token in self.tensors.names
        pool = self.tensors.metadata.get(POOL, "class" if classed else "mean")
        width = len(blocks[0].norm_mlp.gain)
        vit = ViT(
            embed=self._embed(width),
            positions=self._rows(n.positions, width),
            class_token=self._rows(n.class_token, width)[0] if classed else None,
            place_norm=self._norm(n.place_norm, width) if positional else None,
            blocks=blocks,
            norm=self._norm(n.norm, width),
            head=self._affine(n.head, width),
            pool=pool,
        )
        self._check(vit)
        return vit

    def _check(self, vit: ViT) -> None:
        name = self.tensors.path.name
        left = sorted(set(self.tensors) - self.read)
        if left:
            raise InputError(
                f"{name}: {left[0]} has no place in a plain ViT", f"{len(left)} such tensors"
            )
        if vit.pool not in POOLS or (vit.pool == "class") != (vit.class_token is not None):
            raise InputError(
                f"{name}: pool {vit.pool!r} does not fit its tensors",
                "class where there is a class token, else mean or sum",
            )
        if len(vit.positions) <= (vit.class_token is not None):
            raise InputError(
                f"{name}: {self.names.positions} has no row for a patch",
                "one for every patch, and one for a class token",
            )

    def _block(self, number: int, found: Found) -> Block:
        n, stem = self.names, self.names.block.format(number)
        if found.name != stem.rstrip("."):
            raise InputError(
                f"{self.tensors.path.name}: expected {stem}*, found {found.name}.*",
                "blocks are counted from 0, none left out",
            )
        self.read |= set(found.keys)
        width, norm = len(found.query), self._norm(stem + n.norm_attention, len(found.query))
        query = _affine(found.query, found.query_bias)
        key = _affine(found.key, found.key_bias)
        value = _affine(found.value, found.value_bias)
        if any(m.weight.shape != (width, width) for m in (query, key, value)):
            raise InputError(
                f"{self.tensors.path.name}: {stem}* maps are not {width} x {width}",
                "queries, keys and values of a plain ViT are as wide as its tokens",
            )
        output = self._affine(stem + n.output, width, width)
        into = self._affine(stem + n.into, width)
        out = self._affine(stem + n.out, into.weight.shape[1], width)
        attention = Attention(query, key, value, output, found.heads)
        return Block(norm, attention, self._norm(stem + n.norm_mlp, width), into, out)

    def _affine(self, stem: str, inputs: int, outputs: int | None = None) -> Affine:
        self.read |= {f"{stem}.weight", f"{stem}.bias"}
        return _affine(*self.tensors.linear(stem, inputs, outputs))

    def _norm(self, stem: str, width: int) -> Norm:
        gain, shift = (self._need(f"{stem}.{part}", width) for part in ("weight", "bias"))
        return Norm(_array(gain), _array(shift), self.names.epsilon)

    def _embed(self, width: int) -> Affine:
        stem = self.names.embed
        kernel = self._need(f"{stem}.weight", width, None, None, None)
        if kernel.shape[2] != kernel.shape[3]:
            raise self.tensors.unfit(f"{stem}.weight", kernel, "square patches")
        weight = kernel.transpose(2, 3, 1, 0).reshape(-1, width)
        return _affine(weight, self._need(f"{stem}.bias", width))

    def _rows(self, name: str, width: int):
        return _array(self._need(name, 1, None, width)[0])

    def _need(self, name: str, *shape: int | None) -> np.ndarray:
        self.read.add(name)
        return self.tensors.need(name, *shape)


def save_vit(model: ViT, path: str | Path, layout: str = "timm", channels: int = 3) -> None:
    """Write a ViT under the names of a layout; `load_vit` reads the same numbers back.

    Layer norms of another epsilon than the layout's own are refused, since no tensor holds it.

    Args:
        model: Its weights are stored in float32.
        path: A safetensors file.
        layout: `timm` or `hf`.
        channels: Numbers a pixel, which says how a patch is laid out.
    """
    if layout not in LAYOUTS:
        raise InputError(f"no layout {layout!r}", suggest(layout, list(LAYOUTS)))
    names = LAYOUTS[layout]
    if model.norm.epsilon != names.epsilon:
        raise InputError(
            f"layer norms with epsilon {model.norm.epsilon:g} cannot be written in the {layout}"
            f" layout, where it is {names.epsilon:g}",
            "choose the layout that the model came from",
        )
    metadata = {
        "format": "pt",  # what readers of these layouts look for
        HEADS: str(model.blocks[0].attention.heads),
        POOL: model.pool,
        CHANNELS: str(channels),
    }
    stored = {k: np.ascontiguousarray(v, np.float32) for k, v in _named(model, names, channels)}
    with atomic(Path(path)) as temporary:
        save_file(stored, temporary, metadata=metadata)


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
    yield f"{n.embed}.bias", model.embed.bias
    yield n.positions, model.positions[None]
    if model.class_token is not None:
        yield n.class_token, model.class_token[None, None]
    if model.place_norm is not None:
        yield from _norm_named(n.place_norm, model.place_norm)
    for number, block in enumerate(model.blocks):
        stem, att = n.block.format(number), block.attention
        yield from _norm_named(stem + n.norm_attention, block.norm_attention)
        yield from _norm_named(stem + n.norm_mlp, block.norm_mlp)
        maps = (att.query, att.key, att.value)
        if n.joint is None:
            for part, one in zip(n.parts, maps, strict=True):
                yield from _affine_named(stem + part, one)
        else:
            biases = [m.bias for m in maps if m.bias is not None]
            bias = jnp.concatenate(biases) if len(biases) == len(maps) else None
            joint = Affine(jnp.concatenate([m.weight for m in maps], axis=1), bias)
            yield from _affine_named(stem + n.joint, joint)
        for part, one in ((n.output, att.output), (n.into, block.into), (n.out, block.out)):
            yield from _affine_named(stem + part, one)
    yield from _norm_named(n.norm, model.norm)
    yield from _affine_named(n.head, model.head)


def _affine_named(stem: str, one: Affine):
    yield f"{stem}.weight", one.weight.T
    if one.bias is not None:
        yield f"{stem}.bias", one.bias


def _norm_named(stem: str, one: Norm):
    yield f"{stem}.weight", one.gain
    yield f"{stem}.bias", one.shift


def _affine(weight: np.ndarray, bias: np.ndarray | None) -> Affine:
    return Affine(_array(weight), None if bias is None else _array(bias))


def _array(value: np.ndarray):
    return jnp.asarray(value, dtype=jnp.float32)
