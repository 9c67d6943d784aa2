"""Packages whose names are loaded when they are first used."""

import ast
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any


def on_first_use(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that imports late what stands under its `if TYPE_CHECKING:`.

    No name may be that of a module of the package: an import would put the module in its place.

    Example:
        >>> on_first_use("limelight.train")("Descent").__module__
        'limelight.train.descent'
    """

    def load(name: str) -> Any:
        where = _declared(package)
        if name in where:
            found = getattr(importlib.import_module(where[name]), name)
            setattr(sys.modules[package], name, found)
            return found
        if not name.startswith("_") and importlib.util.find_spec(f"{package}.{name}"):
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load


@functools.cache
def _declared(package: str) -> dict[str, str]:
    """The names that a package imports for type checkers, with their modules."""
    spec = importlib.util.find_spec(package)
    source: str = spec.loader.get_source(package)  # pyright: ignore
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {name.name: str(node.module) for node in imports for name in node.names}
