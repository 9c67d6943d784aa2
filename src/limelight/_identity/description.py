"""The identity of a study: everything its numbers depend on, as plain JSON, and a digest of it.

A part of ours is described by its stable kind and its fields. A part of the user's is described by
its name, its fields and its code, so that an edited class never meets the table of the old one.
"""

import dataclasses
import functools
import hashlib
import platform
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight._core.kinds import EARLIER, GAINED, kind_of
from limelight._core.manifests import digest
from limelight._identity import code, objects, origin

#: Where a description holds the digests of a user's code, and the Python that they were made by.
#: The names have a space, so that no field can be called so.
CODE, PYTHON = "its code", "its python"

__all__ = ["changed_code", "describe", "digest", "has_code", "modern", "without_code"]


def describe(value: Any) -> Any:
    """A configuration as plain JSON: what each part is, and its fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: describe(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {**_what(type(value)), **fields, **_beside(value)}
    if objects.is_users_container(value):
        return {**_what(type(value)), **_beside(value), "of": _plain(value)}
    return _plain(value)


def _plain(value: Any) -> Any:
    """The same for what is no dataclass, its own class aside."""
    if missing := getattr(value, "default_factory", None) if isinstance(value, Mapping) else None:
        return {"is": "mapping", "of": describe(dict(value)), "otherwise": describe(missing)}
    if isinstance(value, Mapping):
        if all(isinstance(k, str) for k in value):
            return {k: describe(v) for k, v in value.items()}
        return {"is": "mapping", "of": [[describe(k), describe(v)] for k, v in value.items()]}
    if isinstance(value, tuple | list):
        return [describe(item) for item in value]
    if isinstance(value, functools.partial):
        return {"is": "partial", "of": describe([value.func, value.args, value.keywords])}
    if callable(value):
        return _describe_callable(value)
    if isinstance(value, set | frozenset):
        return {"is": "set", "of": sorted((describe(item) for item in value), key=repr)}
    if isinstance(value, np.ma.MaskedArray):
        return {"is": "masked", "of": describe([value.data, np.ma.getmaskarray(value)])}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"is": "array", "shape": list(value.shape), "of": describe(value.tolist())}
    if objects.is_array(value) and value.ndim or str(getattr(value, "dtype", "")).startswith("key"):
        array = objects.plain_array(value)
        sha = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        return {"is": "array", "shape": list(array.shape), "type": str(array.dtype), "sha": sha}
    if isinstance(value, np.dtype):
        return str(value)
    if objects.is_array(value):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if not objects.attributes(value):
        raise InputError(
            f"a study cannot hold {type(value).__name__} objects: {value!r:.60}",
            "its identity must say what they are: use numbers, words, arrays or dataclasses",
        )
    return _describe_object(value)


def modern(configuration: Any) -> Any:
    """A configuration in today's words: what earlier releases wrote is translated.

    Example:
        >>> modern({"is": "limelight.worlds.boolean.SparseBoolean", "length": 8})
        {'is': 'world.sparse_boolean', 'length': 8}
    """
    if isinstance(configuration, list):
        return [modern(item) for item in configuration]
    if isinstance(configuration, str):
        return EARLIER.get(configuration, configuration)
    if not isinstance(configuration, Mapping):
        return configuration
    now = {name: modern(value) for name, value in configuration.items()}
    return {**GAINED.get(str(now.get("is")), {}), **now} if "is" in now else now


def without_code(configuration: Any) -> Any:
    """A configuration less what it says of the user's code."""
    if isinstance(configuration, list):
        return [without_code(item) for item in configuration]
    if not isinstance(configuration, Mapping):
        return configuration
    return {
        name: without_code(value)
        for name, value in configuration.items()
        if name not in (CODE, PYTHON)
    }


def changed_code(there: Any, here: Any) -> list[str]:
    """Names of the user's functions and classes that differ between two configurations."""
    old, new = dict(_codes(there)), dict(_codes(here))
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def has_code(configuration: Any) -> bool:
    """Whether a configuration says anything of the user's code."""
    return any(True for _ in _codes(configuration))


def _what(part: Any) -> dict[str, Any]:
    """A class or function: by kind where it is ours, else by name and code."""
    ours = kind_of(part)
    if ours is not None:
        put_in = _put_in(part)
        return {"is": ours} | ({CODE: put_in, PYTHON: _python()} if put_in else {})
    if origin.package(part) in origin.LIBRARIES:
        return {"is": origin.name_of(part)}
    return {"is": origin.name_of(part), CODE: code.digests(part), PYTHON: _python()}


def _put_in(part: Any) -> dict[str, str]:
    """Methods of a class of ours that were put there from outside, each with its digest."""
    found = {}
    for cls in part.__mro__ if isinstance(part, type) else ():
        for name, value in vars(cls).items() if origin.package(cls) in origin.LIBRARIES else ():
            if isinstance(value, types.FunctionType) and origin.is_foreign(value):
                found[f"{cls.__qualname__}.{name}"] = digest(code.digests(value))
    return found


def _describe_callable(value: Any) -> Any:
    """A function, or an object that is called like one."""
    if (inner := objects.inner(value)) is not None:
        if not (how := objects.transform(value)):
            return describe(inner)
        digests = code.digests_held(inner, how)
        what = {"is": origin.name_of(type(value)), "of": describe(inner)}
        return {**what, CODE: digests, PYTHON: _python()}
    if isinstance(value, types.MethodType):
        return {"is": "method", "of": describe([value.__func__, value.__self__])}
    if ours := kind_of(value):
        return ours
    if isinstance(value, type):
        return _what(value)
    if origin.package(value) in origin.LIBRARIES and hasattr(value, "__code__"):
        cells = value.__closure__ or ()  # such as the settings of an optimizer
        held = [describe(cell.cell_contents) for cell in cells]
        return {"is": origin.name_of(value), "holds": held} if held else origin.name_of(value)
    if hasattr(value, "__code__"):
        return _what(value)
    if objects.attributes(value):
        return _describe_object(value)
    name, bound = origin.name_of(value), getattr(value, "__self__", None)
    if bound is not None and not isinstance(bound, type | types.ModuleType):
        return {"is": "method", "of": describe([name, bound])}
    if hasattr(value, "__name__"):
        return name
    return {"is": name, "of": describe(objects.copied_from(value))}  # such as an itemgetter


def _beside(value: Any) -> dict[str, Any]:
    """What was put into an object of the user's beside its fields, but for what it remembers."""
    if not origin.is_foreign(type(value)):
        return {}
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    known = {field.name for field in fields}
    remembered = functools.cached_property
    return {
        name: describe(held)
        for name, held in sorted(objects.state(value).items())
        if name not in known and not isinstance(getattr(type(value), name, None), remembered)
    }


def _describe_object(value: Any) -> dict[str, Any]:
    """What an object is, and what it holds."""
    try:
        state = {name: describe(held) for name, held in sorted(objects.state(value).items())}
    except RecursionError:
        raise InputError(
            f"a study cannot hold {type(value).__name__} objects: they hold themselves",
            "its identity must say what they are: use numbers, words, arrays or dataclasses",
        ) from None
    return {**_what(type(value)), **state}


def _python() -> str:
    return ".".join(platform.python_version_tuple()[:2])


def _codes(configuration: Any) -> Iterator[tuple[str, str]]:
    if isinstance(configuration, list):
        for item in configuration:
            yield from _codes(item)
    elif isinstance(configuration, Mapping):
        if isinstance(configuration.get(CODE), Mapping):
            yield from configuration[CODE].items()
        for value in configuration.values():
            yield from _codes(value)
