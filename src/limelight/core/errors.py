"""Errors a user can act on: one line that says what is wrong, one that says what to do."""


class LimelightError(Exception):
    """An error with a hint; the command line prints both and leaves with `code`."""

    code = 1

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InputError(LimelightError):
    """What the user asked for cannot be done as asked: a name, a value, a file, a folder."""

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
    """Refuse fields below the least value that makes sense.

    Args:
        part: What has the fields.
        names: The fields.
        least: Their least value.
        prefix: Where the part stands, such as `train.`, for the message.
    """
    for name in names:
        if not getattr(part, name) >= least:
            raise InputError(f"{prefix}{name} = {getattr(part, name)}", f"at least {least:g}")


def check_positive(part: object, names: tuple[str, ...], prefix: str = "") -> None:
    """Refuse fields that are not above 0; the arguments are those of `check_least`."""
    for name in names:
        if not getattr(part, name) > 0:
            raise InputError(f"{prefix}{name} = {getattr(part, name):g}", "a positive number")
