r"""What one image costs a ViT, by formula: every matrix product, and the rest by the number.

A block of $n$ tokens, width $d$ and $m$ neurons has the products

$$2 n (4 d^2 + 2 d m) + 4 n^2 d$$

and beside them layer norms, softmax, GELU, biases and sums. Those are counted as XLA counts them
after it has compiled them, so that the sum can be held against its own count.
"""

from dataclasses import dataclass

from limelight.core.errors import InputError
from limelight.models.layers import Affine
from limelight.models.vit import ViT

#: FLOPs a number. GELU is the exact one: both branches of its error function are evaluated.
#: Exponentials, roots and logarithms are none of them: XLA counts those apart.
NORM, SOFTMAX, GELU = 6, 4, 64


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
    those count, unless what is kept is given by scores (`scored`). The sort behind every choice, of
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
    (tokens, width), limits, first = model.positions.shape, dict(model.keep), model.first
    cost = affine_flops(model.embed, tokens - first) + Flops(0, tokens * width)
    for number, block in enumerate(model.blocks):
        cost += _block_flops(block, tokens)
        left = min(limits.get(number, tokens) + first, tokens)
        if left < tokens and not scored and model.pool != "class":
            cost += Flops(2 * tokens**2, 4 * block.attention.heads * tokens**2)
        tokens = left
    pooled = 0 if model.pool == "class" else tokens * width
    return cost + Flops(0, NORM * tokens * width + pooled) + affine_flops(model.head, 1)


def affine_flops(one: Affine, rows: int) -> Flops:
    """FLOPs of an affine map on so many rows."""
    inputs, outputs = one.weight.shape
    return Flops(2 * rows * inputs * outputs, 0 if one.bias is None else rows * outputs)


def _block_flops(block, tokens: int) -> Flops:
    att, width = block.attention, block.attention.query.weight.shape[0]
    hidden, scores = block.into.weight.shape[1], att.heads * tokens**2
    cost = Flops(4 * tokens**2 * width, (SOFTMAX + 1) * scores)  # the 1 scales the logits
    for one in (att.query, att.key, att.value, att.output, block.into, block.out):
        cost += affine_flops(one, tokens)
    norms_and_sums = 2 * (NORM + 1) * tokens * width
    return cost + Flops(0, norms_and_sums + GELU * tokens * hidden)
