r"""Exact laws of patches in sets: which sizes fit, how often the label of jelassi2022 fails.

Nothing here needs JAX, so that statements about the data answer at once.
"""

import math

import numpy as np
from jaxtyping import Float

from limelight._core.arrays import Real
from limelight._core.errors import InputError, check_word

#: How patches may be grouped into sets; see `partitions`.
KINDS = ("grid", "random", "strided")


def check_partition(kind: str, tokens: int, size: int) -> None:
    """Refuse unknown kinds and sizes that do not divide."""
    check_word("world.partition", kind, KINDS)
    if size < 1 or tokens < 2 * size or tokens % size:
        raise InputError(
            f"{tokens} patches do not make two or more sets of {size}",
            "world.size must divide world.tokens",
        )
    if kind == "grid":
        side, block = math.isqrt(tokens), math.isqrt(size)
        if side * side != tokens or block * block != size or side % block:
            raise InputError(
                f"no square blocks of {size} fill a square of {tokens} patches",
                "for example tokens = 36 and size = 4, or another world.partition",
            )


def label_failure(tokens: int = 36, size: int = 4, density: Real = 0.35) -> float:
    r"""The exact probability $P[y f^*(X) \le 0]$ that the labelling function misses the label.

    A random set may carry one sign throughout. The thresholded sum of one random set has
    a law on $-C, .., C$; it is convolved $L - 1$ times and shifted by the signal set's $C$.

    Departures: the paper calls it $d^{-\omega(1)}$; it is a number at any finite size.

    Example:
        >>> round(label_failure(36, 4, 0.35), 5), round(label_failure(16, 4, 0.5), 5)
        (0.00743, 0.01158)

    Reference: jelassi2022, Definition 2.1 and Assumption 1.
    """
    law = thresholded_law(tokens, size, density)
    return float(law[: len(law) // 2 + 1 - size].sum())


def silence(tokens: int = 36, size: int = 4, density: Real = 0.35) -> float:
    """The exact probability that the labelling function is 0 and says nothing.

    Example:
        >>> round(silence(36, 4, 0.35), 4)
        0.0074
    """
    law = thresholded_law(tokens, size, density)
    return float(law[len(law) // 2 - size])


def thresholded_law(tokens: int, size: int, density: Real) -> Float[np.ndarray, " sums"]:
    r"""The law of $\sum_\ell \mathrm{Thr}(m_\ell)$ over the random sets, centred in the array."""
    check_partition("strided", tokens, size)
    if not 0 <= density <= 1:
        raise InputError(f"density = {density:g}", "a probability, between 0 and 1")
    mark = np.array([density / 2, 1 - density, density / 2])
    one = np.array([1.0])
    for _ in range(size):
        one = np.convolve(one, mark)
    sums = np.arange(-size, size + 1)
    kept = np.where(10 * np.abs(sums) > 9 * size, one, 0.0)
    kept[size] += 1.0 - kept.sum()
    law = np.array([1.0])
    for _ in range(tokens // size - 1):
        law = np.convolve(law, kept)
    return law
