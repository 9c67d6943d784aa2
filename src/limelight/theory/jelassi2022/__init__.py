r"""How jelassi2022's network learns which patches belong together, as exact dynamics.

`layer` the network on its symmetric manifold; `population` the law of the data as counts; `descent`
gradient descent as a recursion in three numbers, `flow` its limit of small steps; `optimum` where
$\alpha$ settles while attention is slow, `start` the same at the start, for any density and power;
`run` one run from plain numbers; `full` descent on every weight, the oracle of the reduction.
`linear` and `blurred` the errors of linear rules; `shift` a network without association;
`statements`, `dynamics` and `finite` all of it by label.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.theory.jelassi2022.descent import Rates, descend, spaced
    from limelight.theory.jelassi2022.layer import Layer, LayerState
    from limelight.theory.jelassi2022.linear import density_needed, linear_error
    from limelight.theory.jelassi2022.optimum import Optimum, best_alpha
    from limelight.theory.jelassi2022.population import condensed, drawn, enumerated
    from limelight.theory.jelassi2022.run import Run, idealized

__all__ = [
    # The network on its symmetric manifold, and the law of its data.
    "Layer",
    "LayerState",
    "condensed",
    "drawn",
    "enumerated",
    # Descent in three numbers.
    "Optimum",
    "Rates",
    "Run",
    "best_alpha",
    "descend",
    "idealized",
    "spaced",
    # Linear rules.
    "density_needed",
    "linear_error",
]

__getattr__ = on_first_use(__name__)
