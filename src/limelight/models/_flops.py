r"""What one image costs a ViT, by formula: every matrix product, and the rest by the number.

A block of $n$ tokens, width $d$ and $m$ neurons has the products

$$2 n (4 d^2 + 2 d m) + 4 n^2 d$$

and beside them layer norms, softmax, GELU, biases and sums. Those are counted as XLA counts them
after it has compiled them, so that the sum can be held against its own count.
"""

from dataclasses import dataclass

from limelight._core.errors import InputError
from limelight.models.layers import Affine, AttentionPool, Block, Norm
from limelight.models.vit import ViT

#: FLOPs a number, and of activations. Of the exact GELU both branches of its error function are
#: evaluated.
#: Exponentials, roots and logarithms are none of them: XLA counts those apart.
NORM, SOFTMAX = 6, 4
ACTIVE = {"gelu": 64, "gelu_tanh": 9, "quick_gelu": 3, "silu": 2, "relu": 0}


@dataclass(frozen=True)
class Flops:
    """Floating-point operations for one image: in matrix `products`, and in all the `rest`."""

    products: int
    rest: int

    @property
    def total(self) -> int:
        """Both."""
        return self.products + self.rest

    def __add__(self, other: "Flops") -> "Flops":
        return Flops(self.products + other.products, self.rest + other.rest)


def vit_flops(model: ViT, scored: bool = False) -> Flops:
    """FLOPs for one image, token keeping included.

    Without a class token, tokens are chosen by the attention that all queries give: the sums over
    those count, unless what is kept is given by scores (`scored`). The sort for every choice, of
    a few hundred numbers, does not.

    Example:
        >>> from limelight.models import Vision
        >>> from limelight.worlds import Patterns
        >>> import jax.random as jr
        >>> world = Patterns(tokens=16, dimension=10)
        >>> vit_flops(Vision(width=8, heads=2, hidden=16).init(jr.key(0), world, None)).products
        27152
    """
    if model.place_norm is not None:
        raise InputError(
            "attention of this ViT is positional, and shared by all images of a batch",
            "costs are counted for attention that reads tokens",
        )
    tokens, limits, first = model.tokens, dict(model.keep), model.first
    width = model.embed.weight.shape[1]
    cost = affine_flops(model.embed, tokens - first)
    cost += Flops(0, 0 if model.positions is None else tokens * width)
    cost += _norm_flops(model.norm_pre, tokens)
    for number, block in enumerate(model.blocks):
        cost += _block_flops(block, tokens)
        left = min(limits.get(number, tokens) + first, tokens)
        if left < tokens and not scored and not model.asks_with_class:
            cost += Flops(2 * tokens**2, 4 * block.attention.heads * tokens**2)
        tokens = left
    cost += _norm_flops(model.norm, tokens) + _norm_flops(model.norm_pooled, 1)
    if model.pooler is not None:
        cost += _pool_flops(model.pooler, tokens - first)
    elif model.pool not in ("class", "pair"):
        cost += Flops(0, (tokens - first) * width)
    return cost if model.head is None else cost + affine_flops(model.head, 1)


def _norm_flops(norm: Norm | None, rows: int) -> Flops:
    return Flops(0, 0 if norm is None else NORM * rows * len(norm.gain))


def _pool_flops(pool: AttentionPool, rows: int) -> Flops:
    width = len(pool.query)
    cost = Flops(4 * rows * width, (SOFTMAX + 1) * pool.heads * rows)
    cost += affine_flops(pool.key, rows) + affine_flops(pool.value, rows)
    for one in (pool.output, pool.into, pool.out):
        cost += affine_flops(one, 1)
    return cost + _norm_flops(pool.norm, 1) + Flops(0, width)


def affine_flops(one: Affine, rows: int) -> Flops:
    """FLOPs of an affine map on so many rows."""
    inputs, outputs = one.weight.shape
    return Flops(2 * rows * inputs * outputs, 0 if one.bias is None else rows * outputs)


def _block_flops(block: Block, tokens: int) -> Flops:
    att, width = block.attention, block.out.weight.shape[1]
    inner, hidden = att.query.weight.shape[1], block.into.weight.shape[1]
    scores = att.heads * tokens**2
    cost = Flops(4 * tokens**2 * inner, (SOFTMAX + 1) * scores)  # the 1 scales the logits
    cost += Flops(0, scores if att.bias is not None else 0)
    maps = [att.query, att.key, att.value, att.output, block.into, block.out]
    for one in maps if block.gate is None else [*maps, block.gate]:
        cost += affine_flops(one, tokens)
    for norm in (att.query_norm, att.key_norm):
        cost += _norm_flops(norm, tokens * att.heads)
    turned = 0 if att.rotary is None else 2 * 4 * tokens * inner  # two products, a sum, a sign
    gated = 0 if block.gate is None else tokens * hidden
    norms_and_sums = 2 * (NORM + 1) * tokens * width
    active = ACTIVE[block.activation] * tokens * hidden
    cost += _norm_flops(block.norm_hidden, tokens)
    return cost + Flops(0, norms_and_sums + active + turned + gated)
