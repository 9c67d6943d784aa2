r"""Transfer, drawn: four arms over the images of the new task, and what scratch needs."""

import numpy as np
from matplotlib.axes import Axes

from limelight.fit.estimates import median_ends
from limelight.papers.jelassi2022.reading import fact
from limelight.papers.jelassi2022.transfer_claims import (
    ARMS,
    EXAMPLES,
    LEVEL,
    MARKS,
    by_size,
    needs,
    rule_of,
    seen_by,
)
from limelight.plot import TWO_COLUMNS, caption, new_figure, provenance
from limelight.plot.style import COLOURS, DASHES, INK, LABEL, MARKERS, MUTED, label, open_frame
from limelight.table import Table
from limelight.theory.jelassi2022.linear import linear_error


def draw(table: Table):
    """Test error against images, four arms, a panel a size; at last what scratch needs."""
    sizes = list(by_size(table))
    columns = min(3, len(sizes) + 1)
    rows_of = -(-(len(sizes) + 1) // columns)
    figure = new_figure(TWO_COLUMNS, 0.5 + 1.9 * rows_of, rows=rows_of, columns=columns)
    spots = list(figure.axes)
    for axes, (D, rows) in zip(spots, sizes, strict=False):
        _arms(axes, table, rows)
        linear = linear_error(D, fact(table, "world.size"), MARKS / D)
        axes.axhline(linear, color=MUTED, linewidth=0.8, linestyle=DASHES[2])
        axes.set_title(f"D = {D}", fontsize=LABEL, color=INK, loc="left", pad=3)
    _needs(spots[len(sizes)], table)
    for axes in spots[len(sizes) + 1 :]:
        axes.set_axis_off()
    figure.legend(
        handles=figure.axes[0].get_lines()[: len(ARMS)],
        loc="outside upper left",
        ncols=2,
        frameon=False,
        fontsize=LABEL,
        labelcolor=INK,
    )
    scale, trials = table.manifest.get("scale", ""), table.manifest["configuration"]["trials"]
    note = "median and 95 % interval over seeds; dotted: the linear rule"
    caption(figure, *provenance(scale=scale, trials=trials, note=note), rule_of(table))
    return figure


def _arms(axes: Axes, table: Table, rows: Table) -> None:
    open_frame(axes)
    images, least = np.unique(rows[EXAMPLES]), 1 / fact(table, "tests")
    for number, (column, name) in enumerate(ARMS.items()):
        N = seen_by(table, column, images)
        parts = [rows.where(examples=n)[column].astype(float) for n in N]
        middle = np.array([np.median(part) for part in parts])
        low, high = np.array([median_ends(part) for part in parts]).T
        look = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 2.8}
        # A logarithm has no place for an error of none; the least that can be seen stands for it.
        middle, low, high = (np.maximum(values, least) for values in (middle, low, high))
        axes.plot(N, middle, label=name, linewidth=1.0, **look)
        axes.fill_between(N, low, high, color=COLOURS[number], alpha=0.2, linewidth=0)
    axes.set(xscale="log", yscale="log")
    plain_ticks(axes.xaxis, images[:: -(-len(images) // 5)])
    plain_ticks(axes.yaxis, [0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3])
    label(axes, "images", "test error")


def _needs(axes: Axes, table: Table) -> None:
    open_frame(axes)
    found = needs(table, 1000)
    D, N = np.array([s.patches for s in found]), np.array([s.images for s in found])
    ends = np.array([np.percentile(size.draws, [2.5, 97.5]) for size in found]).T
    look = {"color": COLOURS[3], "marker": MARKERS[3], "markersize": 3.2, "linestyle": "none"}
    axes.errorbar(D, N, yerr=np.abs(ends - N), elinewidth=0.8, **look)
    axes.set(xscale="log", yscale="log")
    plain_ticks(axes.xaxis, D)
    plain_ticks(axes.yaxis, [2**k for k in range(0, 14, 2)])
    label(axes, "patches D", "images from scratch")
    axes.set_title(f"images for an error of {LEVEL}", fontsize=LABEL, color=INK, loc="left", pad=3)


def plain_ticks(axis, values) -> None:
    """Plain numbers at the values that are in view."""
    low, high = sorted(axis.get_view_interval())
    shown = [value for value in values if low <= value <= high]
    axis.set_ticks(shown, [f"{value:g}" for value in shown])
    axis.set_ticks([], minor=True)
