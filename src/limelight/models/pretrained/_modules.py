"""PyTorch modules as sources: weights through `state_dict`, the rest through plain attributes.

PyTorch is never imported here: whoever has a module has it already.
"""

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
    "ResPostBlock": "its norms stand behind attention and perceptron",
    "EvaBlockPostNorm": "its norms stand behind attention and perceptron",
    "ParallelScalingBlock": "attention and perceptron read the same rows",
    "DiffParallelScalingBlock": "attention is a difference of two softmaxes",
    "ParallelThingsBlock": "several attentions read the same rows",
}
_PLAIN = ("VisionTransformer", "VisionTransformerDistilled", "Beit", "Eva")
_ROTATIONS = {"RotaryEmbeddingCat": "grid", "RotaryEmbeddingDinoV3": "centres"}


def is_module(source: Any) -> bool:
    """Whether something is a PyTorch module."""
    return callable(getattr(source, "state_dict", None))


def read_module(module: Any, facts: Facts) -> None:
    """Take in what a module says of itself.

    Raises:
        InputError: Where it is no plain ViT of timm's or Hugging Face's.
    """
    config: Any = getattr(module, "config", None)
    if hasattr(config, "to_dict"):
        given = config.to_dict()
        given["architectures"] = [type(module).__name__]
        read_configs({CONFIG: given}, facts)
    elif type(module).__name__ in _PLAIN and hasattr(module, "patch_embed"):
        reason = why_not(module)
        if reason:
            raise InputError(f"this {type(module).__name__}: {reason}", "it is not supported")
        facts.add(timm_facts(module), "the module")
        facts.add({"side": module.patch_embed.img_size[0]}, "the module")
        facts.read_pixels(of_timm, getattr(module, "pretrained_cfg", None) or {}, "the module")
    elif not type(module).__module__.startswith("torchvision."):
        facts.notes.append(
            f"the class {type(module).__name__} is not known here: its tensors are read, what its"
            " own code does with them is not"
        )


def timm_facts(module: Any) -> dict[str, Any]:
    """What the tensors of a plain ViT of timm's do not say."""
    block = module.blocks[0]
    pool = "pair" if hasattr(module, "dist_token") else _POOLS.get(module.global_pool)
    activation = _ACTIVATIONS.get(type(block.mlp.act).__name__)
    found = {
        "heads": block.attn.num_heads,
        "epsilon": block.norm1.eps,
        "centred": type(block.norm1).__name__ != "RmsNorm",
        "activation": activation,
        "pool": pool,
        "rotary": _turns(module),
    }
    for name in ("pool", "activation"):
        if found[name] is None:
            raise InputError(f"its {name} is of another kind than known here", "not supported")
    return found


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
    if len({(one.attn.num_heads, type(one.mlp.act).__name__) for one in module.blocks}) > 1:
        return "its blocks differ in heads or activation"
    epsilons = {m.eps for m in module.modules() if getattr(m, "eps", None) is not None}
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
