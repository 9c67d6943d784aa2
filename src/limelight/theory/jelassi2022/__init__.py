r"""How jelassi2022's network learns which patches belong together, as exact dynamics.

`layer` the network on its symmetric manifold; `population` the law of the data as counts; `descent`
gradient descent as a recursion in three numbers; `optimum` where $\alpha$ settles while attention
is slow, `start` the same at the start, for any density and power; `idealized` one run from plain
numbers; `full` descent on every weight, the oracle of the reduction. `linear` and `blurred` the
errors of linear rules; `shift` a network without association; `statements` and `dynamics` all of
it by label.
"""

from limelight.theory.jelassi2022.descent import Rates, descend, spaced
from limelight.theory.jelassi2022.idealized import Run, idealized
from limelight.theory.jelassi2022.layer import Layer, State
from limelight.theory.jelassi2022.linear import density_needed, linear_error
from limelight.theory.jelassi2022.optimum import Optimum, best_alpha
from limelight.theory.jelassi2022.population import condensed, drawn, enumerated

__all__ = [
    "Layer",
    "Optimum",
    "Rates",
    "Run",
    "State",
    "best_alpha",
    "condensed",
    "density_needed",
    "descend",
    "drawn",
    "enumerated",
    "idealized",
    "linear_error",
    "spaced",
]
