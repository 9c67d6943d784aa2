"""Configurations that lie beside weights: Hugging Face's, timm's and open_clip's."""

from collections.abc import Callable, Mapping
from typing import Any

from limelight._core.errors import InputError
from limelight.models.pretrained._facts import Facts
from limelight.models.pretrained._keys import check_keys, check_tower
from limelight.models.pretrained._places import Turns
from limelight.models.pretrained._processors import of_open_clip, of_processor, of_timm

CONFIG, PROCESSOR = "config.json", "preprocessor_config.json"
OPEN_CLIP = ("open_clip_config.json", "open_clip_model_config.json")
#: All files that are read.
FILES = (CONFIG, PROCESSOR, *OPEN_CLIP)
Configs = Mapping[str, Mapping[str, Any]]

_ACTIVATIONS = {
    "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh", "quick_gelu": "quick_gelu", "silu": "silu", "swish": "silu",
    "relu": "relu",
}  # fmt: skip
#: What Hugging Face's configurations mean where they are silent: heads, epsilon, activation, side.
_DEFAULTS = {
    "vit": (12, 1e-12, "gelu", 224),
    "deit": (12, 1e-12, "gelu", 224),
    "vit_mae": (12, 1e-12, "gelu", 224),
    "vit_msn": (12, 1e-6, "gelu", 224),
    "ijepa": (12, 1e-12, "gelu", 224),
    "beit": (12, 1e-12, "gelu", 224),
    "data2vec-vision": (12, 1e-12, "gelu", 224),
    "dinov2": (12, 1e-6, "gelu", 224),
    "dinov2_with_registers": (12, 1e-6, "gelu", 224),
    "dinov3_vit": (6, 1e-5, "gelu", 224),
    "clip_vision_model": (12, 1e-5, "quick_gelu", 224),
    "chinese_clip_vision_model": (12, 1e-5, "quick_gelu", 224),
    "siglip_vision_model": (12, 1e-6, "gelu_pytorch_tanh", 224),
}
_TOWERS = {
    "clip": "clip_vision_model", "siglip": "siglip_vision_model",
    "chinese_clip": "chinese_clip_vision_model",
}  # fmt: skip
_REFUSED = {
    "swin": "windowed attention", "swinv2": "windowed attention",
    "segformer": "keys are averaged over neighbours", "pvt": "keys are averaged over neighbours",
    "cvt": "queries and keys by convolution", "levit": "convolutions between stages",
    "convnext": "a convolutional network", "resnet": "a convolutional network",
    "sam": "windowed attention with relative positions", "siglip2": "grids of any shape",
    "siglip2_vision_model": "grids of any shape", "vivit": "tokens of videos",
    "videomae": "tokens of videos", "vjepa2": "tokens of videos", "timesformer": "tokens of videos",
    "hiera": "tokens are pooled between stages", "pixtral": "grids of any shape",
    "idefics2_vision": "grids of any shape", "idefics3_vision": "grids of any shape",
    "vilt": "words and patches in one sequence", "yolos": "tokens that detect among the patches",
    "dpt": "features of several blocks are fused", "rf_detr_dinov2": "windowed attention",
    "mlcd_vision_model": "rotations of another kind than known here",
    "aimv2_vision_model": "patches are normalised before their positions are added",
    "internvl_vision": "a layout that no output was compared for",
    "tipsv2_vision_model": "a layout that no output was compared for",
}  # fmt: skip
#: Arguments of timm's that leave the function as it is, or that the tensors show.
_HARMLESS = {
    "img_size", "in_chans", "num_classes", "embed_dim", "depth", "mlp_ratio", "class_token",
    "reg_tokens", "no_embed_class", "fc_norm", "init_values", "qkv_bias", "pre_norm", "patch_size",
    "drop_rate", "drop_path_rate", "dynamic_img_size", "dynamic_img_pad", "strict_img_size",
    "proj_drop_rate", "attn_drop_rate", "pos_drop_rate", "patch_drop_rate", "num_heads",
    "global_pool", "features_only", "pretrained_strict", "proj_bias", "final_norm", "qk_norm",
    "scale_mlp_norm", "use_abs_pos_emb", "use_rel_pos_bias", "use_shared_rel_pos_bias",
}  # fmt: skip
#: What configurations say of sizes that tensors show, and what they call them; see `Signature`.
CLAIMED = "claimed"
SIZES = ("columns", "blocks", "neurons", "pixels along a patch")
_SIZES = {
    "hidden_size": "columns", "embed_dim": "columns", "width": "columns",
    "num_hidden_layers": "blocks", "depth": "blocks", "layers": "blocks",
    "patch_size": "pixels along a patch",
}  # fmt: skip
_POOLS = {"token": "class", "avg": "mean", "map": "attention"}


def read_configs(configs: Configs, facts: Facts) -> None:
    """Take in what the configurations beside a file say.

    Raises:
        InputError: Where they name a network that is not a plain ViT.
    """
    config = configs.get(CONFIG, {})
    if PROCESSOR in configs:
        model = str(config.get("model_type", ""))[:60]
        facts.read_pixels(of_processor, configs[PROCESSOR], f"its {PROCESSOR}", model)
    for name in OPEN_CLIP:
        if name in configs:
            _open_clip(configs[name], facts, f"its {name}")
    if "model_cfg" in config:
        _open_clip(config, facts, f"its {CONFIG}")
    elif "architecture" in config:
        _timm(config, facts)
    elif "model_type" in config:
        _hugging_face(config, facts)
    elif "num_attention_heads" in config:
        check_keys(config, f"its {CONFIG}")
        facts.add(_checked({"heads": config["num_attention_heads"]}), f"its {CONFIG}")


def _hugging_face(config: Mapping[str, Any], facts: Facts) -> None:
    kind = str(config["model_type"])[:60]
    if kind in _TOWERS and isinstance(config.get("vision_config"), Mapping):
        kind, config = _TOWERS[kind], config["vision_config"]
    if kind not in _DEFAULTS:
        why = _REFUSED.get(kind, "not a plain ViT that is known here")
        raise InputError(f"this is {kind}: {why}", "such a network is not supported")
    check_keys(config, f"its {CONFIG}")
    heads, epsilon, activation, side = _DEFAULTS[kind]
    activation = str(config.get("hidden_act", activation))[:60]
    if config.get("use_swiglu_ffn"):
        activation = "silu"
    if activation not in _ACTIVATIONS:
        raise InputError(f"its neurons are activated by {activation!r}", "known: gelu and its kin")
    found = {
        "heads": config.get("num_attention_heads", heads),
        "epsilon": config.get("layer_norm_eps", epsilon),
        "activation": _ACTIVATIONS[activation],
        "centred": True,
        "rotary": None,
        "side": config.get("image_size", side),
        CLAIMED: _claimed(config),
    }
    if kind != "siglip_vision_model":  # its tensors say what it reads
        mean = kind in ("beit", "data2vec-vision") and config.get("use_mean_pooling", True)
        mean = mean or kind == "ijepa"  # it has no class token
        found["pool"] = "mean" if mean else "class"
    if kind == "dinov3_vit":
        found["rotary"] = Turns("centres", _rope_base(config), half=True)
    facts.add(_checked(found), f"its {CONFIG}")


def _claimed(config: Mapping[str, Any]) -> dict[str, Any]:
    """What it says of sizes: those of another network are noticed."""
    found = {what: config[key] for key, what in _SIZES.items() if config.get(key) is not None}
    pixels = found.get(SIZES[3])
    if isinstance(pixels, (list, tuple)) and len(set(map(str, pixels))) == 1:
        found[SIZES[3]] = pixels[0]
    return found


def _rope_base(config: Mapping[str, Any]) -> float:
    """What rotations are made of: one number, where they are the usual ones."""
    turns = _section(config, "rope_parameters")
    if turns.get("rope_type", "default") != "default" or turns.keys() - {"rope_type", "rope_theta"}:
        raise InputError("its rotations are of another kind than known here", "it is not supported")
    base = config.get("rope_theta", turns.get("rope_theta", 100.0))
    if isinstance(base, bool) or not isinstance(base, (int, float)) or not 0 < base < 1e30:
        raise InputError(f"its configuration says rope_theta = {str(base)[:40]}", "a number")
    return float(base)


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a configuration that is an object, or nothing."""
    found = config.get(name) or {}
    if not isinstance(found, Mapping):
        raise InputError(f"its configuration says {name} = {str(found)[:40]}", "an object")
    return found


def _list(config: Mapping[str, Any], name: str) -> list[Any]:
    found = config.get(name) or []
    if not isinstance(found, (list, tuple)):
        raise InputError(f"its configuration says {name} = {str(found)[:40]}", "a list")
    return list(found)


def _word(config: Mapping[str, Any], name: str) -> str:
    found = config.get(name) or ""
    if not isinstance(found, str):
        raise InputError(f"its configuration says {name} = {str(found)[:40]}", "a word")
    return found[:60]


def _timm(config: Mapping[str, Any], facts: Facts) -> None:
    name, source = _word(config, "architecture"), f"its {CONFIG}"
    arguments = _section(config, "model_args")
    strange = sorted(set(arguments) - _HARMLESS)
    if strange:
        raise InputError(
            f"its {CONFIG} changes {strange[0]} of timm's {name}",
            "what that does is not known here",
        )
    pretrained = _section(config, "pretrained_cfg") or config
    facts.read_pixels(of_timm, pretrained, source)
    pool = _word(arguments if "global_pool" in arguments else config, "global_pool")
    sides = arguments.get("img_size") or next(iter(_list(pretrained, "input_size")[::-1]), None)
    given = {
        "heads": arguments.get("num_heads"),
        "pool": _POOLS.get(pool) if pool else None,
        "side": sides,
        CLAIMED: _claimed(arguments),
    }
    if pool and pool not in _POOLS:
        raise InputError(f"its head reads {pool!r}", "class token, mean, or an attention pool")
    if given["pool"] == "class" and name.startswith("deit") and "distilled" in name:
        given["pool"] = "pair"
    facts.add(_checked({k: v for k, v in given.items() if v is not None}), source)
    facts.add_architecture(name, f"timm's {name}, which {source} names")
    if arguments.keys() & {"embed_dim", "depth", "mlp_ratio", "patch_size"}:
        facts.values.pop("sizes", None)
        if "num_heads" not in arguments and "embed_dim" in arguments:
            raise InputError(f"its {CONFIG} changes embed_dim alone", "say heads=...")


def _open_clip(config: Mapping[str, Any], facts: Facts, source: str) -> None:
    model = _section(config, "model_cfg")
    vision = _section(model, "vision_cfg")
    facts.read_pixels(of_open_clip, _section(config, "preprocess_cfg"), source)
    check_tower(vision, source)
    if vision.get("timm_model_name"):
        pool = _word(vision, "timm_pool") if "timm_pool" in vision else "avg"
        if pool:
            facts.add({"pool": _POOLS.get(pool, pool)}, source)
        facts.add_architecture(_word(vision, "timm_model_name"), source)
        return
    if vision.get("attentional_pool") or vision.get("pool_type", "tok") != "tok":
        raise InputError("its head pools by attention or by the mean", "open_clip's CoCa and kin")
    if isinstance(vision.get("layers"), list):
        raise InputError("this is CLIP's ResNet: a convolutional network", "it is not supported")
    width, each = vision.get("width", 768), vision.get("head_width", 64)
    if not all(type(n) is int and n > 0 for n in (width, each)):
        raise InputError(f"{source} says heads of {str(each)[:40]} columns", "a number")
    acts, norms = _section(vision, "act_kwargs"), _section(vision, "norm_kwargs")
    if acts.keys() - {"approximate"} or norms.keys() - {"eps", "elementwise_affine"}:
        raise InputError(f"{source} says what its norms or neurons do", "not known here")
    tanh = acts.get("approximate") == "tanh"
    found = {
        "heads": width // each,
        "epsilon": norms.get("eps", 1e-5),
        "activation": "quick_gelu" if model.get("quick_gelu") else "gelu_tanh" if tanh else "gelu",
        "pool": "class",
        "centred": True,
        "rotary": None,
        "side": vision.get("image_size", 224),
        CLAIMED: _claimed(vision),
    }
    facts.add(_checked(found), source)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "heads": lambda v: type(v) is int and v > 0,
    "epsilon": lambda v: isinstance(v, (int, float)) and type(v) is not bool and 0 <= v < 1,
    "side": lambda v: type(v) is int and v > 0,
}


def _checked(found: dict[str, Any]) -> dict[str, Any]:
    side = found.get("side")
    if isinstance(side, (list, tuple)) and len(set(map(str, side))) == 1:
        found["side"] = side[0]
    for name, fits in _KINDS.items():
        if name in found and not fits(found[name]):
            said = repr(found[name])[:40]
            raise InputError(f"its configuration says {name} = {said}", "a number")
    if "epsilon" in found:
        found["epsilon"] = float(found["epsilon"])
    return found
