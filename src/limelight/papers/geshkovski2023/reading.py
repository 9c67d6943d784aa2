"""What several figures read off their tables: rates and means at 99 %, and whom they cite."""

import numpy as np

from limelight.claims import Estimate, Undecided
from limelight.fit.estimates import mean, share
from limelight.table import Table

SPHERE = "Geshkovski, Letrouit, Polyanskiy and Rigollet (2024)"
COLLAPSE = "Dong, Cordonnier and Loukas (2021)"
#: Every interval that decides a claim of this paper.
LEVEL = 0.99


def rate(good: np.ndarray, note: str = "") -> Estimate:
    """A share of draws, Clopper and Pearson's interval."""
    return share(good, level=LEVEL, method="exact", note=note)


def average(values: np.ndarray, note: str = "") -> Estimate:
    """A mean over draws, Student's interval."""
    return mean(values, level=LEVEL, note=note)


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
