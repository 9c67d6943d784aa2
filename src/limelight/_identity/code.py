"""What a user's code does, as digests by name: a study must notice when its code changes.

Starting from a class or a function, every function, class and constant that it reaches in the
user's own modules is followed: methods, base classes, helpers, closures, defaults, global values,
also by a word in quotes (`getattr(helpers, "scaled")`). Comments, docstrings and line numbers do
not count. Installed packages are named with their version, not followed, except the one that the
class or function itself comes from. Variables of the environment count where a function asks for
them. Files that the code names are the study's inputs (`inputs`).
"""

import dataclasses
import functools
import hashlib
import inspect
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from limelight._identity.objects import (
    array_words,
    attributes,
    copied_from,
    inner,
    is_array,
    is_users_container,
    state,
    transform,
)
from limelight._identity.origin import (
    LIBRARIES,
    installed,
    is_foreign,
    module_name,
    name_of,
    package,
    version,
)

#: Attributes of a class that say nothing about what it computes.
_SILENT = {
    "__abstractclassvars__",
    "__abstractmethods__",
    "__abstractvars__",
    "__annotations__",
    "__dataclass_params__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__match_args__",
    "__module__",
    "__orig_bases__",
    "__parameters__",
    "__qualname__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
}
_MADE_BY_DATACLASS = {"__init__", "__repr__", "__eq__", "__hash__", "__replace__"}


def digests(part: Any) -> dict[str, str]:
    """Everything of the user's own that a class or function reaches, each with its digest."""
    return _Walk(part).run()


def digests_held(part: Any, held: Mapping[str, Any]) -> dict[str, str]:
    """The same for values that belong to a function, such as the rule of its derivative."""
    walk = _Walk(part)
    walk.waiting.clear()
    made = {name: _digest(walk.value(value)) for name, value in sorted(held.items())}
    return made | walk.run()


def files_named(part: Any) -> dict[str, Path]:
    """Plain files that a part or its code names, by what they are called there.

    Args:
        part: A class, a function, or an object: then also what it holds.
    """
    plain = isinstance(part, type | types.FunctionType)
    walk = _Walk(part if plain else type(part))
    for held in () if plain else attributes(part).values():
        walk.value(held)
    walk.run()
    words = sorted(filter(_may_be_path, walk.words))
    places = [("", Path()), *(("", folder) for folder in sorted(walk.folders))]
    # in `FOLDER / "numbers.npy"`, a file of a folder that the code names too
    places += [
        (word, place / word) for _, place in places for word in words if _inner(place / word)
    ]
    found = {}
    for word in words:
        for within, place in places:  # from here, beside the code, or there
            path = place / word
            # Python's own files are code, whose comments do not count.
            if path.suffix != ".py" and path.is_file():
                found.setdefault(os.path.join(within, word), path)
    return found


def _inner(path: Path) -> bool:
    """Whether there is a folder, other than where we are and those above."""
    return path.is_dir() and not Path.cwd().is_relative_to(path.resolve())


def _may_be_path(word: str) -> bool:
    return 0 < len(word) < 1000 and word.isprintable()


class _Walk:
    """One walk over the user's code, from one part."""

    def __init__(self, part: Any):
        self.home = package(part) if is_foreign(part) else ""
        self.waiting: list[Any] = [part]
        self.met: dict[int, Any] = {}  # by identity; kept, so that no identity is used again
        self.words: set[str] = set()  # in quotes, in the code or in what it reaches
        self.folders: set[Path] = set()
        self.packages: set[str] = set()

    def run(self) -> dict[str, str]:
        """Digests by name; several things of one name, such as lambdas, share an entry."""
        made: dict[str, list[str]] = {}
        while self.waiting:
            part = self.waiting.pop()
            if id(part) not in self.met:
                self.met[id(part)] = part
                of = self._class if isinstance(part, type) else self._function
                made.setdefault(name_of(part), []).append(_digest(of(part)))
        for top in self.packages:
            made[f"package {top}"] = [_digest(version(top))]
        return {
            name: some[0] if len(some) == 1 else _digest(sorted(some))
            for name, some in sorted(made.items())
        }

    def _own(self, part: Any) -> bool:
        module = part.__name__ if isinstance(part, types.ModuleType) else part.__module__
        # what `exec` made outside a module has none
        return not module or package(part) == self.home or not installed(module)

    # --- what a part is made of; whatever it reaches is put in line ----------------------------

    def _function(self, function: Any) -> Any:
        code, scope = function.__code__, function.__globals__
        words = set(_words(code))
        self.words |= words
        if scope.get("__file__"):
            self.folders.add(Path(scope["__file__"]).parent)
        names = _names(code) | set(filter(_dotted, words))
        if {"eval", "exec"} & names:
            names |= {name for word in words for name in re.findall(r"[^\W\d]\w*", word)}
        found = list(self._reached(names, scope))
        reached = [(name, self.value(value)) for name, value in found]
        if {"environ", "getenv"} & names:
            words |= {value for _, value in found if isinstance(value, str)}
            reached += [(f"${word}", os.environ.get(word)) for word in words if "\0" not in word]
        held = [self.value(_held(cell)) for cell in function.__closure__ or ()]
        rest = self.value([function.__defaults__, function.__kwdefaults__, vars(function)])
        return _body(code), sorted(reached, key=lambda item: item[0]), held, rest

    def _class(self, cls: type) -> Any:
        made = _MADE_BY_DATACLASS if dataclasses.is_dataclass(cls) else set()
        parts = []
        for name, value in sorted(vars(cls).items()):
            if name == "__dataclass_fields__":
                fields = [
                    (f.name, self.value(_default(f)), self.value(dict(f.metadata)))
                    for f in value.values()
                ]
                parts.append((name, fields))
            elif name not in _SILENT and not (name in made and _generated(value)):
                parts.append((name, self.value(value)))
        bases = [self.value(base) for base in (*cls.__bases__, type(cls))]
        return parts, bases

    def value(self, value: Any) -> Any:
        """A value in a form whose `repr` tells it from others."""
        self._note(value)
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, property):
            return [self.value(f) for f in (value.fget, value.fset)]
        if isinstance(value, functools.partial):
            return ["partial", *map(self.value, (value.func, value.args, value.keywords))]
        if isinstance(value, types.MethodType):
            return ["method", self.value(value.__func__), self.value(value.__self__)]
        if isinstance(value, types.ModuleType):
            return module_name(value.__name__)
        if (function := inner(value)) is not None:
            # Compiled or with derivatives of its own: these count, not their bookkeeping.
            how = sorted(transform(value).items())
            return [name_of(type(value)), self.value(function), *self.value(how)[1:]]
        if isinstance(value, type | types.FunctionType):
            if self._own(value):
                self.waiting.append(value)
                return name_of(value)
            return [name_of(value), *self._inside_library(value)]
        return self._data(value)

    def _note(self, value: Any) -> None:
        """The installed package that something comes from, if it is none of ours."""
        named = isinstance(value, type | types.ModuleType) or callable(value)
        top = package(value if named else type(value))
        other = top != self.home and top not in LIBRARIES and top not in sys.stdlib_module_names
        if other and top in sys.modules and installed(top):
            self.packages.add(top)

    def _inside_library(self, part: Any) -> list[Any]:
        """What a library's function closes over: the function and settings of a transform, say."""
        if isinstance(part, type) or id(part) in self.met:
            return []
        self.met[id(part)] = part
        return [self.value(_held(cell)) for cell in part.__closure__ or ()]

    def _data(self, value: Any) -> Any:
        if is_users_container(value) and self._own(type(value)):
            return [self.value(type(value)), self._plain(value), self._state(value)]
        return self._plain(value)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            items: list[Any] = [(repr(k), self.value(v)) for k, v in value.items()]
            missing = getattr(value, "default_factory", None)
            return [*items, ("otherwise", self.value(missing))] if missing else items
        if isinstance(value, set | frozenset):
            return ["set", *sorted(repr(self.value(v)) for v in value)]
        if isinstance(value, tuple | list):
            return [type(value).__name__, *map(self.value, value)]
        if is_array(value):
            objects = value.dtype == object
            return self.value(value.tolist()) if objects else array_words(value)
        if isinstance(value, str | PurePath):
            self.words.add(str(value))
            return value if isinstance(value, str) else ["path", str(value)]
        if isinstance(value, int | float | complex | bytes | None | types.EllipsisType):
            return value
        return [self.value(type(value)), getattr(value, "__name__", ""), self._state(value)]

    def _state(self, value: Any) -> Any:
        """What an object holds: its attributes and slots, else what it would be copied from."""
        if id(value) in self.met:
            return "again"
        self.met[id(value)] = value
        inside = state(value)
        if inside or self._own(type(value)):
            return [(name, self.value(held)) for name, held in sorted(inside.items())]
        try:
            return self.value(copied_from(value))
        except Exception:  # it cannot be copied: a lock, a file; its type must do
            return ""

    def _reached(self, names: set[str], scope: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        """What names in a function's code stand for: globals, and attributes of own modules."""
        modules = []
        for name in sorted(names):
            if name in scope:
                yield name, scope[name]
                modules.append(scope[name])
            for path in (name, f"{scope.get('__package__')}.{name}"):  # imported in the function
                modules += [sys.modules[path]] if path in sys.modules else []
        seen: set[int] = set()
        while modules:
            module = modules.pop()
            if not isinstance(module, types.ModuleType) or id(module) in seen:
                continue
            seen.add(id(module))
            for name in sorted(names) if self._own(module) else ():
                if hasattr(module, name):
                    yield f"{module.__name__}.{name}", getattr(module, name)
                    modules.append(getattr(module, name))


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _names(code: types.CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _words(code: types.CodeType) -> Iterator[str]:
    """What stands in quotes in a function and in those inside it; not the docstring."""
    for constant in code.co_consts[1:] if _has_docstring(code) else code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _words(constant)
        for word in constant if isinstance(constant, tuple | frozenset) else (constant,):
            if isinstance(word, str):
                yield word


def _dotted(word: str) -> bool:
    """Whether a word could name a module, or something in one."""
    return all(part.isidentifier() for part in word.split("."))


def _body(code: types.CodeType) -> Any:
    """Instructions, constants, names and parameters, without the docstring."""
    constants = code.co_consts[1:] if _has_docstring(code) else code.co_consts
    plain = [_body(c) if isinstance(c, types.CodeType) else _constant(c) for c in constants]
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    flags = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR)
    body = code.co_code, plain, code.co_names, taken, counts, flags
    # which instructions stand under a `try`: they themselves do not always say
    return (*body, code.co_exceptiontable) if code.co_exceptiontable else body


def _has_docstring(code: types.CodeType) -> bool:
    if flag := getattr(inspect, "CO_HAS_DOCSTRING", 0):  # from Python 3.14 on
        return bool(code.co_flags & flag)
    first = code.co_consts[0] if code.co_consts else None
    return isinstance(first, str) and not code.co_name.startswith("<")  # such as <listcomp>


def _constant(value: Any) -> Any:
    return ["set", *sorted(map(repr, value))] if isinstance(value, frozenset) else value


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _default(field: dataclasses.Field) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    return "none" if field.default is dataclasses.MISSING else field.default


def _generated(value: Any) -> bool:
    code = getattr(value, "__code__", None)
    return code is None or code.co_filename == "<string>" or installed(value.__module__ or "")
