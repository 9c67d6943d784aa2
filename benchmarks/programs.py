"""How many programs the figures of a paper compile, and which static field asks for them.

    python benchmarks/programs.py [KEY] [SCALE]

Nothing is traced or compiled: a figure has one program for each combination of its static axes.
"""

import sys
from collections import defaultdict
from typing import Any

from limelight._core.errors import InputError
from limelight._engine.grid import Grid, is_static
from limelight.papers import load


def programs(figure: Any, scale: str) -> tuple[tuple[str, ...], int]:
    """The static axes of a figure, and the programs that they make."""
    setup = figure.setup(scale)
    grid = Grid(setup.axes)
    static = [axis for axis in grid.names if is_static(setup.experiment, axis, grid.values(axis))]
    return tuple(static), len({tuple(str(cell[axis]) for axis in static) for cell in grid.cells})


def main(key: str = "li2023", scale: str = "paper") -> None:
    found: dict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
    for figure in load(key).figures:
        try:
            static, count = programs(figure, scale)
        except InputError as error:
            print(f"{figure.name}: {error.message}")
            continue
        found[static][figure.name] = count
    figures = sum(map(len, found.values()))
    total = sum(sum(of.values()) for of in found.values())
    print(f"{key}, {scale}: {total} programs for {figures} figures")
    for static, of in sorted(found.items(), key=lambda item: -sum(item[1].values())):
        listed = ", ".join(f"{name} {count}" for name, count in of.items())
        print(f"{sum(of.values()):4d}  {' and '.join(static) or 'no static axis'}: {listed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
