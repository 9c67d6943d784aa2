"""Marks of a picture as layers of Vega-Lite."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from limelight._core.maths import in_text
from limelight.chart.chart import COLOURS, DASHES, FAINT, INK, MUTED, SHADES, plain
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

#: How a number under the pointer is written: 28,000 and 0.7185, never 2.8e+4.
VALUE = ",.4~r"
#: Points of a line from which they are not marked one by one; they still answer the pointer.
MANY = 60
#: Lines of a bundle at most: more are thinned out evenly.
THIN = 60
#: Markers of their own: a shape of Vega, turned by so many degrees.
_OWN = {"o": ("circle", 0), "s": ("square", 0), "x": ("cross", 45), "+": ("cross", 0),
        "|": ("stroke", 90), "_": ("stroke", 0)}  # fmt: skip
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
_PARTS = {"ink": INK, "muted": MUTED, "faint": FAINT, "white": "#ffffff"}


def colour_of(colour: Any) -> str:
    return _PARTS[colour] if isinstance(colour, str) else COLOURS[colour % len(COLOURS)]


def look(mark: Any, looks: Mapping[str, tuple[str, int, int]]) -> tuple[str, int, int]:
    colour, dash, shape = looks.get(mark.label, (MUTED, 0, 0))
    if isinstance(mark, Reference):
        return looks.get(mark.like, (MUTED,))[0] if mark.like else MUTED, 0, 0
    if mark.colour is not None:
        colour = colour_of(mark.colour)
    given = getattr(mark, "dash", None)
    if given is None and isinstance(mark, Guide):
        given = 1
    return colour, dash if given is None else given, shape


def layers(
    mark: Mark, looks: Mapping[str, Any], x: Any, y: Any, ends: Any, told: set[str]
) -> list[dict[str, Any]]:
    if isinstance(mark, Series):
        return _series(mark, looks, x, y, ends[1])
    if isinstance(mark, Bundle):
        return _bundle(mark, looks, x, y)
    if isinstance(mark, Bars):
        rows = [{"x": a, "y": b} for a, b in zip(flat(mark.x), flat(mark.y), strict=True)]
        colour, *_ = look(mark, looks)
        tips = _tips({"x": x, "y": y})
        return [
            {
                "data": {"values": _known(rows)},
                "transform": tips["transform"],
                "mark": {"type": "bar", "color": colour, "size": 22},
                "encoding": {"x": x | {"field": "x"}, "y": y | {"field": "y"}} | tips["encoding"],
            }
        ]
    if isinstance(mark, Reference):
        side = "x" if mark.vertical else "y"
        colour, *_ = look(mark, looks)
        data = {"values": [{"at": float(mark.at), "name": in_text(mark.label)}]}
        scale = (x if mark.vertical else y) | {"field": "at"}
        rule = {"type": "rule", "strokeDash": [4, 3], "color": colour}
        return [
            {"data": data, "mark": rule, "encoding": {side: scale, "tooltip": {"field": "name"}}}
        ]
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
    colour, dash, shape = look(mark, looks)
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
    tips = _tips({"x": x, "y": y}, band=mark.has_band, name=bool(name))
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
    if isinstance(mark, Points) and mark.x_low is not None and mark.x_high is not None:
        found.append(_sideways(mark, colour, x, y))
    if not isinstance(mark, Guide):
        dot = {"type": "point", "filled": True, "color": colour, "size": 45, "clip": True}
        dot |= {"shape": _SHAPES[shape % len(_SHAPES)], "opacity": 1 if len(whole) < MANY else 0}
        if points:
            dot |= _dots(mark)
        dots = {**base, "transform": tips["transform"], "mark": dot}
        found.append({**dots, "encoding": place | tips["encoding"]})
    return found


def _dots(mark: Points) -> dict[str, Any]:
    """How separate marks look; those without a mark of their own answer the pointer alone."""
    found: dict[str, Any] = {"opacity": float(mark.opacity) if mark.marker != "" else 0}
    if mark.marker in _OWN:
        shape, angle = _OWN[str(mark.marker)]
        found |= {"shape": shape, "angle": angle, "filled": shape != "stroke"}
    return found | ({"filled": False} if mark.hollow else {})


def _sideways(mark: Points, colour: str, x: Any, y: Any) -> dict[str, Any]:
    """Bars along the axis across."""
    rows = [
        {"x": a, "low": b, "high": c, "y": d}
        for a, b, c, d in zip(*map(flat, (mark.x, mark.x_low, mark.x_high, mark.y)), strict=True)
        if math.isfinite(b) and math.isfinite(c)
    ]
    ends = {"x": x | {"field": "low"}, "x2": {"field": "high"}, "y": y | {"field": "y"}}
    rule = {"type": "rule", "color": colour, "clip": True}
    return {"data": {"values": _known(rows)}, "mark": rule, "encoding": ends}


def _bundle(mark: Bundle, looks: Any, x: Any, y: Any) -> list[dict[str, Any]]:
    xs, ys = np.asarray(mark.x, float), np.atleast_2d(np.asarray(mark.y, float))
    xs = np.broadcast_to(xs, ys.shape)
    kept = np.unique(np.linspace(0, len(ys) - 1, min(THIN, len(ys))).round().astype(int))
    step = max(1, math.ceil(ys.shape[1] / 120))
    colour, dash, _ = look(mark, looks)
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
        wide = borders_of(columns, x["scale"]["type"] == "log")
        high = borders_of(rows_at, y["scale"]["type"] == "log")
        names = [[f"{plain(c)}, {plain(r)}" for c in columns] for r in rows_at]
    known = values[np.isfinite(values)]
    low = mark.low if mark.low is not None else (known.min() if len(known) else 0.0)
    top = mark.high if mark.high is not None else (known.max() if len(known) else 1.0)
    rows = [
        {"x": wide[j], "x2": wide[j + 1], "y": high[i], "y2": high[i + 1],
         "value": values[i, j] if math.isfinite(values[i, j]) else None, "at": names[i][j]}
        for i in range(values.shape[0])
        for j in range(values.shape[1])
    ]  # fmt: skip
    scale = {"domain": [float(low), float(top)], "range": list(SHADES), "clamp": True}
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
        {"field": "value", "title": in_text(mark.label) or "value", "format": VALUE},
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
        light = f"datum.value < {half}"
        words = {"x": x | {"field": "mx"}, "y": y | {"field": "my"}}
        words |= {"text": {"field": "value", "format": ".2f"}}
        words |= {"color": {"condition": {"test": light, "value": "white"}, "value": INK}}
        found.append({**base, "transform": middle, "mark": {"type": "text"}, "encoding": words})
    return found


def _tips(sides: Mapping[str, Any], *, band: bool = False, name: bool = False) -> dict[str, Any]:
    """What a mark says under the pointer, in the words of the axes: a transform, an encoding."""
    words = {"x": ("datum.x", ",.6~r", "across"), "y": ("datum.y", VALUE, "value")}
    told, titles = [], []
    for side, (value, form, plainly) in words.items():
        axis = sides[side]["axis"]
        written = f"format({value}, '{form}')"
        named = str(axis.get("labelExpr", "")).removesuffix(" || ''")
        if named.startswith("{"):  # an axis with names at some places
            written = f"{named.replace('datum.value', value)} || {written}"
        told.append({"calculate": written, "as": f"{side}_told"})
        titles.append({"field": f"{side}_told", "title": axis.get("title") or plainly})
    if band:
        ends = (f"format(datum.{end}, '{VALUE}')" for end in ("low", "high"))
        told.append({"calculate": " + ' to ' + ".join(ends), "as": "band"})
        titles.append({"field": "band", "title": "interval"})
    tips = [*([{"field": "name", "title": " "}] if name else []), *titles]
    return {"transform": told, "encoding": {"tooltip": tips}}


def _known(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return _rounded([row for row in rows if math.isfinite(row["y"]) and math.isfinite(row["x"])])


def _rounded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {k: float(f"{v:.5g}") if isinstance(v, float | np.floating) else v for k, v in row.items()}
        for row in rows
    ]


def borders_of(values: np.ndarray, log: bool = False) -> np.ndarray:
    """Where cells meet: half-way between neighbours."""
    if len(values) < 2:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    places = np.log(values) if log else values
    middle = (places[1:] + places[:-1]) / 2
    found = np.concatenate([[2 * places[0] - middle[0]], middle, [2 * places[-1] - middle[-1]]])
    return np.exp(found) if log else found
