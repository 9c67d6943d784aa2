r"""Event III, decided: the second rise of the value strength, and the diagonal it begins at."""

from collections.abc import Iterator

import numpy as np

from limelight.claims import AtLeast, Claim, Estimate
from limelight.fit.curves import crossing
from limelight.fit.estimates import largest, lowest, mean
from limelight.papers.jelassi2022.reading import fact
from limelight.table import Table

WORLD = ("tokens", "size", "density", "ratio")
BETA = "diagonal"
#: A rise that counts, and the stiffness above which alpha may oscillate and feign one.
RISE, CALM = 1.02, 1.0
LARGE = (4.0, 5.0)


def rises(rows: Table) -> np.ndarray:
    r"""$R$ of each run; NaN where descent was not calm."""
    calm = rows["finite"] & (rows["trace.stiffness"].max(axis=1) < CALM)
    return np.where(calm, rows["top"] / rows["best_alpha"], np.nan)


def curves_of(table: Table) -> Iterator[tuple[str, dict, np.ndarray, Table]]:
    """Each world's name, settings, diagonals and rows, diagonals rising."""
    for at, rows in table.cells(*WORLD):
        name = f"({at['tokens']}, {at['size']}, {at['density']:g})"
        yield name, at, rows[BETA], rows.rows(np.argsort(rows[BETA], kind="stable"))


def least_rise(betas):
    """The smallest R over all worlds at given diagonals."""

    def estimate(table: Table) -> Estimate:
        found = {}
        for name, _, _, rows in curves_of(table):
            for beta in betas:
                here = rows.where(**{BETA: beta})
                if len(here):
                    passed = "" if here["passed"].all() else ", still running"
                    found[f"{name} beta {beta:g}{passed}"] = -float(rises(here)[0])
        least = largest(found)
        note = ", ".join(f"{name}: {-value:.3f}" for name, value in found.items())
        return Estimate(-least.value, None, least.n, note)

    return estimate


def drawn_rise(betas):
    """The mean R over seeds, at the diagonal where it is smallest."""

    def estimate(table: Table) -> Estimate:
        return lowest(
            (f"beta {beta:g}", mean(rises(rows)))
            for beta in betas
            if len(rows := table.where(**{BETA: beta}))
        )

    return estimate


def onset(betas: np.ndarray, rise: np.ndarray) -> float:
    """The diagonal at which R crosses the level for good, between neighbours; NaN for never.

    Example:
        >>> round(onset(np.array([1.0, 2.0, 3.0]), np.array([0.9, 1.0, 1.1])), 6)
        2.2
    """
    return float(crossing(betas, rise, RISE, for_good=True)[0])


def rule_of(table: Table) -> str:
    """How the two groups of weights shared their steps: constant rates, and their ratio."""
    swept = "ratio" in table.columns
    ratios = table.values("ratio") if swept else [fact(table, "ratio")]
    listed = " and ".join(f"{ratio:g}" for ratio in ratios)
    return f"steps two_rate, eta_v = {fact(table, 'rate'):g}, rates A : v {listed}"


EXACT = (
    Claim(
        "event3-beta1",
        "Event III: alpha rises again, at a diagonal of 1.",
        "R = largest alpha over the best alpha for the attention at the start, smallest of worlds",
        least_rise((1.0,)),
        AtLeast(RISE),
        "jelassi2022, Section 4.1, Event III",
    ),
    Claim(
        "event3-large",
        "Event III: alpha rises again, at diagonals of 4 and 5.",
        "the same, smallest of worlds and diagonals",
        least_rise(LARGE),
        AtLeast(RISE),
        "jelassi2022, Section 4.1, Event III",
    ),
)
DRAWN = (
    Claim(
        "event3-64-beta1",
        "Event III at 64 patches, drawn populations, a diagonal of 1.",
        "R, mean over seeds",
        drawn_rise((1.0,)),
        AtLeast(RISE),
        "jelassi2022, Section 4.1, Event III",
    ),
    Claim(
        "event3-64-large",
        "Event III at 64 patches, drawn populations, diagonals of 4 and 5.",
        "R, mean over seeds, smaller of the two",
        drawn_rise(LARGE),
        AtLeast(RISE),
        "jelassi2022, Section 4.1, Event III",
    ),
)
