"""How every figure looks, and how it reaches the disk.

Lines take the Okabe-Ito colours, each with its own marker and dash, so that they can be told
apart by the colour blind and on a grey print. Maps use one scale whose lightness rises evenly.
Nothing here touches pyplot: figures are plain objects, made in any thread and without a display.
"""

import io
import os
import re
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patheffects import withStroke
from matplotlib.textpath import TextPath
from matplotlib.transforms import ScaledTranslation

from limelight.core.errors import InputError

Number = float | int | np.floating | np.integer
Kind = Literal["png", "svg", "pdf"]

ONE_COLUMN = 3.4
TWO_COLUMNS = 7.0
DOTS_PER_INCH = 300

TITLE, LABEL, TICK, NOTE = 8.5, 7.5, 6.5, 5.5
"""Font sizes in points."""

INK, MUTED, FAINT = "#1a1a1a", "#595959", "#d9d9d9"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1)))

_STOPS = (
    *("#192531", "#1b3d56", "#1d5779", "#277199", "#408db4"),
    *("#62a9cc", "#8bc4df", "#badfef", "#f0f8fb"),
)
SUCCESS = LinearSegmentedColormap.from_list("limelight", _STOPS)
"""Dark is 0 and light is 1, even in CIE lightness, so a grey print keeps the order."""
WEIGHT = SUCCESS.reversed("limelight_r")
"""Light is 0 and dark is 1: for maps that are mostly empty, such as attention."""

# Only these settings are read while a file is written; they are put back one by one.
_WRITING: dict[str, Any] = {
    "svg.hashsalt": "limelight",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "savefig.bbox": None,
}
_WRITER = threading.Lock()
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def new_figure(
    width: Number = ONE_COLUMN,
    height: Number | None = None,
    *,
    rows: int = 1,
    columns: int = 1,
    title: str = "",
    share: bool = False,
) -> Figure:
    """An empty figure in the house style; its axes are `figure.axes`.

    Args:
        width: Inches; `ONE_COLUMN` or `TWO_COLUMNS` of a journal page.
        height: Inches; three quarters of the width when not given.
        rows: Rows of axes.
        columns: Columns of axes.
        title: One line over everything, wrapped to the width.
        share: Whether all axes have one x and one y range.
    """
    size = (float(width), float(height or 0.75 * width))
    figure = Figure(figsize=size, dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share)
    for axes in grid.flat:
        dress(axes)
    if title:
        text = _wrap(title, size[0], TITLE)
        figure.suptitle(text, x=0.015, ha="left", fontsize=TITLE, color=INK, weight="bold")
    return figure


def dress_bar(bar: Colorbar, text: str) -> None:
    """A colour bar in the house style, and what its colours mean."""
    bar.ax.tick_params(labelsize=TICK, colors=INK, width=0.6, length=2.5, pad=2)
    bar.set_label(text, fontsize=LABEL, color=INK)
    bar.ax.spines["outline"].set_linewidth(0.6)


def dress(axes: Axes) -> None:
    """Thin spines and small outward ticks, set on the axes and not in the global settings."""
    axes.set_facecolor("white")
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set(linewidth=0.6, color=INK)
    axes.tick_params(which="both", direction="out", colors=INK, labelsize=TICK, pad=2)
    axes.tick_params(which="major", width=0.6, length=2.5)
    axes.tick_params(which="minor", width=0.4, length=1.5)


def open_frame(axes: Axes) -> None:
    """Drop the upper and right spine and draw a faint horizontal grid, for lines and points."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)


def label(axes: Axes, x_label: str, y_label: str) -> None:
    """Name both axes."""
    axes.set_xlabel(x_label, fontsize=LABEL, color=INK, labelpad=2.5)
    axes.set_ylabel(y_label, fontsize=LABEL, color=INK, labelpad=2.5)


def line_style(index: int) -> dict[str, Any]:
    """Colour, dash and marker of the line at `index`; 35 lines are told apart.

    Example:
        >>> line_style(0)["color"], line_style(1)["marker"]
        ('#0072b2', 's')
    """
    turn, place = divmod(index, len(COLOURS))
    return {
        "color": COLOURS[place],
        "marker": MARKERS[place],
        "linestyle": DASHES[(place + turn) % len(DASHES)],
        "linewidth": 1.2,
        "markersize": 3.4,
        "markeredgecolor": "white",
        "markeredgewidth": 0.4,
    }


def halo(width: Number = 2.2) -> list[withStroke]:
    """A white outline that keeps a line readable over a dark map."""
    return [withStroke(linewidth=float(width), foreground="white")]


def legend_above(
    axes: Axes, handles: Sequence[Artist], *, room: Number, clearance: Number = 3
) -> Legend | None:
    """A legend over the axes, left aligned and never on the data.

    Args:
        axes: The axes it belongs to; the layout makes room above them.
        handles: What it lists, by their labels; nothing is drawn for an empty list.
        room: Inches it may be wide; it takes as many columns as fit.
        clearance: Points between the axes and the legend, for what stands on the upper spine.
    """
    if not handles:
        return None
    scale = axes.get_figure(root=True).dpi_scale_trans
    legend = axes.legend(
        handles=list(handles),
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        bbox_transform=axes.transAxes + ScaledTranslation(0, float(clearance) / 72, scale),
        ncols=_fitting_columns([str(handle.get_label()) for handle in handles], float(room)),
        **{"frameon": False, "fontsize": TICK, "labelcolor": INK, "borderpad": 0.0},
        **{"borderaxespad": 0.0, "handlelength": 2.4, "columnspacing": 1.2, "labelspacing": 0.35},
    )
    legend.set_zorder(5)
    return legend


def text_width(text: str, size: Number) -> float:
    """How wide a line of text is, in inches."""
    return TextPath((0, 0), text, size=float(size)).get_extents().width / 72 if text else 0.0


def _fitting_columns(labels: list[str], room: float) -> int:
    beside = (2.4 + 0.8 + 1.2) * TICK / 72  # the handle, its padding and the gap between columns
    widths = [text_width(text, TICK) + beside for text in labels]
    for columns in range(len(labels), 1, -1):
        rows = -(-len(labels) // columns)
        if sum(max(widths[i : i + rows]) for i in range(0, len(labels), rows)) <= room:
            return columns
    return 1


def caption(figure: Figure, *facts: str) -> None:
    """A small line under the axes that says where the figure comes from.

    Example:
        >>> figure = new_figure()
        >>> caption(figure, *provenance(scale="small", trials=20, commit="0123456789abcdef"))
        >>> figure.get_supxlabel()
        'scale small · 20 trials a cell · commit 0123456789'
    """
    text = _wrap(" · ".join(fact for fact in facts if fact), figure.get_figwidth(), NOTE)
    figure.supxlabel(text, x=0.015, ha="left", fontsize=NOTE, color=MUTED, linespacing=1.15)


def provenance(
    *, scale: str = "", trials: int | str | None = None, commit: str = "", note: str = ""
) -> tuple[str, ...]:
    """The usual facts of a caption, in their usual words; what is not known is left out."""
    facts = (
        f"scale {scale}" if scale else "",
        "" if trials is None else f"{trials} trials a cell",
        f"commit {commit[:10]}" if commit else "",
        note,
    )
    return tuple(fact for fact in facts if fact)


# --- files ------------------------------------------------------------------------------------


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as `.png`, `.svg` or `.pdf`: the same figure always gives the same bytes.

    The file appears whole or not at all.

    Raises:
        InputError: For another suffix, or a place that cannot be written.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        given = f"{kind!r}" if kind else "a name without a suffix"
        raise InputError(f"cannot write a figure as {given}: {path}", "use .png, .svg or .pdf")
    write_whole(path, render(figure, kind))  # pyright: ignore[reportArgumentType]


def render(figure: Figure, kind: Kind = "png", dots_per_inch: int = DOTS_PER_INCH) -> bytes:
    """The bytes of a figure's file: no date, no random identifier, fonts inside."""
    buffer = io.BytesIO()
    with _WRITER, _settings(_WRITING):
        figure.savefig(
            buffer,
            format=kind,
            dpi=dots_per_inch,
            facecolor="white",
            metadata=_METADATA[kind],  # pyright: ignore[reportArgumentType]
        )
    return buffer.getvalue()


def write_whole(path: str | Path, content: bytes) -> None:
    """Put a file in its place in one step; a failure leaves what was there, and no litter.

    Raises:
        InputError: When the folder or the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    part = target.parent / f".{uuid.uuid4().hex}.part"
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"cannot write {path}: {why}", "choose a folder that exists") from None
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def _settings(values: dict[str, Any]) -> Iterator[None]:
    before = {name: mpl.rcParams[name] for name in values}
    mpl.rcParams.update(values)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def _wrap(text: str, width: float, size: float) -> str:
    """Break a text into lines no wider than the figure; a word is never broken."""
    lines: list[str] = []
    for word in re.findall(r"(?:\$[^$]*\$|\S)+", text):  # a formula is one word
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= 0.96 * width:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)
