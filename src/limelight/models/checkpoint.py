"""The attention blocks of a checkpoint, whatever its key names.

All matrices come out as `x @ weight`, float64, and fit each other: a tensor of another shape is
refused, because a bound made of norms would take it silently.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.models._layouts import LAYOUTS, OWN, Place, recognise, why_skipped
from limelight.models._text import check_text, count_heads, count_positions
from limelight.models._tokens import own_tokens, vit_tokens
from limelight.models.pretrained._names import rename
from limelight.models.pretrained._refused import refusal, text_model
from limelight.models.pretrained._sources import Source, find
from limelight.models.pretrained.loading import Opened, open_source
from limelight.models.weights import Tensors

#: Tensors of a ViT's attention that the bound knows what to do with.
KNOWN = re.compile(r"blocks\.\d+\.attn\.((qkv|[qkv]_proj|proj)\.(weight|bias)|[qv]_bias)")


@dataclass(frozen=True)
class AttentionBlock:
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

    Example:
        >>> import limelight as ll, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> ll.construct("and", length=8, sparsity=2).save(f"{folder}/and.safetensors")
        >>> Checkpoint.load(f"{folder}/and.safetensors").blocks[0].heads
        1
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
        files: All that it was read from.

    Example:
        >>> import limelight as ll, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> ll.construct("and", length=8, sparsity=2).save(f"{folder}/and.safetensors")
        >>> len(Checkpoint.load(f"{folder}/and.safetensors").blocks)
        1
    """

    source: str
    layout: str
    blocks: tuple[AttentionBlock, ...]
    tokens: int | None
    skipped: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @classmethod
    def load(cls, source: Any, heads: int | None = None, like: str | None = None) -> "Checkpoint":
        """Recognise the layout of a file and read its attention blocks.

        Args:
            source: See `pretrained.sources.find`.
            heads: Heads of a block, where nothing beside the file says.
            like: The name of its architecture in timm, likewise.

        Raises:
            InputError: In one line, for what is no such file, and for attention that the bound does
                not describe: its numbers would be about another function.
        """
        found = find(source)
        one = refusal(found.tensors)
        if one is not None:
            raise InputError(
                f"{found.name}: this is {one.name}, which the bound does not describe: {one.why}",
                "attention over all tokens, with a softmax of plain products, is covered",
            )
        text = recognise(found.tensors)
        if text is not None:
            if like is not None:
                raise InputError(f"{found.name}: like = {like}", "this is no ViT of timm's")
            return _assemble(*text, found, heads)
        if rename(found.tensors) is not None:
            return _of_vit(open_source(found, heads=heads, like=like))
        named = text_model(found.tensors)
        if named is not None:
            raise InputError(
                f"{found.name}: this is {named.name}, which the bound does not describe:"
                f" {named.why}",
                "BERT, GPT-2 and ViTs without rotations are covered",
            )
        tensors = found.tensors
        expected = "; ".join(f"{name}: {', '.join(keys)}" for name, keys in LAYOUTS.items())
        shown = ", ".join(sorted(tensors)[:3]) or "none"
        raise InputError(
            f"{found.name}: unknown layout ({len(tensors)} tensors, such as {shown})",
            f"expected one of: {expected}",
        )


def _of_vit(opened: Opened) -> Checkpoint:
    """The attention blocks of a ViT, if the bound describes them."""
    tensors, facts = opened.tensors, opened.facts
    strange = [n for n in tensors if re.match(r"blocks\.\d+\.attn\.", n) and not KNOWN.fullmatch(n)]
    strange += [n for n in tensors if n.startswith("rel_pos_bias.")]
    if strange:
        raise InputError(
            f"{opened.name}: {tensors.label(strange[0])} changes the scores",
            "the bound does not cover relative positions or norms of queries and keys",
        )
    try:
        facts.need("heads", "rotary")
    except InputError as error:
        raise InputError(f"{opened.name}: {error.message}", error.hint) from None
    if facts["rotary"] is not None:
        raise InputError(
            f"{opened.name}: its queries and keys are turned by their position (RoPE)",
            "the bound covers scores that depend on the tokens alone",
        )
    numbers = {int(n.split(".")[1]) for n in tensors if re.match(r"blocks\.\d+\.attn\.", n)}
    blocks = tuple(_vit_block(tensors, n, facts["heads"]) for n in sorted(numbers))
    if len({len(block.query) for block in blocks}) > 1:
        raise InputError(
            f"{opened.name}: its blocks differ in width, so tokens are merged between them",
            "the bound covers attention over all tokens",
        )
    used = {key for block in blocks for key in block.keys}
    skipped: dict[str, list[str]] = {}
    for name in sorted(set(tensors) - used):
        skipped.setdefault(why_skipped(name), []).append(tensors.label(name))
    others = (*opened.renamed.outside, *opened.renamed.dropped, *opened.renamed.unknown)
    if others:
        skipped["not part of this network's attention"] = list(others)
    source = facts.sources["heads"]
    notes = [*facts.notes]
    if source != "the caller" and not facts.notes:
        notes.append(f"{facts['heads']} heads per block, from {source}")
    return Checkpoint(
        source=opened.name,
        layout=opened.renamed.layout.name,
        blocks=tuple(_labelled(block, tensors) for block in blocks),
        tokens=vit_tokens(tensors),
        skipped={reason: tuple(names) for reason, names in skipped.items()},
        notes=tuple(notes),
        files=tensors.files,
    )


def _vit_block(tensors: Tensors, number: int, heads: int) -> AttentionBlock:
    stem = f"blocks.{number}."
    joint = f"{stem}attn.qkv.weight" in tensors
    maps = (f"{stem}attn.qkv",) if joint else tuple(f"{stem}attn.{n}_proj" for n in "qkv")
    block = _block(tensors, Place(stem, number, maps, f"{stem}norm1"), heads)
    biases = {n: f"{stem}attn.{n}_bias" for n in "qv" if f"{stem}attn.{n}_bias" in tensors}
    if not biases:
        return block
    width = block.query.shape[1]
    read = {n: tensors.need(name, width) for n, name in biases.items()}
    return replace(
        block,
        query_bias=read.get("q"),
        value_bias=read.get("v"),
        keys=(*block.keys, *biases.values()),
    )


def _labelled(block: AttentionBlock, tensors: Tensors) -> AttentionBlock:
    """The block under the names of its file."""
    keys = tuple(tensors.label(key) for key in block.keys)
    first = next((k for k in keys if block.keys[keys.index(k)].startswith(block.name)), keys[0])
    inner = block.keys[keys.index(first)].removeprefix(block.name)
    name = (
        first.removesuffix(inner)
        if first.endswith(inner)
        else re.split(r"\.(?:attn|attention|self_attn|self_attention)\b", first)[0]
    )
    return replace(block, name=name, keys=keys)


def _assemble(layout: str, places: list[Place], found: Source, heads: int | None) -> Checkpoint:
    """The blocks of a network for text, or of our own."""
    tensors = found.tensors
    notes: list[str] = []
    if layout == OWN:
        table = own_tokens(tensors)
        blocks, tokens = [_own_block(tensors, table)], len(table) + 1  # [CLS] is attended to
    else:
        check_text(layout, found, len(places), notes)
        count = count_heads(found, heads, notes)
        blocks = [_block(tensors, place, count) for place in places]
        tokens = count_positions(found)
    used = {key for block in blocks for key in block.keys}
    skipped: dict[str, list[str]] = {}
    for name in sorted(set(tensors) - used):
        skipped.setdefault(why_skipped(name), []).append(name)
    return Checkpoint(
        source=found.name,
        layout=layout,
        blocks=tuple(blocks),
        tokens=tokens,
        skipped={reason: tuple(names) for reason, names in skipped.items()},
        notes=tuple(dict.fromkeys(notes)),
        files=tensors.files,
    )


def _block(tensors: Tensors, place: Place, count: int) -> AttentionBlock:
    gain, shift, names = _layer_norm(tensors, place.norm)
    maps = [_map(tensors, stem, len(gain), place.upright) for stem in place.maps]
    if len(maps) == 1:
        (weight, bias) = maps[0]
        if weight.shape[1] % 3:
            raise tensors.unfit(f"{place.maps[0]}.weight", weight.T, "three maps of one width")
        weights = np.split(weight, 3, axis=1)
        biases = [None] * 3 if bias is None else np.split(bias, 3)
    else:
        weights, biases = zip(*maps, strict=True)
    query, key, value = weights
    if key.shape != query.shape:
        raise tensors.unfit(f"{place.maps[1]}.weight", key.T, f"{list(query.T.shape)}")
    if count < 1 or query.shape[1] % count:
        raise InputError(f"{count} heads do not share {query.shape[1]} columns", "a divisor of it")
    if value.shape[1] % count:
        raise tensors.unfit(f"{place.maps[2]}.weight", value.T, f"rows for {count} heads")
    keys = [f"{stem}.{kind}" for stem in place.maps for kind in ("weight", "bias")]
    return AttentionBlock(
        name=place.stem.rstrip("."),
        heads=count,
        query=query,
        key=key,
        value=value,
        query_bias=biases[0],
        key_bias=biases[1],
        value_bias=biases[2],
        gain=gain,
        shift=shift,
        keys=tuple(name for name in (*keys, *names) if name in tensors),
    )


def _map(tensors: Tensors, stem: str, inputs: int, upright: bool):
    """A map as [in, out], and its bias where it has one."""
    if not upright:
        return tensors.linear(stem, inputs)
    weight = tensors.need(f"{stem}.weight", inputs, None)
    bias = f"{stem}.bias"
    return weight, tensors.need(bias, weight.shape[1]) if bias in tensors else None


def _layer_norm(tensors: Tensors, stem: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    for names in (("weight", "bias"), ("gamma", "beta")):
        gain, shift = (f"{stem}.{name}" for name in names)
        if gain in tensors:
            weight = tensors.need(gain, None)
            has_shift = shift in tensors
            bias = tensors.need(shift, len(weight)) if has_shift else np.zeros_like(weight)
            return weight, bias, [gain, shift]
    raise InputError(
        f"{tensors.path.name}: {stem}.weight is missing", "it bounds the length of the tokens"
    )


def _own_block(tensors: Tensors, table: np.ndarray) -> AttentionBlock:
    heads = sum(re.fullmatch(r"head\.\d+\.W_Q", name) is not None for name in tensors)
    cls = tensors.need("cls", None)
    d, k = len(cls), len(tensors.need("head.0.W_Q", len(cls), None).T)
    span = len(tensors.need("head.0.W_V", d, None).T)
    widths = {"W_Q": k, "W_K": k, "W_V": span}
    stacks = {
        part: [tensors.need(f"head.{h}.{part}", d, width) for h in range(heads)]
        for part, width in widths.items()
    }
    asking = float(np.linalg.norm(cls))
    return AttentionBlock(
        name="head",
        heads=heads,
        query=np.concatenate(stacks["W_Q"], axis=1),
        key=np.concatenate(stacks["W_K"], axis=1),
        value=np.concatenate(stacks["W_V"], axis=1),
        token_norm=max(asking, float(np.linalg.norm(table, axis=-1).max())),
        query_norm=asking,
        scaled=False,
        keys=(
            *(f"head.{h}.{part}" for h in range(heads) for part in stacks),
            *(name for name in ("cls", "E", "P", "V", "tokens") if name in tensors),
        ),
    )
