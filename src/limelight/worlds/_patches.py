"""Images as tokens and back: square patches, shuffled cells, their inverses."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

Image = Float[Array, "height width channels"]
Tokens = Float[Array, "patches numbers"]


def to_patches(image: Image, patch: int) -> Tokens:
    """A row for each patch, row by row; in it its pixels, row by row, channels last.

    Example:
        >>> to_patches(jnp.arange(16.0).reshape(4, 4, 1), 2)[1].tolist()
        [2.0, 3.0, 6.0, 7.0]
    """
    height, width, channels = image.shape
    rows, columns = height // patch, width // patch
    cut = image.reshape(rows, patch, columns, patch, channels).swapaxes(1, 2)
    return cut.reshape(rows * columns, -1)


def mostly(
    inside: Float[Array | np.ndarray, "side side"], patch: int
) -> Bool[Array | np.ndarray, " patches"]:
    """Which patches have at least half of their pixels inside; a pixel is 1 there, else 0.

    Example:
        >>> inside = np.array([[1.0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0]])
        >>> mostly(inside, 2).tolist()
        [True, False, True, False]
    """
    count = len(inside) // patch
    shares = inside.reshape(count, patch, count, patch).mean(axis=(1, 3))
    return shares.reshape(-1) >= 0.5


def tiled(levels, size: int):
    """An image in which every level fills a square of so many pixels.

    Example:
        >>> tiled(jnp.array([[1, 2]]), 2).tolist()
        [[1, 1, 2, 2], [1, 1, 2, 2]]
    """
    return levels.repeat(size, axis=0).repeat(size, axis=1)


def from_patches(tokens: Tokens, patch: int) -> Image:
    """The square image that these are the patches of."""
    side = round(len(tokens) ** 0.5)
    cut = tokens.reshape(side, side, patch, patch, -1).swapaxes(1, 2)
    return cut.reshape(side * patch, side * patch, -1)


def shuffle_cells(image: Image, cell: int, order: Int[Array, " cells"]) -> Image:
    """The image cut into square cells: place $k$ shows the cell that was at `order[k]`."""
    return from_patches(to_patches(image, cell)[order], cell)


def patch_order(
    order: Int[Array, " cells"], side: int, cell: int, patch: int
) -> Int[Array, " patches"]:
    """A shuffle of cells as one of patches: patch $k$ then shows the one that was at `[k]`.

    Needs cells of whole patches, `cell` a multiple of `patch`.
    """
    per, across = cell // patch, side // cell
    place = jnp.arange((side // patch) ** 2)
    row, column = jnp.divmod(place, side // patch)
    whole = (row // per) * across + column // per
    from_row, from_column = jnp.divmod(order[whole], across)
    return (from_row * per + row % per) * (side // patch) + from_column * per + column % per
