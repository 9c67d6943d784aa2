"""Capacity of bounded-norm attention (edelman2022), every bound as a function.

`head` any head, one Transformer head, several, fixed positions, a scalar read-out, `positions` a
trained table of them; `depth` stacked blocks; `rademacher` the complexity where it is known;
`consistent` what any learner of an AND needs; `gap` what a covering number says of generalisation;
`block` the norms of a real block's heads, `network` the bounds on a real checkpoint, `report` what
is kept of them; `statements` the same by label, with plain numbers as settings; `lipschitz` and
`errata` lemmas and corrections tried on numbers.

Each bound comes in an **order** form (the paper's, hidden constant 1, for scaling) and an
**explicit** form (a true upper bound with all constants, for certificates).
"""

from limelight.theory.edelman2022.block import read_heads
from limelight.theory.edelman2022.depth import LayerNorms, deep_explicit, deep_order
from limelight.theory.edelman2022.gap import GapBound, generalisation_gap, rademacher
from limelight.theory.edelman2022.head import (
    HeadNorms,
    general_head,
    head_explicit,
    head_order,
    heads_explicit,
    heads_order,
    heads_parameters,
    scalar_head,
)
from limelight.theory.edelman2022.network import capacity
from limelight.theory.edelman2022.report import NetworkReport

__all__ = [
    "GapBound",
    "HeadNorms",
    "LayerNorms",
    "NetworkReport",
    "capacity",
    "deep_explicit",
    "deep_order",
    "general_head",
    "generalisation_gap",
    "head_explicit",
    "head_order",
    "heads_explicit",
    "heads_order",
    "heads_parameters",
    "rademacher",
    "read_heads",
    "scalar_head",
]
