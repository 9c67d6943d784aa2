"""Appendix G as experiments: what the recipes of classes, heads and skip connections share.

The appendix says of every extension that the conclusions stay. So each is asked what Figure 4 asks
of the plain network: do trials succeed, and does attention rise on the label-relevant tokens?
"""

import numpy as np

from limelight import plot
from limelight.claims import Estimate, NotApplicable, Undecided
from limelight.fit import estimates
from limelight.papers.li2023.concentration import average, logged_steps
from limelight.papers.li2023.traces import band, moving, steps_of, trace
from limelight.table import Table

#: Test hinge loss below which a trial succeeds, the paper's.
SUCCESS = 1e-3
#: Where all agree, so many trials put the lower end of a share above 0.9.
TRIALS = 40


def cell(table: Table, **equal) -> Table:
    """The trials of one cell, in their order; conditions as in `Table.where`."""
    rows = table.where(**equal)
    if not len(rows):
        raise Undecided("not in this table")
    return rows.rows(np.argsort(rows["trial"], kind="stable"))


def rise(rows: Table) -> Estimate:
    """Final minus initial mass on S_*, mean over queries and trials."""
    log = trace(rows, "mass.all")
    return average(log[:, -1] - log[:, 0])


def successes(rows: Table) -> Estimate:
    """Share of trials with a test hinge loss below 0.001."""
    return estimates.share(rows["test_loss"] < SUCCESS, method="exact")


def backslides(table: Table, rows: Table) -> np.ndarray:
    """How far the mean margin falls below its highest so far while training moves, per trial."""
    margin = trace(rows, "margin.mean")
    fall = np.maximum.accumulate(margin, axis=1) - margin
    return np.where(moving(table, rows), fall, 0.0).max(axis=1)


def steadier(table: Table, first: Table, second: Table) -> Estimate:
    """How much less far the margin falls in the second than in the first, paired by trial."""
    one, other = backslides(table, first), backslides(table, second)
    if not one.any() and not other.any():
        raise NotApplicable("the mean margin falls in no trial of either", n=len(one))
    return estimates.paired(one, other)


def draw_mass(table: Table, parts: dict[str, Table]) -> plot.Picture:
    """Attention on the label-relevant tokens over steps, all queries, by what is compared."""
    steps = steps_of(table, table)
    return plot.lines(
        [band(label, steps, trace(rows, "mass.all")) for label, rows in parts.items()],
        x_label="training step",
        y_label=r"attention mass on $\mathcal{S}_*$",
        limits=(0, 1),
    )


def draw_margin(table: Table, parts: dict[str, Table]) -> plot.Picture:
    """The mean margin on fresh examples over steps, by what is compared."""
    steps = steps_of(table, table)
    return plot.lines(
        [band(label, steps, trace(rows, "margin.mean")) for label, rows in parts.items()],
        x_label="training step",
        y_label="mean margin $yF(X)$",
        references=[plot.Reference("hinge loss 0", 1.0)],
    )


def last_step(table: Table) -> int:
    """The last step that is logged."""
    return int(logged_steps(table, table)[-1])
