"""Words from the command line as values of the kind that is wanted."""

import math
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from limelight._core.errors import InputError


def parse(text: str, current: Any) -> Any:
    """A word from the command line as a value of the kind that is there now.

    Example:
        >>> parse("0.3", 0.1), parse("200", 100), parse("none", 0.1), parse("frozen", "x")
        (0.3, 200, None, 'frozen')
    """
    word, shown = text.strip(), shortened(text)
    if word.lower() == "none":
        return None
    if isinstance(current, bool):
        if word.lower() not in ("true", "false"):
            raise InputError(f"{shown!r} is not true or false")
        return word.lower() == "true"
    for kind in (int, float):
        if current is None or isinstance(current, int | float):
            try:
                value = kind(word)
            except ValueError:
                continue
            if isinstance(current, int) and isinstance(value, float):
                raise InputError(f"{shown!r} is not a whole number")
            if not _finite(value):
                raise InputError(f"{shown!r} is not finite")
            return value if not isinstance(current, float) else float(value)
    if isinstance(current, int | float):
        raise InputError(f"{shown!r} is not a number")
    return word


def shortened(text: str, most: int = 40) -> str:
    """A word as an error may repeat it.

    Example:
        >>> shortened("0.5"), shortened("9" * 5_000, 6)
        ('0.5', '999999...')
    """
    return text if len(text) <= most else text[:most] + "..."


def _finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def kinds_of(declared: Any) -> set[type]:
    """The types that an annotation allows: one, a union's, or those of literal words."""
    origin = get_origin(declared)
    if origin in (Union, UnionType):
        return set().union(*(kinds_of(kind) for kind in get_args(declared)))
    if origin is Literal:
        return {type(word) for word in get_args(declared)}
    return {declared} if isinstance(declared, type) else set()
