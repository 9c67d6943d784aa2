"""Any picture as a chart: its lines, points and maps, and what each one is under the pointer."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight._core.maths import in_text
from limelight.chart.chart import COLOURS, DASHES, FAINT, INK, MUTED, SHADES, Chart, View, scale_of
from limelight.plot.marks import (
    Bars,
    Bundle,
    Guide,
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

#: Names that stand beside their lines at most; more are told by a legend.
NAMED = 4
#: Lines of a bundle at most: more are thinned out evenly, and that is said.
THIN = 60
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
_PARTS = {"ink": INK, "muted": MUTED, "faint": FAINT, "white": "#ffffff"}
_GAP = 14  # pixels between two names


def of_picture(picture: Picture) -> Chart:
    """A chart of a picture.

    Raises:
        InputError: Where it holds what Vega-Lite does not draw: images, contours.
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
                found[label] = (_colour(colour), 0, place)
    return found


def _colour(colour: Any) -> str:
    return _PARTS[colour] if isinstance(colour, str) else COLOURS[colour % len(COLOURS)]


def _own(mark: Any, looks: Mapping[str, tuple[str, int, int]]) -> tuple[str, int, int]:
    colour, dash, shape = looks.get(mark.label, (MUTED, 0, 0))
    if mark.colour is not None:
        colour = _colour(mark.colour)
    given = getattr(mark, "dash", None)
    if given is None and isinstance(mark, Guide):
        given = 1
    return colour, dash if given is None else given, shape


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
    layers: list[dict[str, Any]] = []
    for mark in sorted(panel.content, key=lambda m: not isinstance(m, Map | Span)):
        layers += _layers(mark, looks, x, y, ends, told)
    layers += _names(panel, looks, ends[1], upwards.log, height, alone, told)
    if not layers:
        layers = [{"data": {"values": []}, "mark": "point"}]
    view: dict[str, Any] = {"layer": layers, "height": height}
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
        yield _borders(flat(values)) if values is not None else np.zeros(0)


# --- layers -----------------------------------------------------------------------------------


def _layers(
    mark: Mark, looks: Mapping[str, Any], x: Any, y: Any, ends: Any, told: set[str]
) -> list[dict[str, Any]]:
    if isinstance(mark, Series):
        return _series(mark, looks, x, y, ends[1])
    if isinstance(mark, Bundle):
        return _bundle(mark, looks, x, y)
    if isinstance(mark, Bars):
        rows = [{"x": a, "y": b} for a, b in zip(flat(mark.x), flat(mark.y), strict=True)]
        colour, *_ = _own(mark, looks)
        return [
            {
                "data": {"values": _known(rows)},
                "mark": {"type": "bar", "color": colour, "size": 22},
                "encoding": {
                    "x": x | {"field": "x"},
                    "y": y | {"field": "y"},
                    "tooltip": _tips("y"),
                },
            }
        ]
    if isinstance(mark, Reference):
        side = "x" if mark.vertical else "y"
        colour = looks.get(mark.like, (MUTED,))[0] if mark.like else MUTED
        data = {"values": [{"at": float(mark.at), "name": in_text(mark.label)}]}
        scale = (x if mark.vertical else y) | {"field": "at"}
        rule = {"type": "rule", "strokeDash": [4, 3], "color": colour}
        found = [
            {"data": data, "mark": rule, "encoding": {side: scale, "tooltip": {"field": "name"}}}
        ]
        if not mark.vertical and mark.label:
            words = {"type": "text", "align": "left", "dx": 4, "dy": -6, "color": colour}
            place = {"y": scale, "x": {"value": 0}, "text": {"field": "name"}}
            found.append({"data": data, "mark": words, "encoding": place})
        return found
    if isinstance(mark, Span):
        low, high = (min(max(float(v), ends[0][0]), ends[0][1]) for v in (mark.low, mark.high))
        data = {"values": [{"low": low, "high": high, "name": in_text(mark.label)}]}
        place = {"x": x | {"field": "low"}, "x2": {"field": "high"}, "tooltip": {"field": "name"}}
        return [
            {
                "data": data,
                "mark": {"type": "rect", "opacity": 0.18, "color": MUTED},
                "encoding": place,
            }
        ]
    if isinstance(mark, Text):
        return [_text(mark, x, y)]
    if isinstance(mark, Map):
        return _map(mark, x, y, told)
    return []


def _series(mark: Series, looks: Any, x: Any, y: Any, ends: Any) -> list[dict[str, Any]]:
    xs, ys, low, high = mark.arrays()
    colour, dash, shape = _own(mark, looks)
    name = in_text(mark.label)
    # An open end reaches the frame.
    inside = lambda v, end: end if not math.isfinite(v) else min(max(v, min(ends)), max(ends))
    rows = [
        {"x": a, "y": b, "name": name}
        | ({"low": inside(c, min(ends)), "high": inside(d, max(ends))} if mark.has_band else {})
        for a, b, c, d in zip(xs, ys, low, high, strict=True)
    ]
    if y["scale"]["type"] == "log":
        rows = [row for row in rows if not row["y"] <= 0]
    whole = _known(rows)
    base, found = {"data": {"values": whole}}, []
    place = {"x": x | {"field": "x"}, "y": y | {"field": "y"}}
    tips = _tips("x", "y", *(("low", "high") if mark.has_band else ()), name=bool(name))
    points = isinstance(mark, Points)
    if mark.has_band and not isinstance(mark, Guide):
        kind = (
            {"type": "rule", "color": colour}
            if points
            else {"type": "area", "color": colour, "opacity": 0.16}
        )
        around = {"x": x | {"field": "x"}, "y": y | {"field": "low"}, "y2": {"field": "high"}}
        found.append({**base, "mark": kind, "encoding": around})
    if not points:
        line = {"type": "line", "color": colour, "strokeDash": list(DASHES[dash % 5]), "clip": True}
        line["strokeWidth"] = 1.4 if isinstance(mark, Guide) else 2
        found.append({**base, "mark": line, "encoding": place})
    if not isinstance(mark, Guide):
        dot = {"type": "point", "filled": True, "color": colour, "size": 45, "clip": True}
        dot |= {"shape": _SHAPES[shape % len(_SHAPES)], "opacity": 1 if len(whole) < 60 else 0}
        if isinstance(mark, Points) and mark.hollow:
            dot |= {"filled": False}
        found.append({**base, "mark": dot, "encoding": place | {"tooltip": tips}})
    return found


def _bundle(mark: Bundle, looks: Any, x: Any, y: Any) -> list[dict[str, Any]]:
    xs, ys = np.asarray(mark.x, float), np.atleast_2d(np.asarray(mark.y, float))
    xs = np.broadcast_to(xs, ys.shape)
    kept = np.unique(np.linspace(0, len(ys) - 1, min(THIN, len(ys))).round().astype(int))
    step = max(1, math.ceil(ys.shape[1] / 120))
    colour, dash, _ = _own(mark, looks)
    rows = [
        {"x": float(a), "y": float(b), "run": int(i)}
        for i in kept
        for a, b in zip(xs[i, ::step], ys[i, ::step], strict=True)
        if math.isfinite(a) and math.isfinite(b)
    ]
    line = {"type": "line", "color": colour, "opacity": 1.0 if len(ys) == 1 else 0.3, "clip": True}
    line |= {"strokeWidth": 2 if len(ys) == 1 else 1, "strokeDash": list(DASHES[dash % 5])}
    place = {"x": x | {"field": "x"}, "y": y | {"field": "y"}, "detail": {"field": "run"}}
    place["order"] = {"field": "x"} if len(ys) > 1 else {"value": 0}
    return [{"data": {"values": _rounded(rows)}, "mark": line, "encoding": place}]


def _text(mark: Text, x: Any, y: Any) -> dict[str, Any]:
    words = {"type": "text", "align": mark.align, "fontWeight": 600 if mark.bold else "normal"}
    if isinstance(mark.at, str):
        up, side = mark.at.split()
        words |= {
            "align": side,
            "dx": 6 if side == "left" else -6,
            "dy": 10 if up == "upper" else -8,
        }
        place = {"x": {"value": 0 if side == "left" else "width"}}
        place["y"] = {"value": 0 if up == "upper" else "height"}
        return {
            "data": {"values": [{}]},
            "mark": words | {"text": in_text(mark.words)},
            "encoding": place,
        }
    row = {"x": float(mark.at[0]), "y": float(mark.at[1])}
    place = {"x": x | {"field": "x"}, "y": y | {"field": "y"}}
    return {
        "data": {"values": [row]},
        "mark": words | {"text": in_text(mark.words)},
        "encoding": place,
    }


def _map(mark: Map, x: Any, y: Any, told: set[str]) -> list[dict[str, Any]]:
    values = np.asarray(mark.values, float)
    if mark.x is None or mark.y is None:
        wide, high = np.arange(values.shape[1] + 1.0), np.arange(values.shape[0] + 1.0)
        names = [
            [f"row {i + 1}, column {j + 1}" for j in range(values.shape[1])]
            for i in range(values.shape[0])
        ]
    else:
        columns, rows_at = flat(mark.x), flat(mark.y)
        wide = _borders(columns, x["scale"]["type"] == "log")
        high = _borders(rows_at, y["scale"]["type"] == "log")
        names = [[f"{c:.4g}, {r:.4g}" for c in columns] for r in rows_at]
    known = values[np.isfinite(values)]
    low = mark.low if mark.low is not None else (known.min() if len(known) else 0.0)
    top = mark.high if mark.high is not None else (known.max() if len(known) else 1.0)
    rows = [
        {"x": wide[j], "x2": wide[j + 1], "y": high[i], "y2": high[i + 1],
         "value": values[i, j] if math.isfinite(values[i, j]) else None, "at": names[i][j]}
        for i in range(values.shape[0])
        for j in range(values.shape[1])
    ]  # fmt: skip
    shades = list(SHADES if mark.dark == "low" else SHADES[::-1])
    scale = {"domain": [float(low), float(top)], "range": shades, "clamp": True}
    scale |= {"type": "log"} if mark.scale == "log" else {}
    legend = None
    if mark.label and f"{mark.label} {low} {top}" not in told:  # once in the whole picture
        told.add(f"{mark.label} {low} {top}")
        legend = {"title": in_text(mark.label), "gradientLength": 140, "gradientThickness": 10,
                  "direction": "horizontal", "tickCount": 3}  # fmt: skip
    place = {
        "x": x | {"field": "x"},
        "x2": {"field": "x2"},
        "y": y | {"field": "y"},
        "y2": {"field": "y2"},
    }
    nothing = FAINT if mark.missing != "blank" else "transparent"
    tips = [
        {"field": "at", "title": "at"},
        {"field": "value", "title": in_text(mark.label) or "value", "format": ".3~g"},
    ]
    shade = {
        "condition": {"test": "!isValid(datum.value)", "value": nothing},
        "field": "value", "type": "quantitative", "scale": scale, "legend": legend,
    }  # fmt: skip
    base = {"data": {"values": _rounded(rows)}}
    found = [
        {**base, "mark": {"type": "rect", "opacity": float(mark.opacity)},
         "encoding": place | {"color": shade, "tooltip": tips}}
    ]  # fmt: skip
    if mark.numbers:
        middle = [
            {"calculate": "(datum.x + datum.x2) / 2", "as": "mx"},
            {"calculate": "(datum.y + datum.y2) / 2", "as": "my"},
        ]
        half = (float(low) + float(top)) / 2
        light = f"datum.value {'<' if mark.dark == 'low' else '>'} {half}"
        words = {"x": x | {"field": "mx"}, "y": y | {"field": "my"}}
        words |= {"text": {"field": "value", "format": ".2f"}}
        words |= {"color": {"condition": {"test": light, "value": "white"}, "value": INK}}
        found.append({**base, "transform": middle, "mark": {"type": "text"}, "encoding": words})
    return found


def _names(
    panel: Panel, looks: Any, ends: Any, log: bool, height: int, alone: bool, told: set[str]
) -> list[dict[str, Any]]:
    """Names beside the ends of lines, moved apart; over the panel where there are many."""
    found: list[tuple[str, str, float]] = []
    for mark in panel.content:
        if isinstance(mark, Map | Reference | Span | Text) or not mark.label:
            continue
        if mark.label in told:  # named in an earlier panel
            continue
        told.add(mark.label)
        colour, *_ = _own(mark, looks)
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


# --- values -----------------------------------------------------------------------------------


def _tips(*names: str, name: bool = False) -> list[dict[str, Any]]:
    title = {"x": "at", "y": "value", "low": "interval from", "high": "to"}
    found = [
        {"field": n, "title": title[n], "type": "quantitative", "format": ".3~g"} for n in names
    ]
    return [*([{"field": "name", "title": " "}] if name else []), *found]


def _known(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return _rounded([row for row in rows if math.isfinite(row["y"]) and math.isfinite(row["x"])])


def _rounded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {k: float(f"{v:.5g}") if isinstance(v, float | np.floating) else v for k, v in row.items()}
        for row in rows
    ]


def _borders(values: np.ndarray, log: bool = False) -> np.ndarray:
    """Where cells meet: half-way between neighbours."""
    if len(values) < 2:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    places = np.log(values) if log else values
    middle = (places[1:] + places[:-1]) / 2
    found = np.concatenate([[2 * places[0] - middle[0]], middle, [2 * places[-1] - middle[-1]]])
    return np.exp(found) if log else found
