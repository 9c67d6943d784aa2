"""PyTorch modules as sources: weights through `state_dict`, the rest through plain attributes.

PyTorch is never imported here: whoever has a module has it already. A class says what is computed
with its tensors, so only classes that are known are read, and only where no part of them was
replaced.
"""

from collections.abc import Callable, Iterable
from typing import Any

from limelight._core.errors import InputError
from limelight.models.pretrained._configs import CONFIG, read_configs
from limelight.models.pretrained._facts import Facts
from limelight.models.pretrained._places import Turns
from limelight.models.pretrained._processors import of_timm

_ACTIVATIONS = {
    "GELU": "gelu", "GELUTanh": "gelu_tanh", "QuickGELU": "quick_gelu", "SiLU": "silu",
    "ReLU": "relu",
}  # fmt: skip
_POOLS = {"token": "class", "avg": "mean", "map": "attention"}
_BLOCKS = {
    "ResPostBlock": "its norms stand after attention and perceptron",
    "EvaBlockPostNorm": "its norms stand after attention and perceptron",
    "ParallelScalingBlock": "attention and perceptron read the same rows",
    "DiffParallelScalingBlock": "attention is a difference of two softmaxes",
    "ParallelThingsBlock": "several attentions read the same rows",
}
_PLAIN = ("VisionTransformer", "VisionTransformerDistilled", "Beit", "Eva")
#: The parts of a block of those, by attribute.
_PARTS = {
    "attn": ("Attention", "AttentionRope", "EvaAttention"),
    "mlp": ("Mlp", "GluMlp", "SwiGLU"),
}
_NORMS = {"LayerNorm": True, "LayerNormFp32": True, "RmsNorm": False}
_ROTATIONS = {"RotaryEmbeddingCat": "grid", "RotaryEmbeddingDinoV3": "centres"}


def is_module(source: Any) -> bool:
    """Whether something is a PyTorch module."""
    return callable(getattr(source, "state_dict", None))


def read_module(module: Any, facts: Facts, like: str | None = None) -> None:
    """Take in what a module says of itself.

    Args:
        module: Of a library that is known here, or of any where `like` is given.
        facts: Where it goes.
        like: The architecture of timm's that the caller says it is.

    Raises:
        InputError: Where it is no plain ViT, or nobody knows what it computes.
    """
    library, name = _library(module), type(module).__name__
    if library not in _READERS and like is not None:
        facts.notes.append(
            f"the class {name} is not known here: its tensors are read as those of timm's {like},"
            " which the caller names"
        )
        return
    if library not in _READERS:
        raise InputError(
            f"the class {name} is not known here, and what its own code computes is not either",
            "if it is what timm computes, say like=... with its name there, or give its state_dict",
        )
    reason = _replaced(module, library)
    if reason:
        raise InputError(f"this {name}: {reason}", "it is not supported")
    _READERS[library](module, facts)


def _library(part: Any) -> str:
    return type(part).__module__.partition(".")[0]


def _replaced(module: Any, library: str) -> str:
    """Which part computes something else than its library wrote."""
    for part in module.modules():
        kind = type(part).__name__
        if _library(part) not in (library, "torch"):
            return f"its part {kind} is not {library}'s"
        if "forward" in vars(part) and not hasattr(part, "_hf_hook"):  # hooks only move tensors
            more = ", which limelight.torch.restore takes back" if _pruned(module) else ""
            return f"the forward of its {kind} was replaced{more}"
    return ""


def _pruned(module: Any) -> bool:
    return hasattr(module, "limelight_schedule")


def _of_timm(module: Any, facts: Facts) -> None:
    name = type(module).__name__
    reason = why_not(module) if name in _PLAIN else "no plain ViT of timm's"
    if reason:
        raise InputError(f"this {name}: {reason}", "it is not supported")
    facts.add(timm_facts(module), "the module")
    facts.add({"side": module.patch_embed.img_size[0]}, "the module")
    facts.read_pixels(of_timm, getattr(module, "pretrained_cfg", None) or {}, "the module")


def _of_transformers(module: Any, facts: Facts) -> None:
    given = module.config.to_dict()
    given["architectures"] = [type(module).__name__]
    read_configs({CONFIG: given}, facts)


def _of_torchvision(module: Any, facts: Facts) -> None:
    if type(module).__name__ != "VisionTransformer":
        raise InputError(f"this {type(module).__name__}: no plain ViT", "it is not supported")
    blocks = list(module.encoder.layers)
    facts.add(_told(module, [(b.num_heads, b.mlp[1]) for b in blocks]), "the module")
    facts.add({"side": module.image_size}, "the module")


def _of_open_clip(module: Any, facts: Facts) -> None:
    tower = getattr(module, "visual", module)
    if type(tower).__name__ != "VisionTransformer":
        raise InputError(
            f"its image tower is a {type(tower).__name__}",
            "the module's visual.trunk may be a plain ViT",
        )
    blocks = list(tower.transformer.resblocks)
    if tower.attn_pool is not None or tower.pool_type != "tok":
        raise InputError("its head pools by attention or by the mean", "open_clip's CoCa and kin")
    if any(type(block).__name__ != "ResidualAttentionBlock" for block in blocks):
        raise InputError("its blocks are not the plain ones of open_clip", "it is not supported")
    told = _told(tower, [(block.attn.num_heads, block.mlp.gelu) for block in blocks])
    facts.add(told | {"side": tower.image_size[0]}, "the module")


def _told(module: Any, blocks: list[tuple[int, Any]]) -> dict[str, Any]:
    """What blocks with these heads and activations say, all of them the same."""
    reason = _differing(blocks) or _several(module)
    if reason:
        raise InputError(f"this {type(module).__name__}: {reason}", "it is not supported")
    norm = next(m for m in module.modules() if type(m).__name__ in _NORMS)
    activation = _activation(blocks[0][1])
    return {
        "heads": blocks[0][0], "epsilon": norm.eps, "activation": activation, "pool": "class",
        "centred": True, "rotary": None,
    }  # fmt: skip


_READERS: dict[str, Callable[[Any, Facts], None]] = {
    "timm": _of_timm,
    "transformers": _of_transformers,
    "torchvision": _of_torchvision,
    "open_clip": _of_open_clip,
}


def timm_facts(module: Any) -> dict[str, Any]:
    """What the tensors of a plain ViT of timm's do not say."""
    block = module.blocks[0]
    pool = "pair" if hasattr(module, "dist_token") else _POOLS.get(module.global_pool)
    if pool is None:
        raise InputError("its pool is of another kind than known here", "not supported")
    return {
        "heads": block.attn.num_heads,
        "epsilon": block.norm1.eps,
        "centred": _NORMS[type(block.norm1).__name__],
        "activation": _activation(block.mlp.act),
        "pool": pool,
        "rotary": _turns(module),
    }


def _activation(part: Any) -> str:
    """The word for a part that activates neurons; PyTorch's GELU may be either kind."""
    found = _ACTIVATIONS.get(type(part).__name__)
    if found is None:
        raise InputError(f"its neurons are activated by {type(part).__name__}", "not supported")
    return "gelu_tanh" if getattr(part, "approximate", "none") == "tanh" else found


def why_not(module: Any) -> str:
    """Why a module of timm's is not a plain ViT; nothing where it is."""
    block = module.blocks[0]
    identity = lambda part: part is None or type(part).__name__ == "Identity"
    if type(block).__name__ in _BLOCKS:
        return _BLOCKS[type(block).__name__]
    if type(block.attn).__name__ == "DiffAttention":
        return "attention is a difference of two softmaxes"
    if not identity(getattr(block.attn, "norm", None)):
        return "heads are normalised before the output map"
    if type(getattr(module, "rope", None)).__name__ not in ("NoneType", *_ROTATIONS):
        return "its rotations are trained, head by head"
    if getattr(module, "pool_include_prefix", False):
        return "its pool reads the class token and registers among the patches"
    if getattr(module, "attn_pool", None) is not None and type(module).__name__ == "Eva":
        return "its attention pool reads the class token among the patches"
    shares = lambda a: (getattr(a, "num_kv_heads", None) or a.num_heads) != a.num_heads
    if any(shares(one.attn) for one in module.blocks):
        return "several heads share their keys and values"
    if any(getattr(one.mlp, "gate_last", False) for one in module.blocks):
        return "the second half of its neurons is the gate, not the first"
    return _strange(module.blocks) or _several(module)


def _strange(blocks: Iterable[Any]) -> str:
    """Why blocks of timm's are not plain and alike."""
    for block in blocks:
        for name, known in _PARTS.items():
            kind = type(getattr(block, name)).__name__
            if kind not in known:
                return f"the {name} of its blocks is {kind}, which is not known here"
        size = getattr(block.attn, "head_dim", None)
        if size and abs(block.attn.scale * size**0.5 - 1) > 1e-6:
            return "its scores are divided by another number than the root of a head's columns"
    return _differing([(block.attn.num_heads, block.mlp.act) for block in blocks])


def _differing(blocks: Iterable[tuple[int, Any]]) -> str:
    kinds = {(n, type(act).__name__, getattr(act, "approximate", "none")) for n, act in blocks}
    return "its blocks differ in heads or activation" if len(kinds) > 1 else ""


def _several(module: Any) -> str:
    """Why one epsilon and one kind of norm are not all that it has."""
    norms = [part for part in module.modules() if "norm" in type(part).__name__.lower()]
    kinds = {type(part).__name__ for part in norms}
    if len({_NORMS.get(kind) for kind in kinds}) > 1 or not kinds <= _NORMS.keys():
        return "its norms are of several kinds, or of one that is not known here"
    epsilons = {part.eps for part in module.modules() if getattr(part, "eps", None) is not None}
    return "its norms have several epsilons" if len(epsilons) > 1 else ""


def _turns(module: Any) -> Turns | None:
    rope = getattr(module, "rope", None)
    if rope is None:
        return None
    reference = getattr(rope, "ref_feat_shape", None)
    return Turns(
        kind=_ROTATIONS[type(rope).__name__],
        base=float(rope.temperature),
        offset=float(rope.grid_offset),
        order=rope.grid_indexing,
        half=bool(getattr(module.blocks[0].attn, "rotate_half", False)),
        reference=None if reference is None else reference[0],
    )
