"""Papers from outside this package: a file, a folder, or an installed package.

An installed package names its papers as entry points of the group `limelight.papers`:

    [project.entry-points."limelight.papers"]
    smith2026 = "smith2026:paper"

A file or a folder (a Python package) holds a `paper`. Nothing is imported before it is asked for,
and a paper that cannot be loaded is one line of error that harms no other.
"""

import importlib
import importlib.util
import os
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from limelight._core.errors import InputError
from limelight.papers.contents import RAISED, Paper, aside, cannot_load

GROUP = "limelight.papers"


@cache
def installed() -> dict[str, tuple[EntryPoint, ...]]:
    """The papers that installed packages bring, by key; none of them is loaded."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=GROUP):
        if point not in found.get(point.name, ()):
            found[point.name] = (*found.get(point.name, ()), point)
    return found


def origin(point: EntryPoint) -> str:
    """Where an entry point comes from, in words."""
    return f"the package {point.dist.name} {point.dist.version}" if point.dist else point.value


def from_package(key: str) -> Paper:
    """A paper of an installed package."""
    (point,) = installed()[key]
    try:
        with aside():
            found = point.load()
    except RAISED as error:  # whatever a stranger's module raises
        raise cannot_load(f"{key} of {origin(point)}", error) from error
    return _checked(getattr(found, "paper", found), origin(point), key)


def is_path(word: str) -> bool:
    """Whether a word names a file or a folder rather than a key."""
    return word.endswith(".py") or os.sep in word


def holds_paper(word: str) -> bool:
    """Whether a path is that of a paper, not of a run."""
    return is_path(word) and (
        word.endswith(".py") or (_package(Path(word)) / "__init__.py").exists()
    )


def _package(path: Path) -> Path:
    """The package of a folder: the folder, or the one of its name inside, as in a project."""
    path = path.resolve()
    inside = path / path.name
    project = not (path / "__init__.py").exists() and (inside / "__init__.py").exists()
    return inside if project else path


@cache
def from_path(word: str) -> Paper:
    """A paper of a file, of a folder with an `__init__.py`, or of a project that holds one."""
    path = _package(Path(word))
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"there is no paper {word}", "a .py file, or a folder with __init__.py")
    try:
        module = _module(path, file)
    except InputError:
        raise
    except RAISED as error:  # whatever a stranger's file raises
        raise cannot_load(word, error) from error
    if not hasattr(module, "paper"):
        raise InputError(f"{word} holds no paper", "it needs: paper = Paper(key=..., ...)")
    return _checked(module.paper, str(path))


def _module(path: Path, file: Path) -> ModuleType:
    """The module of a file, called as `import` would call it from its own folder."""
    name = path.stem
    there = sys.modules.get(name)
    if there is not None and Path(getattr(there, "__file__", None) or "").resolve() != file:
        raise InputError(f"{path} is called as a module that is in use, {name}", "rename it")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # so that it finds what stands beside it
    folders = [str(path)] if path.is_dir() else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with aside():
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _checked(paper: Any, where: str, key: str | None = None) -> Paper:
    if not isinstance(paper, Paper):
        raise InputError(f"{where} does not give a Paper", "paper = Paper(key=..., ...)")
    if key is not None and paper.key != key:
        raise InputError(f"{where} calls its paper {paper.key!r}, its entry point {key!r}")
    return paper
