"""Pictures as SVG, without Matplotlib: for pages that are written while somebody waits.

Lines with bands, points, references, square maps and images; what else a picture can hold is
refused, and `files.render` draws it. Colours, markers and dashes are those of the other renderer.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight.plot._looks import Look, look_of, looks_of
from limelight.plot._palette import FAINT, INK, LABEL, MUTED, STOPS, TICK
from limelight.plot._svg.elements import POINT, box, dash, image, line, number, path, signs, words
from limelight.plot.marks import Guide, Image, Map, Mark, Points, Reference, Series, Text, flat
from limelight.plot.picture import Axis, Panel, Picture

#: Units per inch; a page shows a picture of seven inches 1.3 times as wide.
INCH = 100.0
#: Around the frame of a panel: left, right, above, below.
LEFT, RIGHT, ABOVE, BELOW = 44.0, 10.0, 22.0, 38.0
ROW, HANDLE = 17.0, 28.0
#: Width of a letter over the size of its font, about.
LETTER = 0.53


def svg(picture: Picture) -> str:
    """One `<svg>` element; words are escaped, and nothing outside of it is asked for.

    Raises:
        InputError: For marks that only Matplotlib draws here.
    """
    marks = [mark for panel in picture.panels for mark in panel.content]
    for mark in marks:
        if not isinstance(mark, Series | Reference | Map | Image | Text):
            raise InputError(f"{type(mark).__name__} cannot be drawn as SVG", "save it as PNG")
    looks, wide = looks_of(marks), float(picture.width) * INCH
    entries = _entries(picture.panels, looks)
    legend, top = _legend(entries, wide)
    columns = picture.columns or len(picture.panels)
    rows = -(-len(picture.panels) // columns)
    alone = len(picture.panels) == 1 and isinstance(picture.panels[0].content[0], Image)
    high = float(picture.height or 0.62 * float(picture.width)) * INCH + top
    if alone:  # an image fills the place
        pixels = np.asarray(picture.panels[0].content[0].pixels)  # pyright: ignore[reportAttributeAccessIssue]
        high = wide * pixels.shape[0] / pixels.shape[1]
        body = _sheet(picture.panels[0], pixels, wide, high)
    else:
        ranges = _ranges(picture)
        across, down = wide / columns, (high - top) / rows
        body = "".join(
            _panel(
                panel,
                looks,
                ranges[i],
                (i % columns * across, top + i // columns * down, across, down),
            )
            for i, panel in enumerate(picture.panels)
        )
    # A page in dark colours turns lines round; photographs and what a scale names stay as they are.
    kind = "photo" if alone else "map" if any(isinstance(mark, Map) for mark in marks) else "lines"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}"'
        f' viewBox="0 0 {wide:g} {high:.5g}" role="img" fill="{INK}">{legend}{body}</svg>'
    )


# --- the frame of a panel ---------------------------------------------------------------------


def _panel(panel: Panel, looks: dict[str, Look], ends: Sequence[tuple[float, float]], place) -> str:
    x0, y0, wide, high = place
    cells = next((mark for mark in panel.content if isinstance(mark, Map)), None)
    title = words(panel.title, x0 + LEFT, y0 + 13, LABEL, anchor="start")
    left, top = x0 + LEFT, y0 + ABOVE
    right, bottom = x0 + wide - RIGHT, y0 + high - BELOW
    if cells is not None:
        return title + _map(cells, left, top, right, bottom)
    across, upwards = panel.axes
    X, Y = _Scale(*ends[0], across.log, left, right), _Scale(*ends[1], upwards.log, bottom, top)
    frame = _frame(across, upwards, X, Y, (left, top, right, bottom))
    inside = "".join(_mark(mark, looks, X, Y) for mark in panel.content)
    return title + frame + inside


class _Scale:
    """From values to places."""

    def __init__(self, low: float, high: float, log: bool, first: float, last: float):
        self.log, self.low, self.high = log, low, high
        a, b = (math.log10(low), math.log10(high)) if log else (low, high)
        self.slope = (last - first) / (b - a)
        self.start = first - self.slope * a
        self.first, self.last = first, last

    def __call__(self, values) -> Any:
        values = np.asarray(values, dtype=float)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.where(values > 0, np.log10(values), -np.inf)
        low, high = sorted((self.first, self.last))
        return np.clip(self.start + self.slope * values, low - 2, high + 2)

    def ticks(self) -> list[float]:
        """Round numbers inside; about five, or the decades."""
        if self.log:
            ends = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            decades = range(ends[0], ends[1] + 1)
            step = -(-len(decades) // 6) or 1
            found = [10.0**k for k in decades if k % step == 0]
            if len(found) >= 2:
                return found
            wide = range(ends[0] - 1, ends[1] + 2)
            more = [m * 10.0**k for k in wide for m in (1, 2, 3, 5, 7)]
            return [t for t in more if self.low <= t <= self.high]
        rough = (self.high - self.low) / 6
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(m * size for m in (1, 2, 5, 10) if m * size >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


def _frame(across: Axis, upwards: Axis, X: _Scale, Y: _Scale, place) -> str:
    left, top, right, bottom = place
    parts = []
    for value in Y.ticks():
        y = float(Y(value))
        parts.append(line(left, y, right, y, FAINT, 0.6))
        parts.append(words(number(value), left - 5, y + 3.5, TICK, anchor="end"))
    for value in X.ticks():
        x = float(X(value))
        parts.append(line(x, bottom, x, bottom + 3.5, INK, 0.8))
        parts.append(words(number(value), x, bottom + 14, TICK))
    parts.append(line(left, bottom, right, bottom, INK, 0.8))
    parts.append(line(left, top, left, bottom, INK, 0.8))
    parts.append(words(across.label, (left + right) / 2, bottom + 29, LABEL))
    if upwards.label:
        x, y = left - 34, (top + bottom) / 2
        turned = f' transform="rotate(-90 {x:.5g} {y:.5g})"'
        parts.append(words(upwards.label, x, y, LABEL, more=turned))
    return "".join(parts)


def _ranges(picture: Picture) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Ends of x and y of every panel; one for all where they share."""
    values = [_values(panel) for panel in picture.panels]
    shared = {"x": picture.share in ("x", "both"), "y": picture.share in ("y", "both")}
    found = []
    for panel, own in zip(picture.panels, values, strict=True):
        ends = []
        for i, (name, axis) in enumerate(zip("xy", panel.axes, strict=True)):
            held = np.concatenate([v[i] for v in values]) if shared[name] else own[i]
            ends.append(_ends(held, axis, 0.03 if name == "x" else 0.06))
        found.append((ends[0], ends[1]))
    return found


def _values(panel: Panel) -> tuple[np.ndarray, np.ndarray]:
    x, y = [np.empty(0)], [np.empty(0)]
    for mark in panel.content:
        if isinstance(mark, Series):
            first, *others = mark.arrays()
            x.append(first)
            y += others
        elif isinstance(mark, Reference):
            (x if mark.vertical else y).append(flat(mark.at))
    return np.concatenate(x), np.concatenate(y)


def _ends(values: np.ndarray, axis: Axis, room: float) -> tuple[float, float]:
    if axis.limits is not None:
        return float(axis.limits[0]), float(axis.limits[1])
    held = values[np.isfinite(values) & ((values > 0) | (not axis.log))]
    if not len(held):
        return (0.1, 1.0) if axis.log else (0.0, 1.0)
    if axis.log:
        low, high = np.log10([held.min(), held.max()])
        pad = max(room * (high - low), 0.02)
        return float(10 ** (low - pad)), float(10 ** (high + pad))
    low, high = float(held.min()), float(held.max())
    pad = room * (high - low) or max(abs(high), 1.0) * room
    return low - pad, high + pad


# --- marks ------------------------------------------------------------------------------------


def _mark(mark: Mark, looks: dict[str, Look], X: _Scale, Y: _Scale) -> str:
    if isinstance(mark, Reference):
        colour = looks[mark.like].colour if mark.like else MUTED
        at = float((X if mark.vertical else Y)(mark.at))
        place = (at, Y.first, at, Y.last) if mark.vertical else (X.first, at, X.last, at)
        return line(*place, colour, 1.2, "4 3")
    if isinstance(mark, Text):
        assert not isinstance(mark.at, str)
        return words(mark.words, float(X(mark.at[0])), float(Y(mark.at[1])), TICK)
    assert isinstance(mark, Series)
    look = look_of(mark, looks)
    x, y, low, high = mark.arrays()
    places, tops = X(x), Y(y)
    parts = []
    if mark.has_band and not isinstance(mark, Points):
        edge = [*zip(places, Y(high), strict=True), *zip(places[::-1], Y(low)[::-1], strict=True)]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in edge if np.isfinite([a, b]).all())
        parts.append(f'<polygon points="{points}" fill="{look.colour}" fill-opacity="0.16"/>')
    if not isinstance(mark, Points):
        course = path(places, np.where(np.isfinite(y), tops, np.nan))
        parts.append(
            f'<path d="{course}" fill="none" stroke="{look.colour}"'
            f' stroke-width="{1.5 * float(look.width):g}" stroke-linejoin="round"{dash(look)}/>'
        )
    if not isinstance(mark, Guide) and look.marker:
        seen = np.isfinite(y)
        parts.append(signs(places[seen], tops[seen], look))
    return "".join(parts)


# --- maps and images --------------------------------------------------------------------------


def _map(cells: Map, left: float, top: float, right: float, bottom: float) -> str:
    """A square of cells, and the key to its colours on the right."""
    values = np.asarray(cells.values, dtype=float)
    low = float(np.nanmin(values) if cells.low is None else cells.low)
    high = float(np.nanmax(values) if cells.high is None else cells.high)
    key = 46.0 if cells.label else 0.0
    side = min(right - left - key, bottom - top + BELOW - 12)
    shades = _shades((values - low) / (high - low or 1.0), cells.missing)
    parts = [image(shades, left, top, side, side)]
    parts.append(box(left, top, side, side))
    if cells.label:
        strip = np.linspace(1, 0, 64)[:, None]
        x = left + side + 10
        parts.append(image(_shades(strip), x, top, 9, side))
        parts.append(box(x, top, 9, side))
        parts.append(words(number(high), x + 13, top + 8, TICK, anchor="start"))
        parts.append(words(number(low), x + 13, top + side, TICK, anchor="start"))
        a, b = x + 24, top + side / 2
        turned = f' transform="rotate(-90 {a:.5g} {b:.5g})"'
        parts.append(words(cells.label, a, b, LABEL, more=turned))
    return "".join(parts)


def _shades(level: np.ndarray, missing: str = "blank") -> np.ndarray:
    """Colours of levels from 0 to 1; grey, or nothing, where there is no number."""
    stops = np.array([[int(s[i : i + 2], 16) for i in (1, 3, 5)] for s in STOPS], float)
    held, at = np.nan_to_num(np.clip(level, 0, 1)), np.linspace(0, 1, len(stops))
    found = np.stack([np.interp(held, at, stops[:, c]) for c in range(3)], axis=-1)
    found[~np.isfinite(level)] = 255 if missing == "blank" else 217
    return np.rint(found).astype(np.uint8)


def _sheet(panel: Panel, pixels: np.ndarray, wide: float, high: float) -> str:
    """An image as large as the picture, with words on it at places in pixels."""
    scale = wide / pixels.shape[1]
    parts = [image(pixels.astype(np.uint8), 0, 0, wide, high, photo=True)]
    anchors = {"left": "start", "center": "middle", "right": "end"}
    for mark in panel.content[1:]:
        if isinstance(mark, Text) and not isinstance(mark.at, str):
            x, y = (float(value) * scale for value in mark.at)
            parts.append(words(mark.words, x, y + 3.5, LABEL, anchor=anchors[mark.align]))
    return "".join(parts)


# --- words ------------------------------------------------------------------------------------


def _entries(panels: Sequence[Panel], looks: dict[str, Look]) -> dict[str, tuple[Look, bool, bool]]:
    """Labels in their order, each with its look and whether it has a line and markers."""
    found: dict[str, tuple[Look, bool, bool]] = {}
    for mark in (mark for panel in panels for mark in panel.content):
        if isinstance(mark, Reference) and mark.label:
            look = Look(0, looks[mark.like].colour if mark.like else MUTED, "", (0, (2.2, 1.6)))
            found.setdefault(mark.label, (look, True, False))
        elif isinstance(mark, Series) and mark.label:
            look = look_of(mark, looks)
            _, lined, signed = found.get(mark.label, (look, False, False))
            lined = lined or not isinstance(mark, Points)
            signed = signed or (not isinstance(mark, Guide) and bool(look.marker))
            found[mark.label] = look, lined, signed
    return found


def _legend(entries: dict[str, tuple[Look, bool, bool]], wide: float) -> tuple[str, float]:
    """All labels over the panels, in as many rows as they need; and how high that is."""
    x, y, parts = 4.0, 12.0, []
    for label, (look, lined, signed) in entries.items():
        long = HANDLE + 6 + LETTER * TICK * POINT * len(label)
        if x > 4 and x + long > wide:
            x, y = 4.0, y + ROW
        if lined:
            stroke = f'<path d="M{x:g} {y:g}h{HANDLE:g}" fill="none" stroke="{look.colour}"'
            parts.append(f'{stroke} stroke-width="{1.5 * float(look.width):g}"{dash(look)}/>')
        if signed:
            parts.append(signs([x + HANDLE / 2], [y], look))
        parts.append(words(label, x + HANDLE + 6, y + 3.5, TICK, anchor="start"))
        x += long + 16
    return "".join(parts), (y + 10 if entries else 0.0)
