"""What several figures read off their tables: courses that must be over, slopes within a seed."""

from collections.abc import Callable

import numpy as np

from limelight._core.arrays import Real
from limelight.claims import Undecided
from limelight.plot import Guide
from limelight.table import Table

SCALE = "model.scale"
#: Where Zhang et al. (2025) are cited.
DYNAMICS = "Zhang, Singh, Latham and Saxe (2025)"


def over(rows: Table) -> Table:
    """The same rows; a run that was cut off decides nothing."""
    if not len(rows):
        raise Undecided("not in this table")
    cut = int((~rows["finished"].astype(bool)).sum())
    if cut:
        raise Undecided(f"{cut} of {len(rows)} runs were cut off", len(rows))
    return rows


def by_scale(
    rows: Table, read: Callable[[Table], np.ndarray], most: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Scales of the start, falling, and what is read: a row per seed, a column per scale."""
    rows = over(rows.rows(rows[SCALE] <= most * (1 + 1e-9)))
    scales = rows.values(SCALE)[::-1]
    if len(scales) < 2:
        raise Undecided("one scale has no slope")
    parts = [rows.where(model__scale=scale) for scale in scales]
    parts = [part.rows(np.argsort(part["trial"])) for part in parts]
    return scales, np.stack([read(part) for part in parts], axis=-1)


def slopes(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The least-squares slope of every row of values on x."""
    off = x - x.mean()
    return (values * off).sum(axis=-1) / (off**2).sum()


def log_slopes(
    rows: Table, read: Callable[[Table], np.ndarray], most: float = np.inf
) -> np.ndarray:
    """Seed by seed, the slope of the logarithm of what is read on that of 1/s."""
    scales, values = by_scale(rows, read, most)
    with np.errstate(divide="ignore"):
        return slopes(-np.log(scales), np.log(values))


def course(rows: Table, level: Real) -> tuple[np.ndarray, np.ndarray]:
    """Times and the losses of one run there, up to its end at a level."""
    losses = rows["trace.loss"][0]
    first, last = rows.setting("span")
    times = np.geomspace(first, last, len(losses))
    known = np.isfinite(losses)
    return np.append(times[known], rows["reached"][0]), np.append(losses[known], level)


def lines_at(levels: np.ndarray, times: tuple[Real, Real]) -> list[Guide]:
    """The levels that theory gives, drawn across."""
    across = [float(time) for time in times]
    return [
        Guide("" if m else "levels $L_m$", across, [float(level)] * 2, colour="muted", dash=1)
        for m, level in enumerate(levels)
    ]


def seeds(rows: Table, level: Real, most: int = 3) -> list[Guide]:
    """The courses of a few seeds, down to a level, in colours of their own."""
    return [
        Guide("", *course(rows.where(trial=trial), level), colour=int(place), dash=0)
        for place, trial in enumerate(rows.values("trial")[:most])
    ]
