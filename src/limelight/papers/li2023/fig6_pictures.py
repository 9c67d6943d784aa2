"""Figure 6: pictures and words. What is read off the tables is in `composites`."""

import numpy as np
from matplotlib.patches import Patch

from limelight import fit
from limelight.papers.li2023 import reach
from limelight.papers.li2023.composites import (
    ALL,
    ARMS,
    EXAMPLES,
    LEVELS,
    arm,
    boundary,
    counted,
    cut,
    fractions,
    points,
    realised,
    sized,
    sizes,
)
from limelight.papers.li2023.fig1a import ends, facts
from limelight.plot import (
    ONE_COLUMN,
    Points,
    Reference,
    Series,
    TopAxis,
    caption,
    curves,
    new_figure,
    phase_diagram,
)
from limelight.plot.style import COLOURS, INK, TICK, label, legend_above, open_frame
from limelight.table import Table


def draw_accuracy(table: Table):
    """Accuracy against the relevant fraction, a line for each number of examples."""
    levels, counts = fractions(table), sizes(table)
    few = counts if len(counts) <= len(COLOURS) else sorted({*counts[::2], counts[-1]})
    x = [realised(table, a) for a in levels]
    cells = [[points(cut(sized(table, n), a)) for a in levels] for n in few]
    controls = [points(cut(sized(table, n), ALL, True)).mean() for n in few]
    series = [Series(f"N = {n:g}", x, *_band(row)) for n, row in zip(few, cells, strict=True)]
    crosses = [
        Points("", [x[0]], [found], colour=i, marker="x") for i, found in enumerate(controls)
    ]
    figure = curves(
        [*series, *crosses],
        x_label=r"label-relevant fraction $\alpha_*$",
        y_label="test accuracy, %",
        width=4.6,
    )
    caption(
        figure,
        *facts(table),
        "crosses: as many patches of any kind removed as at the right end",
        "" if few == counts else "every other size and the last",
    )
    return figure


def draw_samples(table: Table):
    """Success by fraction and number of examples, with N50, at the level that shows most of it."""
    level = shown(table)
    edge = boundary(table, level)
    levels, counts = fractions(table), sizes(table)
    x = np.array([realised(table, a) for a in levels])
    rate = [[np.mean(cut(sized(table, n), a)["accuracy"] >= level) for a in levels] for n in counts]
    figure = phase_diagram(
        x**-2.0,
        counts,
        rate,
        x_label=r"$\alpha_*^{-2}$",
        y_label="training examples $N$",
        edge=Series("N50, 95 % interval", counted(table, edge) ** -2.0, *ends(edge)),
        top=TopAxis(r"$\alpha_*$", np.round(x, 2)),
        bar_label=f"share of trials with accuracy of at least {level:.1%}",
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_attention(table: Table):
    """Attention on the object before and after training, by number of examples."""
    whole = cut(table, fractions(table)[0])
    series = []
    for name, column in (("before", "mass.start"), ("after", "mass.end")):
        rows = [whole.rows(whole[EXAMPLES] == n)[column].astype(float) for n in sizes(table)]
        series.append(Series(f"{name} training", sizes(table), *_band(rows)))
    figure = curves(
        series,
        references=[Reference("even\nattention", float(whole["alpha"].mean()))],
        x_label="training examples $N$",
        y_label="attention mass on the object",
        log_x=True,
    )
    caption(figure, *facts(table), "nothing removed")
    return figure


def draw_spurious(table: Table):
    """Accuracy against the relevant fraction, for both starts, and without the correlation."""
    series = []
    for at, name in ARMS.items():
        rows = arm(table, *at)
        levels = fractions(rows)
        x = [realised(rows, a) for a in levels]
        series.append(Series(name, x, *_band([points(cut(rows, a)) for a in levels])))
    figure = curves(
        series,
        x_label=r"label-relevant fraction $\alpha_*$",
        y_label="test accuracy, %",
        width=4.6,
    )
    caption(figure, *facts(table), "95 % intervals of the mean")
    return figure


def draw_starts(table: Table):
    """Accuracy of both starts on the classes that they were trained on, chance beside it."""
    x = np.arange(len(table))
    accuracy, chance = (100 * table[name].astype(float) for name in ("accuracy", "chance"))
    figure = new_figure()
    axes = figure.axes[0]
    open_frame(axes)
    label(axes, "", "test accuracy, %")
    bars = axes.bar(x, accuracy, 0.5, color=COLOURS[0])
    axes.bar_label(bars, fmt="%.1f", fontsize=TICK, color=INK, padding=1)
    bar = Patch(color=COLOURS[0], label="test accuracy")
    level = axes.hlines(chance, x - 0.32, x + 0.32, color=COLOURS[1], label="chance")
    axes.set(xlim=(-0.6, len(x) - 0.4), ylim=(0, 100))
    axes.set_xticks(x, [f"{which} start" for which in table["starts.which"]])
    legend_above(axes, [bar, level], room=ONE_COLUMN - 0.65, grow=True)
    caption(figure, *facts(table))
    return figure


def shown(table: Table) -> float:
    """The accuracy that most boundary points are resolved at; the highest of several."""
    return max(LEVELS, key=lambda level: (boundary(table, level).resolved.sum(), level))


def _band(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over trials, and their 95 % intervals where there are two trials or more."""
    middle = np.array([part.mean() for part in cells])
    if min(len(part) for part in cells) < 2:
        return middle, middle, middle
    low, high = zip(*(fit.mean_interval(part) for part in cells), strict=True)
    return middle, np.array(low, float), np.array(high, float)


# --- words ------------------------------------------------------------------------------------


def summary(table: Table) -> list[str]:
    """Accuracy of every cell, N50 at every level, and N by interpolation."""
    lines = []
    for n in sizes(table):
        rows = sized(table, n)
        found = [
            f"{realised(table, a):.2f}: {points(cut(rows, a)).mean():.1f}" for a in fractions(table)
        ]
        control = points(cut(rows, ALL, True)).mean()
        lines.append(
            f"N {n:g}: accuracy by alpha_* {', '.join(found)} %; as many removed of any kind"
            f" {control:.1f} %"
        )
    return lines + needed_summary(table)


def needed_summary(table: Table) -> list[str]:
    """N50 at every level, and N by interpolation."""
    lines = []
    for level in LEVELS:
        edge = boundary(table, level)
        at = counted(table, edge)
        told = [f"{a:.2f}: {found}" for a, found in zip(at, edge.thresholds, strict=True)]
        found = "; ".join(told) if edge.resolved.any() else "not in the grid"
        lines.append(f"N50 at accuracy {level:.1%}, by alpha_*: {found}")
    return lines + reach.summary(table)


def spurious_summary(table: Table) -> list[str]:
    """Accuracy by fraction, for every arm."""
    lines = []
    for at, name in ARMS.items():
        rows = arm(table, *at)
        found = [
            f"{realised(rows, a):.2f}: {points(cut(rows, a)).mean():.1f}" for a in fractions(rows)
        ]
        lines.append(f"{name}, by alpha_*: {', '.join(found)} %")
    return lines


def start_summary(table: Table) -> list[str]:
    """Accuracy of the starts."""
    columns = (table[name] for name in ("starts.which", "accuracy", "chance", "training_loss"))
    return [
        f"{which}: accuracy {found:.3f}, chance {chance:.3f}, training loss {loss:.3f}"
        for which, found, chance, loss in zip(*columns, strict=True)
    ]
