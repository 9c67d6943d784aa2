"""Packages whose names are loaded when they are first used."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package that imports its names late.

    No name may be that of a module of the package: an import would put the module in its place.

    Args:
        package: The package, `__name__` there.
        modules: For each module, the names that it gives to the package, apart by spaces.

    Example:
        >>> getattr_ = on_first_use("json", {"decoder": "JSONDecoder", "encoder": "JSONEncoder"})
        >>> getattr_("JSONDecoder").__module__
        'json.decoder'
    """
    where = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in where:
            found = getattr(importlib.import_module(f"{package}.{where[name]}"), name)
            setattr(sys.modules[package], name, found)
            return found
        if not name.startswith("_") and importlib.util.find_spec(f"{package}.{name}"):
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
