"""Theory: statements as functions that show every condition with both sides.

`base` Condition and Bound; `covering` counting functions; `softmax` Lipschitz facts of attention;
`enclosure` arithmetic that contains its own rounding; then one module per paper key, loaded when it
is asked for.
"""

import importlib
from typing import Any

from limelight.theory.base import Bound, Condition

__all__ = ["Bound", "Condition"]

_PAPERS = ("edelman2022", "jelassi2022", "li2023", "xu2022")


def __getattr__(name: str) -> Any:
    """`theory.edelman2022` and its like, loaded on first use."""
    if name in _PAPERS:
        return importlib.import_module(f"limelight.theory.{name}")
    raise AttributeError(f"module 'limelight.theory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
