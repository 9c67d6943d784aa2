"""Networks for text: whose attention the bound describes, and why not that of others.

Many networks name their tensors as BERT or GPT-2 do and attend otherwise: by rotated queries, by
a bias, to a few tokens. So a configuration must name one that is known to be plain, and a block
may have no tensor that a plain one has not.
"""

import re
from collections.abc import Mapping
from typing import Any

from limelight._core.errors import InputError
from limelight.models._layouts import GPT2, HF_BERT, is_position_table
from limelight.models.pretrained._configs import CONFIG
from limelight.models.pretrained._keys import check_keys
from limelight.models.pretrained._sources import Source
from limelight.models.pretrained.loading import HEADS

#: By layout, those that attend to all tokens by plain products.
_PLAIN = {
    HF_BERT: ("bert", "roberta", "xlm-roberta", "camembert", "electra", "ernie", "layoutlm",
              "data2vec-text", "splinter"),
    GPT2: ("gpt2",),
}  # fmt: skip
#: Positions that are counted and not attended to, in kin of BERT.
_PADDED = ("roberta", "xlm-roberta", "camembert", "data2vec-text")
_TURNED = "queries and keys are turned by their position (RoPE)"
_PLACED = "scores have a bias by the place on the page"
_SPARSE = "a token attends to some tokens alone"
_GUESSED = "attention is replaced by a cheaper one"
_NORMS = "its norms stand elsewhere"
_OTHER = {
    "roformer": _TURNED, "esm": _TURNED, "nomic_bert": _TURNED, "qwen": _TURNED, "gte": _TURNED,
    "layoutlmv2": _PLACED, "layoutlmv3": _PLACED, "bros": _PLACED, "lilt": _PLACED,
    "big_bird": _SPARSE, "bigbird_pegasus": _SPARSE, "longformer": _SPARSE, "canine": _SPARSE,
    "nystromformer": _GUESSED, "yoso": _GUESSED, "mra": _GUESSED, "convbert": _GUESSED,
    "megatron-bert": _NORMS, "roberta-prelayernorm": _NORMS, "xlm-roberta-xl": _NORMS,
    "openai-gpt": _NORMS, "imagegpt": _NORMS, "mobilebert": _NORMS,
    "nezha": "scores depend on relative positions", "luke": "it has several query maps",
    "ibert": "its numbers are rounded", "gpt_bigcode": "heads share their keys and values",
}  # fmt: skip
#: Keys of their configurations beside those of ViTs: read here, shown by tensors, or idle.
_KEYS = {
    "position_embedding_type", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
    "max_position_embeddings", "type_vocab_size", "embedding_size", "task_type_vocab_size",
    "use_task_id", "max_2d_position_embeddings", "n_positions", "n_ctx", "n_embd", "n_layer",
    "n_head", "n_inner", "activation_function", "resid_pdrop", "embd_pdrop", "attn_pdrop",
    "layer_norm_epsilon", "reorder_and_upcast_attn", "summary_type", "summary_use_proj",
    "summary_activation", "summary_proj_to_labels", "summary_first_dropout",
    "summary_last_dropout", "directionality", "pooler_fc_size", "pooler_num_attention_heads",
    "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "output_past",
    "question_token_id", "predict_special_tokens", "xla_device",
}  # fmt: skip
_NORM, _PART = r"(weight|bias|gamma|beta)", r"(weight|bias)"
#: The tensors of plain encoders.
_TENSORS = {
    HF_BERT: re.compile(
        rf"layer\.\d+\.(attention\.self\.(query|key|value)\.{_PART}|attention\.output\.dense\.{_PART}"
        rf"|(intermediate|output)\.dense\.{_PART}|(attention\.)?output\.LayerNorm\.{_NORM})"
    ),
    GPT2: re.compile(
        rf"h\.\d+\.((attn\.(c_attn|c_proj)|mlp\.(c_fc|c_proj)|ln_[12])\.{_PART}"
        r"|attn\.(masked_)?bias)"
    ),
}
_ENCODER = {HF_BERT: r"(?:.*\.)?encoder\.(.*)", GPT2: r"(?:.*\.)?(h\.\d+\..*)"}
#: Tensors that stand between the first norm and the first block, or betray another order of norms.
_BETWEEN = re.compile(
    r"(.*\.)?(embeddings_project|positions_embed|embedding_hidden_mapping_in)\..*"
)


def check_text(layout: str, found: Source, blocks: int, notes: list[str]) -> None:
    """Refuse a network whose attention the bound does not describe.

    Raises:
        InputError: With what it is, or what it has.
    """
    config: Mapping[str, Any] = found.configs.get(CONFIG, {})
    kind = str(config.get("model_type", ""))[:60]
    covered = "attention over all tokens, with a softmax of plain products, is covered"
    if kind and kind not in _PLAIN[layout]:
        why = _OTHER.get(kind, "it is not known here to attend by plain products")
        raise InputError(f"{found.name}: this is {kind}: {why}", covered)
    for name in found.tensors:
        inner = re.fullmatch(_ENCODER[layout], name)
        if (inner and not _TENSORS[layout].fullmatch(inner[1])) or _BETWEEN.fullmatch(name):
            raise InputError(f"{found.name}: {name} has no place in a plain {layout}", covered)
    check_keys(config, f"{found.name}: its {CONFIG}", _KEYS)
    for what, real in (("num_hidden_layers", blocks), ("n_layer", blocks)):
        if config.get(what) is not None and config[what] != real:
            raise InputError(
                f"{found.name}: its {CONFIG} is another network's: it says {what} ="
                f" {config[what]!s:.40}, and the tensors have {real} blocks",
                "put its own beside it",
            )
    places = config.get("position_embedding_type") or "absolute"
    if places != "absolute":
        raise InputError(
            f"{found.name}: positions are {str(places)[:40]!r}", "the bound covers absolute ones"
        )
    if config.get("scale_attn_by_inverse_layer_idx") or not config.get("scale_attn_weights", True):
        raise InputError(
            f"{found.name}: its scores are scaled in another way", "by 1/sqrt(k) is covered"
        )
    if not kind:
        notes.append(
            f"taken for a plain {layout}, as no {CONFIG} says what it is; networks that attend to"
            " some tokens alone have the same tensors"
        )


def count_heads(found: Source, heads: int | None, notes: list[str]) -> int:
    """The heads of a network for text: said, or in the file, or in its configuration.

    Raises:
        InputError: Where nobody says it, or two say different things.
    """
    config = found.configs.get(CONFIG, {})
    told = [config[n] for n in ("num_attention_heads", "n_head") if config.get(n) is not None]
    if told and (type(told[0]) is not int or told[0] < 1):
        raise InputError(f"{found.name}: its {CONFIG} says heads = {str(told[0])[:40]}", "a number")
    if heads is not None and told and heads != told[0]:
        raise InputError(
            f"{found.name}: heads is {heads} by the caller and {told[0]} by its {CONFIG}",
            "leave out, or mend, the one that is wrong",
        )
    said = found.tensors.metadata.get(HEADS, "")
    if heads is not None:
        return heads
    if said.isdecimal():
        return int(said)
    if told:
        notes.append(f"{told[0]} heads per block, from the {CONFIG} beside the file")
        return told[0]
    raise InputError(
        f"{found.name}: how many heads share the columns is not in the file",
        f"put its {CONFIG} beside it, or say heads=...",
    )


def count_positions(found: Source) -> int | None:
    """The tokens that it can attend to, where a table of positions says."""
    for name in filter(is_position_table, found.tensors):
        shape = found.tensors.shape(name)
        padded = found.configs.get(CONFIG, {}).get("model_type") in _PADDED
        return shape[-2] - 2 * padded if len(shape) >= 2 else None
    return None
