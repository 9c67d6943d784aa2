"""What the figures of xu2022 share: settings read back from a table, panels, and their marks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limelight.core import gram as grams
from limelight.fit import families
from limelight.plot import provenance
from limelight.plot.style import COLOURS, DASHES, INK, LABEL, MUTED, TICK, open_frame
from limelight.plot.style import label as name_axes
from limelight.table import Table
from limelight.theory.xu2022.setting import Setting
from limelight.worlds.clusters import parse_sizes

#: How each kind of number looks in every figure of the paper.
LOOKS: dict[str, dict[str, Any]] = {
    "measured": {"color": COLOURS[0], "marker": "o", "linestyle": "none", "markersize": 3.0},
    "limit law": {"color": INK, "linestyle": "-", "linewidth": 0.8, "zorder": 5},
    "prediction": {"color": COLOURS[1], "linestyle": DASHES[1], "linewidth": 0.9, "zorder": 6},
    "T2′ certificate": {"color": COLOURS[2], "linestyle": DASHES[3], "linewidth": 1.1},
    "T2″ certificate": {"color": COLOURS[3], "linestyle": DASHES[4], "linewidth": 1.1},
    "printed": {"color": MUTED, "linestyle": DASHES[2], "linewidth": 1.0},
}


def fact(table: Table, at: dict[str, Any], path: str) -> Any:
    """A setting of a cell: its coordinate where it was swept, else what the run was given."""
    return table.setting(path, at)


def setting(table: Table, at: dict[str, Any]) -> Setting:
    """The cluster model of a cell."""
    world = lambda name: fact(table, at, f"world.{name}")
    clusters, sizes, gram = int(world("clusters")), world("sizes"), world("gram")
    if isinstance(sizes, str) and sizes not in ("", "equal"):
        sizes = parse_sizes(sizes)
    else:
        sizes = (int(world("size")),) * clusters
    matrix = np.array(gram) if gram else grams.equiangular(clusters, float(world("cosine")))
    return Setting(matrix, np.array(sizes, float), float(world("sigma")), float(world("dimension")))


def root(rows: Table, column: str = "noise.square", points: int = 1) -> families.Point:
    """The ratio of a cell: root mean square over its draws, with an interval."""
    return families.root_point("", rows[column], points)


def named(at: dict[str, Any], *paths: str) -> str:
    """A cell's coordinates in words."""
    return ", ".join(f"{p.rpartition('.')[2]} {at[p]:.4g}" for p in paths if p in at)


def panel(
    axes: Axes, x_label: str, y_label: str, *, log_x: bool = True, log_y: bool = True
) -> None:
    """Open frame, labels and scales of one panel."""
    open_frame(axes)
    name_axes(axes, x_label, y_label)
    axes.set_xscale("log" if log_x else "linear")
    axes.set_yscale("log" if log_y else "linear")


def bars(axes: Axes, x: Sequence[Any], points: Sequence[families.Point], **look: Any):
    """Measured points with their intervals."""
    look = LOOKS["measured"] | {"markeredgecolor": "white", "markeredgewidth": 0.3} | look
    y = np.array([p.value for p in points])
    ends = np.array([[p.value - max(p.low, 1e-9), p.high - p.value] for p in points]).T
    return axes.errorbar(x, y, yerr=np.clip(ends, 0, None), elinewidth=0.8, zorder=4, **look)


def legend_over(figure: Figure, handles: Sequence[Artist], columns: int = 6) -> None:
    """One legend over all panels, outside of every one of them."""
    figure.legend(
        handles=list(handles),
        loc="outside upper left",
        ncols=min(columns, len(handles)),
        frameon=False,
        fontsize=TICK,
        labelcolor=INK,
        handlelength=2.2,
        columnspacing=1.2,
        labelspacing=0.35,
        borderpad=0.1,
    )


def plain_ticks(
    axes: Axes, x: Sequence[Any] | np.ndarray = (), y: Sequence[Any] | np.ndarray = ()
) -> None:
    """Ticks at the given values, as plain numbers, and no others."""
    axes.minorticks_off()
    if len(x):
        axes.set_xticks(list(x), [_short(v) for v in x])
    if len(y):
        axes.set_yticks(list(y), [_short(v) for v in y])


def power(value: Any) -> str:
    r"""A large number with its power of ten written out.

    Example:
        >>> power(24_800_000)
        '$2.48\\cdot10^{7}$'
    """
    digits, _, exponent = f"{value:.2e}".partition("e")
    return f"${digits}\\cdot10^{{{int(exponent)}}}$"


def _short(value: Any) -> str:
    power = np.log10(value) if value > 0 else 0.5
    return f"$10^{{{power:.0f}}}$" if value >= 10_000 and power == round(power) else f"{value:g}"


def spread_out(values: Sequence[Any] | np.ndarray, most: int) -> list[float]:
    """At most so many of the values, from the first to the last.

    Example:
        >>> spread_out([1, 2, 3, 4, 5], 3)
        [1.0, 3.0, 5.0]
    """
    places = np.linspace(0, len(values) - 1, min(most, len(values)))
    return [float(values[round(p)]) for p in places]


def tag(axes: Axes, text: str) -> None:
    """A panel's own title."""
    axes.set_title(text, fontsize=LABEL, color=INK, loc="left", pad=3)


def facts(table: Table, note: str = "") -> tuple[str, ...]:
    """The line under a figure."""
    trials = table.manifest.get("configuration", {}).get("trials")
    return provenance(scale=table.manifest.get("scale", ""), trials=trials, note=note)
