"""Key names of attention blocks: timm ViT and DeiT, Hugging Face ViT and BERT, and our own.

Only names are read here: where the tensors of a block lie, and why the others are left out.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TIMM, HF_VIT, HF_BERT, OWN = (
    "timm ViT or DeiT",
    "Hugging Face ViT",
    "Hugging Face BERT",
    "limelight sequence",
)

#: What each layout is recognised by, for people whose file is none of them.
LAYOUTS: dict[str, tuple[str, ...]] = {
    TIMM: (
        "blocks.N.attn.qkv.weight",
        "blocks.N.attn.qkv.bias (optional)",
        "blocks.N.norm1.weight, blocks.N.norm1.bias",
        "pos_embed (optional)",
    ),
    HF_VIT: (
        "vit.encoder.layer.N.attention.attention.{query,key,value}.weight",
        "... .bias (optional)",
        "vit.encoder.layer.N.layernorm_before.{weight,bias}",
        "vit.embeddings.position_embeddings (optional)",
    ),
    HF_BERT: (
        "encoder.layer.N.attention.self.{query,key,value}.weight",
        "... .bias (optional)",
        "encoder.layer.N.output.LayerNorm.{weight,bias} and embeddings.LayerNorm.{weight,bias}",
        "embeddings.position_embeddings.weight (optional)",
    ),
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
        refuse: A tensor that would change the scores in a way no bound covers.
    """

    stem: str
    number: int
    maps: tuple[str, ...]
    norm: str
    refuse: str = ""


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


def _timm(stem: str, n: str) -> Place:
    return Place(
        stem, int(n), (f"{stem}attn.qkv",), f"{stem}norm1", refuse=f"{stem}attn.q_norm.weight"
    )


def _hf_vit(stem: str, n: str) -> Place:
    maps = tuple(f"{stem}attention.attention.{part}" for part in ("query", "key", "value"))
    return Place(stem, int(n), maps, f"{stem}layernorm_before")


def _hf_bert(stem: str, root: str, n: str) -> Place:
    """A block behind a LayerNorm: that of the block before, or of the embeddings."""
    own = f"{stem}attention.self."
    before = f"encoder.layer.{int(n) - 1}.output" if int(n) else "embeddings"
    return Place(
        stem,
        int(n),
        tuple(own + part for part in ("query", "key", "value")),
        f"{root}{before}.LayerNorm",
        refuse=f"{own}distance_embedding.weight",
    )


_PATTERNS: dict[str, tuple[str, Callable[..., Place]]] = {
    TIMM: (r"(?P<stem>(?:.*\.)?blocks\.(?P<n>[0-9]+)\.)attn\.qkv\.weight", _timm),
    HF_VIT: (
        r"(?P<stem>(?:.*\.)?encoder\.layer\.(?P<n>[0-9]+)\.)attention\.attention\.query\.weight",
        _hf_vit,
    ),
    HF_BERT: (
        r"(?P<stem>(?P<root>(?:.*\.)?)encoder\.layer\.(?P<n>[0-9]+)\.)attention\.self\.query\.weight",
        _hf_bert,
    ),
}


def is_position_table(name: str) -> bool:
    """Whether a tensor holds a vector for every position."""
    return bool(re.fullmatch(r"(.*\.)?(pos_embed|position_embeddings(\.weight)?)", name))


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


def why_skipped(name: str) -> str:
    """Why a tensor is not part of the bound, by its name."""
    for pattern, reason in _REASONS:
        if re.search(pattern, name):
            return reason
    return "not part of attention"
