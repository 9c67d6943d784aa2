"""Several panels of lines in one figure, under one legend."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limelight.core.errors import InputError
from limelight.plot import style
from limelight.plot.marks import Line, as_series, draw_band, marked
from limelight.plot.style import TWO_COLUMNS, Number


@dataclass(frozen=True)
class Panel:
    """One panel: a title, its lines, and what its vertical axis is."""

    title: str
    lines: Sequence[Line]
    y_label: str = ""
    log_y: bool = False


def panels(
    parts: Sequence[Panel],
    *,
    x_label: str,
    log_x: bool = False,
    columns: int = 4,
    share: bool = False,
    title: str = "",
    height: Number = 1.5,
) -> Figure:
    """A grid of panels; a line keeps its look wherever its label occurs.

    Args:
        parts: The panels, row by row.
        x_label: What x is, with its unit.
        log_x: Whether x is logarithmic.
        columns: Panels in a row.
        share: Whether all panels have one range.
        title: One line over the figure.
        height: Inches of a row.
    """
    if not parts:
        raise InputError("no panels to draw")
    columns = min(columns, len(parts))
    rows = math.ceil(len(parts) / columns)
    figure = style.new_figure(
        TWO_COLUMNS,
        float(height) * rows + 0.6,
        rows=rows,
        columns=columns,
        title=title,
        share=share,
    )
    labels = list(dict.fromkeys(as_series(line).label for part in parts for line in part.lines))
    handles = {}
    for number, (axes, part) in enumerate(zip(figure.axes, parts, strict=False)):
        style.open_frame(axes)
        handles |= _draw_lines(axes, part, labels, log_x)
        last = number + columns >= len(parts)
        first = number % columns == 0 or not share
        style.label(axes, x_label if last else "", part.y_label if first else "")
        axes.set_title(part.title, fontsize=style.LABEL, color=style.INK, loc="left", pad=3)
    # Bands fix a range, also that of panels that share it, so all lines must be there first.
    for axes, part in zip(figure.axes, parts, strict=False):
        _draw_bands(axes, part, labels)
    for axes in figure.axes[len(parts) :]:
        axes.set_axis_off()
    figure.legend(
        handles=[handles[label] for label in labels],
        loc="outside right upper",
        frameon=False,
        fontsize=style.TICK,
        labelcolor=style.INK,
        handlelength=2.4,
    )
    return figure


def _draw_lines(axes: Axes, part: Panel, labels: list[str], log_x: bool) -> dict:
    drawn = {}
    axes.set_xscale("log" if log_x else "linear")
    axes.set_yscale("log" if part.log_y else "linear")
    for line in map(as_series, part.lines):
        place = labels.index(line.label)
        x, middle, _, _ = line.arrays()
        every = marked(len(x), place, len(labels))
        look = style.line_style(place)
        (drawn[line.label],) = axes.plot(x, middle, label=line.label, markevery=every, **look)
    return drawn


def _draw_bands(axes: Axes, part: Panel, labels: list[str]) -> None:
    for line in map(as_series, part.lines):
        if line.has_band:
            low, high = axes.get_ylim()
            ends = line.arrays()[2:]
            floor = min(low, *(e for e in ends[0] if e > 0 or not part.log_y), high)
            axes.set_ylim(floor, max(high, *ends[1]))
            draw_band(axes, line, style.line_style(labels.index(line.label))["color"], 0.18)
