"""Attention blocks by their key names: timm ViT and DeiT, Hugging Face ViT and BERT, and our own.

All matrices come out as `x @ weight`, float64.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from limelight.core.arrays import Real
from limelight.core.errors import InputError
from limelight.models.weights import Tensors, read

#: Width of a head where neither the file nor a config beside it says: that of every timm ViT.
USUAL_WIDTH = 64
#: The entry of a file's metadata that says how many.
HEADS = "heads"

LAYOUTS: dict[str, tuple[str, ...]] = {
    "timm ViT or DeiT": (
        "blocks.N.attn.qkv.weight",
        "blocks.N.attn.qkv.bias (optional)",
        "blocks.N.norm1.weight, blocks.N.norm1.bias",
        "pos_embed (optional)",
    ),
    "Hugging Face ViT": (
        "vit.encoder.layer.N.attention.attention.{query,key,value}.weight",
        "... .bias (optional)",
        "vit.encoder.layer.N.layernorm_before.{weight,bias}",
        "vit.embeddings.position_embeddings (optional)",
    ),
    "Hugging Face BERT": (
        "encoder.layer.N.attention.self.{query,key,value}.weight",
        "... .bias (optional)",
        "encoder.layer.N.output.LayerNorm.{weight,bias} and embeddings.LayerNorm.{weight,bias}",
        "embeddings.position_embeddings.weight (optional)",
    ),
    "limelight construction": (
        "head.H.{W_Q,W_K,W_V,W_C}",
        "cls, and E with P, or V",
        "mlp.{W_1,W_2,w}",
    ),
}


@dataclass(frozen=True)
class Block:
    """One attention block: `x @ weight + bias`, its heads side by side.

    Args:
        name: The key prefix it was found under.
        heads: How many heads share the columns.
        query: Query weights.
        key: Key weights.
        value: Value weights.
        query_bias: Where the layout has one.
        key_bias: Likewise; it cancels in the softmax.
        value_bias: Likewise.
        gain: Of the LayerNorm whose output the block reads.
        shift: Of the same LayerNorm.
        token_norm: Largest token length, where the tokens themselves are in the file.
        query_norm: Length of the asking token, likewise.
        scaled: Whether scores are divided by the root of the head's width.
        keys: The tensors it was made from.
    """

    name: str
    heads: int
    query: Float[np.ndarray, "width keys"]
    key: Float[np.ndarray, "width keys"]
    value: Float[np.ndarray, "width values"]
    query_bias: Float[np.ndarray, " keys"] | None = None
    key_bias: Float[np.ndarray, " keys"] | None = None
    value_bias: Float[np.ndarray, " values"] | None = None
    gain: Float[np.ndarray, " width"] | None = None
    shift: Float[np.ndarray, " width"] | None = None
    token_norm: Real | None = None
    query_norm: Real | None = None
    scaled: bool = True
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checkpoint:
    """The attention blocks of a file.

    Args:
        source: The file's name.
        layout: Which of `LAYOUTS` it is.
        blocks: From the input up.
        tokens: Tokens in a sequence, where the file says.
        skipped: Why the other tensors are not covered: reason to names.
        notes: What had to be assumed.
    """

    source: str
    layout: str
    blocks: tuple[Block, ...]
    tokens: int | None
    skipped: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: str | Path, heads: int | None = None) -> "Checkpoint":
        """Recognise the layout of a file and read its attention blocks.

        Args:
            path: A safetensors file.
            heads: Heads of a block; from the file, or from a `config.json` beside it, or by the
                usual width of 64, when not given.

        Raises:
            InputError: In one line, for anything that is not such a file.
        """
        tensors = read(path)
        for layout, find in _FINDERS.items():
            found = find(tensors)
            if found:
                return _assemble(layout, tensors, found, heads)
        expected = "; ".join(f"{name}: {', '.join(keys)}" for name, keys in LAYOUTS.items())
        shown = ", ".join(sorted(tensors)[:3]) or "none"
        raise InputError(
            f"{tensors.path.name}: unknown layout ({len(tensors)} tensors, such as {shown})",
            f"expected one of: {expected}",
        )


_Found = dict[str, Any]


def _timm(tensors: Tensors) -> list[_Found]:
    return _matching(
        tensors,
        r"(?P<stem>.*?blocks\.(?P<n>\d+)\.)attn\.qkv\.weight",
        lambda stem, n, root: {
            "joint": f"{stem}attn.qkv",
            "norm": f"{stem}norm1",
            "refuse": f"{stem}attn.q_norm.weight",
        },
    )


def _hf_vit(tensors: Tensors) -> list[_Found]:
    return _matching(
        tensors,
        r"(?P<stem>(?P<root>.*?)encoder\.layer\.(?P<n>\d+)\.)attention\.attention\.query\.weight",
        lambda stem, n, root: {
            "parts": f"{stem}attention.attention.",
            "norm": f"{stem}layernorm_before",
        },
    )


def _hf_bert(tensors: Tensors) -> list[_Found]:
    def entry(stem: str, n: int, root: str) -> _Found:
        before = f"{root}encoder.layer.{n - 1}.output.LayerNorm"
        return {
            "parts": f"{stem}attention.self.",
            "norm": before if n else f"{root}embeddings.LayerNorm",
            "refuse": f"{stem}attention.self.distance_embedding.weight",
        }

    pattern = r"(?P<stem>(?P<root>.*?)encoder\.layer\.(?P<n>\d+)\.)attention\.self\.query\.weight"
    return _matching(tensors, pattern, entry)


def _own(tensors: Tensors) -> list[_Found]:
    if "head.0.W_Q" not in tensors.names or "cls" not in tensors.names:
        return []
    return [{"stem": "", "n": 0, "own": True}]


_FINDERS = {
    "timm ViT or DeiT": _timm,
    "Hugging Face ViT": _hf_vit,
    "Hugging Face BERT": _hf_bert,
    "limelight construction": _own,
}


def _matching(tensors: Tensors, pattern: str, entry) -> list[_Found]:
    found = []
    for name in tensors:
        match = re.fullmatch(pattern, name)
        if match:
            groups = match.groupdict()
            stem, n = groups["stem"], int(groups["n"])
            found.append({"stem": stem, "n": n} | entry(stem, n, groups.get("root", "")))
    return sorted(found, key=lambda item: item["n"])


def _assemble(layout: str, tensors: Tensors, found: list[_Found], heads: int | None) -> Checkpoint:
    notes: list[str] = []
    if layout == "limelight construction":
        block, tokens = _own_block(tensors)
        blocks = [block]
    else:
        width = _joint_width(tensors, found[0])
        count = _count_heads(tensors, width, heads, notes)
        blocks = [_block(tensors, item, count) for item in found]
        tokens = _positions(tensors)
    used = {key for block in blocks for key in block.keys}
    skipped: dict[str, list[str]] = {}
    for name in sorted(set(tensors) - used):
        skipped.setdefault(_reason(name), []).append(name)
    return Checkpoint(
        source=tensors.path.name,
        layout=layout,
        blocks=tuple(blocks),
        tokens=tokens,
        skipped={reason: tuple(names) for reason, names in skipped.items()},
        notes=tuple(notes),
    )


def _joint_width(tensors: Tensors, item: _Found) -> int:
    if "joint" in item:
        return tensors.linear(item["joint"])[0].shape[1] // 3
    return tensors.linear(item["parts"] + "query")[0].shape[1]


def _block(tensors: Tensors, item: _Found, heads: int) -> Block:
    if item.get("refuse") in tensors.names:
        raise InputError(
            f"{tensors.path.name}: {item['refuse']} changes the scores",
            "attention with normalised queries or relative positions is not covered",
        )
    if "joint" in item:
        weight, bias = tensors.linear(item["joint"])
        if weight.shape[1] % 3:
            raise InputError(f"{item['joint']}.weight does not hold query, key and value")
        (query, key, value) = np.split(weight, 3, axis=1)
        biases = (None, None, None) if bias is None else tuple(np.split(bias, 3))
        keys = [f"{item['joint']}.weight", f"{item['joint']}.bias"]
    else:
        stems = [item["parts"] + part for part in ("query", "key", "value")]
        maps = [tensors.linear(stem) for stem in stems]
        (query, key, value), biases = (m for m, _ in maps), tuple(b for _, b in maps)
        keys = [f"{stem}.{kind}" for stem in stems for kind in ("weight", "bias")]
    gain, shift, names = _layer_norm(tensors, item["norm"])
    return Block(
        name=item["stem"].rstrip("."),
        heads=heads,
        query=query,
        key=key,
        value=value,
        query_bias=biases[0],
        key_bias=biases[1],
        value_bias=biases[2],
        gain=gain,
        shift=shift,
        keys=tuple(name for name in (*keys, *names) if name in tensors.names),
    )


def _layer_norm(tensors: Tensors, stem: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    for gain, shift in (("weight", "bias"), ("gamma", "beta")):
        if f"{stem}.{gain}" in tensors.names:
            weight = tensors[f"{stem}.{gain}"]
            has_shift = f"{stem}.{shift}" in tensors.names
            bias = tensors[f"{stem}.{shift}"] if has_shift else np.zeros_like(weight)
            return weight, bias, [f"{stem}.{gain}", f"{stem}.{shift}"]
    raise InputError(
        f"{tensors.path.name}: {stem}.weight is missing", "it bounds the length of the tokens"
    )


def _count_heads(tensors: Tensors, width: int, heads: int | None, notes: list[str]) -> int:
    if heads is None:
        heads = _whole(tensors.metadata.get(HEADS))
    if heads is None:
        heads = _configured(tensors.path.parent / "config.json")
        if heads is not None:
            notes.append(f"{heads} heads a block, from the config.json beside the file")
    if heads is None:
        if width % USUAL_WIDTH:
            raise InputError(
                f"{tensors.path.name}: how many heads share its {width} columns is not in the file",
                "say it with --heads",
            )
        heads = width // USUAL_WIDTH
        notes.append(
            f"{heads} heads a block, assumed: the file does not say, {USUAL_WIDTH} columns a head"
            " is usual (--heads to change)"
        )
    if heads < 1 or width % heads:
        raise InputError(f"{heads} heads do not share {width} columns", "a divisor of it")
    return heads


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _configured(path: Path) -> int | None:
    try:
        heads = json.loads(path.read_text())["num_attention_heads"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return heads if isinstance(heads, int) else None


def _positions(tensors: Tensors) -> int | None:
    for name in tensors:
        if re.fullmatch(r"(.*\.)?(pos_embed|position_embeddings(\.weight)?)", name):
            shape = tensors.raw(name).shape
            return int(shape[-2]) if len(shape) >= 2 else None
    return None


def _own_block(tensors: Tensors) -> tuple[Block, int]:
    heads = sum(re.fullmatch(r"head\.\d+\.W_Q", name) is not None for name in tensors)
    stacks = {
        part: [tensors.need(f"head.{h}.{part}") for h in range(heads)]
        for part in ("W_Q", "W_K", "W_V")
    }
    cls = tensors.need("cls")
    if "V" in tensors.names:
        rows = tensors["V"]
    else:
        rows = (tensors.need("P")[:, None] + tensors.need("E")[None]).reshape(-1, len(cls))
    asking = float(np.linalg.norm(cls))
    longest = max(asking, float(np.linalg.norm(rows, axis=-1).max()))
    names = [f"head.{h}.{part}" for h in range(heads) for part in stacks]
    tokens = len(tensors["V" if "V" in tensors.names else "P"])
    block = Block(
        name="head",
        heads=heads,
        query=np.concatenate(stacks["W_Q"], axis=1),
        key=np.concatenate(stacks["W_K"], axis=1),
        value=np.concatenate(stacks["W_V"], axis=1),
        token_norm=longest,
        query_norm=asking,
        scaled=False,
        keys=(*names, "cls", *(k for k in ("E", "P", "V") if k in tensors.names)),
    )
    return block, tokens + 1


_REASONS: tuple[tuple[str, str], ...] = (
    (
        r"pos_embed|position_embeddings",
        "trained positions: a cover of the table would need a term linear in the tokens",
    ),
    (r"attn\.proj|attention\.output\.dense|W_C$", "output projection: the bound stops before it"),
    (
        r"(?i)norm",
        "LayerNorm behind attention: its Lipschitz constant is up to max|gain|/sqrt(eps),"
        " so blocks are not chained",
    ),
    (r"mlp|intermediate|output\.dense|\bfc\d", "MLP: not part of the attention bound"),
    (r"head|classifier|pooler", "read-out: behind a LayerNorm and an MLP"),
    (r"embed|patch|cls_token|dist_token", "input embedding: the bound starts at the tokens"),
)


def _reason(name: str) -> str:
    for pattern, reason in _REASONS:
        if re.search(pattern, name):
            return reason
    return "not part of attention"
