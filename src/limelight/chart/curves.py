"""Any picture as a chart: its lines, points and maps, and what each one is under the pointer."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight._core.maths import in_text
from limelight.chart._layers import borders_of, colour_of, layers, look
from limelight.chart.chart import COLOURS, Chart, View, scale_of
from limelight.plot.marks import (
    Bars,
    Bundle,
    Map,
    Mark,
    Reference,
    Series,
    Span,
    Text,
    flat,
)
from limelight.plot.picture import Axis, Panel, Picture

#: Names that stand beside their lines at most; more are told by a legend.
NAMED = 4
_GAP = 14  # pixels between two names


def of_picture(picture: Picture) -> Chart:
    """A chart of a picture.

    Raises:
        InputError: Where it holds what Vega-Lite does not draw: images, contours.

    Example:
        >>> from limelight import plot
        >>> line = plot.Series("accuracy", [8, 16, 32], [0.6, 0.8, 0.9])
        >>> of_picture(plot.lines([line], x_label="examples", y_label="accuracy", title="It grows"))
        Chart: It grows
    """
    for panel in picture.panels:
        for mark in panel.content:
            if not isinstance(mark, Series | Bundle | Reference | Span | Text | Map | Bars):
                raise InputError(f"no chart of a picture with {type(mark).__name__.lower()}s")
    looks = _looks(picture)
    alone = len(picture.panels) == 1
    views, told = [], set()
    for panel in picture.panels:
        views.append(_view(panel, looks, alone, told))
    many = picture.columns or len(views)
    rows: list[View | Sequence[View]] = [views[i : i + many] for i in range(0, len(views), many)]
    rows = [views[0]] if alone else rows
    return Chart(
        rows=rows,
        title=in_text(picture.title),
        caption="; ".join(in_text(fact) for fact in picture.facts),
        margin=70 + (_room(picture.panels[0]) if alone else 0),
    )


def _room(panel: Panel) -> int:
    """Pixels that the names beside the lines need."""
    marks = [m for m in panel.content if isinstance(m, Series | Bundle | Bars) and m.label]
    names = {in_text(mark.label) for mark in marks}
    return 12 + 7 * min(55, max(map(len, names), default=0)) if len(names) <= NAMED else 0


# --- looks ------------------------------------------------------------------------------------


def _looks(picture: Picture) -> dict[str, tuple[str, int, int]]:
    """Colour, dash and shape of every label, the same in all panels."""
    found: dict[str, tuple[str, int, int]] = {}
    place = 0
    for panel in picture.panels:
        for mark in panel.content:
            label = getattr(mark, "label", "")
            if not label or isinstance(mark, Map | Reference | Span) or label in found:
                continue
            colour = getattr(mark, "colour", None)
            if colour is None:
                found[label] = (COLOURS[place % len(COLOURS)], 0, place)
                place += 1
            else:
                found[label] = (colour_of(colour), 0, place)
    return found


# --- one panel --------------------------------------------------------------------------------


def _view(panel: Panel, looks: Mapping[str, Any], alone: bool, told: set[str]) -> View:
    across, upwards = panel.axes
    matrix = next((m for m in panel.content if isinstance(m, Map) and m.x is None), None)
    height = 320 if alone else 200
    ends = _ends(panel, across, 0), _ends(panel, upwards, 1)
    if matrix is not None:
        rows, columns = np.shape(matrix.values)
        ends = (0.0, float(columns)), (float(rows), 0.0)  # the first row on top
    x, y = (
        {"type": "quantitative", "scale": scale_of(axis.log, *span), "axis": _axis(axis, matrix)}
        for axis, span in zip((across, upwards), ends, strict=True)
    )
    found: list[dict[str, Any]] = []
    for mark in sorted(panel.content, key=lambda m: not isinstance(m, Map | Span)):
        found += layers(mark, looks, x, y, ends, told)
    found += _names(panel, looks, ends[1], upwards.log, height, alone, told)
    if not found:
        found = [{"data": {"values": []}, "mark": "point"}]
    view: dict[str, Any] = {"layer": found, "height": height}
    if not alone:
        view["width"] = 200 if matrix is not None else 240
    if panel.title:
        view["title"] = in_text(panel.title)
    return view


def _axis(axis: Axis, matrix: Map | None) -> dict[str, Any]:
    found: dict[str, Any] = {"title": in_text(axis.label) or None, "grid": matrix is None}
    names = {i: name for i, name in enumerate(axis.categories)} or axis.ticks
    if isinstance(names, Mapping):
        words = {str(float(k)): in_text(str(v)) for k, v in names.items()}
        if matrix is not None and axis.categories:
            words = {str(float(k) + 0.5): v for k, v in words.items()}
        found["values"] = [float(key) for key in words]
        listed = json.dumps({f"{float(k):g}": v for k, v in words.items()}, ensure_ascii=False)
        found["labelExpr"] = f"{listed}[format(datum.value, '~g')] || ''"
        found["labelLimit"] = 200
    elif names is not None:
        found |= {"values": [float(v) for v in flat(names)], "format": ".4~g"}
    elif matrix is not None:
        found |= {"labels": False, "ticks": False}
    elif axis.log:
        found |= {"format": ".2~g", "tickCount": 5}
    else:
        found |= {"tickCount": 5}
    return found


def _ends(panel: Panel, axis: Axis, side: int) -> tuple[float, float]:
    """The ends of an axis: given, or around everything that is drawn."""
    if axis.limits is not None:
        low, high = (float(v) for v in axis.limits)
        return (low, high)
    seen = [v[np.isfinite(v)] for mark in panel.content for v in _reach(mark, side)]
    values = np.concatenate(seen) if seen else np.zeros(0)
    if axis.log:
        values = values[values > 0]
    if axis.categories:
        values = np.array([-0.5, len(axis.categories) - 0.5])
    if not len(values):
        return (1.0, 10.0) if axis.log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if axis.log:
        room = max((high / low) ** 0.05, 1.05)
        return low / room, high * room
    room = 0.05 * (high - low) or max(abs(low) * 0.1, 0.5)
    return low - room, high + room


def _reach(mark: Mark, side: int) -> Iterator[np.ndarray]:
    if isinstance(mark, Series):
        x, y, low, high = mark.arrays()
        yield from (x,) if side == 0 else (y, low, high)
    elif isinstance(mark, Bundle):
        yield flat(mark.x if side == 0 else mark.y)
    elif isinstance(mark, Bars):
        yield flat(mark.x if side == 0 else mark.y)
        if side == 1:
            yield np.zeros(1)
    elif isinstance(mark, Reference):
        if mark.vertical == (side == 0):
            yield np.array([float(mark.at)])
    elif isinstance(mark, Map):
        values = mark.x if side == 0 else mark.y
        yield borders_of(flat(values)) if values is not None else np.zeros(0)


def _names(
    panel: Panel, looks: Any, ends: Any, log: bool, height: int, alone: bool, told: set[str]
) -> list[dict[str, Any]]:
    """Names beside the ends of lines, moved apart; over the panel where there are many."""
    found: list[tuple[str, str, float]] = []
    for mark in panel.content:
        if not isinstance(mark, Series | Bundle | Bars) or not mark.label:
            continue
        if mark.label in told:  # named in an earlier panel
            continue
        told.add(mark.label)
        colour, *_ = look(mark, looks)
        values = flat(mark.y) if not isinstance(mark, Bundle) else flat(np.atleast_2d(mark.y)[:1])
        if isinstance(mark, Series):
            values = mark.arrays()[1]
        values = values[np.isfinite(values)]
        if in_text(mark.label) not in [name for name, *_ in found]:
            found.append((in_text(mark.label), colour, values[-1] if len(values) else math.nan))
    if not found:
        return []
    beside = alone and len(found) <= NAMED and not any(math.isnan(v) for *_, v in found)
    if not beside:
        # Rows of words over the panel, in the colours of what they name.
        return [
            {
                "data": {"values": [{"name": f"● {name}"}]},
                "mark": {
                    "type": "text",
                    "align": "left",
                    "color": colour,
                    "baseline": "bottom",
                    "limit": {"expr": "beside ? 400 : width"},
                },
                "encoding": {
                    "x": {"value": 0},
                    "y": {"value": -6 - _GAP * (len(found) - 1 - i)},
                    "text": {"field": "name"},
                },
            }
            for i, (name, colour, _) in enumerate(found)
        ]
    low, high = (math.log(v) for v in ends) if log else ends
    place = lambda v: height * (1 - ((math.log(max(v, 1e-300)) if log else v) - low) / (high - low))
    at = sorted(((min(max(place(v), 6), height - 6), n, c) for n, c, v in found))
    spots: list[float] = []
    for y0, *_ in at:
        spots.append(max(y0, spots[-1] + _GAP) if spots else y0)
    over = max(0.0, (spots[-1] if spots else 0) - (height - 4))
    return [
        {
            "data": {"values": [{"name": name}]},
            "mark": {
                "type": "text",
                "align": "left",
                "dx": 8,
                "color": colour,
                "fontWeight": 600,
                "limit": {"expr": "beside ? 400 : width"},
            },
            "encoding": {
                "x": {"value": {"expr": "beside ? width : -4"}},
                "y": {"value": {"expr": f"beside ? {spot - over:.0f} : {-8 - _GAP * i}"}},
                "text": {"field": "name"},
            },
        }
        for i, (spot, (_, name, colour)) in enumerate(zip(spots, at, strict=True))
    ]
