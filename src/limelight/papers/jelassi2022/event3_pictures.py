r"""Event III, drawn: the second rise over the frozen diagonal, and the courses behind it."""

import numpy as np

from limelight.fit.estimates import ends_of, mean
from limelight.papers.jelassi2022.event3_claims import BETA, RISE, curves_of, rises, rule_of
from limelight.papers.jelassi2022.reading import told
from limelight.plot import Panel, Reference, Series, caption, curves, panels
from limelight.table import Table


def draw(table: Table):
    """R over the frozen diagonal, exact, one line a world."""
    lines = [(name, rows[BETA], rises(rows)) for name, _, _, rows in curves_of(table)]
    figure = curves(
        lines,
        x_label=r"frozen diagonal $\beta$",
        y_label=r"$R = \max_t \alpha_t / \alpha^*(A_0)$",
        references=[Reference("no second rise", 1.0), Reference("counts as one", RISE)],
        width=4.6,
    )
    caption(figure, *told(table, "worlds (D, C, q); exact, nothing drawn"), rule_of(table))
    return figure


def draw_courses(table: Table):
    """The course of alpha and of the gain at several diagonals, in the first world."""
    name, _, _, rows = next(curves_of(table))
    chosen = [i for i, beta in enumerate(rows[BETA]) if beta in (0.0, 1.0, 2.0, 3.0, 5.0)]

    def lines(trace, by=None):
        found = []
        for i in chosen:
            keep = np.unique(rows["trace.step"][i], return_index=True)[1][1:]
            values = rows[f"trace.{trace}"][i][keep]
            over = 1.0 if by is None else rows[by][i]
            label = rf"$\beta$ = {rows[BETA][i]:g}"
            found.append((label, rows["trace.step"][i][keep], values / over))
        return found

    figure = panels(
        [
            Panel("value strength", lines("alpha", "best_alpha"), r"$\alpha_t / \alpha^*(A_0)$"),
            Panel("gain", lines("gain"), "G"),
            Panel("same set", lines("gamma"), r"$\gamma$"),
        ],
        x_label="step",
        log_x=True,
        columns=3,
        height=1.9,
    )
    caption(
        figure,
        *told(table, f"world (D, C, q) = {name}; a run ends past its maximum"),
        rule_of(rows),
    )
    return figure


def draw_drawn(table: Table):
    """R over the frozen diagonal at 64 patches, with its spread over drawn populations."""
    betas = table.values(BETA)
    values = [rises(table.where(**{BETA: beta})) for beta in betas]
    found = [mean(value) for value in values]
    ends = np.array([ends_of(e) for e in found])
    figure = curves(
        [Series("(64, 4, 0.3), drawn", betas, [e.value for e in found], ends[:, 0], ends[:, 1])],
        x_label=r"frozen diagonal $\beta$",
        y_label=r"$R = \max_t \alpha_t / \alpha^*(A_0)$",
        references=[Reference("no second rise", 1.0), Reference("counts as one", RISE)],
        width=4.6,
    )
    caption(figure, *told(table, "mean over seeds with a 95 % interval"), rule_of(table))
    return figure
