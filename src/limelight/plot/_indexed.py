"""A picture with a palette of 256 colours that keeps every colour that means something."""

import numpy as np
from PIL import Image

COLOURS = 256
#: So many of the commonest colours are kept exactly: paper, ink, the cells of a map.
EXACT = 96
#: Colours that are compared with the palette at a time.
PART = 1000


def indexed(picture: Image.Image) -> Image.Image:
    """The same picture with a palette.

    A palette by how often colours occur, which is what most programs choose, has no place for the
    few dots of a word: a name in brown came out in the orange of another line. Here the rare ones
    count as much as the frequent ones, once those that fill the picture have their places.

    Args:
        picture: One with three bytes per dot.
    """
    code = np.asarray(picture).astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.int32)
    seen, often = np.unique(code, return_counts=True)
    order = np.lexsort((seen, -often))
    palette = _parts(seen[order[:EXACT]])
    rare = seen[order[EXACT:]]
    if len(rare):
        strip = Image.fromarray(_parts(rare).astype(np.uint8)[None])
        covering = strip.quantize(COLOURS - EXACT, Image.Quantize.MAXCOVERAGE)
        more = np.array(covering.getpalette("RGB")).reshape(-1, 3)
        palette = np.concatenate([palette, more[: COLOURS - EXACT]])
    table = np.zeros(1 << 24, np.uint8)
    for first in range(0, len(seen), PART):
        part = seen[first : first + PART]
        away = ((_parts(part)[:, None] - palette) ** 2).sum(axis=2)
        table[part] = away.argmin(axis=1)
    found = Image.fromarray(table[code])
    found.putpalette(palette.astype(np.uint8).tobytes())
    return found


def _parts(codes: np.ndarray) -> np.ndarray:
    """Red, green and blue of colours."""
    return np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1)
