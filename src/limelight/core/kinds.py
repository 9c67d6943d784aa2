"""The stable names of our parts: what a stored study calls a class or a function of the library."""

from collections.abc import Callable
from typing import Any, TypeVar

Part = TypeVar("Part")

_NAME = "__limelight_kind__"


def kind(name: str) -> Callable[[Part], Part]:
    """Give a class or a function the name by which stored studies know it.

    The name must never change: files written years ago hold it. The class itself may move and may
    be renamed.

    Example:
        >>> @kind("world.coins")
        ... class Coins: ...
        >>> kind_of(Coins)
        'world.coins'
    """

    def label(part: Part) -> Part:
        setattr(part, _NAME, name)
        return part

    return label


def kind_of(part: Any) -> str | None:
    """The stable name of a class or function; `None` for one that is not ours.

    A subclass does not inherit the name: it is another part.
    """
    return vars(part).get(_NAME) if hasattr(part, "__dict__") else None
