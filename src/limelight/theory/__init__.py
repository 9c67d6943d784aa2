"""Theory: statements as functions that show every condition with both sides.

`base` Condition and Bound; `covering` counting functions; `softmax` Lipschitz facts of attention;
`enclosure` arithmetic that contains its own rounding; `ode` flows followed step by step; then one
module per paper key, loaded when it is asked for.
"""

from limelight._core.lazy import on_first_use
from limelight.theory.base import Bound, Condition

__all__ = ["Bound", "Condition"]

#: Modules and papers that are loaded when they are first asked for.
_MODULES = (
    "covering",
    "edelman2022",
    "geshkovski2023",
    "jelassi2022",
    "li2023",
    "ode",
    "softmax",
    "tarzanagh2023",
    "xu2022",
    "zhang2024",
)

__getattr__ = on_first_use(__name__)


def __dir__() -> list[str]:
    return sorted((*__all__, *_MODULES))
