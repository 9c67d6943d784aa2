r"""Attention as a support vector machine, exactly.

`svm` the max-margin choice of tokens in the Frobenius norm; `nuclear` the same in the nuclear norm;
`compiled` both inside a compiled program; `rates` how fast the solution is approached; `drawn`
worlds that the statements speak of; `statements` all of it by label.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.theory.tarzanagh2023.nuclear import NuclearMargin, nuclear_margin
    from limelight.theory.tarzanagh2023.rates import pair_offset, path_limits
    from limelight.theory.tarzanagh2023.svm import (
        Margin,
        constraints,
        least_norm,
        locally_optimal,
        max_margin,
    )

__all__ = [
    # The problem of a choice of tokens, and its solution.
    "Margin",
    "constraints",
    "least_norm",
    "locally_optimal",
    "max_margin",
    # In the nuclear norm.
    "NuclearMargin",
    "nuclear_margin",
    # How fast it is approached.
    "pair_offset",
    "path_limits",
]

__getattr__ = on_first_use(__name__)
