r"""Artifact tokens: patches whose tokens are far longer than the others.

Large ViTs keep notes in a few patches of little content; those tokens are several times as long as
the rest (Darcet et al. 2024, "Vision transformers need registers"). The length of a token is
$|x_i|_2$ over the channels, of the tokens that leave a block, before any norm: after the last norm
all tokens are about equally long, which hides them.

What is long depends on the network and on the block, so no fixed number serves. A token counts as
long where its length is above

$$\max(2\, m,\ m + 6 \cdot 1.4826\, \mathrm{MAD})$$

with $m$ the median length of the patches of that block over all images and MAD the median distance
from it: twice the usual length, and beyond any spread that the usual tokens have. The paper's own
cut, 150 at the output of DINOv2-g, can be given instead.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from limelight._core.arrays import Real
from limelight._core.errors import InputError

#: A long token is so many times as long as the median, and so many deviations above it.
TIMES, DEVIATIONS = 2.0, 6.0
#: The median distance from the median of a normal number, as a deviation.
NORMAL = 1.4826


@dataclass(frozen=True)
class Norms:
    """Lengths of tokens, before the first block and after every block.

    Args:
        lengths: Of the patches, by image and depth.
        cuts: Above which a token counts as long, by depth.
    """

    lengths: Float[np.ndarray, "images depths patches"]
    cuts: Float[np.ndarray, " depths"]

    @property
    def long(self) -> Bool[np.ndarray, "images depths patches"]:
        """Which tokens are."""
        return self.lengths > self.cuts[None, :, None]

    @property
    def shares(self) -> Float[np.ndarray, " depths"]:
        """Share of the patches that are long, by depth."""
        return self.long.mean(axis=(0, 2))

    @property
    def where(self) -> Float[np.ndarray, "depths patches"]:
        """In what share of the images each patch is long."""
        return self.long.mean(axis=0)

    def as_json(self) -> list[dict[str, Any]]:
        """Numbers of every depth; 0 is what enters the first block."""
        quantile = lambda q: np.quantile(self.lengths, q, axis=(0, 2))
        middle, upper, top = quantile(0.5), quantile(0.99), self.lengths.max(axis=(0, 2))
        with_any = self.long.any(axis=2).mean(axis=0)
        rounded = lambda value: float(f"{value:.6g}")
        return [
            {
                "depth": depth,
                "median": rounded(middle[depth]),
                "percentile_99": rounded(upper[depth]),
                "largest": rounded(top[depth]),
                "cut": rounded(self.cuts[depth]),
                "long_tokens": int(self.long[:, depth].sum()),
                "long_share": rounded(self.shares[depth]),
                "images_with_any": rounded(with_any[depth]),
            }
            for depth in range(len(self.cuts))
        ]


def find_long(
    lengths: Float[np.ndarray, "images depths patches"], cut: Real | None = None
) -> Norms:
    """Which tokens are long, by the rule above or by a fixed length.

    Args:
        lengths: Of the patches, by image and depth.
        cut: A length instead of the rule.

    Example:
        >>> lengths = np.array([[[1.0, 1.1, 0.9, 1.0, 7.0, 1.05]]])
        >>> find_long(lengths).long.tolist()
        [[[False, False, False, False, True, False]]]
    """
    if cut is not None and not cut > 0:
        raise InputError(f"cut = {cut:g}", "a length above 0")
    if cut is not None:
        return Norms(lengths, np.full(lengths.shape[1], float(cut)))
    middle = np.median(lengths, axis=(0, 2))
    away = np.median(abs(lengths - middle[None, :, None]), axis=(0, 2))
    return Norms(lengths, np.maximum(TIMES * middle, middle + DEVIATIONS * NORMAL * away))
