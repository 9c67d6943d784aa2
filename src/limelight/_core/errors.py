"""Errors a user can act on: one line that says what is wrong, one that says what to do."""

import re
from typing import Any

_ENDLESS = re.compile(r"\d{41,}")


class LimelightError(Exception):
    """An error with a hint; the command line prints both and leaves with `code`.

    A number of hundreds of digits is not repeated whole.
    """

    code = 1

    def __init__(self, message: str, hint: str = ""):
        self.message = _ENDLESS.sub(lambda n: f"{n[0][:12]}... ({len(n[0])} digits)", message)
        super().__init__(self.message)
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InputError(LimelightError):
    """What the user asked for cannot be done as asked: a name, a value, a file, a folder.

    Example:
        >>> import limelight as ll
        >>> try:
        ...     ll.papers.load("li2032")
        ... except ll.InputError as error:
        ...     print(error.message, "/", error.hint)
        no paper 'li2032' / did you mean li2023?
    """

    code = 2


class StoreError(InputError):
    """A run folder cannot be written, read, or belongs to another study."""


class RunError(LimelightError):
    """Some part of a study failed; what finished is stored."""

    code = 1


class StallError(LimelightError):
    """A chunk made no progress for the time allowed; what finished is stored."""

    code = 3


def suggest(name: str, known: list[str]) -> str:
    """A hint that names the closest known spelling, or lists what is known.

    Example:
        >>> suggest("fig1", ["fig1a", "fig4"])
        'did you mean fig1a?'
        >>> suggest("zzz", ["fig1a", "fig4"])
        'known: fig1a, fig4'
    """
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else "known: " + ", ".join(known)


def check_word(name: str, word: str, known: tuple[str, ...]) -> None:
    """Refuse a word that is not among the known ones."""
    if word not in known:
        raise InputError(f"{name} cannot be {word!r}", suggest(word, list(known)))


def check_least(
    part: object, names: tuple[str, ...], least: int | float = 1, prefix: str = ""
) -> None:
    """Refuse fields below the least value that makes sense; `None` is unset, and passes.

    Args:
        part: What has the fields.
        names: The fields.
        least: Their least value.
        prefix: Where the part stands, such as `train.`, for the message.
    """
    for name, value in _set(part, names):
        if not value >= least:
            raise InputError(f"{prefix}{name} = {value:.12g}", f"at least {least:g}")


def check_positive(part: object, names: tuple[str, ...], prefix: str = "") -> None:
    """Refuse fields that are not above 0; the arguments are those of `check_least`."""
    for name, value in _set(part, names):
        if not value > 0:
            raise InputError(f"{prefix}{name} = {value:.12g}", "a positive number")


def check_between(
    part: object, names: tuple[str, ...], low: int | float, high: int | float, prefix: str = ""
) -> None:
    """Refuse fields outside a range, both ends allowed; see `check_least`."""
    for name, value in _set(part, names):
        if not low <= value <= high:
            raise InputError(f"{prefix}{name} = {value:.12g}", f"between {low} and {high}")


def check_multiple(part: object, whole: str, piece: str, prefix: str = "") -> None:
    """Refuse a field that another one, at least 1 like it, does not divide."""
    check_least(part, (whole, piece), prefix=prefix)
    if getattr(part, whole) % getattr(part, piece):
        raise InputError(
            f"{prefix}{whole} = {getattr(part, whole)} is not a multiple of"
            f" {prefix}{piece} = {getattr(part, piece)}",
            f"choose {prefix}{piece} to divide {prefix}{whole}",
        )


def _set(part: object, names: tuple[str, ...]) -> list[tuple[str, Any]]:
    found = [(name, getattr(part, name)) for name in names]
    return [(name, value) for name, value in found if value is not None]
