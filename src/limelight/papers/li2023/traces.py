"""How a log of training is read off a table and drawn, for the lemmas and the sets."""

from collections.abc import Callable, Mapping

import numpy as np

from limelight import plot
from limelight.claims import Estimate, Undecided
from limelight.papers.li2023.concentration import average_share, logged_steps
from limelight.table import Table

READOUT = "model.readout"


def rows_of(table: Table, readout: str = "position") -> Table:
    """The rows of one readout."""
    rows = table.where(model__readout=readout)
    if not len(rows):
        raise Undecided("not in this table")
    return rows


def trace(rows: Table, name: str) -> np.ndarray:
    """A trace as floats, trials by looks."""
    return rows[f"trace.{name}"].astype(float)


#: A yes or no for every look of every trial.
Looks = Callable[[Table, Table], np.ndarray]


def moving(table: Table, rows: Table) -> np.ndarray:
    """Which looks of each trial came before it settled: afterwards nothing changes."""
    return logged_steps(table, rows)[None, :] <= rows["steps"][:, None]


def share_of_looks(
    table: Table, holds: Looks, counts: Looks = moving, readout: str = "position"
) -> Estimate:
    """Share of the looks that count at which something holds, mean over trials."""
    rows = rows_of(table, readout)
    counted = counts(table, rows)
    return average_share((holds(table, rows) & counted).sum(axis=1) / counted.sum(axis=1))


def steps_of(table: Table, rows: Table) -> np.ndarray:
    """Logged steps up to a little after the last trial has settled, where all stands still."""
    steps = logged_steps(table, rows)
    return steps[: max(2, int(np.searchsorted(steps, 1.25 * rows["steps"].max())))]


def band(label: str, steps: np.ndarray, log: np.ndarray) -> plot.Series:
    """Mean over trials with its interval, over the steps given."""
    return plot.band(label, steps, log[:, : len(steps)])


def over_steps(
    table: Table, logs: Mapping[str, str | np.ndarray], y_label: str, **options
) -> plot.Picture:
    """Traces over training steps, readout by position, by their labels.

    Args:
        table: Of the lemmas.
        logs: Label to the name of a trace, or to a log, trials by looks.
        y_label: What they are.
        options: As for `plot.lines`.
    """
    rows = rows_of(table)
    steps = steps_of(table, rows)
    found = [
        band(label, steps, trace(rows, log) if isinstance(log, str) else log)
        for label, log in logs.items()
    ]
    return plot.lines(found, x_label="training step", y_label=y_label, **options)


def in_panels(
    table: Table, groups: Mapping[str, Mapping[str, str | np.ndarray]], y_label: str, **options
) -> plot.Picture:
    """Groups of traces over training steps, one panel each, on one scale."""
    parts = [
        plot.Panel(title, over_steps(table, logs, y_label, **options).panels[0].marks, y_label)
        for title, logs in groups.items()
    ]
    return plot.panels(parts, x_label="training step", share=True, height=2.1)
