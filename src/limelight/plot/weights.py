"""A picture of what a model is made of: every array of it, under its name."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight.plot.examples import summary
from limelight.plot.marks import Map, Text
from limelight.plot.picture import ONE_COLUMN, TWO_COLUMNS, Axis, Panel, Picture

#: Arrays drawn at most, and cells along a side of one at most; larger ones are averaged.
MOST, SIDE = 12, 64
#: Panels in a row, and numbers in the caption at most.
COLUMNS, FEW = 4, 6


def parts(model: Any) -> Picture:
    """Every array of a model, in the order in which it holds them, dark below 0 and light above.

    Arrays of more than two axes lie one under the other. Single numbers, and arrays that are one
    number everywhere, stand in the caption.

    Args:
        model: A model as a recipe makes it, or any object made of arrays.

    Raises:
        InputError: Where there is nothing to draw.

    Example:
        >>> import limelight as ll
        >>> model = {"keys": np.eye(3), "values": np.ones((3, 2)), "scale": 0.5}
        >>> [panel.title for panel in ll.plot.parts(model).panels]
        ['keys, 3 × 3']
    """
    found = list(_arrays(model, ""))
    if not found:
        raise InputError(f"{type(model).__name__} holds no numbers", "give a model, not a recipe")
    arrays = [(name, array) for name, array in found if _varies(array)]
    numbers = [f"{name} = {array.item():.3g}" for name, array in found if array.size == 1]
    even = [
        f"{name} = {array.flat[0] + 0.0:.3g}"
        for name, array in found
        if array.size > 1 and not _varies(array)
    ]
    left_out = [name for name, _ in arrays[MOST:]]
    larger = any(max(_flat(array).shape) > SIDE for _, array in arrays)
    note = (
        "each array on its own scale: dark below 0, light above" if arrays else "",
        "larger arrays are averaged" if larger else "",
        _listed(numbers + even) if arrays else "",
        f"{len(left_out)} more arrays are not drawn" if left_out else "",
    )
    panels = [_panel(name, array) for name, array in arrays[:MOST]]
    none = Axis(ticks=(), limits=(0, 1))
    if not panels:
        words = "\n".join(["no trained array", *numbers, *even][: MOST + 1])
        panels = [Panel("", [Text(words, "upper left")], none, none)]
    columns = min(COLUMNS, len(panels))
    height = 1.45 * -(-len(panels) // columns) + 0.2 if arrays else 0.2 + 0.16 * len(found)
    width = max(ONE_COLUMN, TWO_COLUMNS * columns / COLUMNS)
    title = f"What {type(model).__name__} is made of"
    return Picture(panels, columns, width, height, title, summary(model), note=note)


def _varies(array: np.ndarray) -> bool:
    """Whether there is something to see: more than one number."""
    return array.size > 1 and bool((array != array.flat[0]).any())


def _listed(words: list[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(words) - FEW
    return ", ".join(words[:FEW]) + (f" and {more} more" if more > 0 else "")


def _panel(name: str, array: np.ndarray) -> Panel:
    matrix = _flat(array)
    most = float(np.nanmax(np.abs(matrix))) or 1.0
    size = " × ".join(f"{n:,}" for n in array.shape)
    words = name.replace("weights.", "").replace(".weight", "").replace("_", " ").replace(".", " ")
    return Panel(f"{words}, {size}", [Map(_smaller(matrix), low=-most, high=most, square=False)])


def _arrays(part: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Every array of floats inside, with the way to it."""
    inside: Mapping[str, Any] = {}
    if dataclasses.is_dataclass(part):
        inside = {f.name: getattr(part, f.name, None) for f in dataclasses.fields(part)}
    elif isinstance(part, Mapping):
        inside = {str(key): value for key, value in part.items()}
    elif isinstance(part, list | tuple):
        inside = {str(i): value for i, value in enumerate(part)}
    elif hasattr(part, "dtype") and hasattr(part, "shape"):
        array = np.asarray(part)
        if array.dtype.kind == "f" and array.size:
            yield name, array
        return
    elif isinstance(part, float):
        yield name, np.asarray(part)
        return
    for key, value in inside.items():
        yield from _arrays(value, f"{name}.{key}" if name else key)


def _flat(array: np.ndarray) -> np.ndarray:
    """A matrix: a vector is one row; further axes lie one under the other."""
    return np.atleast_2d(array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array)


def _smaller(matrix: np.ndarray) -> np.ndarray:
    """At most `SIDE` cells along each side, each the mean of what it stands for."""
    for axis in (0, 1):
        many = matrix.shape[axis]
        if many > SIDE:
            starts = np.linspace(0, many, SIDE, endpoint=False).astype(int)
            counts = np.diff([*starts, many])
            shape = (-1, 1) if axis == 0 else (1, -1)
            matrix = np.add.reduceat(matrix, starts, axis=axis) / counts.reshape(shape)
    return matrix
