"""A picture in a terminal: a map in shades, or lines in Braille dots, from the same plain values.

Only what can be read at this size is there: the first panel that holds a map or lines.
"""

import math
from collections.abc import Callable

import numpy as np

from limelight._core.maths import in_text
from limelight.plot.marks import Bars, Bundle, Guide, Map, Mark, Points, Series, plain_number
from limelight.plot.picture import Axis, Panel, Picture

SHADES = " ░▒▓█"
#: A mark for each line, in their order.
SIGNS = "●○▲△■□◆◇"
#: The dots of a Braille cell, row by row.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
#: Rows of a panel of lines, and the widest label of the axis upwards.
HEIGHT, MARGIN = 12, 9
#: A line with more points than this is marked at so many of them.
MOST_SIGNS = 12


def in_terminal(picture: Picture, columns: int = 80) -> str:
    """A small version of a picture as text; nothing where no panel holds a map or a line.

    Args:
        picture: What to draw.
        columns: How wide the text may be.

    Example:
        >>> cells = Map([[0.0, 0.5], [0.25, 1.0]], "share", x=[1, 2], y=[4, 8], low=0, high=1)
        >>> print(in_terminal(Picture([Panel("", [cells], "examples", "tokens")]), 40))
              8 │░░░░░░██████
              4 │      ▒▒▒▒▒▒
                └────────────
                   1     2
          up: examples; across: tokens
          share: ' ' 0  ░ 0.25  ▒ 0.5  ▓ 0.75
          █ 1
    """
    for panel in picture.panels:
        marks = panel.content
        cells = next((mark for mark in marks if isinstance(mark, Map)), None)
        if cells is not None:
            lines = _map(panel, cells, columns)
        elif any(isinstance(m, Series | Bundle | Bars) for m in marks) and not _named(panel):
            lines = _lines(panel, columns)
        else:
            continue
        if not lines:
            continue
        title = in_text(panel.title or picture.title)
        return "\n".join(line.rstrip() for line in ([f"  {title}"] if title else []) + lines)
    return ""


def _named(panel: Panel) -> bool:
    """Whether the rows have names, for which there is no room."""
    return bool(panel.axes[1].categories)


# --- maps -------------------------------------------------------------------------------------


def _map(panel: Panel, cells: Map, columns: int) -> list[str]:
    values = np.atleast_2d(np.asarray(cells.values, dtype=float))
    if values.ndim != 2 or not np.isfinite(values).any():
        return []
    up = np.arange(len(values)) if cells.y is None else np.asarray(cells.y, dtype=float)
    across = np.arange(values.shape[1]) if cells.x is None else np.asarray(cells.x, dtype=float)
    if cells.y is None:  # a matrix: the first row on top
        values, up = values[::-1], up[::-1]
    rows, places = _some(len(values), 24), _some(values.shape[1], columns - MARGIN - 4)
    values, up, across = values[np.ix_(rows, places)], up[rows], across[places]
    wide = max(1, min(6, (columns - MARGIN - 4) // len(across)))
    shades, legend = _shades(cells, values)
    edge = next((m for m in panel.content if type(m) is Series and cells.x is not None), None)
    at = {} if edge is None else _edge(edge, across, up)
    lines = []
    for i in reversed(range(len(up))):
        texts = [shades(values[i, j]) * wide for j in range(len(across))]
        for j in (j for j, row in at.items() if row == i):
            texts[j] = texts[j][: wide // 2] + "●" + texts[j][wide // 2 + 1 :]
        lines.append(f"{plain_number(float(up[i])):>{MARGIN - 2}} │{''.join(texts)}")
    lines.append(" " * (MARGIN - 1) + "└" + "─" * wide * len(across))
    lines.append(" " * MARGIN + _ticks([plain_number(float(v)) for v in across], wide))
    lines += _axes(panel)
    lines += _wrapped(legend, columns)
    if at and edge:
        lines.append(f"  ● {in_text(edge.label)}")
    return lines


def _shades(cells: Map, values: np.ndarray) -> tuple[Callable[[float], str], list[str]]:
    """From a value to its shade, and the words for the shades."""
    change = np.log10 if cells.scale == "log" else np.asarray
    known = values[np.isfinite(values)]
    low = float(known.min() if cells.low is None else cells.low)
    high = float(known.max() if cells.high is None else cells.high)
    ends = float(change(low)), float(change(high))
    span = ends[1] - ends[0] or 1.0

    def shade(value: float) -> str:
        if not math.isfinite(value):
            return "×"
        place = (float(change(value)) - ends[0]) / span
        return SHADES[min(4, max(0, round(4 * place)))] if math.isfinite(place) else SHADES[0]

    steps = [ends[0] + span * i / 4 for i in range(5)]
    numbers = [plain_number(10**s if cells.scale == "log" else s) for s in steps]
    keys = [f"{repr(s) if s == ' ' else s} {n}" for s, n in zip(SHADES, numbers, strict=True)]
    keys += ["× not run"] * (len(known) < values.size)
    first = f"{in_text(cells.label) or 'value'}: {keys[0]}"
    return shade, [first, *keys[1:]]


def _edge(edge: Series, across: np.ndarray, up: np.ndarray) -> dict[int, int]:
    """The row in which a line passes each column, where it passes the map at all."""
    x, y, *_ = edge.arrays()
    found = {}
    for place, value in zip(x, y, strict=True):
        near = np.flatnonzero(np.isclose(across, place))
        if len(near) and up.min() <= value <= up.max():
            found[int(near[0])] = int(np.argmin(np.abs(np.log(up / value)) if up.min() > 0 else 0))
    return found


def _some(count: int, most: int) -> np.ndarray:
    """Indices of all of them, or of as many as there is room for."""
    return (
        np.arange(count) if count <= most else np.linspace(0, count - 1, most).round().astype(int)
    )


def _ticks(words: list[str], wide: int) -> str:
    """Words under columns of one width; those that would touch the one before are left out."""
    line = ""
    for i, word in enumerate(words):
        start = max(0, i * wide + (wide - len(word)) // 2)
        if not line or start > len(line):
            line = line.ljust(start) + word
    return line


# --- lines ------------------------------------------------------------------------------------


def _lines(panel: Panel, columns: int) -> list[str]:
    drawn = [one for mark in panel.content for one in _readings(mark)]
    across, upwards = panel.axes
    xs = _finite(np.concatenate([x for _, x, _, _ in drawn]), across)
    ys = _finite(np.concatenate([y for _, _, y, _ in drawn]), upwards)
    if not len(xs) or not len(ys):
        return []
    wide = max(20, min(columns - MARGIN - 4, 60))
    left, right = _ends(across, xs)
    low, high = _ends(upwards, ys)
    canvas = np.zeros((HEIGHT, wide), dtype=int)
    signs: dict[tuple[int, int], str] = {}
    names: dict[str, str] = {}
    for label, x, y, (joined, pointed) in drawn:
        u, v = _place(across, x, left, right), _place(upwards, y, low, high)
        if joined:
            _stroke(canvas, u, v)
        if not label:
            continue
        sign = names.setdefault(label, SIGNS[len(names) % len(SIGNS)] if pointed else "⣀")
        for i in _some(len(u), MOST_SIGNS if joined else len(u)) if pointed else ():
            a, b = float(u[i]), float(v[i])
            if 0 <= a <= 1 and 0 <= b <= 1:
                signs[HEIGHT - 1 - round(b * (HEIGHT - 1)), round(a * (wide - 1))] = sign
    lines = []
    for row in range(HEIGHT):
        text = "".join(
            signs.get((row, j)) or (chr(0x2800 + d) if d else " ")
            for j, d in enumerate(canvas[row])
        )
        value = _value(upwards, 1 - row / (HEIGHT - 1), low, high)
        number = plain_number(value) if row in (0, HEIGHT // 2, HEIGHT - 1) else ""
        lines.append(f"{number:>{MARGIN - 2}} │{text}")
    lines.append(" " * (MARGIN - 1) + "└" + "─" * wide)
    lines.append(" " * MARGIN + _ends_and_middle(across, left, right, wide))
    lines += _axes(panel)
    listed = [f"{sign} {in_text(name)}" for name, sign in names.items()]
    return lines + _wrapped(listed, columns)


def _readings(mark: Mark) -> list[tuple[str, np.ndarray, np.ndarray, tuple[bool, bool]]]:
    """A mark as lines: label, places, values, and whether its points are joined and marked."""
    if isinstance(mark, Series):
        x, y, *_ = mark.arrays()
        how = not isinstance(mark, Points), not isinstance(mark, Guide)
        return [(mark.label, x, y, how)] if len(x) else []
    if isinstance(mark, Bundle):
        x = np.asarray(mark.x, dtype=float)
        rows = np.atleast_2d(np.asarray(mark.y, dtype=float))
        return [(mark.label, x, row, (True, False)) for row in rows[:40]]
    if isinstance(mark, Bars):
        bars = np.asarray(mark.x, dtype=float), np.asarray(mark.y, dtype=float)
        return [(mark.label, *bars, (False, True))]
    return []


def _finite(values: np.ndarray, axis: Axis) -> np.ndarray:
    return values[np.isfinite(values) & ((values > 0) | (not axis.log))]


def _ends(axis: Axis, values: np.ndarray) -> tuple[float, float]:
    low, high = axis.limits or (values.min(), values.max())
    if axis.log and not low > 0:
        low = values.min()
    if low == high:
        low, high = (low / 2, high * 2) if axis.log else (low - 0.5, high + 0.5)
    return float(low), float(high)


def _place(axis: Axis, values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Where values lie between the two ends, from 0 to 1."""
    with np.errstate(all="ignore"):
        if axis.log:
            return np.log(values / low) / math.log(high / low)
        return (values - low) / (high - low)


def _value(axis: Axis, place: float, low: float, high: float) -> float:
    return low * (high / low) ** place if axis.log else low + place * (high - low)


def _stroke(canvas: np.ndarray, u: np.ndarray, v: np.ndarray) -> None:
    """Dots along a line; gaps where it is not known or leaves the panel."""
    height, wide = 4 * canvas.shape[0] - 1, 2 * canvas.shape[1] - 1
    for i in range(len(u) - 1):
        if not np.isfinite([u[i], u[i + 1], v[i], v[i + 1]]).all():
            continue
        far = max(abs(u[i + 1] - u[i]) * wide, abs(v[i + 1] - v[i]) * height)
        for share in np.linspace(0, 1, min(500, int(far) + 2)):
            a, b = u[i] + share * (u[i + 1] - u[i]), v[i] + share * (v[i + 1] - v[i])
            if 0 <= a <= 1 and 0 <= b <= 1:
                x, y = round(a * wide), height - round(b * height)
                canvas[y // 4, x // 2] |= _DOTS[y % 4][x % 2]


def _ends_and_middle(axis: Axis, left: float, right: float, wide: int) -> str:
    if axis.categories:
        first, last = axis.categories[0], axis.categories[-1]
        return in_text(first) + in_text(last).rjust(max(1, wide - len(first)))
    words = [plain_number(_value(axis, place, left, right)) for place in (0.0, 0.5, 1.0)]
    return words[0] + words[1].center(wide - len(words[0]) - len(words[2])) + words[2]


# --- words ------------------------------------------------------------------------------------


def _axes(panel: Panel) -> list[str]:
    across, upwards = (in_text(axis.label) for axis in panel.axes)
    parts = [f"up: {upwards}"] * bool(upwards) + [f"across: {across}"] * bool(across)
    return ["  " + "; ".join(parts)] if parts else []


def _wrapped(words: list[str], columns: int) -> list[str]:
    lines = [" "]
    for word in words:
        if len(lines[-1]) + len(word) + 3 > columns and lines[-1].strip():
            lines.append(" ")
        lines[-1] += f" {word} "
    return [line for line in lines if line.strip()]
