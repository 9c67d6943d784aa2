"""How much attention the tokens of each role give to those of which."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from limelight._core.errors import InputError
from limelight.plot.marks import Map
from limelight.plot.picture import ONE_COLUMN, TWO_COLUMNS, Axis, Panel, Picture


def mass_by_role(
    panels: Sequence[tuple[str, ArrayLike]], roles: Sequence[str], note: str | Sequence[str] = ()
) -> Picture:
    """Attention mass from query roles to key roles, each number written in its cell.

    Args:
        panels: `(title, mass)`, each one row per query role and one column per key role.
        roles: What the roles are called.
        note: Facts for the caption.

    Example:
        >>> import numpy as np
        >>> even = np.full((2, 2), 0.5)
        >>> len(mass_by_role([("before", even), ("after", even)], ["relevant", "idle"]).panels)
        2
    """
    if not panels:
        raise InputError("no matrix to draw")
    ticks = {i + 0.5: _two_lines(role) for i, role in enumerate(roles)}
    parts = []
    for name, mass in panels:
        matrix = np.asarray(mass, dtype=float)
        if matrix.shape != (len(roles), len(roles)):
            raise InputError(f"{matrix.shape} numbers for {len(roles)} by {len(roles)} roles")
        cells = Map(matrix, "attention mass", low=0, high=1, numbers=True, square=False)
        parts.append(
            Panel(name, [cells], Axis("query role", ticks=ticks), Axis("key role", ticks=ticks))
        )
    width = ONE_COLUMN if len(panels) == 1 else TWO_COLUMNS
    return Picture(parts, width=width, height=0.9 + 0.36 * len(roles), note=note, share="y")


def _two_lines(name: str) -> str:
    """Break a role of two words, so that neighbours do not touch."""
    for sign in (" ", "-"):
        if sign in name:
            head, tail = name.split(sign, 1)
            return f"{head}{sign.strip()}\n{tail}"
    return name
