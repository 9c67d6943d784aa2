"""Randomness by name: a key is made from what it is for, never from the order of calls."""

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.random as jr
from jaxtyping import Array, UInt32

from limelight._core.types import PRNGKey


def named(key: PRNGKey, *names: str) -> tuple[PRNGKey, ...]:
    """One independent key per name; adding a name leaves the others as they were.

    Example:
        >>> k_data, k_init = named(jr.key(0), "data", "init")
        >>> (k_init2,) = named(jr.key(0), "init")
        >>> bool((jr.key_data(k_init) == jr.key_data(k_init2)).all())
        True
    """
    return tuple(jr.fold_in(key, zlib.crc32(name.encode())) for name in names)


def fingerprint(study: str, coordinates: Mapping[str, Any]) -> tuple[int, int]:
    """Two 32-bit words that name a cell by its study and coordinates, not by its place in a grid.

    So a grid that gains a value keeps the randomness of the cells it had.
    """
    text = json.dumps([study, dict(coordinates)], sort_keys=True)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:4], "big"), int.from_bytes(digest[4:8], "big")


def trial_key(
    seed: UInt32[Array, ""], cell: UInt32[Array, "2"], trial: UInt32[Array, ""]
) -> PRNGKey:
    """The key of one trial, from (seed, cell, trial) alone."""
    key = jr.fold_in(jax.random.key(0), seed)
    for word in (cell[0], cell[1], trial):
        key = jr.fold_in(key, word)
    return key
