"""What the lemmas share: how a log of looks is read off a table and drawn."""

from collections.abc import Callable

import numpy as np

from limelight import fit
from limelight.claims import Estimate
from limelight.papers.li2023.boundary import setting
from limelight.papers.li2023.concentration import average, logged_steps
from limelight.plot import Series
from limelight.table import Table

READOUT = "model.readout"
ERROR, KEY_ERROR, SCALE = 0.1, 0.2, 0.01
#: Mean length of the noise of a normalised token with c_0 = 0.01 in 10 dimensions.
NOISE = 0.0292


def slack_of(table: Table) -> float:
    r"""$\sigma + \tau$ of the run."""
    for tracker in setting(table, "traces"):
        if "slack" in tracker:
            return float(tracker["slack"])
    raise KeyError("no lucky neurons in this table")


def rows_of(table: Table, readout: str = "position") -> Table:
    """The rows of one readout."""
    return table.where(model__readout=readout)


def trace(rows: Table, name: str) -> np.ndarray:
    """A trace as floats, trials by looks."""
    return rows[f"trace.{name}"].astype(float)


def moving(table: Table, rows: Table) -> np.ndarray:
    """Which looks of each trial came before it settled: afterwards nothing changes."""
    return logged_steps(table, rows)[None, :] <= rows["steps"][:, None]


#: A yes or no for every look of every trial.
Looks = Callable[[Table, Table], np.ndarray]


def share_of_looks(readout: str, holds: Looks, counts: Looks = moving):
    """Share of the looks that count at which something holds, mean over trials."""

    def estimate(table: Table) -> Estimate:
        rows = rows_of(table, readout)
        if not len(rows):
            return Estimate(np.nan, None, 0, "not in this table")
        counted = counts(table, rows)
        return average((holds(table, rows) & counted).sum(axis=1) / counted.sum(axis=1))

    return estimate


def band(label: str, steps: np.ndarray, log: np.ndarray) -> Series:
    """Mean over trials with its interval, over the steps given."""
    log = log[:, : len(steps)]
    low, high = (log[0], log[0]) if len(log) < 2 else fit.mean_interval(log, level=0.95)
    return Series(label, steps, log.mean(axis=0), low, high)


def steps_of(table: Table, rows: Table) -> np.ndarray:
    """Logged steps up to a little after the last trial has settled, where all stands still."""
    steps = logged_steps(table, rows)
    return steps[: max(2, int(np.searchsorted(steps, 1.25 * rows["steps"].max())))]
