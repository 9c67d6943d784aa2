"""Attention as heat over an image: the image in grey, warm where weight falls on it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from limelight._core.errors import InputError
from limelight.plot.marks import Image, Number, Text
from limelight.plot.picture import TWO_COLUMNS, Panel, Picture

#: Colours from little weight to much, and how much of the image they cover.
HEAT = ((255, 224, 130), (253, 160, 50), (226, 74, 51), (136, 14, 79))
COVER = (0.0, 0.62, 0.78, 0.88)
#: How dark and how light the image is under the heat.
FLOOR, CEILING = 30.0, 245.0
#: How grey is made of colours.
LUMA = (0.299, 0.587, 0.114)
#: Dots of one tile along its side at least, and what is free between two, over its side.
DOTS, GAP, HEAD = 224, 0.05, 0.13


def heated(image: ArrayLike, weights: ArrayLike, full: Number) -> np.ndarray:
    """The image in grey under the heat of weights on its patches, as colours from 0 to 255.

    Args:
        image: Pixels, height by width by channels.
        weights: One for each patch, row by row, over the even one: 1 and below has no colour.
        full: The weight of the last colour, above 1.
    """
    pixels = coloured(image).astype(float)
    level = np.clip((np.asarray(weights, dtype=float) - 1.0) / (float(full) - 1.0), 0, 1)
    level = _enlarged(level, pixels.shape[0], pixels.shape[1])
    grey = FLOOR + (CEILING - FLOOR) / 255 * (pixels @ np.array(LUMA))[..., None]
    return _over(grey, level)


def _over(grey: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Heat of a level from 0 to 1 over something grey."""
    steps = np.linspace(0, 1, len(HEAT))
    heat = np.stack([np.interp(level, steps, channel) for channel in zip(*HEAT, strict=True)], -1)
    cover = np.interp(level, steps, COVER)[..., None]
    return np.rint(cover * heat + (1 - cover) * grey).astype(np.uint8)


def tiled_images(
    tiles: Sequence[tuple[str, np.ndarray]],
    columns: int,
    *,
    full: Number | None = None,
    width: Number = TWO_COLUMNS,
) -> Picture:
    """Tiles of one size in a grid, a name over each.

    Args:
        tiles: Names and colours, such as `heated` gives.
        columns: Tiles in a row.
        full: The weight of the last colour, for a key to the colours; none when not given.
        width: Inches.
    """
    if not tiles:
        raise InputError("no tiles to draw")
    columns = min(columns, len(tiles))
    rows = -(-len(tiles) // columns)
    side = max(DOTS, *(tile.shape[0] for _, tile in tiles))
    gap, head = round(GAP * side), round(HEAD * side * max(1.0, columns / 4))
    wide = columns * (side + gap) - gap
    key = 0 if full is None else round(0.055 * wide)
    sheet = np.full((rows * (side + head) + key, wide, 3), 255, np.uint8)
    words = [] if full is None else _key(sheet, key, full)
    for place, (name, tile) in enumerate(tiles):
        row, column = divmod(place, columns)
        top, left = row * (side + head) + head, column * (side + gap)
        sheet[top : top + side, left : left + side] = _resized(tile, side)
        words.append(Text(name, (left + side / 2, top - 0.4 * head)))
    height = float(width) * sheet.shape[0] / sheet.shape[1]
    return Picture([Panel("", [Image(sheet), *words])], width=width, height=height + 0.1)


def _key(sheet: np.ndarray, high: int, full: Number) -> list[Text]:
    """A strip of all colours at the lower edge, and what its ends mean."""
    wide = sheet.shape[1]
    left, right = round(0.35 * wide), round(0.65 * wide)
    top, bottom = sheet.shape[0] - round(0.5 * high), sheet.shape[0] - round(0.12 * high)
    level = np.broadcast_to(np.linspace(0, 1, right - left), (bottom - top, right - left))
    sheet[top:bottom, left:right] = _over(np.full((1, 1, 1), 235.0), level)
    middle = (top + bottom) / 2
    return [
        Text("even attention or less ", (left, middle), align="right"),
        Text(f" {float(full):.2g} times that", (right, middle), align="left"),
    ]


def coloured(image: ArrayLike) -> np.ndarray:
    """Pixels in three channels from 0 to 255, those of small images as squares of dots."""
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3):
        raise InputError("pixels by height, width and 1 or 3 channels are needed")
    scale = 255.0 / pixels.max() if 0 < pixels.max() <= 16 else 1.0  # digits have 16 levels
    times = max(1, DOTS // max(pixels.shape[:2]))
    large = np.repeat(np.repeat(pixels * scale, times, axis=0), times, axis=1)
    return np.broadcast_to(np.rint(large), (*large.shape[:2], 3)).astype(np.uint8)


def _enlarged(light: np.ndarray, height: int, width: int) -> np.ndarray:
    """Each patch as large as it is in the image; its light is even, as its weight is one number."""
    rows = np.arange(height) * light.shape[0] // height
    columns = np.arange(width) * light.shape[1] // width
    return light[rows][:, columns]


def _resized(tile: np.ndarray, side: int) -> np.ndarray:
    places = np.arange(side)
    return tile[places * tile.shape[0] // side][:, places * tile.shape[1] // side]
