"""Pruned tokens in PyTorch: `prune` patches a ViT of timm in place, with the logits we measure.

    import timm
    import limelight.torch

    model = timm.create_model("deit_tiny_patch16_224", pretrained=True).eval()
    limelight.torch.prune(model, keep=0.7, at=3)

Tokens are gathered, so later blocks are smaller; weights, names and the state dict stay as they
are, and `restore` takes the patch off. Nothing else of limelight imports this module or PyTorch
(`pip install limelight[torch]`).
"""

import functools
import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from limelight._core.errors import InputError, check_word
from limelight.models._schedule import (
    ATTENTION,
    NORM,
    RANDOM,
    SIMILARITY,
    Schedule,
    kept_patches,
    read_schedule,
    usual_cut,
)

#: What can be computed from the image alone.
POLICIES = (ATTENTION, SIMILARITY, NORM, RANDOM)


def prune(
    model: nn.Module,
    keep: float | None = None,
    at: int | None = None,
    policy: str = ATTENTION,
    *,
    schedule: str | Path | None = None,
) -> nn.Module:
    """Let only a share of the patches go on after one block; the model is changed in place.

    Args:
        model: A `VisionTransformer` of timm.
        keep: Share of the patches that stay.
        at: The block after which the others go, counted from 1; a quarter of the way when not
            given.
        policy: `attention`, `similarity`, `norm` or `random`; see the guide to instruments.
        schedule: A file that `limelight prune -o` wrote, instead of the three above.

    Example:
        >>> import timm
        >>> small = {"img_size": 8, "patch_size": 4, "embed_dim": 12, "depth": 4, "num_heads": 2}
        >>> model = timm.models.VisionTransformer(**small, num_classes=5).eval()
        >>> patched = prune(model, keep=0.5, at=2)
        >>> patched is model, model.limelight_schedule.keep, patched(torch.ones(1, 3, 8, 8)).shape
        (True, 0.5, torch.Size([1, 5]))

    Returns:
        The same model.

    Raises:
        InputError: For a model that this cannot be done to, or a share that is none.
    """
    if schedule is not None:
        found = read_schedule(schedule)
        keep, at, policy = found.keep, found.at, found.policy
    if keep is None:
        raise InputError("keep is missing", "the share of the patches that stays, such as 0.7")
    check_word("policy", policy, POLICIES)
    blocks = _blocks(model)
    at = usual_cut(len(blocks)) if at is None else at
    if not 1 <= at < len(blocks):
        raise InputError(f"at = {at}", f"a block from 1 to {len(blocks) - 1}, of {len(blocks)}")
    kept_patches(keep, 1)
    restore(model)
    state: dict[str, Any] = {}
    first = int(model.num_prefix_tokens)  # pyright: ignore[reportArgumentType]
    asks_class = _asks_class(model)
    for number, block in enumerate(blocks, 1):
        if number == at:
            forward = _cutting(policy, keep, first, asks_class, state)
        elif number > at and policy == SIMILARITY:
            forward = _weighing(state, number == len(blocks))
        else:
            continue
        # A method, not a function: a copy of the model then has one of its own block.
        block.forward = types.MethodType(forward, block)  # pyright: ignore[reportAttributeAccessIssue]
    note = Schedule(policy, at, keep)
    model.limelight_schedule = note  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]
    return model


def restore(model: nn.Module) -> nn.Module:
    """Take the patch off; nothing happens to a model without one.

    Example:
        >>> import timm
        >>> small = {"img_size": 8, "patch_size": 4, "embed_dim": 12, "depth": 4, "num_heads": 2}
        >>> model, image = timm.models.VisionTransformer(**small).eval(), torch.ones(1, 3, 8, 8)
        >>> whole = model(image)
        >>> bool((restore(prune(model, keep=0.5))(image) == whole).all())
        True
    """
    for block in _blocks(model):
        block.__dict__.pop("forward", None)
    model.__dict__.pop("limelight_schedule", None)
    return model


def _blocks(model: nn.Module) -> list[nn.Module]:
    """The blocks of a plain ViT of timm, or the reason why it is none."""
    kind = type(model).__name__
    blocks = list(getattr(model, "blocks", None) or [])
    if not blocks or not hasattr(model, "num_prefix_tokens") or kind != "VisionTransformer":
        raise InputError(
            f"{kind} is not a VisionTransformer of timm", "others cannot be pruned yet"
        )
    for block in blocks:
        attention = getattr(block, "attn", None)
        if type(block).__name__ != "Block" or type(attention).__name__ != "Attention":
            inside = f"{type(block).__name__} with {type(attention).__name__}"
            raise InputError(f"a block of this model is {inside}", "plain blocks can be pruned")
    return blocks


def _asks_class(model: nn.Module) -> bool:
    """Whether the head reads the class token; else patches are chosen by what patches attend to."""
    return (
        getattr(model, "global_pool", "") == "token"
        and getattr(model, "cls_token", None) is not None
    )


def _cutting(
    policy: str,
    keep: float,
    first: int,
    asks_class: bool,
    state: dict[str, Any],
) -> Callable[..., Tensor]:
    def forward(block: nn.Module, x: Tensor, *given: Any, **named: Any) -> Tensor:
        entering, x = x, _plain(block, x, *given, **named)
        patches = x.shape[1] - first
        count = kept_patches(keep, patches)
        state.clear()
        if count == patches:
            return x
        if policy == SIMILARITY:
            return _merge(x, _keys(block, entering), first, count, state)
        if policy == ATTENTION:
            rank = _received(block, entering, first, asks_class)
        elif policy == NORM:
            rank = x[:, first:].norm(dim=-1)
        else:
            rank = torch.rand(x.shape[0], patches, device=x.device)
        best = rank.argsort(dim=1, descending=True, stable=True)[:, :count].sort(dim=1).values
        chosen = torch.cat([_prefix(x, first), best + first], dim=1)
        return _rows(x, chosen)

    return forward


def _weighing(state: dict[str, Any], last: bool) -> Callable[..., Tensor]:
    """A block after the merge: attention in proportion to sizes; the last one takes it apart."""

    def forward(block: nn.Module, x: Tensor, *given: Any, **named: Any) -> Tensor:
        if not state:
            return _plain(block, x, *given, **named)
        x = _plain(block, x, attn_mask=state["sizes"].log()[:, None, None, :].to(x.dtype))
        return _rows(x, state["owner"]) if last else x

    return forward


def _plain(block: nn.Module, *given: Any, **named: Any) -> Tensor:
    """What the block computes without the patch."""
    return type(block).forward(block, *given, **named)


def _prefix(x: Tensor, first: int) -> Tensor:
    return torch.arange(first, device=x.device).expand(x.shape[0], first)


def _rows(x: Tensor, index: Tensor) -> Tensor:
    return x.gather(1, index[..., None].expand(-1, -1, x.shape[2]))


def _heads(block: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Queries and keys of every head, as the block has them before the softmax."""
    att, y = block.attn, block.norm1(x)
    batch, rows, _ = y.shape
    qkv = att.qkv(y).reshape(batch, rows, 3, att.num_heads, -1).permute(2, 0, 3, 1, 4)
    return qkv[0], qkv[1]


def _keys(block: Any, x: Tensor) -> Tensor:
    """Keys, mean over heads."""
    return _heads(block, x)[1].mean(dim=1)


def _received(block: Any, x: Tensor, first: int, asks_class: bool) -> Tensor:
    """Attention that each patch receives from the class token, or from all patches."""
    att = block.attn
    q, k = _heads(block, x)
    q, k = att.q_norm(q), att.k_norm(k)
    q = q[:, :, :1] if asks_class else q[:, :, first:]
    weights = ((q * att.scale) @ k.transpose(-2, -1)).softmax(dim=-1)
    return weights.mean(dim=1).sum(dim=1)[:, first:]


def _merge(x: Tensor, keys: Tensor, first: int, count: int, state: dict[str, Any]) -> Tensor:
    """Bipartite soft matching (Bolya et al. 2023); see `models.merge` for the words."""
    batch, n, _ = x.shape
    size = torch.ones(batch, n, device=x.device, dtype=x.dtype)
    owner = torch.arange(n, device=x.device).expand(batch, n)
    special = (torch.arange(n, device=x.device) < first).expand(batch, n)
    once = True
    while x.shape[1] - first > count:
        rows = x.shape[1]
        most = (rows - first) // 2 if once else max(rows // 2 - first, 1)
        r, once = min(rows - first - count, most), False
        unit = keys / keys.norm(dim=-1, keepdim=True)
        scores = unit[:, ::2] @ unit[:, 1::2].transpose(1, 2)
        apart = special[:, ::2, None] | special[:, None, 1::2]
        best, partner = scores.masked_fill(apart, float("-inf")).max(dim=-1)
        order = best.argsort(dim=1, descending=True, stable=True)
        going, staying = order[:, :r], order[:, r:].sort(dim=1).values
        joins, stay = partner.gather(1, going), order.shape[1] - r

        together = functools.partial(_together, going=going, staying=staying, joins=joins)
        total = together(size[..., None])
        x = together(x * size[..., None]) / total
        keys = together(keys * size[..., None]) / total
        to = torch.zeros(batch, rows, dtype=torch.long, device=x.device)
        to[:, 1::2] = stay + torch.arange(scores.shape[2], device=x.device)
        even = torch.zeros(batch, scores.shape[1], dtype=torch.long, device=x.device)
        even.scatter_(1, staying, torch.arange(stay, device=x.device).expand(batch, stay))
        even.scatter_(1, going, stay + joins)
        to[:, ::2] = even
        owner, size = to.gather(1, owner), total[..., 0]
        special = torch.cat([special[:, ::2].gather(1, staying), special[:, 1::2]], dim=1)
    state.update(sizes=size, owner=owner)
    return x


def _together(v: Tensor, going: Tensor, staying: Tensor, joins: Tensor) -> Tensor:
    """Sums of what is merged; rows that stay, then those that may have been joined."""
    places = joins[..., None].expand(-1, -1, v.shape[2])
    odd = v[:, 1::2].scatter_add(1, places, _rows(v[:, ::2], going))
    return torch.cat([_rows(v[:, ::2], staying), odd], dim=1)


def schedule_of(model: nn.Module) -> str:
    """What a patched model does, as JSON; nothing for one that is not patched."""
    found = getattr(model, "limelight_schedule", None)
    return "" if found is None else json.dumps(found.as_json())
