"""Any picture as a chart: its lines, points and maps, and what each one is under the pointer."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight._core.maths import in_text
from limelight.chart._layers import borders_of, colour_of, layers, look
from limelight.chart._named import GAP, NARROW, over, placed
from limelight.chart.chart import COLOURS, Chart, View, number, scale_of
from limelight.plot._palette import readable
from limelight.plot.marks import (
    Bars,
    Bundle,
    Map,
    Mark,
    Points,
    Reference,
    Series,
    Span,
    Text,
    flat,
)
from limelight.plot.picture import Axis, Panel, Picture

#: Names that stand at the right of a single panel at most.
NAMED = 4


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
    for place, panel in enumerate(picture.panels):
        after = [mark for one in picture.panels[place + 1 :] for mark in one.content]
        later = {getattr(mark, "label", "") for mark in after}
        views.append(_view(panel, looks, alone, told, later))
    many = picture.columns or len(views)
    rows: list[View | Sequence[View]] = [views[i : i + many] for i in range(0, len(views), many)]
    rows = [views[0]] if alone else rows
    return Chart(
        rows=rows,
        title=in_text(picture.title),
        caption=_sentence("; ".join(in_text(fact) for fact in picture.facts)),
        margin=70 + (_room(picture.panels[0]) if alone else 0),
    )


def _sentence(words: str) -> str:
    """With a capital; a symbol stays as it is.

    Example:
        >>> _sentence("paper scale; 20 trials"), _sentence("n = 20"), _sentence("")
        ('Paper scale; 20 trials', 'n = 20', '')
    """
    return words[:1].upper() + words[1:] if re.match("[a-z]{2}", words) else words


def _few(panel: Panel) -> set[str]:
    """The names of a panel, if they are few enough to stand beside it."""
    marks = [m for m in panel.content if isinstance(m, Series | Bundle | Bars) and m.label]
    names = {in_text(mark.label) for mark in marks}
    lines = [m for m in panel.content if isinstance(m, Reference) and m.label and not m.vertical]
    return names | {in_text(mark.label) for mark in lines} if len(names) <= NAMED else set()


def _room(panel: Panel) -> int:
    """Pixels that the names beside the lines need."""
    return 12 + 7 * min(55, max(map(len, _few(panel)))) if _few(panel) else 0


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


def _view(
    panel: Panel, looks: Mapping[str, Any], alone: bool, told: set[str], later: set[str]
) -> View:
    across, upwards = panel.axes
    matrix = next((m for m in panel.content if isinstance(m, Map) and m.x is None), None)
    height = 320 if alone else 200
    ends = _ends(panel, across, 0), _ends(panel, upwards, 1)
    if matrix is not None:
        rows, columns = np.shape(matrix.values)
        ends = (0.0, float(columns)), (float(rows), 0.0)  # the first row on top
    x, y = (
        {
            "type": "quantitative",
            "scale": scale_of(axis.log, *span),
            "axis": _axis(axis, matrix, span),
        }
        for axis, span in zip((across, upwards), ends, strict=True)
    )
    found: list[dict[str, Any]] = []
    for mark in sorted(panel.content, key=lambda m: not isinstance(m, Map | Span)):
        found += layers(mark, looks, x, y, ends, told)
    found += _names(panel, looks, {"x": x, "y": y}, ends, height, alone, told, later)
    if not found:
        found = [{"data": {"values": []}, "mark": "point"}]
    view: dict[str, Any] = {"layer": found, "height": height}
    if not alone:
        view["width"] = 200 if matrix is not None else 240
    if panel.title:
        view["title"] = in_text(panel.title)
    return view


#: Where a decade is divided, ever finer.
_STEPS = ((1,), (1, 2, 5), (1, 2, 3, 4, 6, 8), tuple(n / 5 for n in range(5, 50)))


def _decades(low: float, high: float) -> list[float]:
    """Round numbers along a logarithmic axis: 1, 2, 5, 10, ..., or powers of ten where it is long.

    Example:
        >>> _decades(3.0, 60.0), _decades(1.2, 1.7), _decades(0.01, 100.0)
        ([5.0, 10.0, 20.0, 50.0], [1.2, 1.4, 1.6], [0.01, 0.1, 1.0, 10.0, 100.0])
    """
    first, last = (math.log10(max(end, 1e-300)) for end in sorted((low, high)))
    every = max(1, round((last - first) / 6))
    powers = [n for n in range(math.floor(first), math.ceil(last) + 1) if n % every == 0]
    values: list[float] = []
    for steps in _STEPS if every == 1 else _STEPS[:1]:
        every_one = [float(f"{m}e{n}") for n in powers for m in steps]
        values = [v for v in every_one if first - 1e-9 <= math.log10(v) <= last + 1e-9]
        if len(values) > 2:
            break
    return values


def _axis(axis: Axis, matrix: Map | None, ends: tuple[float, float]) -> dict[str, Any]:
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
        found |= {"values": [float(v) for v in flat(names)], "labelExpr": number("datum.value")}
    elif matrix is not None:
        found |= {"labels": False, "ticks": False}
    elif axis.log:
        values = _decades(*ends)
        told = json.dumps(_written(values), ensure_ascii=False)
        found |= {"values": values, "labelExpr": f"{told}[indexof({values}, datum.value)] || ''"}
    else:
        found |= {"tickCount": 5}
    return found


def _written(values: Sequence[float]) -> list[str]:
    """Numbers on a logarithmic axis: 5,750 and 0.01; all as powers of ten on one that goes beyond.

    Example:
        >>> _written([0.01, 5750.0]), _written([1.0, 20.0, 1e3, 1e6])
        (['0.01', '5,750'], ['1', '20', '10³', '10⁶'])
    """
    plain = all(1e-4 <= value < 1e6 for value in values)
    near = lambda value: plain or 1 <= value < 100
    return [f"{v:,.10g}" if near(v) else in_text(f"{v:.0e}") for v in values]


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
        if side == 0 and isinstance(mark, Points):
            yield from (flat(end) for end in (mark.x_low, mark.x_high) if end is not None)
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
    panel: Panel,
    looks: Any,
    place: Mapping[str, Any],
    ends: Any,
    height: int,
    alone: bool,
    told: set[str],
    later: set[str],
) -> list[dict[str, Any]]:
    """Names at the right of a single panel, moved apart; else inside, where there is room.

    Over the panel stand those that find none.
    """
    log = panel.axes[1].log
    inside = (
        []
        if alone and _few(panel)
        else placed(panel, looks, place, ends, (4 * NARROW // 2 if alone else NARROW, height), told)
    )
    found: list[tuple[str, str, float]] = []
    for mark in panel.content:
        if not isinstance(mark, Series | Bundle | Bars | Reference) or not mark.label:
            continue
        if mark.label in told or mark.label in later:  # named in another panel
            continue
        if isinstance(mark, Reference):
            if not mark.vertical:
                told.add(mark.label)
                found.append((in_text(mark.label), look(mark, looks)[0], float(mark.at)))
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
        return inside
    beside = alone and bool(_few(panel)) and not any(math.isnan(v) for *_, v in found)
    if not beside:
        return inside + over([(name, colour) for name, colour, _ in found])
    low, high = (math.log(v) for v in ends[1]) if log else ends[1]
    row = lambda v: height * (1 - ((math.log(max(v, 1e-300)) if log else v) - low) / (high - low))
    at = sorted(((min(max(row(v), 6), height - 6), n, c) for n, c, v in found))
    spots: list[float] = []
    for y0, *_ in at:
        spots.append(max(y0, spots[-1] + GAP) if spots else y0)
    excess = max(0.0, (spots[-1] if spots else 0) - (height - 4))
    return [
        {
            "data": {"values": [{"name": name}]},
            "mark": {
                "type": "text",
                "align": "left",
                "dx": 8,
                "color": readable(colour),
                "fontWeight": 600,
                "limit": {"expr": "beside ? 400 : width"},
            },
            "encoding": {
                "x": {"value": {"expr": "beside ? width : -4"}},
                "y": {"value": {"expr": f"beside ? {spot - excess:.0f} : {-8 - GAP * i}"}},
                "text": {"field": "name"},
            },
        }
        for i, (spot, (_, name, colour)) in enumerate(zip(spots, at, strict=True))
    ]
