"""What several figures read off their tables: rates and means, and whom they cite."""

import numpy as np

from limelight.claims import LEVEL, Estimate, Undecided
from limelight.fit.estimates import mean, share
from limelight.table import Table

SPHERE = "Geshkovski, Letrouit, Polyanskiy and Rigollet (2024)"
COLLAPSE = "Dong, Cordonnier and Loukas (2021)"


def rate(good: np.ndarray, level: float = LEVEL) -> Estimate:
    """A share of draws, Clopper and Pearson's interval."""
    return share(good, level=level, method="exact")


def average(values: np.ndarray, level: float = LEVEL) -> Estimate:
    """A mean over draws, Student's interval."""
    return mean(values, level=level)


def over(rows: Table) -> Table:
    """The same rows; a run that was cut off decides nothing."""
    if not len(rows):
        raise Undecided("not in this table")
    cut = int((~rows["finished"].astype(bool)).sum())
    if cut:
        raise Undecided(f"{cut} of {len(rows)} runs were cut off", len(rows))
    return rows


def near(rows: Table, name: str, *values: float) -> Table:
    """The rows whose column is one of these values."""
    close = np.isclose(rows[name].astype(float)[:, None], np.array(values))
    return rows.rows(np.flatnonzero(np.any(close, axis=1)))
