"""How many tokens the attention of a file runs over, and what they are in our own files."""

import math

import numpy as np

from limelight.models.weights import Tensors


def vit_tokens(tensors: Tensors) -> int | None:
    """Rows that attention runs over: patches, and those before them, with a position or without."""
    shape = tensors.shape("pos_embed")
    if len(shape) < 2:
        return None
    classed = _rows(tensors, "cls_token")
    prefix = classed + _rows(tensors, "dist_token") + _rows(tensors, "reg_token")
    covers = {k for k in (0, classed, prefix) if _is_square(shape[-2] - k)}
    if len(covers) == 1:
        return shape[-2] - covers.pop() + prefix
    return shape[-2] if not prefix else None


def _rows(tensors: Tensors, name: str) -> int:
    return math.prod(tensors.shape(name)[:-1]) if name in tensors else 0


def _is_square(count: int) -> bool:
    return count > 0 and math.isqrt(count) ** 2 == count


def own_tokens(tensors: Tensors) -> np.ndarray:
    """Both values of every token of one of our own files; a bag's other value is 0."""
    d = len(tensors.need("cls", None))
    if "tokens" in tensors:
        return tensors.need("tokens", None, 2, d)
    if "V" in tensors:
        return tensors.need("V", None, d)[:, None]
    return tensors.need("P", None, d)[:, None] + tensors.need("E", 2, d)[None]
