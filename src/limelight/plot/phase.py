"""Phase diagrams: where in a plane of two axes the trials succeed, and the edge between."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limelight._core.errors import InputError
from limelight._core.labels import label as words_for
from limelight.plot.captions import provenance
from limelight.plot.marks import (
    Colour,
    Line,
    Map,
    Mark,
    Number,
    Points,
    Series,
    Span,
    as_guide,
    plain_number,
)
from limelight.plot.picture import WIDE, Axis, Panel, Picture
from limelight.table import Table

EDGE = 1
THEORY: tuple[Colour, ...] = ("ink", 3, 2, 4)
SHARE = "share of trials that succeed"


def phase_diagram(
    x: ArrayLike,
    y: ArrayLike,
    rate: ArrayLike,
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    edge: Series | None = None,
    theory: Sequence[Line] = (),
    validity: Span | None = None,
    log_x: bool = False,
    marked: tuple[str, ArrayLike] | None = None,
    top: tuple[str, ArrayLike] | None = None,
    bar_label: str = SHARE,
    width: Number = WIDE,
    height: Number | None = None,
    note: str | Sequence[str] = (),
) -> Picture:
    r"""The share of successes on a grid, the estimated edge, and what theory says of it.

    Cells are as wide as the gaps between the values of `x` (which may be uneven, as under
    $x = \alpha^{-2}$) and, on the logarithmic `y` axis, as high as the ratios between those of
    `y`. Dark cells fail and light ones succeed; a cell without trials is crossed out.

    Args:
        x: The columns, distinct, in any order.
        y: The rows, distinct and positive, in any order.
        rate: Shares in [0, 1], one row for each `y`; NaN where nothing was run.
        x_label: What `x` is, with its unit.
        y_label: What `y` is, with its unit.
        title: One line over the picture.
        edge: The threshold over `x` and its interval; ends outside the grid become arrows.
        theory: Curves to lay over the map, each `(label, x, y)`.
        validity: Where a theorem does not apply; whole cells are hatched, by their middles.
        log_x: Whether x is logarithmic too, so that powers are straight lines.
        marked: A label, and the cells to mark with a cross: yes or no, in the shape of `rate`.
        top: A second label of the axis across, and other names for the columns, in their order.
        bar_label: What the colours mean.
        width: Inches.
        height: Inches.
        note: Facts for the caption.

    Raises:
        InputError: When the shapes disagree, a value repeats, or a rate is not a share.

    Example:
        >>> picture = phase_diagram([1, 2], [4, 8], [[0.0, 0.5], [0.5, 1.0]], x_label="a",
        ...     y_label="n")
        >>> picture.panels[0].x.label
        'a'
    """
    across, upwards, rates, i, j = _in_order(x, y, rate)
    cells = Map(rates, bar_label, x=across, y=upwards, low=0, high=1)
    cells = replace(cells, bar_ticks=(0, 0.25, 0.5, 0.75, 1))
    marks: list[Mark] = []
    if edge is not None:
        marks.append(replace(edge, colour=EDGE, marker="o", dash=0))
    marks += [
        replace(as_guide(line), colour=THEORY[i % 4], dash=1 + i % 4, width=1.3)
        for i, line in enumerate(theory)
    ]
    if validity is not None:
        marks.append(_whole_cells(validity, across, log_x))
    marks.append(cells)
    if marked is not None:
        label, where = marked
        rows, columns = np.nonzero(np.asarray(where, bool)[np.ix_(j, i)])
        if len(rows):
            crosses = across[columns], upwards[rows]
            marks.append(Points(label, *crosses, marker="x", size=3.5, colour="ink"))
    above = None
    if top is not None:
        label, names = top
        words = [n if isinstance(n, str) else plain_number(n) for n in np.asarray(names)[i]]
        above = Axis(label, ticks=dict(zip(across.tolist(), words, strict=True)))
    panel = Panel(
        "",
        marks,
        y=Axis(y_label, log=True, ticks=upwards.tolist()),
        x=Axis(x_label, log=log_x, ticks=across.tolist()),
        top=above,
    )
    return Picture([panel], width=width, height=height, title=title, note=note)


def _whole_cells(span: Span, x: np.ndarray, log: bool) -> Span:
    """A hatched strip that ends between cells: part of a cell would say nothing of its trials."""
    edges = np.log(x) if log else x
    between = (edges[1:] + edges[:-1]) / 2
    inside = np.flatnonzero((x >= span.low) & (x <= span.high))
    if not len(inside):
        return replace(span, low=np.inf, high=np.inf, hatched=True)
    ends = np.concatenate([[-np.inf], np.exp(between) if log else between, [np.inf]])
    return replace(span, low=ends[inside[0]], high=ends[inside[-1] + 1], hatched=True)


def phase(
    table: Table,
    x: str,
    y: str,
    edge: Any = None,
    *,
    measure: str | None = None,
    level: Number | None = None,
    below: bool | None = None,
    transform: Callable[[np.ndarray], np.ndarray] | None = None,
    x_label: str = "",
    y_label: str = "",
    edge_label: str = "half of the trials succeed",
    facts: Sequence[str] = (),
    **options: Any,
) -> Picture:
    """A phase diagram straight from a table.

    Args:
        table: One row for each trial; other axes may move with `x`, but not on their own.
        x: The axis across.
        y: The axis upwards, drawn on a logarithmic scale.
        edge: A fitted threshold: anything with `x(axis)`, `values`, `low` and `high`. Its
            `measure`, `level` and `below`, where it has them, are the defaults of the next three;
            where its `resolved` is false only the interval is drawn.
        measure: The column that decides success.
        level: A trial succeeds when the measure is at least this.
        below: Succeed under the level instead.
        transform: What to draw of `x`, such as `lambda a: a**-2`; the raw values go on top.
        x_label: Instead of the axis in words.
        y_label: Instead of the axis in words.
        edge_label: What the edge is, in the legend.
        facts: For the line under the axes, after the number of trials.
        options: Passed on to `phase_diagram`.

    Raises:
        InputError: When measure or level is unknown, or the table varies over a third axis.

    Example:
        >>> n, a = np.meshgrid([2, 8, 32], [0.3, 0.5])
        >>> table = Table({"n": n.ravel(), "a": a.ravel(), "y": (n * a).ravel()}, ("n", "a"))
        >>> phase(table, x="a", y="n", measure="y", level=4).panels[0].y.label
        'n'
    """
    measure = measure if measure is not None else getattr(edge, "measure", None)
    level = level if level is not None else getattr(edge, "level", None)
    below = below if below is not None else bool(getattr(edge, "below", False))
    if measure is None or level is None:
        raise InputError("no rule for success", "give measure= and level=, or a fitted edge=")
    columns, rows, rate, trials = success_rates(table, x, y, measure, float(level), below=below)
    across = columns if transform is None else transform(columns)
    series = None
    if edge is not None:
        series = _from_edge(edge, x, y, edge_label, transform or np.asarray)
    if transform is not None:
        options.setdefault("top", (words_for(x), columns))
    sign = "<" if below else "≥"
    rule = f"success: {words_for(measure)} {sign} {float(level):g}"
    picture = phase_diagram(
        *(across, rows, rate),
        x_label=x_label or (words_for(x) if transform is None else f"transformed {words_for(x)}"),
        y_label=y_label or words_for(y),
        edge=series,
        note=(rule, *facts),
        **options,
    )
    few, many = int(trials[trials > 0].min()), int(trials.max())
    return picture.captioned(*provenance(trials=few if few == many else f"{few} to {many}"))


def _from_edge(
    edge: Any, x: str, y: str, label: str, transform: Callable[[np.ndarray], np.ndarray]
) -> Series:
    if getattr(edge, "along", y) != y:
        raise InputError(f"the edge lies along {edge.along!r}, not {y!r}", "fit it along y")
    values = np.asarray(edge.values, dtype=float)
    values = np.where(getattr(edge, "resolved", True), values, np.nan)
    return Series(label, transform(np.asarray(edge.x(x), dtype=float)), values, edge.low, edge.high)


# --- the grid ---------------------------------------------------------------------------------


def success_rates(
    table: Table, x: str, y: str, measure: str, level: Number, *, below: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The share of successes in each cell of a table.

    A trial that diverged (the `diverged` column, where the table has one), or whose measure is not
    a number, does not succeed. Of a trace the last value counts.

    Returns:
        The values of `x`, those of `y`, the rates (`y` by `x`, NaN where nothing ran) and the
        trials of each cell.

    Example:
        >>> n, a = np.meshgrid([2, 8, 32], [0.3, 0.5])
        >>> table = Table({"n": n.ravel(), "a": a.ravel(), "y": (n * a).ravel()}, ("n", "a"))
        >>> success_rates(table, "a", "n", "y", 4)[2].tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    if not len(table):
        raise InputError("the table has no rows", "run the study first")
    for axis in table.axes:
        if axis not in (x, y) and _moves_alone(table, axis, x, y):
            pick = f"pick one value first: table.where({axis.replace('.', '__')}=...)"
            raise InputError(f"the table also varies over {axis!r}", pick)
    values = table[measure]
    values = values if values.ndim == 1 else values[:, -1]
    success = values < level if below else values >= level
    if "diverged" in table.columns:
        success &= ~table["diverged"].astype(bool)
    columns, column = np.unique(table[x], return_inverse=True)
    rows, row = np.unique(table[y], return_inverse=True)
    for name, ticks in ((x, columns), (y, rows)):
        if not np.issubdtype(ticks.dtype, np.number):
            raise InputError(f"the axis {name!r} does not hold numbers")
    shape = (len(rows), len(columns))
    place = np.ravel_multi_index((row, column), shape)
    trials = np.bincount(place, minlength=len(rows) * len(columns)).reshape(shape)
    wins = np.bincount(place, weights=success, minlength=trials.size).reshape(shape)
    rate = np.divide(wins, trials, out=np.full(shape, np.nan), where=trials > 0)
    return columns.astype(float), rows.astype(float), rate, trials


def _moves_alone(table: Table, axis: str, x: str, y: str) -> bool:
    """Whether an axis takes several values at one place of the plane."""
    codes = [np.unique(table[name], return_inverse=True)[1] for name in (x, y, axis)]
    with_it, without = np.unique(codes, axis=1), np.unique(codes[:2], axis=1)
    return with_it.shape[1] > without.shape[1]


def _in_order(
    x: ArrayLike, y: ArrayLike, rate: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Check what a phase diagram was given, and sort it.

    Returns:
        The columns and the rows ascending, the rates in that order, and both orders.

    Raises:
        InputError: When the shapes disagree, a value repeats, or a rate is not a share.
    """
    x, y, rate = (np.asarray(v, dtype=float) for v in (x, y, rate))
    if x.ndim != 1 or y.ndim != 1 or rate.shape != (len(y), len(x)) or not rate.size:
        shape = f"x {x.shape}, y {y.shape}, rate {rate.shape}"
        raise InputError(f"the shapes do not agree: {shape}", "rate has a row for each y")
    if len(np.unique(x)) < len(x) or len(np.unique(y)) < len(y):
        raise InputError("a value of x or y repeats", "average its trials first")
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (y > 0).all()):
        raise InputError("x and y must be finite, and y positive for its logarithmic axis")
    known = rate[~np.isnan(rate)]
    if ((known < 0) | (known > 1)).any():
        raise InputError("a success rate lies outside [0, 1]")
    i, j = np.argsort(x), np.argsort(y)
    return x[i], y[j], rate[np.ix_(j, i)], i, j
