"""The training player: maps, strips and curves of a training, moved together by one slider."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limelight._core.errors import InputError
from limelight._core.maths import in_text
from limelight.chart._named import over, placed
from limelight.chart.chart import COLOURS, DASHES, FAINT, INK, SHADES, Chart, Control, finite
from limelight.plot.marks import Series, flat
from limelight.plot.picture import Axis, Panel

#: Pixels of the curves: their height, and the width for which names find their places.
HEIGHT, NARROW_CURVES = 230, 320


@dataclass(frozen=True)
class Film:
    """A map that changes from frame to frame.

    Args:
        title: What it is.
        frames: Frames by rows by columns; NaN is a missing cell.
        rows: Names of the rows, where they have any.
        columns: Names of the columns.
        low: The value of the dark end.
        high: The value of the light end; each frame on a scale of its own where neither is given.
        orders: Other orders of rows and columns alike, each a title and the order: the same map
            shown once more.
        numbers: Whether each value is written in its cell.
        width: Pixels.
        height: Pixels.

    Example:
        >>> Film("attention", np.zeros((3, 4, 4)), low=0.0, high=1.0).title
        'attention'
    """

    title: str
    frames: ArrayLike
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    low: float | None = None
    high: float | None = None
    orders: Sequence[tuple[str, Sequence[int]]] = ()
    numbers: bool = False
    width: int = 220
    height: int = 220


@dataclass(frozen=True)
class Strip:
    """One tick per run, at the value that the run has in each frame.

    Args:
        title: What it is.
        frames: Frames by runs.
        label: The axis in words.
        low: Its lower end.
        high: Its upper end.

    Example:
        >>> Strip("all runs", [[0.5, 0.6], [0.9, 1.0]], "accuracy", low=0.0, high=1.0).label
        'accuracy'
    """

    title: str
    frames: ArrayLike
    label: str
    low: float
    high: float


def player(
    steps: ArrayLike,
    films: Sequence[Film] = (),
    strips: Sequence[Strip] = (),
    curves: Sequence[Series] = (),
    *,
    label: str = "",
    limits: tuple[float, float] | None = None,
    log: bool = False,
    word: str = "training step",
    start: float = math.inf,
    title: str = "The course of training",
    caption: str = "",
) -> Chart:
    """A chart whose slider walks through the frames.

    Args:
        steps: The step of every frame.
        films: Maps, a frame each step.
        strips: Runs, a frame each step.
        curves: Lines over steps, which may have been read more often than there are frames.
        label: The axis of the curves upwards.
        limits: Its ends.
        log: Whether it is logarithmic.
        word: What a step is.
        start: The step shown at first, or the last before it.
        title: What it is.
        caption: How to read it.

    Example:
        >>> attention = Film("attention", [[[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]])
        >>> player([0, 100], [attention])
        Chart: The course of training (controls: training step)
    """
    at = flat(steps)
    for one in (*films, *strips):
        if len(np.asarray(one.frames)) != len(at):
            raise InputError(f"{one.title!r} has {len(np.asarray(one.frames))} frames of {len(at)}")
    first = max(0, int(np.searchsorted(at, start, side="right")) - 1)
    data, small = {}, []
    for number, film in enumerate(films):
        data[f"film{number}"] = _cells(film)
        wanted = [(film.title, None), *((name, k) for k, (name, _) in enumerate(film.orders))]
        small += [_film(film, f"film{number}", name, k) for name, k in wanted]
    rows: list[Any] = []
    if curves:
        rows.append(_curves(curves, label, limits, log, word))
    rows += [_strip(strip) for strip in strips]
    rows += [small] if small else []
    return Chart(
        rows=rows,
        data=data,
        controls=[Control("frame", word, [f"{v:,.0f}" for v in at], first, "player")],
        constants={"steps": finite(at)},
        title=title,
        caption=caption,
        renderer="canvas" if sum(len(v) for v in data.values()) > 600 else "svg",
    )


def _cells(film: Film) -> list[dict[str, Any]]:
    values = np.asarray(film.frames, float)
    low, high = _ends(film, values)
    # A hundredth of the scale is finer than an eye can see.
    shades = np.round(99 * (values - low) / np.where(high > low, high - low, 1.0))
    places = [np.argsort(order) for _, order in film.orders]
    found = []
    for i in range(values.shape[1]):
        for j in range(values.shape[2]):
            v = shades[:, i, j]
            row: dict[str, Any] = {
                "p": [[j, i], *([int(place[j]), int(place[i])] for place in places)],
                "v": [int(np.clip(s, 0, 99)) if np.isfinite(s) else None for s in v],
            }
            if film.numbers:
                row["t"] = [f"{x:.2f}" if np.isfinite(x) else "" for x in values[:, i, j]]
            found.append(row)
    return found


def _ends(film: Film, values: np.ndarray) -> tuple[Any, Any]:
    if film.low is not None and film.high is not None:
        return float(film.low), float(film.high)
    each = values.reshape(len(values), -1)
    low, high = np.nanpercentile(each, [1, 99], axis=1)
    return low[:, None, None], high[:, None, None]


def _film(film: Film, data: str, title: str, order: int | None) -> dict[str, Any]:
    place = 0 if order is None else 1 + order
    shape = np.asarray(film.frames).shape
    across, upwards = (
        {
            "field": name,
            "type": "quantitative",
            "scale": {"domain": span, "nice": False, "zero": False},
            "axis": _axis(names if order is None else ()),
        }
        for name, span, names in (
            ("x", [0, shape[2]], film.columns),
            ("y", [shape[1], 0], film.rows),
        )
    )
    moved = [
        {"calculate": f"datum.p[{place}][0]", "as": "x"},
        {"calculate": "datum.x + 1", "as": "x2"},
        {"calculate": f"datum.p[{place}][1]", "as": "y"},
        {"calculate": "datum.y + 1", "as": "y2"},
        {"calculate": "datum.v[frame]", "as": "value"},
    ]
    shades = list(SHADES)
    shade = {
        "condition": {"test": "!isValid(datum.value)", "value": FAINT},
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, 99], "range": shades},
        "legend": None,
    }
    ends = {"x": across, "y": upwards, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
    base = {"data": {"name": data}, "transform": moved}
    layers = [{**base, "mark": {"type": "rect"}, "encoding": ends | {"color": shade}}]
    if film.numbers:
        middle = [
            {"calculate": "datum.x + 0.5", "as": "mx"},
            {"calculate": "datum.y + 0.5", "as": "my"},
            {"calculate": "datum.t[frame]", "as": "told"},
        ]
        light = "datum.value < 55"
        words = {
            "x": across | {"field": "mx"},
            "y": upwards | {"field": "my"},
            "text": {"field": "told"},
            "color": {"condition": {"test": light, "value": "white"}, "value": "#17181a"},
        }
        layers.append(
            {**base, "transform": [*moved, *middle], "mark": {"type": "text"}, "encoding": words}
        )
    return {
        "width": film.width,
        "height": film.height,
        "title": {"text": in_text(title), "fontSize": 12},
        "layer": layers,
    }


def _axis(names: Sequence[str]) -> dict[str, Any]:
    plain = {"title": None, "grid": False, "ticks": False, "domain": False}
    if not names:
        return plain | {"labels": False}
    words = [in_text(name) for name in names]
    told = f"{words!r}[floor(datum.value)] || ''"
    return plain | {
        "values": [i + 0.5 for i in range(len(words))],
        "labelExpr": told,
        "labelLimit": 160,
        "labelAngle": 0,
    }


def _strip(strip: Strip) -> dict[str, Any]:
    values = np.asarray(strip.frames, float)
    data = {"values": [{"v": finite(run)} for run in values.T]}
    scale = {"domain": [strip.low, strip.high], "nice": False, "zero": False, "clamp": True}
    axis = {"title": in_text(strip.label), "grid": False, "tickCount": 6}
    return {
        "height": 30,
        "title": {"text": in_text(strip.title), "fontSize": 12},
        "data": data,
        "transform": [
            {"calculate": "datum.v[frame]", "as": "value"},
            {"filter": "isValid(datum.value)"},
        ],
        "mark": {"type": "tick", "thickness": 2, "size": 22, "opacity": 0.55, "color": COLOURS[0]},
        "encoding": {"x": {"field": "value", "type": "quantitative", "scale": scale, "axis": axis}},
    }


def _curves(
    curves: Sequence[Series], label: str, limits: Any, log: bool, word: str
) -> dict[str, Any]:
    rows = []
    for series in curves:
        columns = series.arrays()
        step = max(1, len(columns[0]) // 150)
        for a, b, c, d in zip(*(column[::step] for column in columns), strict=True):
            if np.isfinite(b):
                a, b, c, d = finite([a, b, c, d])
                rows.append({"x": a, "y": b, "low": c, "high": d, "name": in_text(series.label)})
    names = list(dict.fromkeys(row["name"] for row in rows))
    labels = list(dict.fromkeys(series.label for series in curves))
    x = {"field": "x", "type": "quantitative", "scale": {"nice": False}, "axis": {"title": word}}
    y: dict[str, Any] = {"field": "y", "type": "quantitative", "axis": {"title": in_text(label)}}
    scale: dict[str, Any] = {"type": "log"} if log else {"zero": False}
    y["scale"] = scale | {"nice": False}
    if limits is not None:
        y["scale"]["domain"] = [float(v) for v in limits]
    colour = {
        "field": "name",
        "scale": {"domain": names, "range": list(COLOURS[: len(names)])},
        "legend": None,
    }
    dash: dict[str, Any] = {"field": "name", "legend": None}
    dash["scale"] = {"domain": names, "range": [DASHES[i % 5] for i in range(len(names))]}
    tips = [
        {"field": "name", "title": " "},
        {"field": "x", "title": word, "format": ",.6~r"},
        {"field": "y", "title": "value", "format": ",.4~r"},
    ]
    known = {"x": x, "y": y, "color": colour}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "area", "opacity": 0.15, "clip": True},
            "encoding": known | {"y": y | {"field": "low"}, "y2": {"field": "high"}},
        },
        {"mark": {"type": "line", "clip": True}, "encoding": known | {"strokeDash": dash}},
        {
            "mark": {"type": "point", "opacity": 0, "size": 80, "clip": True},
            "encoding": known | {"tooltip": tips},
        },
        {
            "data": {"values": [{}]},
            "transform": [{"calculate": "steps[frame]", "as": "x"}],
            "mark": {"type": "rule", "strokeWidth": 2, "color": INK},
            "encoding": {"x": x},
        },
    ]
    looks = {name: (COLOURS[i % len(COLOURS)], i, i) for i, name in enumerate(labels)}
    panel = Panel("", curves, Axis(label, log=log), Axis(word))
    across, upwards = _spans(rows, limits, log)
    x["scale"]["domain"], y["scale"]["domain"] = list(across), list(upwards)
    size = (NARROW_CURVES, HEIGHT)
    done: set[str] = set()
    layers += placed(panel, looks, {"x": x, "y": y}, (across, upwards), size, done)
    layers += over([(in_text(name), looks[name][0]) for name in labels if name not in done])
    return {"height": HEIGHT, "data": {"values": rows}, "layer": layers}


def _spans(rows: Sequence[dict[str, Any]], limits: Any, log: bool) -> tuple[Any, Any]:
    """The ends of both axes, around everything that is drawn."""
    x = [row["x"] for row in rows]
    y = [row[k] for row in rows for k in ("y", "low", "high") if row[k] is not None]
    y = [value for value in y if value > 0] if log else y
    low, high = (min(y, default=0.1), max(y, default=1.0)) if limits is None else limits
    return (min(x, default=0.0), max(x, default=1.0)), (float(low), float(high))
