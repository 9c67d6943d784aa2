"""limelight: the executable theory of attention.

`table = Study(world, model, train, measures).sweep(axes)`: a truth is drawn, examples are sampled,
a model is trained, a number is read; many at once; a run resumes, and statistics have intervals.

Names are loaded when they are first used, so that importing this package costs nothing. What is
listed here is for users; what begins with an underscore serves the library itself.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limelight import (
        certificate,
        chart,
        claims,
        experiments,
        fit,
        instruments,
        measures,
        models,
        papers,
        plot,
        theory,
        train,
        worlds,
    )
    from limelight._core.errors import InputError
    from limelight._core.keys import named
    from limelight._core.types import Example, Number, Role
    from limelight._engine.reading import open_table as open
    from limelight._workers.crew import workers
    from limelight.certificate import certify, check
    from limelight.claims import Claim, Estimate, Verdict
    from limelight.experiments import Experiment, Study
    from limelight.models.base import Model, Recipe
    from limelight.models.construct import construct
    from limelight.models.pretrained import load
    from limelight.papers.published import resume
    from limelight.table import Table
    from limelight.train import Train
    from limelight.worlds.base import World

__all__ = [
    # One sentence: Study(world, model, train, measures).sweep(axes) gives a Table.
    "Study",
    "Train",
    "Table",
    # Runs on disk.
    "open",
    "resume",
    "workers",
    # Shelves of parts, each written for one example.
    "worlds",
    "models",
    "measures",
    "train",
    "experiments",
    # What is made of tables.
    "fit",
    "claims",
    "plot",
    "chart",
    # Papers and their theorems.
    "papers",
    "theory",
    # Weights: constructed, certified, checked; real ViTs.
    "load",
    "construct",
    "certify",
    "check",
    "certificate",
    "instruments",
    # To write parts of one's own.
    "World",
    "Model",
    "Recipe",
    "Experiment",
    "Example",
    "Role",
    "Number",
    "named",
    "Claim",
    "Estimate",
    "Verdict",
    "InputError",
]

#: Where a name that is not a module comes from, and what it is called there.
_FROM = {
    "Claim": "claims",
    "Estimate": "claims",
    "Example": "_core.types",
    "Experiment": "experiments",
    "InputError": "_core.errors",
    "Model": "models.base",
    "Number": "_core.types",
    "Recipe": "models.base",
    "Role": "_core.types",
    "Study": "experiments",
    "Table": "table",
    "Train": "train",
    "Verdict": "claims",
    "World": "worlds.base",
    "certify": "certificate",
    "check": "certificate",
    "construct": "models.construct",
    "load": "models.pretrained",
    "named": "_core.keys",
    "open": "_engine.reading:open_table",
    "resume": "papers.published",
    "workers": "_workers.crew",
}


def __getattr__(name: str) -> Any:
    """A name of the list above, loaded when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'limelight' has no attribute {name!r}")
    if name not in _FROM:
        return importlib.import_module(f"limelight.{name}")
    module, _, other = _FROM[name].partition(":")
    return getattr(importlib.import_module(f"limelight.{module}"), other or name)


def __dir__() -> list[str]:
    return sorted(__all__)
