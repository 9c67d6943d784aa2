"""The words under a picture that say where it comes from."""


def provenance(
    *, scale: str = "", trials: int | str | None = None, commit: str = "", note: str = ""
) -> tuple[str, ...]:
    """The usual facts of a caption, in their usual words; what is not known is left out.

    Example:
        >>> provenance(scale="small", trials=20, commit="0123456789abcdef")
        ('small scale', '20 trials per cell', 'commit 0123456789')
    """
    facts = (
        f"{scale} scale" if scale else "",
        "" if trials is None else f"{trials} trial{'' if trials == 1 else 's'} per cell",
        f"commit {commit[:10]}" if commit else "",
        note,
    )
    return tuple(fact for fact in facts if fact)
