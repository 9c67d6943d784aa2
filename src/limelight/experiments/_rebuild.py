"""From a stored description back to the experiment, so that any process can go on with a run.

Only what is ours can be rebuilt: a run with code of the user's is resumed by that code.
"""

import functools
import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from limelight._core.errors import InputError
from limelight._core.kinds import kind_of
from limelight._identity.description import CODE, describe, digest, modern

#: Packages whose classes and functions may stand in a description.
SHELVES = ("worlds", "models", "measures", "train", "experiments", "models.decoder._update")


def rebuild(description: Any) -> Any:
    """The experiment (or part of one) that a description was made from.

    Raises:
        InputError: When it holds what cannot be rebuilt: the user's own code, or arrays.

    Example:
        >>> from limelight.worlds import SparseBoolean
        >>> rebuild(describe(SparseBoolean(length=8, sparsity=2))).length
        8
    """
    description = modern(description)
    made = _made(description)
    if digest(describe(made)) != digest(description):
        raise InputError(
            "the stored description does not say everything",
            "run the script that made it again: a sweep resumes by itself",
        )
    return made


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_made(item) for item in value)
    if isinstance(value, str):
        return _parts().get(value, value)
    if not isinstance(value, Mapping) or "is" not in value:
        return value
    name = value["is"]
    part = _parts().get(name)
    if part is None:
        what = f"code of yours ({name})" if CODE in value else name
        raise InputError(
            f"this run holds {what}, which cannot be rebuilt from its description",
            "run the script that made it again: a sweep resumes by itself",
        )
    return part(**{field: _made(held) for field, held in value.items() if field != "is"})


@functools.cache
def _parts() -> dict[str, Any]:
    """Every class and function with a kind, by kind."""
    found = {}
    for shelf in SHELVES:
        module = importlib.import_module(f"limelight.{shelf}")
        names = getattr(module, "__all__", None) or list(vars(module))
        for item in (getattr(module, name) for name in names):
            part = item if inspect.isclass(item) or inspect.isfunction(item) else type(item)
            if (name := kind_of(part)) is not None:
                found[name] = part
    return found
