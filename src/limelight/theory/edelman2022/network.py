r"""The head bounds on a real network's weights, block by block and head by head.

Each block's bound is about the heads' outputs side by side, before the output
projection: what comes after it (LayerNorm, MLP) is not covered, so blocks are not chained.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from limelight._core.arrays import Real, Reals
from limelight._core.errors import InputError
from limelight.models.checkpoint import AttentionBlock, Checkpoint
from limelight.theory.edelman2022.block import read_heads, token_norm
from limelight.theory.edelman2022.gap import GapBound, generalisation_gap
from limelight.theory.edelman2022.head import (
    head_explicit,
    head_order,
    head_parameters,
    heads_explicit,
    heads_order,
    heads_parameters,
)
from limelight.theory.edelman2022.report import BlockReport, HeadReport, NetworkReport, Settings

#: Tokens at which the growth of a bound is reported, as multiples of the file's own number.
GROWTH = (1, 4, 16, 64, 256)


def capacity(
    weights: str | Path | Checkpoint,
    *,
    tokens: int | None = None,
    examples: Real = 1e6,
    resolution: Real = 1.0,
    softmax_constant: Real = 1.0,
    delta: Real = 0.05,
    token_norms: Sequence[float] | None = None,
    heads: int | None = None,
    like: str | None = None,
) -> NetworkReport:
    r"""The capacity of every attention block of a network, from its weights.

    Departures: the paper has no biases, no $1/\sqrt k$ and no LayerNorm. Query and value biases
        become an extra row of the augmented maps, the key bias cancels in the softmax, the scale
        goes into $W_{QK}$, and the LayerNorm only bounds the token length.

    Args:
        weights: A safetensors file, a folder or `hf:ID`, or a checkpoint already read.
        tokens: $T$, attended tokens; the number of positions in the file when not given.
        examples: $m$, the size of the training set (a checkpoint does not say).
        resolution: $\epsilon$, at which functions are told apart.
        softmax_constant: 1 (valid, tighter) or 2 (the paper's).
        delta: Probability that the gap's bound fails.
        token_norms: Measured length of the longest augmented token, one per block; the LayerNorm's
            own bound when not given.
        heads: Heads per block, where nothing beside the file says.
        like: The name of its architecture in timm, likewise.

    Returns:
        Norms, bounds and vacuity, block by block and head by head.

    Example:
        >>> import limelight as ll, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> ll.construct("and", length=8, sparsity=2).save(f"{folder}/and.safetensors")
        >>> ll.theory.edelman2022.capacity(f"{folder}/and.safetensors",
        ...     examples=1e6).bound.kind
        'certificate'

    Reference: edelman2022, Corollaries 4.4 and A.12.
    """
    loaded = weights if isinstance(weights, Checkpoint) else Checkpoint.load(weights, heads, like)
    tokens = loaded.tokens if tokens is None else tokens
    if tokens is None:
        raise InputError(f"{loaded.source} does not say how many tokens", "give it with tokens=...")
    sizes = tokens >= 1 and 1 <= examples < math.inf and 0 < resolution < math.inf
    if not (sizes and 0 < delta < 1):
        raise InputError(
            f"tokens = {tokens}, examples = {examples}, resolution = {resolution}, delta = {delta}",
            "at least 1, at least 1, positive, and between 0 and 1; all finite",
        )
    if softmax_constant not in (1, 2):
        raise InputError(f"softmax_constant = {softmax_constant:g}", "1, or the paper's 2")
    if token_norms is not None and len(token_norms) != len(loaded.blocks):
        raise InputError(
            f"{len(token_norms)} token norms for {len(loaded.blocks)} blocks", "one per block"
        )
    settings = Settings(tokens, examples, resolution, softmax_constant, delta)
    measured = token_norms or [None] * len(loaded.blocks)
    reports = tuple(
        _report(block, norm, settings) for block, norm in zip(loaded.blocks, measured, strict=True)
    )
    return NetworkReport(loaded, settings, reports, like)


def _report(block: AttentionBlock, measured: Real | None, settings: Settings) -> BlockReport:
    heads = read_heads(block, measured)
    c, e = settings.softmax_constant, settings.resolution
    given = {"examples": settings.examples, "tokens": settings.tokens, "softmax_constant": c}

    def gap(examples: Real, steps: int = 240) -> GapBound:
        def cover(eps: np.ndarray) -> Reals:
            sized = {**given, "examples": examples}
            by_norms = heads_explicit(heads, eps, **sized)
            return np.minimum(by_norms, heads_parameters(heads, eps, softmax_constant=c))

        return generalisation_gap(
            cover,
            bound=math.hypot(*[head.output_norm for head in heads]),
            examples=examples,
            delta=settings.delta,
            steps=steps,
        )

    explicit = float(heads_explicit(heads, e, **given))
    if not math.isfinite(explicit):
        raise InputError(
            f"{block.name}: the bound at resolution {e:g} is beyond 1e308", "a larger resolution"
        )
    return BlockReport(
        name=block.name,
        heads=tuple(
            HeadReport(
                head=h,
                norms=head,
                order=head_order(head, resolution=e, **given),
                explicit=float(head_explicit(head, e, **given)),
                parameters=float(head_parameters(head, e, softmax_constant=c)),
            )
            for h, head in enumerate(heads)
        ),
        token_norm_from="measured" if measured is not None else token_norm(block)[1],
        order=heads_order(heads, resolution=e, **given),
        explicit=explicit,
        parameters=float(heads_parameters(heads, e, softmax_constant=c)),
        gap=gap(settings.examples),
        examples_needed=_examples_needed(gap, settings.examples),
        growth={
            settings.tokens * times: float(
                heads_explicit(heads, e, **{**given, "tokens": settings.tokens * times})
            )
            / explicit
            if explicit
            else 1.0
            for times in GROWTH
        },
    )


def _examples_needed(gap, start: Real) -> float:
    """Examples that would make the bound say something, on a coarser grid and to 5 %."""
    vacuous = lambda examples: gap(examples, 80).vacuous
    if not vacuous(start):
        return start
    low, high = math.log(start), math.log(1e40)
    if vacuous(1e40):
        return math.inf
    while high - low > 0.05:
        middle = (low + high) / 2
        low, high = (middle, high) if vacuous(math.exp(middle)) else (low, middle)
    return math.exp(high)
