"""Figure 6: pictures and words. What is read off the tables is in `composites`."""

import numpy as np

from limelight import fit
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
from limelight.plot import Series, TopAxis, caption, curves, phase_diagram
from limelight.table import Table


def draw_accuracy(table: Table):
    """Accuracy against the relevant fraction, a line for each number of examples."""
    levels = fractions(table)
    x = [realised(table, a) for a in levels]
    series = []
    for n in sizes(table):
        rows = sized(table, n)
        series.append(Series(f"N = {n:g}", x, *_band([points(cut(rows, a)) for a in levels])))
    control = [points(cut(sized(table, n), ALL, True)) for n in sizes(table)]
    figure = curves(
        series,
        x_label=r"label-relevant fraction $\alpha_*$",
        y_label="test accuracy, %",
        width=4.6,
    )
    axes = figure.axes[0]
    for n, found in zip(range(len(series)), control, strict=True):
        colour = axes.lines[n].get_color()
        axes.plot([x[0]], [found.mean()], marker="x", color=colour, linestyle="none", clip_on=False)
    note = "crosses: as many patches of any kind removed as at the right end"
    caption(figure, *facts(table), note)
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
    even = Series("even attention", sizes(table), [whole["alpha"].mean()] * len(sizes(table)))
    figure = curves(
        series,
        guides=[even],
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
    series = [
        Series("test accuracy", x, 100 * table["accuracy"].astype(float)),
        Series("chance", x, 100 * table["chance"].astype(float)),
    ]
    figure = curves(series, x_label="start", y_label="%", limits=(0, 100))
    figure.axes[0].set_xticks(x, [f"{which} start" for which in table["starts.which"]])
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
    """Accuracy of every cell, and N50 at every level."""
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
    for level in LEVELS:
        edge = boundary(table, level)
        at = counted(table, edge)
        told = [f"{a:.2f}: {found}" for a, found in zip(at, edge.thresholds, strict=True)]
        lines.append(f"N50 at accuracy {level:.1%}, by alpha_*: {'; '.join(told)}")
    return lines


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
