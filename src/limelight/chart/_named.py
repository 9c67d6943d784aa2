"""Names inside the panels of a chart, each beside what it names, as in the still picture."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from limelight._core.maths import in_text
from limelight.chart._layers import look
from limelight.plot import _room as room
from limelight.plot._palette import readable
from limelight.plot.marks import Bundle, Guide, Points, Reference, Series, flat
from limelight.plot.picture import Panel

#: Pixels of a letter across and of a line of words, at the size of words in a chart.
LETTER, LINE = 6.2, 14.0
#: Pixels across for which a panel of several finds its places; wider ones leave more room.
NARROW = 220
#: Pixels between two names over each other.
GAP = 14
#: Lines of a bundle that are looked at.
FEW = 12
#: Pixels over or under a line within which its name needs no line that leads to it.
CLOSE = 9

Ends = tuple[tuple[float, float], tuple[float, float]]


def placed(
    panel: Panel,
    looks: Mapping[str, Any],
    place: Mapping[str, Any],
    ends: Ends,
    size: tuple[int, int],
    done: set[str],
) -> list[dict[str, Any]]:
    """Names as layers: all of a panel together, then those that find room one by one.

    Args:
        panel: The panel.
        looks: The look of every label.
        place: What `x` and `y` are, in the words of Vega-Lite.
        ends: The ends of its axes.
        size: Its width and height in pixels, or the least that it may have.
        done: Labels that are written already; those written here are added.
    """
    subjects = _subjects(panel, ends, size)
    wanted = [one for one in subjects if one.label and one.sizes and one.label not in done]
    inches = (size[0] / 72, size[1] / 72)
    found: list[room.Spot] = []
    for group in [wanted, *([one] for one in wanted)]:
        left = [one for one in group if one.label not in {spot.label for spot in found}]
        if not left:
            continue
        others = [one for one in subjects if one not in left]
        taken = [_sides(spot) for spot in found]
        for crowd in (0.0, room.CROWD):
            spots = room.find(inches, left, others, taken, crowd=crowd)
            if spots:
                found += spots
                break
    done |= {spot.label for spot in found}
    drawn = {one.label: one for one in subjects}
    hung = [_hung(spot, drawn[spot.label]) for spot in found]
    return [
        part for spot, at in hung for part in _written(spot, at, panel, looks, place, ends, size)
    ]


def over(names: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Names that find no room: rows of words over the panel, in the colours of what they name."""
    return [
        {
            "data": {"values": [{"name": f"● {name}"}]},
            "mark": {
                "type": "text",
                "align": "left",
                "color": readable(colour),
                "baseline": "bottom",
                "limit": {"expr": "beside ? 400 : width"},
            },
            "encoding": {
                "x": {"value": 0},
                "y": {"value": -6 - GAP * (len(names) - 1 - i)},
                "text": {"field": "name"},
            },
        }
        for i, (name, colour) in enumerate(names)
    ]


def _subjects(panel: Panel, ends: Ends, size: tuple[int, int]) -> list[room.Subject]:
    """What is drawn, by label; what has no name has no size."""
    found: dict[str, room.Subject] = {}
    for mark in panel.content:
        if not isinstance(mark, Series | Bundle | Reference):
            continue
        subject = found.setdefault(mark.label, room.Subject(mark.label, []))
        if isinstance(mark, Reference):
            span = ends[1] if mark.vertical else ends[0]
            at = [float(mark.at)] * 2
            line = (at, span) if mark.vertical else (span, at)
            subject.lines.append(_pixels(*line, panel, ends, size))
        elif isinstance(mark, Bundle):
            rows = np.atleast_2d(np.asarray(mark.y, float))[:FEW]
            across = np.broadcast_to(np.asarray(mark.x, float), rows.shape)
            lines = [_pixels(a, b, panel, ends, size) for a, b in zip(across, rows, strict=True)]
            subject.lines += lines
        else:
            x, y, low, high = mark.arrays()
            middle = _pixels(x, y, panel, ends, size)
            if not isinstance(mark, Points):
                subject.lines.append(middle)
            elif mark.has_band:
                bars = zip(x, low, high, strict=True)
                lines = [_pixels([a, a], [b, c], panel, ends, size) for a, b, c in bars]
                subject.lines += lines
            if not isinstance(mark, Guide):
                subject.dots.append((middle[(np.abs(middle) < 1e5).all(axis=1)], 4.0))
        if mark.label:
            subject.sizes = [(LETTER * len(in_text(mark.label)) + 2, LINE)]
    return list(found.values())


def _scaled(values: Any, log: bool) -> np.ndarray:
    values = flat(values)
    with np.errstate(all="ignore"):
        return np.log(values) if log else values


def _pixels(x: Any, y: Any, panel: Panel, ends: Ends, size: tuple[int, int]) -> np.ndarray:
    """Places in pixels from the lower left corner."""
    sides = []
    for values, axis, span, pixels in zip((x, y), panel.axes, ends, size, strict=True):
        low, high = _scaled(span, axis.log)
        with np.errstate(all="ignore"):
            sides.append(pixels * (_scaled(values, axis.log) - low) / (high - low))
    return np.column_stack(sides)


def _values(place: Sequence[float], panel: Panel, ends: Ends, size: tuple[int, int]) -> list[float]:
    """What stands at a place, in the values of the axes."""
    found = []
    for at, axis, span, pixels in zip(place, panel.axes, ends, size, strict=True):
        low, high = _scaled(span, axis.log)
        value = float(low + (high - low) * at / pixels)
        found.append(math.exp(value) if axis.log else value)
    return found


def _sides(spot: room.Spot) -> tuple[float, float, float, float]:
    left, low, wide, high = spot.box
    return left, low, left + wide, low + high


def _hung(spot: room.Spot, subject: room.Subject) -> tuple[room.Spot, float]:
    """A name, and the place across by which it hangs.

    In a wider panel words keep their width while places move apart. What stands over or under a
    place of its line stays there when it hangs by that place; what only stands beside its line gets
    another line, which leads to it at any width.
    """
    left, low, wide, high = spot.box
    held = lambda x: float(min(max(x, left), left + wide))
    if spot.anchor is not None:
        return spot, held(spot.anchor[0])
    places = _places(subject)
    gaps = np.abs(places - np.clip(places, (left, low), (left + wide, low + high)))
    close = (gaps[:, 0] == 0) & (gaps[:, 1] <= CLOSE)
    best = np.argmin(np.where(close, gaps[:, 1], np.inf) if close.any() else np.hypot(*gaps.T))
    x, y = (float(side) for side in places[best])
    return (spot if close.any() else replace(spot, anchor=(x, y))), held(x)


def _places(subject: room.Subject) -> np.ndarray:
    """What is drawn, a place each pixel."""
    found = [path[_near(path)] for path, _ in subject.dots]
    for line in subject.lines:
        known = line[_near(line)]
        along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(known, axis=0).T))])
        at = np.arange(0.0, along[-1] + 1.0)
        if len(known):
            found.append(np.column_stack([np.interp(at, along, side) for side in known.T]))
    return np.concatenate(found)


def _near(path: np.ndarray) -> np.ndarray:
    """Which places are numbers, in or around the panel."""
    return np.asarray((np.abs(path) < 1e5).all(axis=1))


def _written(
    spot: room.Spot,
    held: float,
    panel: Panel,
    looks: Mapping[str, Any],
    place: Mapping[str, Any],
    ends: Ends,
    size: tuple[int, int],
) -> list[dict[str, Any]]:
    """A name, and the line that leads to it."""
    mark = next(m for m in panel.content if getattr(m, "label", "") == spot.label)
    colour, *_ = look(mark, looks)
    left, low, wide, high = spot.box
    third = min(int(3 * (held - left) / wide), 2)
    x, y = _values((held, low + high / 2), panel, ends, size)
    words = {"type": "text", "baseline": "middle", "fontWeight": 600}
    words["align"] = ("left", "center", "right")[third]
    words |= {"color": readable(colour)}
    data = {"values": [{"x": x, "y": y, "name": in_text(spot.label)}]}
    place = {name: side | {"field": name} for name, side in place.items()}
    told = place | {"text": {"field": "name"}}
    found: list[dict[str, Any]] = [{"data": data, "mark": words, "encoding": told}]
    if spot.anchor is not None:
        end = held, min(max(spot.anchor[1], low), low + high)
        ends_at = [_values(at, panel, ends, size) for at in (spot.anchor, end)]
        data = {"values": [{"x": a, "y": b} for a, b in ends_at]}
        line = {"type": "line", "strokeWidth": 0.8, "color": colour}
        found.insert(0, {"data": data, "mark": line, "encoding": place})
    return found
