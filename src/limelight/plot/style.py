"""How every figure looks.

Lines take the Okabe-Ito colours, each with its own marker and dash, so that they can be told
apart by the colour blind and on a grey print. Maps use one scale whose lightness rises evenly.
Nothing here touches pyplot: figures are plain objects, made in any thread and without a display.
"""

import functools
import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke
from matplotlib.textpath import TextPath
from matplotlib.transforms import ScaledTranslation

from limelight._core.maths import in_mathtext, with_signs
from limelight.plot._palette import (  # noqa: F401
    COLOURS,
    DASHES,
    FAINT,
    INK,
    LABEL,
    MARKERS,
    MUTED,
    NOTE,
    STOPS,
    TICK,
    TITLE,
)
from limelight.plot.marks import Number
from limelight.plot.picture import ONE_COLUMN

DOTS_PER_INCH = 200
#: Inches of white over a title.
ABOVE = 0.05

SHADES = LinearSegmentedColormap.from_list("limelight", STOPS)
"""Dark is low and light is high, even in CIE lightness, so a grey print keeps the order."""


def new_figure(
    width: Number = ONE_COLUMN,
    height: Number | None = None,
    *,
    rows: int = 1,
    columns: int = 1,
) -> Figure:
    """An empty figure in the house style; its axes are `figure.axes`.

    Args:
        width: Inches; `ONE_COLUMN` or `TWO_COLUMNS` of a journal page.
        height: Inches; three quarters of the width when not given.
        rows: Rows of axes.
        columns: Columns of axes.
    """
    size = (float(width), float(height or 0.75 * width))
    figure = Figure(figsize=size, dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        dress(axes)
    return figure


def head(figure: Figure, title: str, subtitle: str, handles: Sequence[Artist] = ()) -> None:
    """What a figure shows, in bold, its setting, and one legend over all panels, in this order.

    The figure grows by their heights, and its panels stay under them.

    Args:
        figure: The figure.
        title: What it shows.
        subtitle: Its setting.
        handles: What the legend lists, by their labels.
    """
    wide, high = figure.get_figwidth(), figure.get_figheight()
    lines = _heading(title, subtitle, float(wide))
    rooms = [_room(text, size) for text, size, _ in lines]
    columns = _fitting_columns([str(one.get_label()) for one in handles], 0.97 * wide)
    listed = (1.55 * TICK * -(-len(handles) // columns) + 5) / 72 if handles else 0.0
    room = sum(rooms) + (0.06 if lines else 0.0) + listed
    if not room:
        return
    figure.set_figheight(high + room)
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0, 0, 1, high / (high + room)))  # pyright: ignore[reportCallIssue]
    top = room + high - ABOVE
    for (text, size, look), used in zip(lines, rooms, strict=True):
        font: dict[str, Any] = {"fontsize": size, "linespacing": 1.2, **look}
        figure.text(0.015, top / (high + room), text, va="top", ha="left", **font)
        top -= used
    if handles:
        place = {"bbox_to_anchor": (0.012, top / (high + room)), "loc": "upper left"}
        look = _LEGEND | {"borderaxespad": 0.1, "ncols": columns} | place
        figure.legend(handles=list(handles), **look).set_in_layout(False)


def _heading(title: str, subtitle: str, wide: float) -> list[tuple[str, float, dict[str, Any]]]:
    """Title and subtitle in lines, each with its size and its look."""
    looks = (
        (title, TITLE, {"color": INK, "weight": "bold"}),
        (subtitle, TICK, {"color": MUTED, "weight": "normal"}),
    )
    return [
        (wrap(in_mathtext(text), 0.95 * wide, size, look["weight"]), size, look)
        for text, size, look in looks
        if text
    ]


def _room(text: str, size: float) -> float:
    return (1.28 * (text.count("\n") + 1) + 0.25) * size / 72


def heading_height(title: str, subtitle: str, wide: float) -> float:
    """Inches that a title and a subtitle take over a figure of some width, in inches.

    Example:
        >>> heading_height("", "", 3.0)
        0.0
        >>> heading_height("Two lines " * 8, "", 3.0) > heading_height("One line", "", 3.0)
        True
    """
    rooms = [_room(text, size) for text, size, _ in _heading(title, subtitle, wide)]
    return ABOVE + sum(rooms) if rooms else 0.0


def dress_bar(bar: Colorbar, text: str) -> None:
    """A colour bar in the house style, and what its colours mean."""
    bar.ax.tick_params(labelsize=TICK, colors=INK, width=0.6, length=2.5, pad=2)
    bar.set_label(text, fontsize=LABEL, color=INK)
    bar.ax.spines["outline"].set_linewidth(0.6)


def figure_of(axes: Axes) -> Figure:
    """The figure that axes stand in."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def dress(axes: Any) -> None:
    """Thin spines and small outward ticks, set on the axes and not in the global settings.

    Args:
        axes: Axes, or a secondary axis.
    """
    axes.set_facecolor("white")
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set(linewidth=0.6, color=INK)
    axes.tick_params(which="both", direction="out", colors=INK, labelsize=TICK, pad=2)
    axes.tick_params(which="major", width=0.6, length=2.5)
    # A longer pad, so that numbers at short ticks stand level with the others.
    axes.tick_params(which="minor", width=0.4, length=1.5, pad=3)


def open_frame(axes: Axes) -> None:
    """Drop the upper and right spine and draw a faint horizontal grid, for lines and points."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)


def label(axes: Axes, x_label: str, y_label: str, inches: tuple[float, float]) -> None:
    """Name both axes, on as many lines as their length asks for.

    Args:
        axes: The axes.
        x_label: The name of x.
        y_label: The name of y.
        inches: About how long both are.
    """
    x_label, y_label = wrap(x_label, inches[0], LABEL), wrap(y_label, inches[1], LABEL)
    axes.set_xlabel(x_label, fontsize=LABEL, color=INK, labelpad=2.5)
    axes.set_ylabel(y_label, fontsize=LABEL, color=INK, labelpad=2.5)


def halo(width: Number = 2.2) -> list[withStroke]:
    """A white outline that keeps a line readable over a dark map."""
    return [withStroke(linewidth=float(width), foreground="white")]


_LEGEND: dict[str, Any] = {
    **{"frameon": False, "fontsize": TICK, "labelcolor": INK, "borderpad": 0.0},
    **{"borderaxespad": 0.0, "handlelength": 2.4, "columnspacing": 1.2, "labelspacing": 0.35},
}


def legend_above(axes: Axes, handles: Sequence[Artist], room: Number, clearance: Number) -> None:
    """A legend over the axes, left aligned and never on the data; the figure grows by its rows.

    Args:
        axes: The axes it belongs to; the layout makes room above them.
        handles: What it lists, by their labels; nothing is drawn for an empty list.
        room: Inches it may be wide; it takes as many columns as fit.
        clearance: Points between the axes and the legend, for what stands on the upper spine.
    """
    if not handles:
        return
    figure = figure_of(axes)
    columns = _make_room(figure, handles, room, clearance)
    lifted = ScaledTranslation(0, float(clearance) / 72, figure.dpi_scale_trans)
    place = {"bbox_to_anchor": (0.0, 1.0), "bbox_transform": axes.transAxes + lifted}
    look = _LEGEND | place | {"loc": "lower left", "ncols": columns}
    axes.legend(handles=list(handles), **look).set_zorder(5)


def _make_room(figure: Figure, handles: Sequence[Artist], room: Number, clearance: Number) -> int:
    """Make a figure higher by the rows of its legend; the columns that fit."""
    columns = _fitting_columns([str(handle.get_label()) for handle in handles], float(room))
    rows = -(-len(handles) // columns)
    figure.set_figheight(figure.get_figheight() + (rows * 1.5 * TICK + float(clearance)) / 72)
    return columns


def text_width(text: str, size: Number, weight: str = "normal") -> float:
    """How wide a text is, in inches; of several lines the widest."""
    fonts = tuple(mpl.rcParams["font.family"]), tuple(mpl.rcParams["font.sans-serif"])
    lines = [line for line in text.split("\n") if line]
    return max((_line_width(line, float(size), weight, fonts) for line in lines), default=0.0)


@functools.lru_cache(4096)
def _line_width(line: str, size: float, weight: str, fonts: tuple) -> float:
    """A picture asks for the same words again and again; `fonts` tells which they are set in."""
    path = TextPath((0, 0), line, size=size, prop=FontProperties(weight=weight))
    return path.get_extents().width / 72


def _fitting_columns(labels: list[str], room: float) -> int:
    beside = (2.4 + 0.8 + 1.2) * TICK / 72  # the handle, its padding and the gap between columns
    widths = [text_width(text, TICK) + beside for text in labels]
    for columns in range(len(labels), 1, -1):
        # The legend fills its columns as array_split does: the first ones take the remainder.
        if sum(max(part) for part in np.array_split(widths, columns)) <= room:
            return columns
    return 1


def caption(figure: Figure, *facts: str) -> None:
    """A small line under the axes that says where the figure comes from.

    Example:
        >>> figure = new_figure()
        >>> caption(figure, "small scale", "20 trials per cell", "commit 0123456789")
        >>> figure.get_supxlabel()
        'small scale · 20 trials per cell · commit 0123456789'
    """
    text = wrap(" · ".join(fact for fact in facts if fact), 0.9 * figure.get_figwidth(), NOTE)
    figure.supxlabel(text, x=0.015, ha="left", fontsize=NOTE, color=MUTED, linespacing=1.15)


def wrap(text: str, width: float, size: float, weight: str = "normal") -> str:
    """Break a text into even lines of at most that many inches; a word is never broken."""
    # A formula is one word, and so is what stands around an equals sign.
    words = re.findall(r"(?:\$[^$]*\$|(?<=\S) [=<>≤≥] (?=\S)|\S)+", with_signs(text))
    space = (0.36 if weight == "bold" else 0.32) * size / 72
    widths = [text_width(word, size, weight) + space for word in words]
    lines, wide = _fill(words, widths, width), width
    for _ in range(8):  # a line is a little wider than its words and spaces
        several = [line for line in lines if line not in words]
        over = max((text_width(line, size, weight) for line in several), default=0.0) / wide
        if over <= 1:
            break
        width /= over
        lines = _fill(words, widths, width)
    for share in np.linspace(0.5, 1.0, 11):  # the narrowest that needs no more lines
        narrower = _fill(words, widths, share * width)
        if len(narrower) <= len(lines):
            return "\n".join(narrower)
    return "\n".join(lines)


def _fill(words: list[str], widths: list[float], room: float) -> list[str]:
    lines: list[str] = []
    used = 0.0
    for word, width in zip(words, widths, strict=True):
        if lines and used + width <= room:
            lines[-1] += f" {word}"
            used += width
        else:
            lines.append(word)
            used = width
    return lines
