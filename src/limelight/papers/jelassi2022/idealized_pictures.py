r"""The idealized run, drawn: four courses with their phases, and the grid of Lemma 4.3."""

import numpy as np

from limelight.papers.jelassi2022.idealized_claims import WORLD, named, of
from limelight.papers.jelassi2022.reading import told
from limelight.plot import Axis, Panel, Points, Reference, caption, new_figure, panels
from limelight.plot.style import (
    COLOURS,
    INK,
    MARKERS,
    MUTED,
    label,
    legend_above,
    open_frame,
)
from limelight.table import Table
from limelight.worlds.spatial import label_failure


def draw(table: Table):
    """The four runs of Theorem 4.1: error, loss and the three numbers, with phases."""
    found = of(table, "theorem")
    names = [f"{named(at)}, rates 1 : {at['ratio']:g}" for at, _ in found]
    course = lambda rows, name: rows[f"trace.{name}"][0, 1:]

    def lines(name):
        marks = [
            (title, course(rows, "step"), course(rows, name))
            for title, (_, rows) in zip(names, found, strict=True)
        ]
        return [*marks, *events(name)] if name in ("error", "gamma") else marks

    def events(name):
        for _, rows in found:
            for at, shape in ((rows["onset"][0], "|"), (rows["halved"][0], "x")):
                if at > 0:
                    height = np.interp(at, course(rows, "step"), course(rows, name))
                    yield Points("", at, height, marker=shape, colour="ink", size=6)

    levels = [
        Reference("", label_failure(*(at[k] for k in WORLD)), like=title)
        for title, (at, _) in zip(names, found, strict=True)
    ]
    log = lambda words: Axis(words, log=True)
    figure = panels(
        [
            Panel("error", [*lines("error"), *levels], log("population error")),
            Panel("loss", lines("loss"), log("population loss")),
            Panel(r"value strength $\alpha$", lines("alpha"), log(r"$\alpha$")),
            Panel(r"same set $\gamma$", lines("gamma"), r"$\gamma$"),
            Panel(r"other sets $\rho$", lines("rho"), r"$\rho$"),
            Panel("gain G", lines("gain"), r"$D(\Lambda + (C-1)\Gamma)$"),
        ],
        x_label="step",
        log_x=True,
        columns=3,
        height=1.9,
        title="Idealized descent on worlds (D, C, q)",
    )
    caption(
        figure,
        *told(table, "steps shared (1 : 1) or two_rate"),
        "bar: gamma - rho = 0.1; cross: error halved since; dashed: failure of f*; lost mass "
        + ", ".join(f"{float(rows['lost'][0]):.1g}" for _, rows in found),
    )
    return figure


def draw_grid(table: Table):
    """Where gamma and |rho| end over the grid of Lemma 4.3; its strong part wants gamma above."""
    figure = new_figure(3.6, 3.1)
    axes = figure.axes[0]
    open_frame(axes)
    label(axes, r"$|\rho|$ at the end", r"$\gamma$ at the end")
    seen: dict[int, object] = {}
    for at, rows in of(table, "grid"):
        i = at["size"] - 2
        x, y = abs(float(rows["trace.rho"][0, -1])), float(rows["trace.gamma"][0, -1])
        held = bool(rows["rising"][0] and rows["above"][0])
        face = COLOURS[i] if held else "white"
        axes.plot(x, y, MARKERS[i], color=COLOURS[i], markerfacecolor=face, markersize=4)
        seen[at["size"]] = axes.plot(
            [], [], MARKERS[i], color=COLOURS[i], markersize=4, label=f"C = {at['size']}"
        )[0]
    top = max(*axes.get_xlim(), *axes.get_ylim())
    axes.plot([0, top], [0, top], color=MUTED, linewidth=0.8)
    axes.text(0.9 * top, 0.97 * top, r"$\gamma = |\rho|$", color=INK, fontsize=6.5, ha="right")
    axes.set_xlim(0, top)
    axes.set_ylim(0, top)
    legend_above(axes, [seen[size] for size in sorted(seen)], room=3.0)  # pyright: ignore[reportArgumentType]
    caption(figure, *told(table), "hollow: gamma fell at some step, or was not above |rho|")
    return figure
