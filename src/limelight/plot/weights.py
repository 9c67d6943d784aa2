"""A picture of what a model is made of: every array of it, under its name."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight.plot.marks import Map, Text
from limelight.plot.picture import TWO_COLUMNS, Axis, Panel, Picture

#: Arrays drawn at most, and cells along a side of one at most; larger ones are averaged.
MOST, SIDE = 12, 64


def parts(model: Any) -> Picture:
    """Every array of a model, in the order in which it holds them, dark below 0 and light above.

    Arrays of more than two axes lie one under the other. Single numbers stand in the caption.

    Args:
        model: A model as a recipe makes it, or any object made of arrays.

    Raises:
        InputError: Where there is nothing to draw.

    Example:
        >>> import limelight as ll
        >>> model = {"keys": np.eye(3), "values": np.ones((3, 2)), "scale": 0.5}
        >>> [panel.title for panel in ll.plot.parts(model).panels]
        ['keys, 3 x 3', 'values, 3 x 2']
    """
    found = list(_arrays(model, ""))
    if not found:
        raise InputError(f"{type(model).__name__} holds no numbers", "give a model, not a recipe")
    arrays = [(name, array) for name, array in found if array.size > 1]
    numbers = [f"{name} = {array.item():.3g}" for name, array in found if array.size == 1]
    left_out = [name for name, _ in arrays[MOST:]]
    note = (
        ", ".join(numbers[:MOST]),
        "larger arrays are averaged" if any(max(_flat(a).shape) > SIDE for _, a in arrays) else "",
        f"not drawn: {len(left_out)} more arrays, {left_out[0]} to {left_out[-1]}"
        if left_out
        else "",
    )
    panels = [_panel(name, array) for name, array in arrays[:MOST]]
    if not panels:
        words = Text("\n".join(numbers), "upper left")
        panels = [Panel("", [words], Axis(ticks=(), limits=(0, 1)), Axis(ticks=(), limits=(0, 1)))]
        note = ()
    columns = min(4, len(panels))
    height = 1.75 * -(-len(panels) // columns) + 0.4
    title = f"The parts of {type(model).__name__}"
    return Picture(panels, columns, TWO_COLUMNS, height, title, note=note)


def _panel(name: str, array: np.ndarray) -> Panel:
    matrix = _flat(array)
    most = float(np.nanmax(np.abs(matrix))) or 1.0
    size = " x ".join(f"{n:,}" for n in array.shape)
    return Panel(f"{name}, {size}", [Map(_smaller(matrix), low=-most, high=most, square=False)])


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
