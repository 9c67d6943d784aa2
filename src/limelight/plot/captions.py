"""The words under a picture that say where it comes from."""

from typing import Any

from limelight.plot.picture import Movie, Picture
from limelight.table import Table


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


def captioned(picture: Any, table: Table) -> Any:
    """A picture or movie with the scale and the trials of the run under it.

    What is drawn already, or has a caption of its own, is left as it is.
    """
    if not isinstance(picture, Picture | Movie) or picture.caption:
        return picture
    trials = table.manifest.get("configuration", {}).get("trials")
    diverged = int(table.diverged.sum())
    note = f"{diverged} of {len(table)} trials diverged" if diverged else ""
    scale = table.manifest.get("scale", "")
    return picture.captioned(*provenance(scale=scale, trials=trials, note=note))
