"""Where a class or function comes from: the user, an installed package, or what we stand on."""

import functools
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any

#: Packages that the library itself stands on: named in a description, never followed.
LIBRARIES = frozenset(
    ("equinox", "jax", "jaxlib", "jaxtyping", "limelight", "numpy", "optax", "pyarrow", "scipy")
)


def name_of(part: Any) -> str:
    """A class or function by module and name; a script is called by its file.

    Example:
        >>> import dataclasses
        >>> name_of(dataclasses.replace)
        'dataclasses.replace'
    """
    module = getattr(part, "__module__", None) or ""
    return f"{module_name(module)}.{getattr(part, '__qualname__', type(part).__qualname__)}"


def module_name(module: str) -> str:
    """The name of a module; a script that is run directly has the one it would be imported by."""
    path = getattr(sys.modules.get(module), "__file__", None)
    return Path(path).stem if module == "__main__" and path else module


def package(part: Any) -> str:
    """The top package that a class, function or module comes from."""
    module = getattr(part, "__module__", None) or getattr(part, "__name__", "") or ""
    return module.partition(".")[0]


def is_foreign(part: Any) -> bool:
    """Whether a class or function comes neither from the library nor from what it stands on."""
    top = package(part)
    return top not in LIBRARIES and top not in sys.stdlib_module_names


@functools.cache
def installed(module: str) -> bool:
    """Whether a module is the library's, the language's, or of an installed package."""
    top = module.partition(".")[0]
    if top in LIBRARIES or top in sys.stdlib_module_names:
        return True
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None:  # a notebook, or a prompt
        return False
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")}
    return any(Path(path).is_relative_to(place) for place in places)


@functools.cache
def version(top: str) -> str:
    """The version of an installed package, by the name it is imported by."""
    try:
        return metadata.version(top)
    except metadata.PackageNotFoundError:
        some = metadata.packages_distributions().get(top, ())
        return ", ".join(f"{name} {metadata.version(name)}" for name in sorted(set(some)))
