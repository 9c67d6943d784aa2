"""Load a ViT, or refuse it by what it is."""

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight._core.errors import InputError, check_word
from limelight.models._schedule import RANDOM, TRUTH, Schedule, kept_patches, schedule_in
from limelight.models.pretrained._configs import CLAIMED, SIZES, read_configs
from limelight.models.pretrained._facts import Facts
from limelight.models.pretrained._known import named, signature
from limelight.models.pretrained._modules import read_module
from limelight.models.pretrained._names import HF_CLIP, LAYOUTS, TIMM, Renamed, rename
from limelight.models.pretrained._refused import refusal, text_model
from limelight.models.pretrained._sources import Source, find
from limelight.models.pretrained.pixels import Pixels
from limelight.models.weights import Tensors

if TYPE_CHECKING:
    from limelight.models.vit import ViT

#: What a file of ours says in its metadata.
HEADS, POOL, CHANNELS, EPSILON, ACTIVATION = "heads", "pool", "channels", "epsilon", "activation"


@dataclass(frozen=True)
class Opened:
    """A source whose layout is known.

    Args:
        name: What to call it.
        tensors: By timm's names.
        renamed: How they are called in the file, and what is left out.
        facts: What is known beside them.
    """

    name: str
    tensors: Tensors
    renamed: Renamed
    facts: Facts


@dataclass(frozen=True)
class Pretrained:
    """A ViT that was trained elsewhere.

    Args:
        model: The network.
        name: Where it came from.
        layout: Whose names it had.
        facts: What tensors do not say, with who said it.
        pixels: How it wants images, where that is known.
        notes: What was concluded and not read, and what was left out.
        files: All that it was read from; none for a PyTorch module.
        unclear: Why how it wants images is not known, where something beside it says it and is
            not understood.

    Example:
        >>> import limelight as ll
        >>> sorted(field for field in ll.models.Pretrained.__dataclass_fields__)
        ['facts', 'files', 'layout', 'model', 'name', 'notes', 'pixels', 'unclear']
    """

    model: "ViT"
    name: str
    layout: str
    facts: dict[str, dict[str, Any]]
    pixels: Pixels | None
    notes: tuple[str, ...]
    files: tuple[Path, ...] = ()
    unclear: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"layout": self.layout, "read": self.facts, "notes": list(self.notes)}


def load(
    source: Any,
    *,
    heads: int | None = None,
    epsilon: float | None = None,
    activation: str | None = None,
    pool: str | None = None,
    side: int | None = None,
    like: str | None = None,
) -> Pretrained:
    """A ViT with the weights of a file, a folder, a Hugging Face id or a PyTorch module.

    What tensors do not say is read from configurations beside them, or concluded where all of
    timm's architectures with these tensors agree, and that is noted. What is left must be said.
    Weights are float32; patches are read row by row, in each its pixels, channels last.

    Args:
        source: See `sources.find`.
        heads: Heads of a block.
        epsilon: What norms add to the variance.
        activation: Of neurons; see `layers.ACTIVATIONS`.
        pool: What the head reads; see `vit.POOLS`.
        side: Pixels along a side of an image, for a network that has no table of positions, or
            another than that of its table, which is then fitted as its library does.
        like: The name of its architecture in timm, perhaps with the tag of its weights.

    Raises:
        InputError: In one line, for what is no plain ViT, and for what nobody has said.

    Example:
        >>> import limelight as ll, jax.random as jr, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> vit = ll.models.Vision(width=8, heads=2).init(jr.key(0), ll.worlds.Images(patch=2),
        ...     None)
        >>> ll.models.save_vit(vit, f"{folder}/vit.safetensors", channels=1)
        >>> ll.load(f"{folder}/vit.safetensors", heads=2).layout
        'timm ViT or DeiT'
    """
    opened = open_source(source, heads, epsilon, activation, pool, side, like)
    with _about(opened.name):
        _accounted(opened)
        from limelight.models.pretrained._build import build  # loads JAX

        model = build(opened.tensors, opened.facts)
        schedule = schedule_in(opened.tensors)
        model = model if schedule is None else pruned(model, schedule)
    facts, renamed = opened.facts, opened.renamed
    notes = [*facts.notes]
    if schedule is not None:
        notes.append(
            f"after block {schedule.at} its output is made from {schedule.keep:.0%} of the"
            f" patches, by {schedule.policy}, as the file's schedule says"
        )
    for what, names in (("another network's", renamed.outside), ("not used", renamed.dropped)):
        if names:
            more = ", ..." if len(names) > 1 else ""
            notes.append(f"left out: {len(names)} tensors ({names[0]}{more}), {what}")
    if model.head is None:
        notes.append("no head: its output is what a head would read")
    pixels = None if facts.unclear else facts.pixels
    if facts.unclear:
        notes.append(f"how it wants images is not read: {facts.unclear}")
    notes += _another_side(model, pixels)
    return Pretrained(
        model,
        opened.name,
        renamed.layout.name,
        facts.told(),
        pixels,
        tuple(notes),
        opened.tensors.files,
        facts.unclear,
    )


def _another_side(model: "ViT", pixels: Pixels | None) -> list[str]:
    """A note where its images are prepared at another size than it reads."""
    numbers, patches = model.embed.weight.shape[0], model.patches
    side = math.isqrt(patches) * math.isqrt(max(1, numbers // 3))
    if pixels is None or pixels.side is None or numbers % 3 or pixels.side == side:
        return []
    return [
        f"{pixels.source} makes images of {pixels.side} pixels, its positions are for {side}:"
        f" images are made {side} pixels large; side={pixels.side} does as it says"
    ]


def pruned(model: "ViT", schedule: Schedule) -> "ViT":
    """The network that follows a schedule.

    Raises:
        InputError: Where the schedule needs more than an image, or a block that is not there.
    """
    depth = len(model.blocks)
    if schedule.policy in (RANDOM, TRUTH):
        raise InputError(
            f"its schedule drops patches by {schedule.policy}, which an image alone does not say",
            "attention, similarity and norm can be followed",
        )
    if schedule.at >= depth:
        raise InputError(f"its schedule prunes after block {schedule.at}", f"it has {depth} blocks")
    keep = ((schedule.at - 1, kept_patches(schedule.keep, model.patches)),)
    return dataclasses.replace(model, keep=keep, policy=schedule.policy)


def load_vit(source: Any, heads: int | None = None, **said: Any) -> "ViT":
    """The network alone; see `load`.

    Example:
        >>> import limelight as ll, jax.random as jr, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> vit = ll.models.Vision(width=8, heads=2).init(jr.key(0), ll.worlds.Images(patch=2),
        ...     None)
        >>> ll.models.save_vit(vit, f"{folder}/vit.safetensors", channels=1)
        >>> ll.models.load_vit(f"{folder}/vit.safetensors", heads=2).patches
        16
    """
    return load(source, heads=heads, **said).model


def open_source(
    source: Any,
    heads: int | None = None,
    epsilon: float | None = None,
    activation: str | None = None,
    pool: str | None = None,
    side: int | None = None,
    like: str | None = None,
) -> Opened:
    """Find a source, rename its tensors, and gather what they do not say.

    Raises:
        InputError: Where it is no ViT that is known here.
    """
    found = source if isinstance(source, Source) else find(source)
    with _about(found.name):
        _refuse(found.tensors)
        renamed = rename(found.tensors)
        if renamed is None:
            raise _unknown(found)
        tensors = found.tensors.called(renamed.names)
        facts = Facts()
        given = {"heads": heads, "epsilon": epsilon, "activation": activation}
        given |= {"pool": pool, "side": side}
        facts.add(_said(given), "the caller")
        facts.add(_metadata(found.tensors, renamed), "the file's metadata")
        beside, by_name = Facts(), Facts()
        if found.module is not None:
            read_module(found.module, beside, like)
        read_configs(found.configs, beside)
        facts.agree(beside)
        if like is not None:
            by_name.add_architecture(like, f"timm's {like}, which the caller names")
        else:
            _by_name(found, by_name)
        facts.agree(by_name)
        facts.add(*_shown(tensors, renamed))
        facts.add(renamed.layout.always, f"every {renamed.layout.name}")
        facts.add(_fitting(tensors, renamed), "timm" if renamed.layout is TIMM else "transformers")
        if renamed.layout is TIMM:
            facts.conclude(signature(tensors.shapes))
        _same_sizes(tensors, facts)
    return Opened(found.name, tensors, renamed, facts)


def _refuse(names: Iterable[str]) -> None:
    names = list(names)
    one = refusal(names)
    if one is not None:
        raise InputError(
            f"this is {one.name}, which is not supported: {one.why}", "plain ViTs are read"
        )
    text = text_model(names) if rename(names) is None else None
    if text is not None:
        raise InputError(
            f"this is {text.name}, a network for text", "a ViT for images is read here"
        )


def _unknown(found: Source) -> InputError:
    from limelight.models.pretrained._facts import Facts as Blank

    read_configs(found.configs, Blank())  # a configuration may name what it is
    if found.module is not None:
        read_module(found.module, Blank())
    names = found.tensors.names
    shown = ", ".join(names[:3]) or "none"
    known = ", ".join(layout.name for layout in LAYOUTS)
    return InputError(f"unknown layout ({len(names)} tensors, such as {shown})", f"known: {known}")


def _accounted(opened: Opened) -> None:
    if opened.renamed.unknown:
        name, count = opened.renamed.unknown[0], len(opened.renamed.unknown)
        raise InputError(
            f"{name} has no place in a plain ViT",
            f"{count} such tensors; without them its output would be another one",
        )


def _said(given: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in given.items() if value is not None}
    for name in ("heads", "side"):
        if name in found and found[name] < 1:
            raise InputError(f"{name} = {found[name]}", "at least 1")
    if "epsilon" in found and not 0 <= found["epsilon"] < 1:
        raise InputError(f"epsilon = {found['epsilon']:g}", "from 0 to below 1")
    if "pool" in found:
        from limelight.models.vit import POOLS  # loads JAX

        check_word("pool", found["pool"], POOLS)
    return found


def _metadata(tensors: Tensors, renamed: Renamed) -> dict[str, Any]:
    """What our own files say; only they say how many channels there are."""
    said = tensors.metadata
    heads = said.get(HEADS, "")
    found: dict[str, Any] = {"heads": int(heads)} if heads.isdecimal() else {}
    if CHANNELS not in said or POOL not in said:
        return found
    usual = "1e-06" if renamed.layout is TIMM else "1e-12"
    try:
        epsilon = float(said.get(EPSILON, usual))
    except ValueError:
        raise InputError(f"its metadata says epsilon = {said[EPSILON]!r}", "a number") from None
    return found | {
        "epsilon": epsilon,
        "activation": said.get(ACTIVATION, "gelu"),
        "pool": said[POOL],
        "centred": True,
        "rotary": None,
    }


def _shown(tensors: Tensors, renamed: Renamed) -> tuple[dict[str, Any], str]:
    """What tensors do show: a shift is LayerNorm's; and none of timm's that looks so is turned."""
    found: dict[str, Any] = {"centred": True} if "blocks.0.norm1.bias" in tensors else {}
    turned = (
        "blocks.0.gamma_1",
        "norm_pre.weight",
    )  # what all of timm's that are have, or no table
    there = "pos_embed" in tensors and "blocks.0.attn.qkv.bias" in tensors
    if renamed.layout is TIMM and there and not any(name in tensors for name in turned):
        found["rotary"] = None
    if renamed.layout is HF_CLIP and "cls_token" not in tensors:  # SigLIP
        for name, pool in (("attn_pool.latent", "attention"), ("head.weight", "mean")):
            if name in tensors:
                found["pool"] = pool
    return found, "its tensors"


def _fitting(tensors: Tensors, renamed: Renamed) -> dict[str, bool]:
    """How its library fits positions to another grid, where that is known: antialiased or not."""
    if renamed.layout is TIMM:
        return {"antialias": True}
    if renamed.layout.name.startswith("Hugging Face"):
        return {"antialias": "reg_token" in tensors}  # DINOv2 with registers alone
    return {}


def _by_name(found: Source, facts: Facts) -> None:
    """What the file's name says, where it is that of weights in timm."""
    word = Path(found.name).name.removesuffix(".safetensors")
    if found.module is None and named(word) is not None:
        facts.add_architecture(word, f"timm's {word}, by the file's name")


def _same_sizes(tensors: Tensors, facts: Facts) -> None:
    """Refuse weights of other sizes than the architecture that was named."""
    found, sizes = signature(tensors.shapes), facts.values.get("sizes")
    if found is not None and sizes and tuple(sizes) != found.sizes:
        width, depth = found.sizes[:2]
        raise InputError(
            f"{width} columns and {depth} blocks are not those of {facts.sources['sizes']}",
            f"it has {sizes[0]} and {sizes[1]}",
        )
    for what, said in facts.values.get(CLAIMED, {}).items():
        real = None if found is None else found.sizes[SIZES.index(what)]
        if real is not None and said != real:
            raise InputError(
                f"{facts.sources[CLAIMED]} is another network's: it says {said!s:.40} {what}, and"
                f" the tensors have {real}",
                "put its own beside it",
            )


class _about:
    """Puts the name of a source before what is said of it."""

    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, InputError) and not error.message.startswith(self.name):
            raise InputError(f"{self.name}: {error.message}", error.hint) from None
