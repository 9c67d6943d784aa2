r"""Dropout masks from a counter: every bit is a function of (key, place), so padding moves none.

A mask word holds 32 bits. Each bit of it is the outcome of a comparison $U < \theta$ of a 16-bit
draw with a threshold, made for all 32 at once: the $j$-th binary digits of the 32 draws are one
hashed word, and a digit of $\theta$ joins it to the comparison so far by OR (digit 1) or AND
(digit 0). So 32 draws cost 16 hashes of a counter and no arithmetic beyond bit operations.

Departures: the probability is rounded to 16 binary digits; .9 becomes .899994.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, UInt32

from limelight._core.errors import InputError

#: Binary digits of a draw.
DIGITS = 16
#: Multipliers of the hash, found by C. Wellons's search for low bias (lowbias32).
FIRST, SECOND = 0x7FEB352D, 0x846CA68B


def mix(counter: UInt32[Array, "*n"], key: UInt32[Array, "2"]) -> UInt32[Array, "*n"]:
    """32 hashed bits of a counter; half of the key enters before each multiplication."""
    x = counter ^ key[0]
    x = (x ^ (x >> 16)) * jnp.uint32(FIRST) + key[1]
    x = (x ^ (x >> 15)) * jnp.uint32(SECOND)
    return x ^ (x >> 16)


def threshold(keep: float) -> int:
    """The 16-bit threshold of a probability."""
    return round(keep * 2**DIGITS)


def check_dropout(name: str, dropout: float) -> None:
    """Refuse what is no probability of dropping, or drops everything."""
    if not (0 <= dropout < 1 and threshold(1.0 - dropout)):
        raise InputError(
            f"{name} = {dropout}", "at least 0, less than 1 - 2^-17: a mask has to keep something"
        )


def words(
    counter: UInt32[Array, "*n"], key: UInt32[Array, "2"], keep: float
) -> UInt32[Array, "*n"]:
    """32 independent bits a counter, each 1 with probability `keep` (to 16 binary digits)."""
    theta = threshold(keep)
    if theta >= 2**DIGITS:
        return jnp.full_like(counter, 0xFFFFFFFF)
    below = jnp.zeros_like(counter)
    for digit in range(DIGITS):
        if theta % 2 ** (digit + 1) == 0:  # nothing is below a number that ends in zeros
            continue
        draw = mix(counter * jnp.uint32(DIGITS) + jnp.uint32(digit), key)
        below = (draw | below) if theta >> digit & 1 else (draw & below)
    return below


def unpack(word: UInt32[Array, "*n w"], size: int) -> Bool[Array, "*n {size}"]:
    """The first `size` bits of a row of words, lowest first."""
    place = jnp.arange(32, dtype=jnp.uint32).reshape((1,) * word.ndim + (32,))
    bits = (word[..., None] >> place) & 1
    return bits.reshape(*word.shape[:-1], -1)[..., :size].astype(bool)
