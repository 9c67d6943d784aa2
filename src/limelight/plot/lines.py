"""Pictures of lines and points: one panel, or several with one set of names."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight.plot.marks import Line, Number, Reference, as_guide, as_series
from limelight.plot.picture import TWO_COLUMNS, WIDE, Axis, Panel, Picture


def lines(
    series: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    guides: Sequence[Line] = (),
    references: Sequence[Reference] = (),
    log_x: bool = False,
    log_y: bool = False,
    limits: tuple[Number, Number] | None = None,
    x_ticks: Sequence[Number] | np.ndarray | Mapping[Any, str] | None = None,
    width: Number = WIDE,
    height: Number | None = None,
    note: str | Sequence[str] = (),
) -> Picture:
    """One panel of lines over x, each with the band of its interval.

    Names stand in the right margin or inside the panel, beside their lines, and cover no data.

    Args:
        series: The lines; `(label, x, y)` will do for one without a band. `Points` are separate
            marks with error bars.
        x_label: What `x` is, with its unit.
        y_label: What `y` is, with its unit.
        title: One line over the picture.
        guides: Lines to compare with, such as a law: thin and without marks.
        references: Straight lines, the horizontal ones named in the right margin.
        log_x: Whether x is logarithmic.
        log_y: Whether y is logarithmic.
        limits: The range of y, when it has natural ends such as 0 and 1.
        x_ticks: The values of x to mark, or those values and what to write there.
        width: Inches.
        height: Inches.
        note: Facts for the caption.

    Raises:
        InputError: For no series at all.

    Example:
        >>> from limelight import plot
        >>> picture = plot.lines([("loss", [1, 10], [0.5, 0.1])], x_label="n", y_label="loss",
        ...     log_x=True)
        >>> len(picture.panels)
        1
    """
    if not series:
        raise InputError("no series to draw")
    marks = [*map(as_series, series), *map(as_guide, guides), *references]
    x, y = Axis(x_label, log_x, None, x_ticks), Axis(y_label, log_y, limits)
    panel = Panel("", marks, y, x)
    return Picture([panel], width=width, height=height, title=title, note=note)


def panels(
    parts: Sequence[Panel],
    *,
    x_label: str = "",
    log_x: bool = False,
    columns: int = 4,
    share: bool = False,
    title: str = "",
    height: Number = 1.5,
    note: str | Sequence[str] = (),
) -> Picture:
    """A grid of panels as wide as the page.

    Args:
        parts: The panels, row by row.
        x_label: What x is in those panels that do not say it themselves.
        log_x: Whether it is logarithmic there.
        columns: Panels in a row.
        share: Whether all panels have one range of x and of y.
        title: One line over the picture.
        height: Inches of a row.
        note: Facts for the caption.

    Example:
        >>> from limelight import plot
        >>> parts = [plot.Panel(name, [("a", [1, 2], [3, 4])]) for name in ("left", "right")]
        >>> plot.panels(parts, x_label="step").columns
        2
    """
    if not parts:
        raise InputError("no panels to draw")
    x = Axis(x_label, log_x)
    named = [part if part.x else replace(part, x=x) for part in parts]
    columns = min(columns, len(parts))
    rows = math.ceil(len(parts) / columns)
    return Picture(
        named,
        columns=columns,
        width=TWO_COLUMNS,
        height=float(height) * rows + 0.6,
        title=title,
        note=note,
        share="both" if share else "",
    )
