r"""The head bounds on a real network's weights, block by block and head by head.

A pre-norm or post-norm block reads $z = \mathrm{LayerNorm}(x)$; biases are taken in by the
augmented token $\tilde z = (z, 1)$, whose length is bounded by the LayerNorm's gain and shift, or
measured on data. Each block's bound is about the heads' outputs side by side, before the output
projection: what lies behind (LayerNorm, MLP) is not covered, so blocks are not chained.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight.core.arrays import Real, Reals
from limelight.core.errors import InputError
from limelight.models.checkpoint import Block, Checkpoint
from limelight.theory.base import Bound, Condition, plain
from limelight.theory.covering import LinearMap
from limelight.theory.edelman2022.gap import GapBound, generalisation_gap
from limelight.theory.edelman2022.head import (
    HeadNorms,
    head_explicit,
    head_order,
    head_parameters,
    heads_explicit,
    heads_order,
    heads_parameters,
)

#: Tokens at which the growth of a bound is reported, as multiples of the file's own number.
GROWTH = (1, 4, 16, 64, 256)


@dataclass(frozen=True)
class Settings:
    """What a bound on a network takes as given."""

    tokens: int
    examples: Real
    resolution: Real
    softmax_constant: Real
    delta: Real


@dataclass(frozen=True)
class HeadReport:
    """One head: the norms, and the three counts at the resolution."""

    head: int
    norms: HeadNorms
    order: Real
    explicit: Real
    parameters: Real


@dataclass(frozen=True)
class BlockReport:
    """One block: its heads, their sum, and what it says of the gap of a unit read-out."""

    name: str
    heads: tuple[HeadReport, ...]
    token_norm_from: str
    order: Real
    explicit: Real
    parameters: Real
    gap: GapBound
    examples_needed: Real
    growth: Mapping[int, float]


@dataclass(frozen=True)
class NetworkReport:
    """Everything the bounds say of a file's attention blocks, and what they leave out."""

    checkpoint: Checkpoint
    settings: Settings
    blocks: tuple[BlockReport, ...]

    @property
    def vacuous(self) -> bool:
        """Whether no block's bound says anything about generalisation."""
        return all(block.gap.vacuous for block in self.blocks)

    @property
    def bound(self) -> Bound:
        """The largest block's log covering number, with the conditions it rests on."""
        top = max(self.blocks, key=lambda block: block.explicit)
        least = min(self.blocks, key=lambda block: block.gap.uncut)
        conditions = (
            Condition(
                "not vacuous: smallest gap of a block", least.gap.uncut, "<", 1.0, least.name
            ),
        )
        head = "VACUOUS: no block's gap is below 1. " if self.vacuous else ""
        return Bound(
            name="log covering number of an attention block",
            value=top.explicit,
            kind="certificate",
            conditions=conditions,
            quantities={
                "order": top.order,
                "parameters": top.parameters,
                "examples needed": top.examples_needed,
                **{k: float(v) for k, v in asdict(self.settings).items()},
            },
            notes=(f"{head}Largest at {top.name} of {self.checkpoint.source}.",)
            + tuple(self.checkpoint.notes),
            reference="edelman2022, Corollaries 4.4 and A.12",
        )

    def against_tokens(self, tokens: Sequence[int]) -> list[dict[str, np.ndarray]]:
        """Every block's bounds at other numbers of tokens and the same norms.

        Returns:
            For each block, by name of the line: the heads one by one, all heads, and the count of
            parameters, at each number of tokens.
        """
        s = self.settings
        out = []
        for block in self.blocks:
            heads = [head.norms for head in block.heads]
            lines: dict[str, list[float]] = {f"head {h}": [] for h in range(len(heads))}
            lines |= {"all heads": []}
            for T in tokens:
                given = {
                    "examples": s.examples,
                    "tokens": T,
                    "softmax_constant": s.softmax_constant,
                }
                for h, head in enumerate(heads):
                    lines[f"head {h}"].append(float(head_explicit(head, s.resolution, **given)))
                lines["all heads"].append(float(heads_explicit(heads, s.resolution, **given)))
            lines["parameters"] = [block.parameters] * len(tokens)
            out.append({name: np.array(values) for name, values in lines.items()})
        return out

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "paper": "edelman2022",
            "file": self.checkpoint.source,
            "layout": self.checkpoint.layout,
            "vacuous": self.vacuous,
            "settings": {k: plain(float(v)) for k, v in asdict(self.settings).items()},
            "blocks": [_block_json(block) for block in self.blocks],
            "skipped": {reason: list(names) for reason, names in self.checkpoint.skipped.items()},
            "notes": list(self.checkpoint.notes),
        }

    def __str__(self) -> str:
        return str(self.bound)


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
) -> NetworkReport:
    r"""The capacity of every attention block of a network, from its weights.

    Notation: `tokens` is $T$, `examples` $m$, `resolution` $\epsilon$, `delta` $\delta$.
    Departures: the paper has no biases, no $1/\sqrt k$ and no LayerNorm. Query and value biases
        become an extra row of the augmented maps, the key bias cancels in the softmax, the scale
        goes into $W_{QK}$, and the LayerNorm only bounds the token length.

    Args:
        weights: A safetensors file, or a checkpoint already read.
        tokens: Attended tokens; the number of positions in the file when not given.
        examples: Size of the training set (a checkpoint does not say).
        resolution: At which functions are told apart.
        softmax_constant: 1 (valid, tighter) or 2 (the paper's).
        delta: Probability that the gap's bound fails.
        token_norms: Measured length of the longest augmented token, one a block; the LayerNorm's
            own bound when not given.
        heads: Heads a block, where the file cannot say.

    Returns:
        Norms, bounds and vacuity, block by block and head by head.

    Reference: edelman2022, Corollaries 4.4 and A.12.
    """
    loaded = weights if isinstance(weights, Checkpoint) else Checkpoint.load(weights, heads)
    tokens = tokens or loaded.tokens
    if tokens is None:
        raise InputError(f"{loaded.source} does not say how many tokens", "give it with --tokens")
    if not (tokens >= 1 and examples >= 1 and resolution > 0 and 0 < delta < 1):
        raise InputError(
            f"tokens = {tokens}, examples = {examples}, resolution = {resolution}, delta = {delta}",
            "at least 1, at least 1, positive, and between 0 and 1",
        )
    if softmax_constant not in (1, 2):
        raise InputError(f"softmax constant {softmax_constant:g}", "1, or the paper's 2")
    if token_norms is not None and len(token_norms) != len(loaded.blocks):
        raise InputError(
            f"{len(token_norms)} token norms for {len(loaded.blocks)} blocks", "one a block"
        )
    settings = Settings(tokens, examples, resolution, softmax_constant, delta)
    measured = token_norms or [None] * len(loaded.blocks)
    reports = tuple(
        _report(block, norm, settings) for block, norm in zip(loaded.blocks, measured, strict=True)
    )
    return NetworkReport(loaded, settings, reports)


def token_norm(block: Block) -> tuple[float, str]:
    r"""A bound on the length of the augmented token, and where it comes from.

    $\sqrt{(\sqrt d \max|g| + \|\beta\|)^2 + 1}$ behind a LayerNorm of gain $g$ and shift $\beta$.
    """
    if block.token_norm is not None:
        return block.token_norm, "the tokens in the file"
    assert block.gain is not None
    assert block.shift is not None
    length = math.sqrt(len(block.gain)) * np.abs(block.gain).max() + np.linalg.norm(block.shift)
    return float(math.hypot(length, 1.0)), "the LayerNorm's gain and shift"


def read_heads(block: Block, measured: Real | None = None) -> tuple[HeadNorms, ...]:
    """The norms of every head of a block, biases taken in.

    Args:
        block: Its weights.
        measured: Length of the longest augmented token, when it was measured.
    """
    reach, _ = token_norm(block)
    reach = reach if measured is None else measured
    width = block.query.shape[1] // block.heads
    scale = 1 / math.sqrt(width) if block.scaled else 1.0
    Q, K, V = _augmented(block)
    out = []
    for h in range(block.heads):
        part = slice(h * width, (h + 1) * width)
        keys_side, query_side = product_maps(scale * Q[:, part], K[:, part])
        span = V.shape[1] // block.heads
        value = LinearMap.of_columns(V[:, h * span : (h + 1) * span])
        out.append(HeadNorms(keys_side, value, reach, block.query_norm, query_side=query_side))
    return tuple(out)


def product_maps(query: np.ndarray, key: np.ndarray) -> tuple[LinearMap, LinearMap]:
    r"""The maps $W_{QK}$ and $W_{QK}^\top$ of $W_{QK} = W_Q W_K^\top$, without forming the product.

    Rows of the product have lengths $\|q_i R_K^\top\|$ with $W_K = Q_K R_K$, and its singular
    values are those of the small matrix $R_Q R_K^\top$.
    """
    r_query, r_key = np.linalg.qr(query).R, np.linalg.qr(key).R
    small = r_query @ r_key.T
    spectral = float(np.linalg.norm(small, 2)) if small.size else 0.0
    square = float(np.linalg.norm(small))
    sides = []
    for rows, factor in ((query, r_key), (key, r_query)):
        lengths = np.linalg.norm(rows @ factor.T, axis=1)
        sides.append(
            LinearMap(
                outputs=len(rows),
                largest=float(lengths.max()),
                total=float(lengths.sum()),
                spectral=spectral,
                frobenius=square,
                inputs=len(rows),
            )
        )
    return sides[0], sides[1]


def _augmented(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if block.gain is None:
        return block.query, block.key, block.value

    def widened(weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        row = np.zeros(weight.shape[1]) if bias is None else bias
        return np.vstack([weight, row])

    return (
        widened(block.query, block.query_bias),
        widened(block.key, None),
        widened(block.value, block.value_bias),
    )


def _report(block: Block, measured: Real | None, settings: Settings) -> BlockReport:
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


def _block_json(block: BlockReport) -> dict[str, Any]:
    return {
        "name": block.name,
        "order": plain(block.order),
        "explicit": plain(block.explicit),
        "parameters": plain(block.parameters),
        "gap": plain(block.gap.value),
        "gap_before_cut": plain(block.gap.uncut),
        "complexity": plain(block.gap.complexity),
        "vacuous": block.gap.vacuous,
        "examples_needed": plain(block.examples_needed),
        "growth": {str(tokens): plain(value) for tokens, value in block.growth.items()},
        "token_norm": plain(block.heads[0].norms.token_norm),
        "token_norm_from": block.token_norm_from,
        "heads": [_head_json(head) for head in block.heads],
    }


def _head_json(head: HeadReport) -> dict[str, Any]:
    norms = head.norms
    qk, side, value = norms.query_key, norms.query_side, norms.value
    return {
        "head": head.head,
        "order": plain(head.order),
        "explicit": plain(head.explicit),
        "parameters": plain(head.parameters),
        "norms": {
            "token": norms.token_norm,
            "query_token": norms.asking,
            "query_key": asdict(qk),
            "query_side": None if side is None else asdict(side),
            "value": asdict(value),
        },
    }
