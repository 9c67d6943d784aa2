"""Key names of attention blocks in networks for text, and why tensors are left out of a bound.

Only names are read here; those of ViTs are in `pretrained.names`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

HF_BERT, GPT2, OWN = "Hugging Face BERT", "GPT-2", "limelight sequence"

#: What each layout is recognised by, for people whose file is none of them.
LAYOUTS: dict[str, tuple[str, ...]] = {
    "timm ViT or DeiT": ("blocks.N.attn.qkv.weight", "patch_embed.proj.weight"),
    "Hugging Face ViT": ("vit.encoder.layer.N.attention.attention.{query,key,value}.weight",),
    "CLIP or SigLIP": ("vision_model.encoder.layers.N.self_attn.q_proj.weight",),
    HF_BERT: (
        "encoder.layer.N.attention.self.{query,key,value}.weight",
        "encoder.layer.N.output.LayerNorm.{weight,bias} and embeddings.LayerNorm.{weight,bias}",
    ),
    GPT2: ("h.N.attn.c_attn.weight", "h.N.ln_1.{weight,bias}"),
    OWN: (
        "head.H.{W_Q,W_K,W_V,W_C}",
        "cls, and E with P, or V, or tokens",
        "mlp.{W_1,W_2,w} (optional)",
    ),
}


@dataclass(frozen=True)
class Place:
    """Where the tensors of one attention block lie.

    Args:
        stem: The prefix they share.
        number: The block's place, from the input up.
        maps: One map that holds query, key and value, or the three of them.
        norm: The LayerNorm whose output the block reads.
        upright: Whether a map is stored [in, out].
    """

    stem: str
    number: int
    maps: tuple[str, ...]
    norm: str
    upright: bool = False


def recognise(names: Iterable[str]) -> tuple[str, list[Place]] | None:
    """The layout of a file and its blocks, from its tensors' names; nothing if it is unknown."""
    names = list(names)
    for layout, (pattern, place) in _PATTERNS.items():
        found = [place(**match.groupdict()) for n in names if (match := re.fullmatch(pattern, n))]
        if found:
            return layout, sorted(found, key=lambda item: (item.number, item.stem))
    if "head.0.W_Q" in names and "cls" in names:
        return OWN, []
    return None


def _hf_bert(stem: str, root: str, n: str) -> Place:
    """A block after a LayerNorm: that of the block before, or of the embeddings."""
    own = f"{stem}attention.self."
    before = f"encoder.layer.{int(n) - 1}.output" if int(n) else "embeddings"
    return Place(
        stem,
        int(n),
        tuple(own + part for part in ("query", "key", "value")),
        f"{root}{before}.LayerNorm",
    )


def _gpt2(stem: str, n: str) -> Place:
    return Place(stem, int(n), (f"{stem}attn.c_attn",), f"{stem}ln_1", upright=True)


_PATTERNS: dict[str, tuple[str, Callable[..., Place]]] = {
    HF_BERT: (
        r"(?P<stem>(?P<root>(?:.*\.)?)encoder\.layer\.(?P<n>[0-9]+)\.)attention\.self\.query\.weight",
        _hf_bert,
    ),
    GPT2: (r"(?P<stem>(?:.*\.)?h\.(?P<n>[0-9]+)\.)attn\.c_attn\.weight", _gpt2),
}


def is_position_table(name: str) -> bool:
    """Whether a tensor holds a vector for every position."""
    return bool(re.fullmatch(r"(.*\.)?(position_embeddings|wpe)\.weight", name))


_REASONS: tuple[tuple[str, str], ...] = (
    (
        r"pos_embed|position_embeddings|wpe",
        "trained positions: a cover of the table would need a term linear in the tokens",
    ),
    (
        r"attn\.proj|attn\.c_proj|attention\.output\.dense|W_C$",
        "output projection: the bound stops before it",
    ),
    (r"\bls\d|gamma_\d", "layer scale: after the output projection"),
    (r"norm_pre", "a norm before the first block: the bound starts at the tokens"),
    (r"^attn_pool", "the pool: after the last block"),
    (
        r"(?i)norm|\bln_",
        "LayerNorm after attention: its Lipschitz constant is up to max|gain|/sqrt(eps),"
        " so blocks are not chained",
    ),
    (r"mlp|intermediate|output\.dense|\bfc\d", "MLP: not part of the attention bound"),
    (r"head|classifier|pooler", "read-out: after a LayerNorm and an MLP"),
    (
        r"embed|patch|cls_token|dist_token|reg_token|wte",
        "input embedding: the bound starts at the tokens",
    ),
)


def why_skipped(name: str) -> str:
    """Why a tensor is not part of the bound, by its name."""
    for pattern, reason in _REASONS:
        if re.search(pattern, name):
            return reason
    return "not part of attention"
