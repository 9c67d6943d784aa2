"""What the bounds say of a network's blocks and heads, kept for tables, JSON and plots."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from limelight._core.arrays import Real
from limelight._core.notebook import Maths, grid
from limelight.models.checkpoint import Checkpoint
from limelight.theory.base import Bound, Condition, plain
from limelight.theory.edelman2022.gap import GapBound
from limelight.theory.edelman2022.head import HeadNorms, heads_explicit


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

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        norms, side = self.norms, self.norms.query_side
        return {
            "head": self.head,
            "order": plain(self.order),
            "explicit": plain(self.explicit),
            "parameters": plain(self.parameters),
            "norms": {
                "token": norms.token_norm,
                "query_token": norms.asking,
                "query_key": asdict(norms.query_key),
                "query_side": None if side is None else asdict(side),
                "value": asdict(norms.value),
            },
        }


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

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "name": self.name,
            "order": plain(self.order),
            "explicit": plain(self.explicit),
            "parameters": plain(self.parameters),
            "gap": plain(self.gap.value),
            "gap_before_cut": plain(self.gap.uncut),
            "complexity": plain(self.gap.complexity),
            "vacuous": self.gap.vacuous,
            "examples_needed": plain(self.examples_needed),
            "growth": {str(tokens): plain(value) for tokens, value in self.growth.items()},
            "token_norm": plain(self.heads[0].norms.token_norm),
            "token_norm_from": self.token_norm_from,
            "heads": [head.as_json() for head in self.heads],
        }


@dataclass(frozen=True)
class NetworkReport:
    """Everything the bounds say of a file's attention blocks, and what they leave out.

    Example:
        >>> import limelight as ll, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> ll.construct("and", length=8, sparsity=2).save(f"{folder}/and.safetensors")
        >>> len(ll.theory.edelman2022.capacity(f"{folder}/and.safetensors").blocks)
        1
    """

    checkpoint: Checkpoint
    settings: Settings
    blocks: tuple[BlockReport, ...]
    #: The architecture that was named for it, where one was.
    like: str | None = None

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
            notes=(f"{head}Largest at {top.name}.", *self.checkpoint.notes),
            reference="edelman2022, Corollaries 4.4 and A.12",
        )

    def against_tokens(self, tokens: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Every block's bounds at other numbers of tokens and the same norms.

        Returns:
            For each block its heads one by one (heads by tokens), and all together.
        """
        m, e, c = self.settings.examples, self.settings.resolution, self.settings.softmax_constant

        def bounds(heads: list[HeadNorms]) -> np.ndarray:
            at = lambda T: heads_explicit(heads, e, examples=m, tokens=T, softmax_constant=c)
            return np.array([float(at(T)) for T in tokens])

        blocks = [[head.norms for head in block.heads] for block in self.blocks]
        return [(np.array([bounds([one]) for one in heads]), bounds(heads)) for heads in blocks]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "paper": "edelman2022",
            "file": self.checkpoint.source,
            "layout": self.checkpoint.layout,
            **({} if self.like is None else {"like": self.like}),
            "vacuous": self.vacuous,
            "settings": {k: plain(float(v)) for k, v in asdict(self.settings).items()},
            "blocks": [block.as_json() for block in self.blocks],
            "skipped": {reason: list(names) for reason, names in self.checkpoint.skipped.items()},
            "notes": list(self.checkpoint.notes),
        }

    def _repr_html_(self) -> str:
        """For notebooks: the bound with its conditions, and a row for each block."""
        number = lambda value: Maths(f"{value:.3g}")
        rows = [
            (b.name, *map(number, (b.explicit, b.parameters, b.gap.uncut, b.examples_needed)))
            for b in self.blocks
        ]
        titles = ("block", "explicit bound", "by parameters", "gap", "examples needed")
        return self.bound._repr_html_() + grid(titles, rows)

    def __str__(self) -> str:
        return str(self.bound)
