"""Tables that a recipe was not written for: unfinished, of other settings, without a number."""

import contextlib
import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight.table import Table

#: How a recipe fails that looks for a cell, a number or a range that is not there.
STUMBLES = (LookupError, ValueError, ArithmeticError, TypeError, StopIteration, AttributeError)


def planned_rows(manifest: Mapping[str, Any]) -> int | None:
    """Trials that a run was to have; `None` when its manifest does not say."""
    configuration = manifest.get("configuration", {})
    if not {"axes", "trials"} <= set(configuration):
        return None
    return math.prod(len(values) for _, values in configuration["axes"]) * configuration["trials"]


def unfinished(table: Table) -> str:
    """What is missing of a run, in words; nothing when it is whole."""
    planned = planned_rows(table.manifest) or len(table)
    return f"only {len(table)} of {planned} trials are there" if len(table) < planned else ""


@contextlib.contextmanager
def unforeseen(table: Table) -> Iterator[None]:
    """Say why a recipe stumbles over a table that it was not written for.

    Over its own table, whole and with its own settings, it may not: that is a fault, and stays one.

    Example:
        >>> table = Table({}, manifest={"settings": {"trials": "1"}})
        >>> with unforeseen(table):
        ...     max(table.columns)  # there are none
        Traceback (most recent call last):
        limelight._core.errors.InputError: the figure is not made for trials=1
    """
    changed = [f"{name}={value}" for name, value in table.manifest.get("settings", {}).items()]
    missing = unfinished(table)
    try:
        with warnings.catch_warnings():
            if missing or changed:
                warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
            yield
    except InputError:
        raise
    except STUMBLES:
        if missing:
            raise InputError(f"the run is not finished: {missing}") from None
        if changed:
            raise InputError(f"the figure is not made for {', '.join(changed)}") from None
        raise


def lost_trials(table: Table, gaps: tuple[str, ...] | None) -> np.ndarray:
    """Trials with a reading that is no number, or not finite, and should be.

    Args:
        table: One row per trial; one that says which trials diverged has none that are lost.
        gaps: Readings that a sound trial may lack; `None` where that is not known of any.

    Example:
        >>> table = Table({"loss": np.array([0.1, np.inf]), "time": np.array([np.nan, 1.0])})
        >>> lost_trials(table, ("time",)).tolist(), lost_trials(table, None).tolist()
        ([False, True], [False, False])
    """
    lost = np.zeros(len(table), dtype=bool)
    if gaps is None or any(n == "diverged" or n.endswith(".diverged") for n in table.columns):
        return lost
    for name, column in table.columns.items():
        if column.dtype.kind == "f" and name not in (*table.axes, *gaps):
            lost |= ~np.isfinite(column).reshape(len(table), -1).all(axis=1)
    return lost
