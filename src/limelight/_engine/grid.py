"""The grid of a study: dotted axes, static ones outside, traced ones inside.

An axis names a field by its path (`world.relevant`). A field marked static sets a shape or a
branch and costs one compilation for each value; any other number is carried by `vmap` and costs
none. Axes that move together are written as a tuple of paths with tuples of values.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any, TypeVar

import numpy as np

from limelight._core.errors import InputError, suggest
from limelight._core.words import kinds_of, parse

Axes = Mapping[str | tuple[str, ...], Sequence[Any] | np.ndarray]
Cell = dict[str, Any]
Tree = TypeVar("Tree")

#: What a program of 32-bit numbers can hold.
LARGEST_WHOLE, LARGEST = 2**31 - 1, 3.4e38


def lookup(tree: Any, path: str) -> Any:
    """The value at a dotted path; an unknown name is an error that suggests the nearest one."""
    owner, field = _owner(tree, path)
    return getattr(owner, field.name)


def assign(tree: Tree, values: Mapping[str, Any]) -> Tree:
    """A copy with the values at the given paths.

    Example:
        >>> from limelight.worlds import Patterns
        >>> assign(Patterns(), {"relevant": 0.5}).relevant
        0.5
    """
    for path, value in values.items():
        tree = _assign(tree, path.split("."), value)
    return tree


def is_static(tree: Any, path: str, values: Sequence[Any] = ()) -> bool:
    """Whether a path costs a compilation per value: marked static, or not always a number."""
    _, field = _owner(tree, path)
    numbers = all(isinstance(value, int | float) for value in values)
    return bool(field.metadata.get("static", False)) or not numbers


def leaves(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Every traced number of a configuration, by path, and every array.

    An array becomes an argument of the program; inside it would be compiled in, at length.
    """
    found: dict[str, Any] = {}
    for field in dataclasses.fields(tree):
        value, path = getattr(tree, field.name), prefix + field.name
        if dataclasses.is_dataclass(value):
            found |= leaves(value, path + ".")
        elif field.metadata.get("static", False):
            continue
        elif isinstance(value, int | float | np.ndarray):
            found[path] = value
    return found


@dataclass(frozen=True)
class Grid:
    """Cells as the product of axes.

    Args:
        axes: Path, or tuple of paths, to values.
    """

    axes: Axes

    @property
    def names(self) -> tuple[str, ...]:
        """Every swept path, in order."""
        return tuple(name for paths in self.axes for name in _paths(paths))

    @cached_property
    def cells(self) -> list[Cell]:
        """Coordinates of every cell, the last axis fastest."""
        return [
            {name: value for point in points for name, value in point}
            for points in itertools.product(*(_points(p, v) for p, v in self.axes.items()))
        ]

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """Each path's value in every cell, of one type; `None` beside numbers becomes NaN."""
        return {name: typed([cell[name] for cell in self.cells]) for name in self.names}

    def values(self, path: str) -> list[Any]:
        """The values one path takes, in order of first appearance."""
        return list(dict.fromkeys(cell[path] for cell in self.cells))

    def check(self, tree: Any) -> None:
        """Refuse unknown paths, empty axes, values of the wrong kind, repeated cells."""
        for paths, values in self.axes.items():
            if not len(values):
                raise InputError(f"axis {paths!r} has no values", "give at least one")
            for name in _paths(paths):
                lookup(tree, name)
        if len(set(self.names)) != len(self.names):
            raise InputError("one path is swept twice", ", ".join(self.names))
        for cell in self.cells:
            for name, value in cell.items():
                if not isinstance(value, int | float | str | bool | None):
                    raise InputError(f"{name} = {value!r} is not a number or a word")
                if isinstance(value, float) and not math.isfinite(value):
                    raise InputError(f"{name} = {value!r} is not finite")
        if len({tuple(cell.items()) for cell in self.cells}) != len(self.cells):
            raise InputError("a cell occurs twice", "axis values must be distinct")


def fitting(tree: Any, axes: Axes) -> Axes:
    """The axes with numbers of their field's kind, so that 1 and 1.0 name one cell."""

    def fit(path: str, value: Any) -> Any:
        value, current = _plain(value), lookup(tree, path)
        if isinstance(value, bool) or isinstance(current, bool):
            return value
        if isinstance(value, int) and isinstance(current, float):
            return float(value)
        # A geometric grid gives 3.9999999999999996 for 4.
        whole = isinstance(value, float) and abs(value - round(value)) < 1e-9 * abs(value)
        return round(value) if whole and isinstance(current, int) else value

    return {
        paths: [fit(paths, v) for v in values]
        if isinstance(paths, str)
        else [
            tuple(map(fit, paths, v)) if len(v) == len(paths) else v  # refused by the grid's check
            for v in values
        ]
        for paths, values in axes.items()
    }


def read(tree: Any, path: str, text: str, example: Any = None) -> Any:
    """A word from the command line as a value of the kind that the field at a path declares.

    Args:
        tree: The configuration that has the field.
        path: Dotted path of the field.
        text: The word.
        example: A value of the kind that is wanted; the field's own when `None`.

    Example:
        >>> from limelight.worlds import Patterns
        >>> read(Patterns(), "relevant", "0.3"), read(Patterns(), "noise", "none")
        (0.3, None)
    """
    owner, field = _owner(tree, path)
    current, kinds = getattr(owner, field.name), kinds_of(field.type)
    if not kinds & {bool, int, float, str}:
        parts = dataclasses.fields(current) if dataclasses.is_dataclass(current) else ()
        inside = ", ".join(f"{path}.{part.name}" for part in parts)
        raise InputError(
            f"{path} is not a single value", f"its parts: {inside}" if parts else "leave it alone"
        )
    if text.strip().lower() == "none":
        if NoneType not in kinds:
            raise InputError(f"{path} cannot be none", f"it is {current} now")
        return None
    if example is None:
        example = current if current is not None else _kind_of_example(kinds)
    try:
        value = parse(text, example)
    except InputError as error:
        raise InputError(f"{path}: {error.message}", error.hint or f"it is {current} now") from None
    largest = LARGEST_WHOLE if isinstance(value, int) else LARGEST
    if isinstance(value, int | float) and abs(value) > largest:
        raise InputError(f"{path} = {text} is too large", f"at most {largest:g} in size")
    return value


def _kind_of_example(kinds: set[type]) -> Any:
    return next(value for value in (0.0, 0, False, "") if type(value) in kinds)


def _paths(paths: str | tuple[str, ...]) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else paths


def _points(paths, values) -> list[list[tuple[str, Any]]]:
    if isinstance(paths, str):
        return [[(paths, _plain(value))] for value in values]
    for value in values:
        if len(value) != len(paths):
            raise InputError(f"axis {paths!r} needs {len(paths)} values a point, got {value!r}")
    return [list(zip(paths, map(_plain, value), strict=True)) for value in values]


def typed(values: list[Any]) -> np.ndarray:
    """Values of one path as an array of one type; `None` beside numbers becomes NaN."""
    numbers = [value for value in values if value is not None]
    if len(numbers) < len(values) and all(isinstance(v, int | float) for v in numbers):
        return np.array([np.nan if v is None else v for v in values], dtype=float)
    return np.array(values)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _owner(tree: Any, path: str) -> tuple[Any, dataclasses.Field]:
    *parents, last = path.split(".")
    for depth, name in enumerate([*parents, last]):
        known = dataclasses.fields(tree) if dataclasses.is_dataclass(tree) else ()
        fields = {field.name: field for field in known}
        if name not in fields:
            prefix = "".join(part + "." for part in path.split(".")[:depth])
            hint = suggest(prefix + name, [prefix + field for field in fields])
            if not fields:
                hint = f"{prefix.strip('.')} is one value, nothing is known inside it"
            raise InputError(f"nothing is called {path!r}", hint)
        if depth == len(parents):
            return tree, fields[name]
        tree = getattr(tree, name)
    raise AssertionError("a path has a last name")


def _assign(tree: Any, names: list[str], value: Any) -> Any:
    head, *rest = names
    if rest:
        value = _assign(getattr(tree, head), rest, value)
    return dataclasses.replace(tree, **{head: value})
