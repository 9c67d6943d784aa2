"""limelight: the executable theory of attention.

`table = Study(world, model, train, measures).sweep(axes)`: a truth is drawn, examples are sampled,
a model is trained, a number is read; many at once, resumable, with an interval on every point.

Names are loaded when they are first used, so that importing this package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limelight import fit, measures, models, papers, plot, theory, worlds
    from limelight.certificate import certify
    from limelight.experiments import Experiment, Study
    from limelight.models.construct import construct
    from limelight.table import Table
    from limelight.train.minibatch import Train

_SHELVES = (
    "engine",
    "experiments",
    "fit",
    "measures",
    "models",
    "papers",
    "plot",
    "theory",
    "worlds",
)
_NAMES = {
    "Experiment": "limelight.experiments",
    "Study": "limelight.experiments",
    "Table": "limelight.table",
    "Train": "limelight.train.minibatch",
    "certify": "limelight.certificate",
    "construct": "limelight.models.construct",
}

__all__ = [
    "Experiment",
    "Study",
    "Table",
    "Train",
    "certify",
    "construct",
    "fit",
    "measures",
    "models",
    "papers",
    "plot",
    "theory",
    "worlds",
]


def __getattr__(name: str) -> Any:
    """Shelves and the main names, loaded on first use."""
    if name in _SHELVES:
        return importlib.import_module(f"limelight.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'limelight' has no attribute {name!r}")
