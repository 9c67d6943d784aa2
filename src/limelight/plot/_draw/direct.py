"""Names inside panels, each beside what it names and in its colour, in one panel of a picture."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.contour import ContourSet

from limelight.plot import _room as room
from limelight.plot import style
from limelight.plot._draw.lines import reference_look
from limelight.plot._looks import Look, look_of
from limelight.plot._palette import readable
from limelight.plot.marks import (
    Bars,
    Bundle,
    Contour,
    Guide,
    Image,
    Map,
    Mark,
    Points,
    Reference,
    Series,
    Span,
    flat,
)
from limelight.plot.picture import Panel

#: The widths, in inches, that a name is broken to where it finds no room on one line.
WIDTHS = (9.0, 1.1, 0.7)
#: The radius of a mark, in points, unless it is larger.
DOT = 2.6
#: Lines of a bundle that are looked at.
MOST = 60
#: What it costs per name to stand in a later panel, and at which cost no other panel is tried.
LATER, GOOD = 2.0, 8.0

#: Axes, the panel drawn in them, and what is drawn there by label.
Drawn = tuple[Axes, Panel, list[room.Subject]]


def write(
    grid: Sequence[Axes], panels: Sequence[Panel], looks: dict[str, Look], beside: set[str]
) -> set[str]:
    """Write every label beside its mark, in the first panel that has room; those written.

    Args:
        grid: The axes.
        panels: What is in them.
        looks: The look of every label.
        beside: Labels that stand in a margin already.
    """
    labels = {getattr(m, "label", "") for p in panels for m in p.content if not isinstance(m, Map)}
    if not labels - beside - {""}:
        return set()
    style.figure_of(grid[0]).draw_without_rendering()  # settles the layout
    done = {*beside}
    drawn = [
        (axes, panel, _subjects(axes, panel.content))
        for axes, panel in zip(grid, panels, strict=False)
    ]
    # All names of a panel together, then one by one; each time first where lines are apart, then
    # where they lie on each other. At last a leader may cross other lines.
    tries = (True, 0.0), (True, room.CROWD), (False, 0.0), (False, room.CROWD), (False, np.inf)
    for together, crowd in tries:
        for group in _groups(drawn, done, together):
            wanted = group - done
            if wanted:
                done |= _write(drawn, wanted, looks, crowd)
    return done - beside


def _groups(drawn: list[Drawn], done: set[str], together: bool) -> list[set[str]]:
    """Labels that are not written yet: those of each panel, or each alone."""
    named = [{s.label for s in subjects if s.label and s.sizes} for _, _, subjects in drawn]
    if together:
        return named
    return [{label} for labels in named for label in sorted(labels - done)]


def _write(drawn: list[Drawn], wanted: set[str], looks: dict[str, Look], crowd: float) -> set[str]:
    """Write some labels in the panel where they stand best, the first if that is good enough."""
    best: tuple[float, list[room.Spot], Drawn] | None = None
    for number, part in enumerate(drawn):
        axes, _, subjects = part
        names = [subject for subject in subjects if subject.label in wanted and subject.sizes]
        if len(names) < len(wanted):
            continue
        others = [subject for subject in subjects if subject.label not in wanted]
        extent, scale = axes.get_window_extent(), 72 / style.figure_of(axes).dpi
        bars = [bar for group in axes.containers for bar in getattr(group, "patches", ())]
        boxes = [_box(one, extent, scale) for one in (*axes.texts, *bars)]
        found = room.find(_inches(axes), names, others, boxes, crowd=crowd)
        cost = sum(place.cost for place in found) / len(names) + LATER * number
        if found and (best is None or cost < best[0]):
            best = cost, found, part
        if best and best[0] < GOOD:
            break
    if best is None:
        return set()
    _, found, (axes, panel, _) = best
    over_map = any(isinstance(mark, Map | Image) for mark in panel.content)
    for place in found:
        _put(axes, place, _colour(place.label, panel.content, looks), over_map)
    return {place.label for place in found}


def _inches(axes: Axes) -> tuple[float, float]:
    extent, dots = axes.get_window_extent(), style.figure_of(axes).dpi
    return extent.width / dots, extent.height / dots


def _box(text: Any, extent: Any, scale: float) -> tuple[float, float, float, float]:
    box = text.get_window_extent()
    sides = (box.x0 - extent.x0, box.y0 - extent.y0, box.x1 - extent.x0, box.y1 - extent.y0)
    left, low, right, high = (float(scale * side) for side in sides)
    return left, low, right, high


def _put(axes: Axes, place: room.Spot, colour: str, over_map: bool) -> None:
    left, low, _, high = place.box
    share = 72 * np.array(_inches(axes))
    at = np.array([left, low + high / 2]) / share
    look: dict[str, Any] = {"fontsize": style.TICK, "color": readable(colour), "zorder": 6}
    look |= {"ha": "left", "va": "center", "linespacing": 1.05, "path_effects": style.halo(2.0)}
    if over_map:
        ground = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 0.8}
        look |= {"bbox": ground, "path_effects": []}
    words, way = _broken(place.label, place.size), axes.transAxes
    if place.anchor is None:
        text = axes.text(float(at[0]), float(at[1]), words, transform=way, **look)
    else:
        # The leader leaves the words where they are nearest to its end.
        near = [
            (end - begin) / size
            for end, begin, size in zip(place.anchor, *_sides(place), strict=True)
        ]
        leader = {"arrowstyle": "-", "linewidth": 0.6, "color": colour, "shrinkA": 0, "shrinkB": 0}
        leader |= {"relpos": tuple(float(np.clip(side, 0, 1)) for side in near)}
        ends = {"xycoords": way, "textcoords": way, "arrowprops": leader}
        anchor = np.array(place.anchor) / share
        text = axes.annotate(words, (anchor[0], anchor[1]), (at[0], at[1]), **ends, **look)
    text.set_in_layout(False)
    text.set_gid(f"name: {place.label}")


def _sides(place: room.Spot) -> tuple[tuple[float, float], tuple[float, float]]:
    """The lower left corner of a name, and its size."""
    return place.box[:2], place.box[2:]


def _broken(label: str, size: int) -> str:
    return label if "\n" in label else style.wrap(label, WIDTHS[size], style.TICK)


def _sizes(label: str) -> list[tuple[float, float]]:
    """How wide and high a name is in points, broken to each width."""
    texts = [_broken(label, i) for i in range(len(WIDTHS))]
    high = 1.2 * style.TICK
    return [
        (72 * style.text_width(text, style.TICK) + 1.5, high * (text.count("\n") + 1))
        for text in texts
    ]


def _colour(label: str, marks: Sequence[Mark], looks: dict[str, Look]) -> str:
    for mark in marks:
        if getattr(mark, "label", "") != label:
            continue
        if isinstance(mark, Reference):
            return reference_look(mark, looks)["color"]
        if isinstance(mark, Series | Bundle | Contour | Bars):
            return look_of(mark, looks).colour
    return style.MUTED


def _subjects(axes: Axes, marks: Sequence[Mark]) -> list[room.Subject]:
    """What is drawn in a panel, by label; what cannot be named there has no size."""
    found: dict[str, room.Subject] = {}
    for mark in marks:
        if isinstance(mark, Map | Image) or not hasattr(mark, "label"):
            continue
        label = mark.label  # pyright: ignore[reportAttributeAccessIssue]
        subject = found.setdefault(label, room.Subject(label, []))
        _add(subject, axes, mark)
        if label and (subject.lines or subject.dots or subject.areas):
            subject.sizes = subject.sizes or _sizes(label)
    return list(found.values())


def _add(subject: room.Subject, axes: Axes, mark: Mark) -> None:
    match mark:
        case Reference():
            ends = axes.get_ylim() if mark.vertical else axes.get_xlim()
            at = [float(mark.at)] * 2
            line = _points(axes, at, ends) if mark.vertical else _points(axes, ends, at)
            subject.lines.append(line)
        case Span():
            begin, end = sorted(axes.get_xlim())
            low, high = (min(max(float(side), begin), end) for side in (mark.low, mark.high))
            corners = _points(axes, [low, high], axes.get_ylim())
            if low < high:
                subject.areas.append((*corners[0], *corners[1]))
        case Bundle():
            rows = np.atleast_2d(np.asarray(mark.y, dtype=float))
            subject.lines += [_points(axes, flat(mark.x), row) for row in rows[:MOST]]
        case Contour():
            for drawn in axes.collections:
                if isinstance(drawn, ContourSet) and drawn.get_label() == mark.label:
                    for path in drawn.get_paths():
                        subject.lines += [_points(axes, *p.T) for p in _polygons(path)]
        case Series():
            x, y, low, high = mark.arrays()
            middle = _points(axes, x, y)
            if not isinstance(mark, Points):
                subject.lines.append(middle)
                if mark.has_band:
                    ends = np.sort(axes.get_ylim())
                    known = np.isfinite([x, low, high]).all(axis=0)
                    sides = [(x[known], np.clip(side[known], *ends)) for side in (low, high)]
                    lower, upper = (_points(axes, *side) for side in sides)
                    if known.sum() > 1:
                        subject.bands.append(np.concatenate([lower, upper[::-1]]))
            if not isinstance(mark, Guide):
                inside = (np.abs(middle) < 1e5).all(axis=1)
                size = float(mark.size or 0) if isinstance(mark, Points) else 0.0
                subject.dots.append((middle[inside], max(DOT, size / 2 + 0.5)))
            if isinstance(mark, Points) and mark.has_band:
                ends = np.sort(axes.get_ylim())
                for a, b, c in zip(x, np.clip(low, *ends), np.clip(high, *ends), strict=True):
                    subject.lines.append(_points(axes, [a, a], [b, c]))
            if isinstance(mark, Points) and mark.x_low is not None and mark.x_high is not None:
                for a, b, c in zip(flat(mark.x_low), flat(mark.x_high), flat(mark.y), strict=True):
                    subject.lines.append(_points(axes, [a, b], [c, c]))


def _polygons(path: Any) -> list[np.ndarray]:
    return [np.asarray(part) for part in path.to_polygons(closed_only=False)]


def _points(axes: Axes, x: Any, y: Any) -> np.ndarray:
    """Places in a panel, in points from its lower left corner."""
    extent = axes.get_window_extent()
    with np.errstate(all="ignore"):
        places = axes.transData.transform(np.column_stack([flat(x), flat(y)]))
    return (places - [extent.x0, extent.y0]) * 72 / style.figure_of(axes).dpi
