"""What several figures of tarzanagh2023 read off their tables."""

from limelight.claims import LEVEL, Estimate
from limelight.fit import estimates
from limelight.table import Table

#: Trials below which nothing is decided, whatever the value.
USABLE = 20
#: Whose statements these are.
PAPER = "tarzanagh2023"


def share(good, note: str = "", level: float = LEVEL) -> Estimate:
    """A share of at least twenty trials."""
    return estimates.share(good, level=level, least=USABLE, note=note)


def mean(values, note: str = "", level: float = LEVEL) -> Estimate:
    """A mean of at least twenty trials."""
    return estimates.mean(values, level=level, least=USABLE, note=note)


def median(values, note: str = "") -> Estimate:
    """A median of at least twenty trials."""
    return estimates.median(values, least=USABLE, note=note)


def yes(rows: Table, column: str):
    """A column of yes and no."""
    return rows[column].astype(bool)
