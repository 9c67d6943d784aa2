"""The words under a picture that say where it comes from."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from limelight.plot.picture import Picture
from limelight.table import Table

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)  # those of `calendar` follow the locale


def provenance(
    scale: str = "",
    trials: int | str | None = None,
    *,
    device: Mapping[str, Any] | None = None,
    date: str = "",
    commit: str = "",
) -> tuple[str, ...]:
    """The usual facts of a caption, in their usual words; what is not known is left out.

    Args:
        scale: The scale of the run.
        trials: Trials per cell.
        device: What it ran on, as a manifest tells it.
        date: When, as a manifest tells it.
        commit: Of which version of the code.

    Example:
        >>> provenance("small", 20)
        ('small scale', '20 trials per cell')
        >>> provenance(device={"platform": "gpu", "kind": "NVIDIA H200", "count": 1},
        ...     date="2026-11-15T18:18:32+00:00", commit="76cf262199b4")
        ('run on one NVIDIA H200 on 15 November 2026, commit 76cf262',)
    """
    many = "" if trials is None else f"{trials} trial{'' if trials == 1 else 's'} per cell"
    ran = _machine(device or {}), _day(date)
    made = " ".join(f"on {word}" for word in ran if word)
    made = f"run {made}" if made else ""
    made = ", ".join(filter(None, (made, _version(commit))))
    return tuple(filter(None, (f"{scale} scale" if scale else "", many, made)))


def _machine(device: Mapping[str, Any]) -> str:
    count, kind = device.get("count", 1), str(device.get("kind", ""))
    if device.get("platform") == "gpu" and kind:
        return f"one {kind}" if count == 1 else f"{count} {kind}s"
    cores = device.get("cores")
    return f"{cores} CPU core{'s' * (cores != 1)}" if isinstance(cores, int) else ""


def _version(commit: str) -> str:
    changed = " with changes" if commit.endswith("-dirty") else ""
    return f"commit {commit[:7]}{changed}" if commit else ""


def _day(date: str) -> str:
    try:
        day = datetime.fromisoformat(date)
    except ValueError:
        return ""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def captioned(picture: Picture, table: Table) -> Picture:
    """A picture with the facts of its run under it, unless it has a caption.

    Example:
        >>> from limelight import plot
        >>> import numpy as np
        >>> table = Table({"y": np.array([1.0])}, (), {"scale": "small"})
        >>> plot.captioned(plot.Picture([plot.Panel("", [("a", [1], [2])])]), table).facts
        ('small scale',)
    """
    if picture.caption:
        return picture
    told = table.manifest
    diverged = int(table.diverged.sum())
    facts = provenance(
        str(told.get("scale", "")),
        told.get("configuration", {}).get("trials"),
        device=told.get("device"),
        date=str(told.get("created", "")),
        commit=str(told.get("commit") or ""),
    )
    lost = f"{diverged} of {len(table)} trials diverged"
    return picture.captioned(*facts, *([lost] if diverged else []))
