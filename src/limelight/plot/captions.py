"""The words under a picture that say where it comes from."""

from limelight.plot.picture import Picture
from limelight.table import Table


def provenance(scale: str = "", trials: int | str | None = None) -> tuple[str, ...]:
    """The usual facts of a caption, in their usual words; what is not known is left out.

    Example:
        >>> provenance("small", 20)
        ('small scale', '20 trials per cell')
    """
    many = "" if trials is None else f"{trials} trial{'' if trials == 1 else 's'} per cell"
    return tuple(fact for fact in (f"{scale} scale" if scale else "", many) if fact)


def captioned(picture: Picture, table: Table) -> Picture:
    """A picture with the scale and the trials of the run under it, unless it has a caption.

    Example:
        >>> from limelight import plot
        >>> import numpy as np
        >>> table = Table({"y": np.array([1.0])}, (), {"scale": "small"})
        >>> plot.captioned(plot.Picture([plot.Panel("", [("a", [1], [2])])]), table).facts
        ('small scale',)
    """
    if picture.caption:
        return picture
    trials = table.manifest.get("configuration", {}).get("trials")
    diverged = int(table.diverged.sum())
    facts = provenance(table.manifest.get("scale", ""), trials)
    lost = f"{diverged} of {len(table)} trials diverged"
    return picture.captioned(*facts, *([lost] if diverged else []))
