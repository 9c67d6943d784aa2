"""The attention blocks of a checkpoint, whatever its key names.

All matrices come out as `x @ weight`, float64, and fit each other: a tensor of another shape is
refused, because a bound made of norms would take it silently.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from limelight.core.arrays import Real
from limelight.core.errors import InputError
from limelight.models.layouts import (
    LAYOUTS,
    OWN,
    Place,
    is_position_table,
    recognise,
    why_skipped,
)
from limelight.models.weights import Tensors, read

#: Width of a head where neither the file nor a config beside it says: that of every timm ViT.
USUAL_WIDTH = 64
#: The entry of a file's metadata that says how many.
HEADS = "heads"


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
    blocks: tuple[AttentionBlock, ...]
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
        found = recognise(tensors)
        if found is not None:
            return _assemble(*found, tensors, heads)
        expected = "; ".join(f"{name}: {', '.join(keys)}" for name, keys in LAYOUTS.items())
        shown = ", ".join(sorted(tensors)[:3]) or "none"
        raise InputError(
            f"{tensors.path.name}: unknown layout ({len(tensors)} tensors, such as {shown})",
            f"expected one of: {expected}",
        )


def _assemble(layout: str, places: list[Place], tensors: Tensors, heads: int | None) -> Checkpoint:
    notes: list[str] = []
    if layout == OWN:
        table = _own_tokens(tensors)
        blocks, tokens = [_own_block(tensors, table)], len(table) + 1  # [CLS] is attended to
    else:
        blocks = [_block(tensors, place, heads, notes) for place in places]
        tokens = _positions(tensors)
    used = {key for block in blocks for key in block.keys}
    skipped: dict[str, list[str]] = {}
    for name in sorted(set(tensors) - used):
        skipped.setdefault(why_skipped(name), []).append(name)
    return Checkpoint(
        source=tensors.path.name,
        layout=layout,
        blocks=tuple(blocks),
        tokens=tokens,
        skipped={reason: tuple(names) for reason, names in skipped.items()},
        notes=tuple(dict.fromkeys(notes)),
    )


def _block(tensors: Tensors, place: Place, heads: int | None, notes: list[str]) -> AttentionBlock:
    if place.refuse in tensors.names:
        raise InputError(
            f"{tensors.path.name}: {place.refuse} changes the scores",
            "attention with normalised queries or relative positions is not covered",
        )
    gain, shift, names = _layer_norm(tensors, place.norm)
    maps = [tensors.linear(stem, len(gain)) for stem in place.maps]
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
    count = _count_heads(tensors, query.shape[1], heads, notes)
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
        keys=tuple(name for name in (*keys, *names) if name in tensors.names),
    )


def _layer_norm(tensors: Tensors, stem: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    for names in (("weight", "bias"), ("gamma", "beta")):
        gain, shift = (f"{stem}.{name}" for name in names)
        if gain in tensors.names:
            weight = tensors.need(gain, None)
            has_shift = shift in tensors.names
            bias = tensors.need(shift, len(weight)) if has_shift else np.zeros_like(weight)
            return weight, bias, [gain, shift]
    raise InputError(
        f"{tensors.path.name}: {stem}.weight is missing", "it bounds the length of the tokens"
    )


def _count_heads(tensors: Tensors, width: int, heads: int | None, notes: list[str]) -> int:
    if heads is None:
        heads = _whole(tensors.metadata.get(HEADS))
    if heads is None:
        heads = _configured(tensors.path.parent / "config.json")
        if heads is not None:
            notes.append(f"{heads} heads per block, from the config.json beside the file")
    if heads is None:
        if width % USUAL_WIDTH:
            raise InputError(
                f"{tensors.path.name}: how many heads share its {width} columns is not in the file",
                "say it with heads=...",
            )
        heads = width // USUAL_WIDTH
        notes.append(
            f"{heads} heads per block, assumed: the file does not say, and {USUAL_WIDTH}"
            " columns per head are usual (change it with heads=...)"
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
    for name in filter(is_position_table, tensors):
        shape = tensors.raw(name).shape
        return int(shape[-2]) if len(shape) >= 2 else None
    return None


def _own_tokens(tensors: Tensors) -> np.ndarray:
    """Both values of every token of one of our own files; a bag's other value is 0."""
    d = len(tensors.need("cls", None))
    if "tokens" in tensors.names:
        return tensors.need("tokens", None, 2, d)
    if "V" in tensors.names:
        return tensors.need("V", None, d)[:, None]
    return tensors.need("P", None, d)[:, None] + tensors.need("E", 2, d)[None]


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
            *(name for name in ("cls", "E", "P", "V", "tokens") if name in tensors.names),
        ),
    )
