r"""Rules on the relevant bits, as tables: `and`, `or`, `xor`, `majority`, `threshold:k`, or hex.

A table lists the values of $f$ on the $2^s$ patterns. Pattern $a$ has bit $j$ of $a$ on the $j$-th
relevant position, the first position being the least significant. In hex, most significant digit
first: for three bits `and` is 80, `or` fe, `xor` 96, `majority` e8.
"""

import re

import numpy as np
from jaxtyping import Bool, Float, Int

from limelight._core.errors import InputError

NAMED = ("and", "or", "xor", "majority", "threshold:k")
#: The check walks all patterns on the relevant positions; beyond this it would take hours.
MOST_BITS = 12


def patterns(sparsity: int) -> Int[np.ndarray, "patterns bits"]:
    """All patterns on the relevant positions, a row each, in the order of a table.

    Example:
        >>> patterns(2).tolist()
        [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return (np.arange(2**sparsity)[:, None] >> np.arange(sparsity)) & 1


def truth_table(rule: str, sparsity: int) -> Bool[np.ndarray, " patterns"]:
    """The table of a rule.

    Example:
        >>> to_hex(truth_table("majority", 3))
        'e8'

    Raises:
        InputError: For rules that are unknown, do not fit, or have too many bits.
    """
    if not 1 <= sparsity <= MOST_BITS:
        raise InputError(
            f"sparsity = {sparsity}", f"1 to {MOST_BITS}: the check walks all 2^s patterns"
        )
    ones = patterns(sparsity).sum(axis=1)
    word = rule.strip().lower()
    if word == "and":
        return ones == sparsity
    if word == "or":
        return ones > 0
    if word == "xor":
        return ones % 2 == 1
    if word == "majority":
        return 2 * ones > sparsity
    if word.startswith("threshold:"):
        return ones >= _threshold(word, sparsity)
    if re.fullmatch(r"(0x)?[0-9a-f]+", word):
        return from_hex(word, sparsity)
    raise InputError(
        f"unknown rule {rule!r}", "known: " + ", ".join(NAMED) + ", or a truth table in hex"
    )


def _threshold(word: str, sparsity: int) -> int:
    text = word.removeprefix("threshold:")
    if not text.isdecimal() or not 0 <= int(text) <= sparsity + 1:
        raise InputError(f"threshold {text!r}", f"a whole number from 0 to {sparsity + 1}")
    return int(text)


def from_hex(word: str, sparsity: int) -> Bool[np.ndarray, " patterns"]:
    """A table from hex digits; it must not be longer than the table is."""
    number = int(word, 16)
    size = 2**sparsity
    if number >> size:
        raise InputError(
            f"the table {word} has more than the {size} values of {sparsity} bits",
            f"at most {max(1, size // 4)} hex digits",
        )
    digits = number.to_bytes(max(1, size // 8), "little")
    return np.unpackbits(np.frombuffer(digits, np.uint8), bitorder="little")[:size].astype(bool)


def to_hex(table: Bool[np.ndarray, " patterns"]) -> str:
    """The hex digits of a table, most significant first."""
    number = int.from_bytes(np.packbits(table, bitorder="little").tobytes(), "little")
    return f"{number:0{max(1, len(table) // 4)}x}"


def by_count(
    values: Float[np.ndarray, " patterns"], sparsity: int
) -> Float[np.ndarray, " counts"] | None:
    """The values by number of ones, where they depend on nothing else."""
    ones = patterns(sparsity).sum(axis=1)
    first = np.array([values[ones == r][0] for r in range(sparsity + 1)])
    return first if (values == first[ones]).all() else None
