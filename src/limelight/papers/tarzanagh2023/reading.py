"""What several figures of tarzanagh2023 read off their tables."""

from dataclasses import replace

from limelight.claims import LEVEL, Estimate
from limelight.fit import estimates
from limelight.table import Table

#: Trials below which nothing is decided, whatever the value.
USABLE = 20
#: Whose statements these are.
PAPER = "tarzanagh2023"


def share(good, note: str = "", family: int = 1) -> Estimate:
    """A share of at least twenty trials; one of a family, whose intervals hold together."""
    return _shared(estimates.share, good, note, family)


def mean(values, note: str = "", family: int = 1) -> Estimate:
    """A mean of at least twenty trials; one of a family, as in `share`."""
    return _shared(estimates.mean, values, note, family)


def _shared(estimate, values, note: str, family: int) -> Estimate:
    """Each of a family at its part of the error (Bonferroni), so that the worst may be chosen."""
    found = estimate(values, level=1 - (1 - LEVEL) / family, least=USABLE, note=note)
    return replace(found, level=LEVEL, family=family)


def median(values, note: str = "") -> Estimate:
    """A median of at least twenty trials."""
    return estimates.median(values, least=USABLE, note=note)


def yes(rows: Table, column: str):
    """A column of yes and no."""
    return rows[column].astype(bool)
