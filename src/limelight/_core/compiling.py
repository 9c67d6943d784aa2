"""How long programs usually take to compile on this machine, so that whoever waits is told."""

import json
import statistics
from pathlib import Path

import jax

from limelight._core.errors import StoreError
from limelight._core.files import write_whole

#: The file beside the compiled programs, and how many times are kept per study.
NAME, KEPT = "compile-seconds.json", 9


def usual(folder: Path | None, study: str) -> float | None:
    """Seconds that one program of a study usually takes to compile here.

    The median of its own last times; of all studies where it has none; `None` where nothing is
    known.

    Args:
        folder: Where compiled programs are kept.
        study: The study's name.
    """
    known = _read(folder)
    own = known.get(_place(study)) or [s for times in known.values() for s in times]
    return statistics.median(own) if own else None


def remember(folder: Path | None, study: str, seconds: float) -> None:
    """Keep how long a program took; a folder that cannot be written to is no reason to stop."""
    if folder is None:
        return
    known = _read(folder)
    known[_place(study)] = [*known.get(_place(study), []), round(seconds, 2)][-KEPT:]
    try:
        write_whole(folder / NAME, json.dumps(known, indent=1).encode())
    except (OSError, StoreError):
        return


def _place(study: str) -> str:
    return f"{jax.default_backend()} {study}"


def _read(folder: Path | None) -> dict[str, list[float]]:
    """What is kept; nothing where it is missing or not what `remember` writes."""
    try:
        found = json.loads((folder / NAME).read_text()) if folder is not None else {}
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    number = lambda one: isinstance(one, int | float) and one >= 0
    return {k: v for k, v in found.items() if isinstance(v, list) and v and all(map(number, v))}
