"""Pictures drawn with Matplotlib; loaded when the first one is drawn.

`frame` sets ranges and ticks, `lines` and `maps` draw marks, `names` puts names beside them, with
`direct`, `places` and `room`, which look for a free place.
"""

import math
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from limelight.plot import style
from limelight.plot._draw import direct, frame, lines, maps, names
from limelight.plot._looks import Look, look_of, looks_of
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
    Text,
)
from limelight.plot.picture import Panel, Picture

#: An entry of the legend, before it shows a line, a marker or both.
UNSEEN: dict[str, Any] = {"linestyle": "none", "marker": ""}


def draw(picture: Picture) -> Figure:
    """A picture as a Matplotlib figure; none uses pyplot, so this works in threads."""
    columns = picture.columns or len(picture.panels)
    rows = math.ceil(len(picture.panels) / columns)
    marks = [mark for panel in picture.panels for mark in panel.content]
    looks = looks_of(marks)
    figure = style.new_figure(
        picture.width,
        picture.height or _height(picture, rows, columns),
        rows=rows,
        columns=columns,
    )
    grid = list(figure.axes)
    inches = _inches(picture, figure, rows, columns)
    _set_ranges(picture, grid)
    drawn = []
    for number, (axes, panel) in enumerate(zip(grid, picture.panels, strict=False)):
        drawn += _draw_panel(axes, panel, looks)
        frame.set_ticks(axes, panel, inches)
        _name(axes, panel, inches)
        _share(axes, picture, number, columns)
        below = picture.panels[number + columns : number + columns + 1]
        if below and below[0].axes[0].label == panel.axes[0].label:
            axes.set_xlabel("")  # said once, under the column
    for axes in grid[len(picture.panels) :]:
        axes.remove()
    maps.draw_colour_bars(figure, drawn)
    if picture.facts:
        style.caption(figure, *picture.facts)
    alone = len(picture.panels) == 1
    written = names.beside(grid[0], picture.panels[0], looks) if alone else []
    names.write(grid[0], written)
    beside = {name.label for name in written}
    beside |= direct.write(grid, picture.panels, looks, beside)
    entries = _entries(marks, looks, beside)
    if alone:
        _legend_above(picture, grid[0], entries)
    style.head(figure, picture.title, picture.subtitle, () if alone else entries)
    return figure


# --- sizes ------------------------------------------------------------------------------------


def _height(picture: Picture, rows: int, columns: int) -> float:
    if len(picture.panels) > 1:
        return rows * 0.9 * float(picture.width) / columns + 0.4
    has_map = any(isinstance(mark, Map) for mark in picture.panels[0].content)
    return (0.85 if has_map else 0.75) * float(picture.width)


def _inches(picture: Picture, figure: Figure, rows: int, columns: int) -> tuple[float, float]:
    """About how wide and high one panel is."""
    bars = any(isinstance(mark, Map) and mark.label for p in picture.panels for mark in p.content)
    names = [name for panel in picture.panels for name in panel.axes[1].categories]
    beside = max((style.text_width(name, style.TICK) for name in names), default=0.0)
    beside *= 1 if picture.share in ("y", "both") else columns
    width = (float(picture.width) - beside - (0.5 if bars else 0.0)) / columns
    height = (float(figure.get_figheight()) - 0.3) / rows
    return max(width - (0.65 if columns == 1 else 0.5), 0.3), max(height - 0.4, 0.3)


# --- panels -----------------------------------------------------------------------------------


def _set_ranges(picture: Picture, grid: list[Axes]) -> None:
    """The range of every panel, or of all together."""
    every = frame.extent(mark for panel in picture.panels for mark in panel.content)
    for axes, panel in zip(grid, picture.panels, strict=False):
        own = frame.extent(panel.content)
        x = every[0] if picture.share in ("x", "both") else own[0]
        y = every[1] if picture.share in ("y", "both") else own[1]
        frame.set_scales(axes, panel, x, y)
        frame.whole_numbers(axes, panel, x)


def _draw_panel(axes: Axes, panel: Panel, looks: dict[str, Look]) -> list:
    """Draw the marks of one panel; the maps among them, with what a colour bar needs."""
    if not panel.content:
        axes.set_axis_off()
        return []
    over_map = any(isinstance(mark, Map | Image) for mark in panel.content)
    if not over_map:
        style.open_frame(axes)
    drawn = [
        (axes, mark, maps.draw_map(axes, mark, log_x=panel.axes[0].log, log_y=panel.axes[1].log))
        for mark in panel.content
        if isinstance(mark, Map)
    ]
    for mark in panel.content:
        _draw_mark(axes, mark, looks, over_map)
    references = [mark for mark in panel.content if isinstance(mark, Reference)]
    lines.draw_references(axes, references, looks)
    return drawn


def _draw_mark(axes: Axes, mark: Mark, looks: dict[str, Look], over_map: bool) -> None:
    match mark:
        case Points():
            lines.draw_points(axes, mark, look_of(mark, looks), over_map)
        case Guide():
            lines.draw_guide(axes, mark, look_of(mark, looks), over_map)
        case Series():
            lines.draw_series(axes, mark, look_of(mark, looks), len(looks) or 1, over_map)
        case Bundle():
            lines.draw_bundle(axes, mark, look_of(mark, looks))
        case Bars():
            lines.draw_bars(axes, mark, look_of(mark, looks))
        case Contour():
            maps.draw_contour(axes, mark, look_of(mark, looks))
        case Image():
            maps.draw_image(axes, mark)
        case Span():
            lines.draw_span(axes, mark)
        case Text():
            lines.draw_text(axes, mark)


def _name(axes: Axes, panel: Panel, inches: tuple[float, float]) -> None:
    across, upwards = panel.axes
    style.label(axes, across.label, upwards.label, inches)
    if panel.title:
        title = style.wrap(panel.title, inches[0] + 0.3, style.LABEL)
        axes.set_title(title, fontsize=style.LABEL, color=style.INK, loc="left", pad=3)
    if across.categories or upwards.categories:
        axes.grid(visible=False)
    if any(isinstance(mark, Image) or frame.is_matrix(mark) for mark in panel.content):
        bare = across.ticks is None and upwards.ticks is None
        for spine in axes.spines.values():
            spine.set_visible(not bare)
    elif all(axis.ticks is not None and not len(axis.ticks) for axis in (across, upwards)):
        # Places without numbers need no frame.
        axes.set_axis_off()


def _share(axes: Axes, picture: Picture, number: int, columns: int) -> None:
    """Leave out the words of an inner panel that has the range of the outer ones."""
    if picture.share in ("x", "both") and number + columns < len(picture.panels):
        axes.tick_params(which="both", labelbottom=False)
        axes.set_xlabel("")
    if picture.share in ("y", "both") and number % columns:
        axes.tick_params(which="both", labelleft=False)
        axes.set_ylabel("")


# --- the legend -------------------------------------------------------------------------------


def _entries(marks: list[Mark], looks: dict[str, Look], beside: set[str]) -> list[Artist]:
    """One entry for each label that does not stand beside its line, in the order of the marks."""
    found: dict[str, Artist | tuple[dict[str, Any], dict[str, Any]]] = {}
    for mark in marks:
        label = getattr(mark, "label", "")
        if not label or label in beside:
            continue
        if isinstance(mark, Map):
            if maps.has_missing(mark):
                found.setdefault("no data", Patch(**maps.NO_DATA))
        elif isinstance(mark, Reference):
            found.setdefault(label, (lines.reference_look(mark, looks), {}))
        elif isinstance(mark, Span):
            patch = Patch(**lines.span_look(mark))
            if mark.hatched:
                patch.set_hatch_linewidth(0.6)
            found.setdefault(label, patch)
        elif isinstance(mark, Bars):
            found.setdefault(label, Patch(color=look_of(mark, looks).colour))
        elif isinstance(mark, Series | Bundle | Contour):
            before = found.get(label, ({}, {}))
            if isinstance(before, tuple):  # a line, a marker, or both where marks share a label
                line, marker = _shown(mark, look_of(mark, looks))
                found[label] = (before[0] or line, before[1] or marker)
    artists = []
    for label, entry in found.items():
        if isinstance(entry, tuple):
            entry = Line2D([], [], **(UNSEEN | entry[0] | entry[1]))
        entry.set_label(label)
        artists.append(entry)
    return artists


def _shown(mark: Series | Bundle | Contour, look: Look) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the line, and what the marker of an entry is drawn with; nothing where it has none."""
    line = {} if isinstance(mark, Points) else look.line()
    has_marks = isinstance(mark, Series) and not isinstance(mark, Guide)
    return line, look.marks() if has_marks else {}


def _legend_above(picture: Picture, axes: Axes, entries: list[Artist]) -> None:
    """The legend of a single panel, over its title and its upper axis."""
    panel = picture.panels[0]
    has_bar = any(isinstance(mark, Map) and mark.label for mark in panel.content)
    room = float(picture.width) - (1.15 if has_bar else 0.65)
    over = (25 if panel.top else 4 if has_bar else 3) + (12 if panel.title else 0)
    style.legend_above(axes, entries, room, over)
