"""Positions: a table for another grid, rotations of a grid, a bias by relative position."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from limelight._core.errors import InputError

if TYPE_CHECKING:
    from limelight.models.layers import Rotary


@dataclass(frozen=True)
class Turns:
    r"""How a network turns queries and keys by the row and the column of their patch.

    Half of the angles go by the row, half by the column, $\theta_{tk} = p_t\, b^{-4k/d}$ of a head
    of width $d$: kind `grid` (EVA-02) counts $p$ in patches, stretched to the reference grid that
    it was trained on; kind `centres` (DINOv3) lets $p$ run from $-2\pi$ to $2\pi$ over the image.

    Args:
        kind: `grid` or `centres`.
        base: $b$.
        offset: Added to places counted in patches.
        order: `ij` if rows come first, `xy` if columns do; `centres` has rows first.
        half: Which columns make a pair; see `Rotary`.
        reference: Patches along a side of the reference grid, where there is one.
    """

    kind: str
    base: float
    offset: float = 0.0
    order: str = "ij"
    half: bool = False
    reference: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("grid", "centres") or self.order not in ("ij", "xy"):
            raise InputError(f"rotations of kind {self.kind} {self.order}", "grid or centres")

    def rotary(self, side: int, size: int, first: int) -> "Rotary":
        """The tables for a square grid, heads of this width, and so many rows before the patches.

        Args:
            side: Patches along a side.
            size: Columns of a head.
            first: The row of the first patch.
        """
        if size % 4:
            raise InputError(f"heads of {size} columns cannot be turned", "a multiple of 4")
        quarter = size // 4
        places = np.arange(side, dtype=np.float64) + self.offset
        if self.kind == "grid":
            places = places / side * self.reference if self.reference else places
            rates = self.base ** -(np.arange(quarter) / quarter)
        else:
            places = 2 * np.pi * (2 * (places + 0.5) / side - 1)
            rates = self.base ** -(np.arange(quarter) / quarter)
        row, column = np.divmod(np.arange(side * side), side)
        axes = (column, row) if self.order == "xy" and self.kind == "grid" else (row, column)
        angles = np.concatenate([places[axis][:, None] * rates for axis in axes], axis=1)
        angles = np.tile(angles, 2) if self.half else np.repeat(angles, 2, axis=1)
        angles = np.concatenate([np.zeros((first, size)), angles])
        import jax.numpy as jnp

        from limelight.models.layers import Rotary

        cos, sin = (jnp.asarray(f(angles), jnp.float32) for f in (np.cos, np.sin))
        return Rotary(cos, sin, self.half)


def relative_bias(
    table: Float[np.ndarray, "distances heads"], side: int
) -> Float[np.ndarray, "heads tokens tokens"]:
    """BEiT's bias of the scores, for a class token and a square grid of patches.

    Row $(2s-1)(i - i' + s - 1) + (j - j' + s - 1)$ of the table is for a query at $(i, j)$ and a
    key at $(i', j')$; the last three are for the class token asking, being asked, and itself.
    """
    distances = (2 * side - 1) ** 2
    row, column = np.divmod(np.arange(side * side), side)
    down, right = (a[:, None] - a[None, :] + side - 1 for a in (row, column))
    index = np.empty((side * side + 1,) * 2, dtype=int)
    index[1:, 1:] = (2 * side - 1) * down + right
    index[0, :], index[:, 0], index[0, 0] = distances, distances + 1, distances + 2
    return table[index].transpose(2, 0, 1)


def resampled(
    table: Float[np.ndarray, "patches width"], side: int, antialias: bool
) -> Float[np.ndarray, "others width"]:
    """A table of positions for another square grid: bicubic, as PyTorch's `interpolate` has it.

    Args:
        table: Row by row of its grid.
        side: Of the other grid.
        antialias: Whether the kernel is widened where the grid becomes smaller; its parameter is
            then -1/2 and not -3/4, and taps beyond the edge are left out, not repeated.

    Example:
        >>> resampled(np.arange(4.0)[:, None], 1, False).tolist()
        [[1.5]]
    """
    old = round(len(table) ** 0.5)
    taps = _antialiased(old, side) if antialias else _taps(old, side)
    grid = table.reshape(old, old, -1)
    return np.einsum("ai,bj,ijd->abd", taps, taps, grid).reshape(side * side, -1)


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' kernel with this parameter, 0 from 2 on."""
    x = abs(x)
    near = ((a + 2) * x - (a + 3)) * x**2 + 1
    far = a * (((x - 5) * x + 8) * x - 4)
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _taps(old: int, new: int) -> Float[np.ndarray, "new old"]:
    """Four taps around every place; those beyond the edge fall on it."""
    places = (np.arange(new) + 0.5) * old / new - 0.5
    found = np.zeros((new, old))
    for tap in range(-1, 3):
        at = np.floor(places) + tap
        index = np.clip(at, 0, old - 1).astype(int)
        np.add.at(found, (np.arange(new), index), _cubic(places - at, -0.75))
    return found


def _antialiased(old: int, new: int) -> Float[np.ndarray, "new old"]:
    """Taps within two (larger) steps of every place, made to add up to 1."""
    scale = old / new
    wide = max(scale, 1.0)
    centres = scale * (np.arange(new) + 0.5)
    low = np.maximum((centres - 2 * wide + 0.5).astype(int), 0)
    high = np.minimum((centres + 2 * wide + 0.5).astype(int), old)
    index = np.arange(old)
    found = _cubic((index - centres[:, None] + 0.5) / wide, -0.5)
    found *= (index >= low[:, None]) & (index < high[:, None])
    return found / found.sum(axis=1, keepdims=True)
